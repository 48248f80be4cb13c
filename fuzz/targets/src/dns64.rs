//! One question of a client and what resolvers say to it: the response fits, and another codec
//! reads it if it can read what the resolvers said.

use hickory_proto::op::{Message, MessageType};
use isthmus_dns64::{Ask, Config, Dialect, Policy, Transport, UDP_MAX, respond};

use crate::reader::Reader;

/// The ID of every question to a resolver.
const ID: u16 = 0x1234;
/// Octets of the header of a message (RFC 1035 section 4.1.1).
const HEADER: u8 = 12;
/// What a message over TCP can have (RFC 1035 section 4.2.2).
const TCP_MAX: usize = 65_535;

/// An input is an octet of choices, the client's message with its length, and the resolvers'.
pub(crate) fn run(input: &[u8]) {
    let mut input = Reader(input);
    let choices = input.byte();
    let transport = if choices & 1 == 0 {
        Transport::Udp
    } else {
        Transport::Tcp
    };
    let fitting = choices & 2 == 0;
    let query = input.counted();
    let policy = Policy::new(&Config::default());
    let mut well_formed = true;
    let response = respond(&policy, query, transport, ID, |ask| {
        let said = reply(ask, &mut input, fitting)?;
        well_formed &= Message::from_vec(&said).is_ok() && !points_into_header(&said);
        Some(said)
    });
    let Some(response) = response else {
        return;
    };
    let most = match transport {
        Transport::Udp => UDP_MAX.into(),
        Transport::Tcp => TCP_MAX,
    };
    assert!(response.len() <= most, "{} bytes", response.len());
    assert_eq!(response[..2], query[..2], "another ID");
    match Message::from_vec(&response) {
        Ok(message) => assert_eq!(message.metadata.message_type, MessageType::Response),
        // What a resolver says about types that do not matter here is passed on as it is.
        Err(error) => assert!(!well_formed, "{error}: {response:02x?}"),
    }
}

/// Whether a name may go on in the header of its message, where another client has another ID.
fn points_into_header(message: &[u8]) -> bool {
    let pointers = message.windows(2).filter(|pair| pair[0] == 0xc0);
    pointers.into_iter().any(|pair| pair[1] < HEADER)
}

/// What a resolver says: bytes of the input, as they are or behind the ID and the question that
/// make them count as the reply.
fn reply(ask: &Ask, input: &mut Reader<'_>, fitting: bool) -> Option<Vec<u8>> {
    if input.is_empty() {
        return None;
    }
    let said = input.counted();
    if !fitting {
        return Some(said.to_vec());
    }
    // Flags and counts are the resolver's; the rest of the header and the question are ours.
    let mut said = Reader(said);
    let mut message = ask.encode(ID, &Dialect::Plain);
    let (flags, answers, authority, additional) =
        (said.number(), said.byte(), said.byte(), said.byte());
    message[2..4].copy_from_slice(&(flags | 0x8000).to_be_bytes());
    message[7] = answers;
    message[9] = authority;
    message[11] = additional;
    message.extend_from_slice(said.0);
    Some(message)
}

//! Packets that are cut, ICMP errors about packets, and datagrams to the gateway itself: what only user space does.

use isthmus_core::address::V6;
use isthmus_core::config::Policy;
use isthmus_core::encap::four_in_six;
use isthmus_core::slow::icmp_error::{self, LONGEST_V4, LONGEST_V6};
use isthmus_core::slow::own::{Datagram, Message};
use isthmus_core::slow::segment::{self, Segments};
use isthmus_core::slow::split::Pieces;
use isthmus_core::verdict::{IcmpError, Split};
use isthmus_core::wire::tuple::Ends;

use crate::checked::{self, Checksum, Layout};
use crate::gateways;
use crate::reader::Reader;

/// An input is an error's number and value, an MTU, an identification, and a packet.
pub(crate) fn run(input: &[u8]) {
    let mut input = Reader(input);
    let kind = input.byte();
    let value = input.number();
    let mtu = input.number();
    let identification = u32::from(input.number());
    cut(
        input.0,
        Split {
            mtu,
            identification,
        },
    );
    complain(input.0, error(kind, value), gateways::policy(kind));
    segment(input.0, mtu);
    own(input.0);
}

/// What is said to the gateway lies in the packet, and the answer is a sound packet.
fn own(packet: &[u8]) {
    if let Some(message) = Message::read(packet) {
        // What follows the datagram in its packet is no part of it (RFC 768).
        let length = 8 + message.payload.len();
        let mut datagram = packet[..40 + length].to_vec();
        datagram[4..6].copy_from_slice(&u16::try_from(length).unwrap().to_be_bytes());
        assert_eq!(checked::transport(&datagram), Checksum::Right);
    }
    let ends = Ends {
        source: V6::from_halves(1, 2),
        destination: V6::from_halves(3, 4),
    };
    let Some(datagram) = Datagram::read(&four_in_six::outer(ends, 0, 0), packet) else {
        return;
    };
    assert_ne!(checked::transport(packet), Checksum::Wrong);
    let headers = datagram.answer(datagram.payload).expect("it was as long");
    let answer = [&headers[..], datagram.payload].concat();
    checked::assert_sound(&answer);
    checked::assert_sound(&answer[40..]);
    assert_eq!(checked::transport(&answer[40..]), Checksum::Right);
}

/// The segments of a packet in a packet have right lengths and checksums, and together its payload.
fn segment(packet: &[u8], size: u16) {
    let Some(start) = segment::carried(packet) else {
        return;
    };
    let Ok(segments) = Segments::new(packet, size) else {
        return;
    };
    let mut payload = Vec::new();
    let mut headers = 0;
    for segment in segments {
        let whole = [segment.headers(), segment.payload].concat();
        checked::assert_sound(&whole);
        checked::assert_sound(&whole[start..]);
        // Of a fragment nobody can tell.
        assert_ne!(checked::transport(&whole[start..]), Checksum::Wrong);
        payload.extend_from_slice(segment.payload);
        headers = segment.headers().len();
    }
    assert!(headers == 0 || payload == packet[headers..]);
}

/// The pieces fit, follow one another, and together are the payload of the packet.
fn cut(packet: &[u8], split: Split) {
    let Ok(pieces) = Pieces::new(packet, split) else {
        return;
    };
    let mut payload = Vec::new();
    for piece in pieces {
        let whole = [piece.header(), piece.payload].concat();
        assert!(whole.len() <= split.mtu.into(), "longer than {split:?}");
        checked::assert_sound(&whole);
        payload.extend_from_slice(piece.payload);
    }
    let layout = Layout::of(packet).unwrap_or_else(|| panic!("cut, but malformed"));
    assert_eq!(payload, packet[layout.transport..layout.length]);
}

/// The error is short enough and has a right checksum.
fn complain(packet: &[u8], error: IcmpError, policy: &Policy) {
    let mut buffer = [0xaa; LONGEST_V6];
    let Some(length) = icmp_error::build(packet, error, policy, &mut buffer) else {
        return;
    };
    let message = &buffer[..length];
    checked::assert_sound(message);
    assert_eq!(checked::transport(message), Checksum::Right, "{error:?}");
    assert!(message[0] >> 4 != 4 || length <= LONGEST_V4);
}

fn error(kind: u8, value: u16) -> IcmpError {
    match kind % 7 {
        0 => IcmpError::TimeExceeded,
        1 => IcmpError::TooBig(value),
        2 => IcmpError::SourceRouteFailed,
        3 => IcmpError::ParameterProblem(value.into()),
        4 => IcmpError::Prohibited,
        5 => IcmpError::AddressUnreachable,
        _ => IcmpError::PortUnreachable,
    }
}

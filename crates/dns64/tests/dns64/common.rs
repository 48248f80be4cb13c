//! Helpers of the tests: queries as a client writes them, and an upstream resolver that says what a
//! test wants it to. Messages are made and read by hickory-proto, not by the code under test.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::atomic::{AtomicU32, Ordering};

use hickory_proto::op::{Message, MessageType, OpCode, Query, ResponseCode};
use hickory_proto::rr::rdata::NULL;
use hickory_proto::rr::{Name, RData, Record, RecordType};
use isthmus_core::address::rfc6052::Prefix;
use isthmus_dns64::{Config, NonGlobal, Policy, Translation, Transport, respond};

/// The ID of all questions in tests without a socket.
pub(crate) const ID: u16 = 0x2b17;

/// The name that most tests ask for.
pub(crate) const WWW: &str = "www.example.";

pub(crate) fn name(text: &str) -> Name {
    Name::from_ascii(text).unwrap()
}

/// A record in the form `owner ttl type data`.
pub(crate) fn rr(text: &str) -> Record {
    let mut words = text.splitn(4, ' ');
    let mut word = || words.next().unwrap();
    let (owner, ttl, kind) = (
        name(word()),
        word().parse().unwrap(),
        word().parse().unwrap(),
    );
    Record::from_rdata(owner, ttl, RData::try_from_str(kind, word()).unwrap())
}

/// A record with data that the codec does not know.
pub(crate) fn raw(owner: &str, ttl: u32, kind: u16, data: &[u8]) -> Record {
    let rdata = NULL::with(data.to_vec());
    Record::from_rdata(
        name(owner),
        ttl,
        RData::Unknown {
            code: kind.into(),
            rdata,
        },
    )
}

/// The signature of records of one type: only the covered type is real.
pub(crate) fn rrsig(owner: &str, covered: RecordType) -> Record {
    let data = [
        &u16::from(covered).to_be_bytes()[..],
        &[13, 2, 0, 0, 1, 44],
        &[7; 80],
    ]
    .concat();
    raw(owner, 300, 46, &data)
}

/// A client's query.
#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) message: Message,
}

pub(crate) fn ask(owner: &str, kind: RecordType) -> Client {
    let mut message = Message::new(0x5a5a, MessageType::Query, OpCode::Query);
    message.metadata.recursion_desired = true;
    message.add_query(Query::query(name(owner), kind));
    Client { message }
}

impl Client {
    pub(crate) fn edns(mut self, size: u16) -> Self {
        let mut edns = self.message.edns.take().unwrap_or_default();
        edns.set_max_payload(size);
        self.message.set_edns(edns);
        self
    }

    pub(crate) fn dnssec_ok(mut self) -> Self {
        let mut edns = self.message.edns.take().unwrap_or_default();
        edns.set_dnssec_ok(true);
        self.message.set_edns(edns);
        self
    }

    pub(crate) fn checking_disabled(mut self) -> Self {
        self.message.metadata.checking_disabled = true;
        self
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.message.to_vec().unwrap()
    }
}

/// The answer of an upstream resolver to one question.
#[derive(Clone, Default)]
pub(crate) struct Says {
    pub(crate) code: Option<ResponseCode>,
    pub(crate) answers: Vec<Record>,
    pub(crate) authorities: Vec<Record>,
    pub(crate) additionals: Vec<Record>,
}

impl Says {
    pub(crate) fn answers(records: &[&str]) -> Self {
        Self {
            answers: records.iter().map(|text| rr(text)).collect(),
            ..Self::default()
        }
    }

    /// No data, with the SOA of `example.` and this TTL (and MINIMUM).
    pub(crate) fn no_data(ttl: u32) -> Self {
        let soa = format!("example. {ttl} SOA ns.example. admin.example. 1 2 3 4 {ttl}");
        Self {
            authorities: vec![rr(&soa)],
            ..Self::default()
        }
    }

    pub(crate) fn code(code: ResponseCode) -> Self {
        Self {
            code: Some(code),
            ..Self::default()
        }
    }

    pub(crate) fn with_code(mut self, code: ResponseCode) -> Self {
        self.code = Some(code);
        self
    }

    /// The reply to a question as it was sent.
    pub(crate) fn reply(&self, question: &[u8]) -> Vec<u8> {
        let mut message = Message::from_vec(question).unwrap().into_response();
        // Not the OPT of the question, with the cookie in it.
        message.edns = None;
        message.metadata.recursion_available = true;
        message.metadata.authentic_data = true;
        message.metadata.response_code = self.code.unwrap_or(ResponseCode::NoError);
        message.insert_answers(self.answers.clone());
        message.insert_authorities(self.authorities.clone());
        message.insert_additionals(self.additionals.clone());
        message.to_vec().unwrap()
    }
}

/// An upstream resolver by the book: what it says to each name and type. To what is not in the
/// book it does not reply.
#[derive(Clone, Default)]
pub(crate) struct Book {
    pub(crate) entries: Vec<(String, RecordType, Says)>,
    pub(crate) spelling: Spelling,
}

/// How a resolver spells the question in its replies.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Spelling {
    #[default]
    Kept,
    Lower,
}

impl Book {
    pub(crate) fn on(mut self, owner: &str, kind: RecordType, says: Says) -> Self {
        self.entries.push((owner.to_owned(), kind, says));
        self
    }

    /// The reply to a question as it was sent.
    pub(crate) fn reply(&self, question: &[u8]) -> Option<Vec<u8>> {
        let asked = Message::from_vec(question).unwrap().queries[0].clone();
        let mut reply = self
            .entries
            .iter()
            .find(|(owner, kind, _)| name(owner) == *asked.name() && *kind == asked.query_type())
            .map(|(_, _, says)| says.reply(question))?;
        if self.spelling == Spelling::Lower {
            let end = reply[12..].iter().position(|b| *b == 0).unwrap();
            reply[12..12 + end].make_ascii_lowercase();
        }
        Some(reply)
    }
}

/// All of IPv4 under `2001:db8:64::/96`, so that the examples' addresses are not refused as
/// non-global.
pub(crate) fn site() -> Config {
    Config {
        prefixes: vec![prefix("2001:db8:64::", 96)],
        ..Config::default()
    }
}

pub(crate) fn prefix(network: &str, length: u8) -> Translation {
    let mut translation = Translation::new(Prefix::new(network.parse().unwrap(), length).unwrap());
    translation.non_global = NonGlobal::Allow;
    translation
}

/// The usual case: no AAAA, one A.
pub(crate) fn v4_only() -> Book {
    Book::default()
        .on(WWW, RecordType::AAAA, Says::no_data(300))
        .on(
            WWW,
            RecordType::A,
            Says::answers(&["www.example. 3600 A 192.0.2.1"]),
        )
}

/// The response to a client over TCP, the questions that were asked upstream for it, or nothing.
pub(crate) fn exchange(config: &Config, client: &Client, book: &Book) -> (Message, Vec<String>) {
    let mut asked = Vec::new();
    let response = respond(
        &Policy::new(config),
        &client.bytes(),
        Transport::Tcp,
        ID,
        |ask| {
            let question = ask.encode(ID, &isthmus_dns64::Dialect::Edns);
            let message = Message::from_vec(&question).unwrap();
            asked.push(format!(
                "{} {}",
                message.queries[0].name(),
                message.queries[0].query_type()
            ));
            book.reply(&question)
        },
    );
    let message = Message::from_vec(&response.unwrap()).unwrap();
    assert_eq!(message.metadata.id, client.message.metadata.id);
    assert_eq!(message.metadata.message_type, MessageType::Response);
    assert!(message.metadata.recursion_available);
    assert!(!message.metadata.authentic_data, "we validate nothing");
    assert_eq!(message.queries, client.message.queries);
    (message, asked)
}

/// The AAAA addresses in the answer section, with their TTLs.
pub(crate) fn aaaa(message: &Message) -> Vec<(Ipv6Addr, u32)> {
    message
        .answers
        .iter()
        .filter_map(|record| match record.data {
            RData::AAAA(address) => Some((address.0, record.ttl)),
            _ => None,
        })
        .collect()
}

/// The A addresses in the answer section.
pub(crate) fn a(message: &Message) -> Vec<Ipv4Addr> {
    message
        .answers
        .iter()
        .filter_map(|record| match record.data {
            RData::A(address) => Some(address.0),
            _ => None,
        })
        .collect()
}

pub(crate) fn v6(text: &str) -> Ipv6Addr {
    text.parse().unwrap()
}

/// An address and port that nobody else has, now or later. A port that was free a moment ago may be the next socket's; the
/// kernel gives no socket one below 32768 unasked, and the address has the number of this process in it.
pub(crate) fn own_address() -> SocketAddr {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = std::process::id() * 8 + NEXT.fetch_add(1, Ordering::Relaxed) % 8;
    // 127.0.0.0 is left to those who share it.
    let [_, a, b, c] = (number % 0xff_fe00 + 0x100).to_be_bytes();
    SocketAddr::from(([127, a, b, c], 5300))
}

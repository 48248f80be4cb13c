//! The DNS gateway of NAT-PT (RFC 2766 section 4), for messages over UDP.
//!
//! - A question from inside for AAAA goes out as it is. If the answer has no address, the gateway asks for A in the
//!   host's name, and makes AAAA of the answer by the prefix (section 4.2).
//! - A question from outside for A goes in as one for AAAA. Each host in the answer gets an address of the pool, which
//!   goes out as A (section 4.1).
//! - Questions for the names of addresses (PTR) change tree, with the address that stands for the other one.
//!
//! An answer is rewritten only if its question was: the gateway remembers those for a few seconds.

mod asked;
mod records;
mod reverse;

use std::net::SocketAddrV6;
use std::sync::{Mutex, PoisonError};

use hickory_proto::op::{Message, MessageType, OpCode, Query, ResponseCode};
use hickory_proto::rr::{DNSClass, Name, Record, RecordType};

use crate::datagram::Datagram;
use crate::{Direction, Rewritten, Translator};
use asked::{Asked, Question};

/// The port of a name server (RFC 1035 section 4.2).
const PORT: u16 = 53;

/// Whether a packet is the gateway's.
#[must_use]
pub fn concerns(packet: &[u8]) -> bool {
    Datagram::read(packet).is_some_and(|datagram| {
        datagram.source().port() == PORT || datagram.destination().port() == PORT
    })
}

/// The gateway, with the questions that wait for their answers.
#[derive(Debug, Default)]
pub(crate) struct Gateway {
    /// Those of inside hosts, and those of strangers, apart: neither can make the other's be forgotten.
    asked: [Mutex<Asked>; 2],
}

/// What is to be done to the answer of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Task {
    /// AAAA went out as it was: if the answer is empty, A is asked.
    Await,
    /// A was asked in place of AAAA.
    Embed,
    /// AAAA was asked in place of A.
    Assign,
    /// The name of another address was asked.
    Rename,
}

impl Gateway {
    pub(crate) fn rewrite(
        &self,
        datagram: &Datagram<'_>,
        direction: Direction,
        now: u64,
        translator: &mut dyn Translator,
    ) -> Rewritten {
        let Ok(message) = Message::from_vec(datagram.payload) else {
            return Rewritten::Unchanged;
        };
        let one_question = message.queries.len() == 1 && message.metadata.op_code == OpCode::Query;
        if !one_question || message.queries[0].query_class() != DNSClass::IN {
            return Rewritten::Unchanged;
        }
        let rewritten = match message.metadata.message_type {
            MessageType::Query if datagram.destination().port() == PORT => {
                self.question(datagram, message, direction, now, translator)
            }
            MessageType::Response if datagram.source().port() == PORT => {
                self.answer(datagram, message, direction, now, translator)
            }
            _ => None,
        };
        rewritten.unwrap_or(Rewritten::Unchanged)
    }

    fn question(
        &self,
        datagram: &Datagram<'_>,
        mut message: Message,
        direction: Direction,
        now: u64,
        translator: &mut dyn Translator,
    ) -> Option<Rewritten> {
        let original = message.queries[0].clone();
        let (task, other) = match (original.query_type(), direction) {
            (RecordType::AAAA, Direction::Out) => (Task::Await, None),
            (RecordType::A, Direction::In) => {
                (Task::Assign, Some(of_type(&original, RecordType::AAAA)))
            }
            (RecordType::PTR, _) => {
                let name = reverse::other(original.name(), direction, translator)?;
                (Task::Rename, Some(of_name(&original, name)))
            }
            _ => return None,
        };
        let question = Question {
            asker: datagram.source(),
            server: datagram.destination(),
            id: message.metadata.id,
        };
        self.remember(direction, question, (task, original), now);
        message.queries[0] = other?;
        Some(Rewritten::Packet(datagram.with(&message.to_vec().ok()?)?))
    }

    /// `direction` is that of the answer.
    fn answer(
        &self,
        datagram: &Datagram<'_>,
        mut message: Message,
        direction: Direction,
        now: u64,
        translator: &mut dyn Translator,
    ) -> Option<Rewritten> {
        let asked = match direction {
            Direction::In => Direction::Out,
            Direction::Out => Direction::In,
        };
        let question = Question {
            asker: datagram.destination(),
            server: datagram.source(),
            id: message.metadata.id,
        };
        let (task, original) = self.recall(asked, &question, now)?;
        match task {
            Task::Await => {
                if !wants_a(&message) {
                    return None;
                }
                self.remember(asked, question, (Task::Embed, original.clone()), now);
                return Some(Rewritten::Back(ask_for_a(datagram, &message, &original)?));
            }
            Task::Embed => records::embed(&mut message, &translator.prefix()),
            Task::Assign => records::assign(
                &mut message,
                v4_of(datagram.destination(), translator)?,
                translator,
            ),
            Task::Rename => records::rename(&mut message, original.name()),
        }
        message.queries[0] = original;
        // What was signed is no longer what is sent (RFC 2766 section 7.5).
        message.metadata.authentic_data = false;
        Some(Rewritten::Packet(datagram.with(&message.to_vec().ok()?)?))
    }

    fn remember(&self, asked: Direction, question: Question, what: (Task, Query), now: u64) {
        self.of(asked).insert(question, what, now);
    }

    fn recall(&self, asked: Direction, question: &Question, now: u64) -> Option<(Task, Query)> {
        self.of(asked).take(question, now)
    }

    /// The questions of one side.
    fn of(&self, asked: Direction) -> std::sync::MutexGuard<'_, Asked> {
        let asked = &self.asked[usize::from(asked == Direction::In)];
        asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The IPv4 host that an address under the prefix stands for.
fn v4_of(host: SocketAddrV6, translator: &dyn Translator) -> Option<std::net::Ipv4Addr> {
    translator
        .prefix()
        .extract((*host.ip()).into())
        .map(Into::into)
}

/// Whether an answer about AAAA leaves room for A: it has no address, and not because the name is not there. Some name
/// servers answer with an error where they have no AAAA records (RFC 4074).
fn wants_a(answer: &Message) -> bool {
    let of_v6 = |record: &Record| record.record_type() == RecordType::AAAA;
    let metadata = &answer.metadata;
    metadata.response_code != ResponseCode::NXDomain
        && !metadata.truncation
        && !answer.answers.iter().any(of_v6)
}

/// The question for A that follows an empty answer, from the host that asked for AAAA.
fn ask_for_a(datagram: &Datagram<'_>, answer: &Message, original: &Query) -> Option<Vec<u8>> {
    let mut message = Message::new(answer.metadata.id, MessageType::Query, OpCode::Query);
    message.metadata.recursion_desired = answer.metadata.recursion_desired;
    message.edns.clone_from(&answer.edns);
    message.queries.push(of_type(original, RecordType::A));
    datagram.back(&message.to_vec().ok()?)
}

/// The same question for another type.
fn of_type(question: &Query, record: RecordType) -> Query {
    let mut other = question.clone();
    other.set_query_type(record);
    other
}

/// The same question for another name.
fn of_name(question: &Query, name: Name) -> Query {
    let mut other = question.clone();
    other.set_name(name);
    other
}

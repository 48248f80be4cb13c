//! From a client's query to its answer, one upstream reply at a time (RFC 6147 section 5).
//!
//! It has no socket and no clock: [`Resolution::begin`] and [`Resolution::proceed`] return the next question, or the
//! answer. The caller asks, and passes in the reply or its absence.

use std::sync::Arc;

use hickory_proto::op::{Message, OpCode, Query as Question, ResponseCode};
use hickory_proto::rr::rdata::CNAME;
use hickory_proto::rr::{Name, RData, Record, RecordType};
use hickory_proto::serialize::binary::{BinDecodable, BinDecoder};

use crate::answer::{Answer, Authority};
use crate::ask::{Ask, Reply};
use crate::chain::{Chain, Progress, Reached};
use crate::counter::{Counter, Counters};
use crate::policy::Policy;
use crate::query::Query;
use crate::reverse;
use crate::wire::{self, kind, rcode};

/// RFC 6147 section 5.1.7: the TTL of synthesized records where no SOA says otherwise, in seconds.
const TTL_WITHOUT_SOA: u32 = 600;
/// Questions asked for one client at most.
const ASKS_MAX: u32 = 12;

/// The next step.
#[derive(Debug)]
pub(crate) enum Step {
    Ask(Ask),
    Done(Answer),
}

/// How much of the time for a client's question one question upstream may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hurry {
    TakeAll,
    LeaveHalf,
}

/// The goal of a resolution.
enum Stage {
    /// Whatever upstream says.
    Pass,
    /// AAAA records (RFC 6147 section 5.1).
    Aaaa(Chain),
    /// A records to synthesize from (RFC 6147 section 5.1.6).
    A { chain: Chain, basis: Basis },
    /// The name of an IPv4 address (RFC 6147 section 5.3.1).
    Ptr(Chain),
}

/// The outcome of the AAAA question.
struct Basis {
    /// Seconds that its negative answer allows a synthesized record.
    ttl: u32,
    /// The empty answer itself, if it was one.
    empty: Option<Answer>,
}

impl Basis {
    /// RFC 6147 sections 5.1.2 to 5.1.4: an error, or only excluded records, count as empty.
    fn nothing() -> Self {
        Self {
            ttl: TTL_WITHOUT_SOA,
            empty: None,
        }
    }
}

/// A query that is being resolved.
pub(crate) struct Resolution {
    policy: Arc<Policy>,
    counters: Arc<Counters>,
    query: Query,
    name: Name,
    stage: Stage,
    asks: u32,
}

impl Resolution {
    /// Begins the resolution of a query. Returns it with the first question.
    pub(crate) fn begin(policy: Arc<Policy>, counters: Arc<Counters>, query: Query) -> (Self, Ask) {
        let name = Name::read(&mut BinDecoder::new(query.name())).unwrap_or_default();
        let mut ask = Ask::same(&query);
        // RFC 6147 section 5.1: no DNS64 for classes other than IN.
        let stage = match query.kind() {
            _ if query.class() != kind::CLASS_IN => Stage::Pass,
            // RFC 6147 sections 3 (case 4) and 5.5 (item 3): the client validates and translates.
            kind::AAAA if query.dnssec_ok() && query.checking_disabled() => {
                counters.count(Counter::DnssecPassed);
                Stage::Pass
            }
            kind::AAAA => Stage::Aaaa(Chain::new(name.clone())),
            kind::PTR => {
                match reverse::ip6_arpa(query.name()).and_then(|a| policy.represented(a)) {
                    Some(address) => {
                        let reverse = reverse::in_addr_arpa(address);
                        ask = Ask::other(&query, &reverse, kind::PTR);
                        Stage::Ptr(Chain::new(reverse))
                    }
                    None => Stage::Pass,
                }
            }
            _ => Stage::Pass,
        };
        (
            Self {
                policy,
                counters,
                query,
                name,
                stage,
                asks: 1,
            },
            ask,
        )
    }

    /// Whether the question of now may take all the time that there is, or another one follows
    /// even if it gets no reply (RFC 6147 section 5.1.3).
    pub(crate) fn hurry(&self) -> Hurry {
        match self.stage {
            Stage::Aaaa(_) => Hurry::LeaveHalf,
            _ => Hurry::TakeAll,
        }
    }

    /// Takes the reply to the last question; `None` if there was none in time.
    pub(crate) fn proceed(&mut self, reply: Option<Reply>) -> Step {
        let step = match std::mem::replace(&mut self.stage, Stage::Pass) {
            Stage::Pass => match reply {
                Some(reply) => self.pass(reply),
                None => self.fail(),
            },
            Stage::Aaaa(chain) => self.aaaa(chain, reply),
            Stage::A { chain, basis } => self.a(chain, basis, reply),
            Stage::Ptr(chain) => self.ptr(chain, reply),
        };
        match step {
            Step::Ask(_) if self.asks >= ASKS_MAX => self.broken(),
            Step::Ask(ask) => {
                self.asks += 1;
                Step::Ask(ask)
            }
            done => done,
        }
    }

    /// RFC 6147 section 5.1: real AAAA records first.
    fn aaaa(&mut self, mut chain: Chain, reply: Option<Reply>) -> Step {
        let Some((reply, message)) = readable(reply) else {
            return self.ask_a(Basis::nothing());
        };
        // RFC 6147 section 5.1.2: NXDOMAIN as usual, other errors as if empty.
        if !matches!(reply.rcode, rcode::NOERROR | rcode::NXDOMAIN) {
            return self.ask_a(Basis::nothing());
        }
        match chain.follow(&message.answers, RecordType::AAAA) {
            Reached::Broken => self.broken(),
            _ if reply.rcode == rcode::NXDOMAIN => self.hand_on(reply, &chain, message),
            Reached::Data {
                records,
                signatures,
            } => {
                let usable: Vec<_> = records
                    .iter()
                    .filter(
                        |r| !matches!(r.data, RData::AAAA(aaaa) if self.policy.excludes(aaaa.0)),
                    )
                    .cloned()
                    .collect();
                let excluded = records.len() - usable.len();
                let on_chain = chain.links.len() + records.len() + signatures.len();
                let nothing_else = on_chain == message.answers.len();
                self.counters.add(Counter::ExcludedAaaa, excluded as u64);
                match (usable.len(), excluded) {
                    (0, _) => self.ask_a(Basis::nothing()),
                    (_, 0) if self.asks == 1 && nothing_else => self.pass(reply),
                    (_, 0) => {
                        let data = [records, signatures].concat();
                        self.assemble(&chain, data, message, ResponseCode::NoError)
                    }
                    // RFC 6147 section 5.1.4. The signatures cover records that are left out.
                    _ => self.assemble(&chain, usable, message, ResponseCode::NoError),
                }
            }
            Reached::Nothing(progress) => {
                if let Some(ask) = self.unfinished(&chain, progress, &message, kind::AAAA) {
                    self.stage = Stage::Aaaa(chain);
                    return Step::Ask(ask);
                }
                let ttl = soa_ttl(&message).unwrap_or(TTL_WITHOUT_SOA);
                let empty = match self.hand_on(reply, &chain, message) {
                    Step::Done(answer) => Some(answer),
                    Step::Ask(_) => None,
                };
                self.ask_a(Basis { ttl, empty })
            }
        }
    }

    /// RFC 6147 section 5.1.6.
    fn ask_a(&mut self, basis: Basis) -> Step {
        self.stage = Stage::A {
            chain: Chain::new(self.name.clone()),
            basis,
        };
        Step::Ask(Ask::other(&self.query, &self.name, kind::A))
    }

    /// RFC 6147 sections 5.1.6, 5.1.7 and 5.4.
    fn a(&mut self, mut chain: Chain, basis: Basis, reply: Option<Reply>) -> Step {
        let Some((reply, message)) = readable(reply) else {
            return self.fail();
        };
        let code = ResponseCode::from_low(reply.rcode as u8);
        match chain.follow(&message.answers, RecordType::A) {
            Reached::Broken => self.broken(),
            Reached::Data { records, .. } if reply.rcode == rcode::NOERROR => {
                let (synthesized, skipped) = self.policy.synthesize(&records, basis.ttl);
                self.counters.add(Counter::ExcludedA, skipped);
                match (synthesized.is_empty(), basis.empty) {
                    (true, Some(empty)) => Step::Done(empty),
                    (true, None) => self.assemble(&chain, Vec::new(), message, code),
                    (false, _) => {
                        self.counters.count(Counter::Synthesized);
                        self.assemble(&chain, synthesized, message, code)
                    }
                }
            }
            Reached::Nothing(progress) if reply.rcode == rcode::NOERROR => {
                if let Some(ask) = self.unfinished(&chain, progress, &message, kind::A) {
                    self.stage = Stage::A { chain, basis };
                    return Step::Ask(ask);
                }
                match basis.empty {
                    Some(empty) => Step::Done(empty),
                    None => self.assemble(&chain, Vec::new(), message, code),
                }
            }
            _ => self.assemble(&chain, Vec::new(), message, code),
        }
    }

    /// RFC 6147 section 5.3.1, the second option: a CNAME to where the PTR record really is. It
    /// points to the end of a chain that may be there, so that it makes no chain longer, and is
    /// left out when it would point to nothing.
    fn ptr(&mut self, mut chain: Chain, reply: Option<Reply>) -> Step {
        let Some((reply, message)) = readable(reply) else {
            return self.fail();
        };
        let code = ResponseCode::from_low(reply.rcode as u8);
        match chain.follow(&message.answers, RecordType::PTR) {
            Reached::Broken => self.broken(),
            Reached::Data {
                records,
                signatures,
            } if reply.rcode == rcode::NOERROR => {
                let ttl = records.iter().chain(&chain.links).map(|r| r.ttl).min();
                let data = RData::CNAME(CNAME(chain.end.clone()));
                let cname = Record::from_rdata(self.name.clone(), ttl.unwrap_or_default(), data);
                chain.links = vec![cname];
                self.counters.count(Counter::SynthesizedPtr);
                self.assemble(&chain, [records, signatures].concat(), message, code)
            }
            Reached::Nothing(progress) if reply.rcode == rcode::NOERROR => {
                if let Some(ask) = self.unfinished(&chain, progress, &message, kind::PTR) {
                    self.stage = Stage::Ptr(chain);
                    return Step::Ask(ask);
                }
                chain.links.clear();
                self.assemble(&chain, Vec::new(), message, code)
            }
            _ => {
                chain.links.clear();
                self.assemble(&chain, Vec::new(), message, code)
            }
        }
    }

    /// The next question when an answer ends in an alias without the records of its target: the
    /// upstream does not follow chains itself (RFC 6147 section 5.1.5).
    fn unfinished(
        &self,
        chain: &Chain,
        progress: Progress,
        message: &Message,
        kind: u16,
    ) -> Option<Ask> {
        let open = progress == Progress::Further && soa_ttl(message).is_none();
        open.then(|| Ask::other(&self.query, &chain.end, kind))
    }

    /// The reply as it is, if it answers the client's own question; else put together anew.
    fn hand_on(&mut self, reply: Reply, chain: &Chain, message: Message) -> Step {
        if self.asks == 1 {
            return self.pass(reply);
        }
        let code = ResponseCode::from_low(reply.rcode as u8);
        self.assemble(chain, Vec::new(), message, code)
    }

    /// RFC 6147 section 5.3.3: all other records unchanged.
    fn pass(&self, reply: Reply) -> Step {
        if reply.rcode > 15 {
            return self.fail();
        }
        match Answer::keep(reply.wire, Authority::None) {
            Some(answer) => Step::Done(answer),
            None => self.fail(),
        }
    }

    /// RFC 6147 section 5.4: the client's question, the chain and what was found, and the other
    /// sections of the last reply (section 5.3.2: the additional one unchanged).
    fn assemble(
        &self,
        chain: &Chain,
        data: Vec<Record>,
        last: Message,
        code: ResponseCode,
    ) -> Step {
        let mut message = Message::response(0, OpCode::Query);
        message.metadata.response_code = code;
        message.add_query(Question::query(self.name.clone(), self.query.kind().into()));
        message.insert_answers(chain.links.iter().cloned().chain(data).collect());
        message.insert_authorities(last.authorities);
        message.insert_additionals(last.additionals);
        let keep = |message: &Message| {
            message
                .to_vec()
                .ok()
                .and_then(|wire| Answer::keep(wire, Authority::None))
        };
        // Synthesis may make too large what was just not; what the client did not ask for goes.
        let answer = keep(&message).or_else(|| {
            message.insert_additionals(Vec::new());
            message.insert_authorities(Vec::new());
            keep(&message)
        });
        answer.map_or_else(|| self.fail(), Step::Done)
    }

    fn broken(&self) -> Step {
        self.counters.count(Counter::BrokenChain);
        Step::Done(Answer::empty(&self.query, rcode::SERVFAIL))
    }

    fn fail(&self) -> Step {
        self.counters.count(Counter::ServerFailure);
        Step::Done(Answer::empty(&self.query, rcode::SERVFAIL))
    }
}

/// A reply and its records; `None` if there is none or the records cannot be read, which counts
/// as a failure of the server (RFC 6147 section 5.1.3).
fn readable(reply: Option<Reply>) -> Option<(Reply, Message)> {
    let reply = reply.filter(|reply| reply.rcode <= 15)?;
    let message = Message::from_vec(&reply.wire).ok()?;
    Some((reply, message))
}

/// The TTL of the SOA record that came with a negative answer (RFC 6147 section 5.1.7).
fn soa_ttl(message: &Message) -> Option<u32> {
    message
        .authorities
        .iter()
        .find(|record| record.record_type() == RecordType::SOA)
        .map(|record| wire::ttl(record.ttl))
}

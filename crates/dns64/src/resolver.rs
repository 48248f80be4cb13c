//! Addresses of names, for other services of the gateway: asked of the same resolvers with the same care, and
//! nothing synthesized.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::ask::{Ask, Reply};
use crate::config::Config;
use crate::counter::Counters;
use crate::upstream::Upstreams;
use crate::wire::{self, Layout, Section, kind, rcode};

/// Names that are remembered, each with one family.
const MOST_KEPT: usize = 4_096;
/// No answer is remembered for longer.
const LONGEST: Duration = Duration::from_secs(3_600);
/// Nor is a negative one.
const LONGEST_NEGATIVE: Duration = Duration::from_secs(60);
/// Aliases on the way to an address.
const MOST_ALIASES: usize = 16;
/// The type of an alias.
const CNAME: u16 = 5;

/// The family of the addresses that are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// A records.
    V4,
    /// AAAA records.
    V6,
}

/// Why a name has no address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoAddress {
    /// It cannot be asked for.
    #[error("it is no name of the DNS")]
    NotAName,
    /// The DNS says that there is none.
    #[error("the DNS has no address for it")]
    Nothing,
    /// The resolvers answered with an error.
    #[error("the resolvers cannot say")]
    Failed,
    /// No resolver answered.
    #[error("no resolver answered")]
    Silence,
}

/// Asks resolvers for addresses, and remembers what they said for as long as they said.
pub struct Resolver {
    upstreams: Upstreams,
    deadline: Duration,
    kept: Mutex<Answers>,
}

/// Answers by name and family.
type Answers = HashMap<(Box<[u8]>, Family), Kept>;

#[derive(Clone, Debug)]
struct Kept {
    answer: Result<Vec<IpAddr>, NoAddress>,
    until: Instant,
}

impl Resolver {
    /// A resolver that asks these, in this order.
    #[must_use]
    pub fn new(resolvers: &[SocketAddr]) -> Self {
        let Config {
            upstream_timeout,
            deadline,
            ..
        } = Config::default();
        Self {
            upstreams: Upstreams::new(resolvers, upstream_timeout, Arc::new(Counters::default())),
            deadline,
            kept: Mutex::default(),
        }
    }

    /// The addresses of a name, at least one, in the order of the reply.
    ///
    /// # Errors
    /// See [`NoAddress`].
    pub async fn addresses(&self, name: &str, family: Family) -> Result<Vec<IpAddr>, NoAddress> {
        let name = encode(name).ok_or(NoAddress::NotAName)?;
        let key = (name.clone().into_boxed_slice(), family);
        let now = Instant::now();
        if let Some(kept) = self.kept().get(&key)
            && kept.until > now
        {
            return kept.answer.clone();
        }
        let ask = Ask::plain(&name, family.kind());
        let reply = self.upstreams.exchange(&ask, now + self.deadline).await;
        let (answer, ttl) = read(&reply.ok_or(NoAddress::Silence)?, &name, family);
        if !ttl.is_zero() {
            self.keep(key, answer.clone(), now + ttl);
        }
        answer
    }

    fn kept(&self) -> MutexGuard<'_, Answers> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep(
        &self,
        key: (Box<[u8]>, Family),
        answer: Result<Vec<IpAddr>, NoAddress>,
        until: Instant,
    ) {
        let mut kept = self.kept();
        if kept.len() >= MOST_KEPT {
            let now = Instant::now();
            kept.retain(|_, kept| kept.until > now);
        }
        if kept.len() >= MOST_KEPT {
            kept.clear();
        }
        kept.insert(key, Kept { answer, until });
    }
}

impl Family {
    fn kind(self) -> u16 {
        match self {
            Self::V4 => kind::A,
            Self::V6 => kind::AAAA,
        }
    }

    fn address(self, data: &[u8]) -> Option<IpAddr> {
        Some(match self {
            Self::V4 => Ipv4Addr::from(<[u8; 4]>::try_from(data).ok()?).into(),
            Self::V6 => Ipv6Addr::from(<[u8; 16]>::try_from(data).ok()?).into(),
        })
    }
}

/// The name as in a message, in lower case; `None` if it cannot be one.
fn encode(name: &str) -> Option<Vec<u8>> {
    let name = name.strip_suffix('.').unwrap_or(name);
    let mut wire = Vec::with_capacity(name.len() + 2);
    for label in name.split('.') {
        if !(1..=63).contains(&label.len()) {
            return None;
        }
        wire.push(label.len() as u8);
        wire.extend(label.bytes().map(|byte| byte.to_ascii_lowercase()));
    }
    wire.push(0);
    (wire.len() <= wire::NAME_MAX).then_some(wire)
}

/// The addresses of a reply at the end of the chain of aliases, and how long they hold.
fn read(reply: &Reply, name: &[u8], family: Family) -> (Result<Vec<IpAddr>, NoAddress>, Duration) {
    if !matches!(reply.rcode, rcode::NOERROR | rcode::NXDOMAIN) {
        return (Err(NoAddress::Failed), Duration::ZERO);
    }
    let Some(layout) = Layout::of(&reply.wire) else {
        return (Err(NoAddress::Failed), Duration::ZERO);
    };
    let mut ttl = LONGEST;
    let mut owner = name.to_vec();
    let mut addresses = Vec::new();
    for _ in 0..MOST_ALIASES {
        let mut alias = None;
        for record in &layout.records {
            let mut of = Vec::new();
            let read = wire::read_name(&reply.wire, record.begin, &mut of);
            if read.is_none() || of != owner || record.section != Section::Answer {
                continue;
            }
            let lifetime = wire::ttl_at(&reply.wire, record.ttl_at).unwrap_or_default();
            let lifetime = Duration::from_secs(lifetime.into());
            let data = reply.wire.get(record.rdata.clone()).unwrap_or_default();
            if record.kind == family.kind() {
                addresses.extend(family.address(data));
                ttl = ttl.min(lifetime);
            } else if record.kind == CNAME {
                let mut next = Vec::new();
                if wire::read_name(&reply.wire, record.rdata.start, &mut next).is_some() {
                    alias = Some(next);
                    ttl = ttl.min(lifetime);
                }
            }
        }
        match alias {
            Some(next) if addresses.is_empty() => owner = next,
            _ => break,
        }
    }
    if !addresses.is_empty() {
        return (Ok(addresses), ttl);
    }
    let mut authority = layout.records.iter();
    let soa = authority.find(|r| r.kind == kind::SOA && r.section == Section::Authority);
    let negative = soa.and_then(|soa| wire::negative_ttl(&reply.wire, soa));
    let negative = Duration::from_secs(negative.unwrap_or_default().into());
    (
        Err(NoAddress::Nothing),
        negative.min(ttl).min(LONGEST_NEGATIVE),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ask::Dialect;
    use hickory_proto::op::{Message, MessageType, ResponseCode};
    use hickory_proto::rr::rdata::{A, CNAME as Alias, SOA};
    use hickory_proto::rr::{Name, RData, Record};

    fn name(text: &str) -> Name {
        Name::from_ascii(text).unwrap()
    }

    /// The reading of a reply that hickory-proto made.
    fn of(change: impl FnOnce(&mut Message)) -> (Result<Vec<IpAddr>, NoAddress>, Duration) {
        let wire = encode("www.example.org").unwrap();
        let ask = Ask::plain(&wire, kind::A);
        let mut message = Message::from_vec(&ask.encode(7, &Dialect::Plain)).unwrap();
        message.metadata.message_type = MessageType::Response;
        change(&mut message);
        let reply = ask.accept(7, &message.to_vec().unwrap()).unwrap();
        read(&reply, &wire, Family::V4)
    }

    fn a(owner: &str, ttl: u32, address: &str) -> Record {
        let address: Ipv4Addr = address.parse().unwrap();
        Record::from_rdata(name(owner), ttl, RData::A(A(address)))
    }

    #[test]
    fn addresses_are_at_the_end_of_the_chain() {
        let (found, ttl) = of(|message| {
            let alias = RData::CNAME(Alias(name("host.example.net.")));
            message.add_answer(Record::from_rdata(name("WWW.example.org."), 30, alias));
            message.add_answer(a("host.example.net.", 60, "192.0.2.7"));
            message.add_answer(a("elsewhere.example.", 1, "192.0.2.66"));
            message.add_additional(a("host.example.net.", 1, "192.0.2.67"));
        });
        assert_eq!(found, Ok(vec!["192.0.2.7".parse().unwrap()]));
        assert_eq!(ttl, Duration::from_secs(30));
    }

    #[test]
    fn aliases_in_a_circle_end() {
        let (found, _) = of(|message| {
            let alias = RData::CNAME(Alias(name("www.example.org.")));
            message.add_answer(Record::from_rdata(name("www.example.org."), 30, alias));
        });
        assert_eq!(found, Err(NoAddress::Nothing));
    }

    #[test]
    fn rfc2308_5_nothing_holds_as_long_as_its_soa() {
        let (found, ttl) = of(|message| {
            message.metadata.response_code = ResponseCode::NXDomain;
            let soa = RData::SOA(SOA::new(name("a."), name("b."), 1, 2, 3, 4, 20));
            message.add_authority(Record::from_rdata(name("org."), 900, soa));
        });
        assert_eq!(
            (found, ttl),
            (Err(NoAddress::Nothing), Duration::from_secs(20))
        );
    }

    #[test]
    fn names_that_are_none() {
        let long = "a".repeat(64);
        for text in ["", ".", "a..b", ".a", long.as_str(), &"a.".repeat(128)] {
            assert_eq!(encode(text), None, "{text:?}");
        }
        assert_eq!(encode("A.b."), Some(b"\x01a\x01b\0".to_vec()));
    }
}

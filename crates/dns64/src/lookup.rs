//! The other side of RFC 7050: asking resolvers for the AAAA records of `ipv4only.arpa`, in whose
//! addresses a DNS64 shows its prefix.

use std::net::{Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::ask::{Ask, Reply};
use crate::config::Config;
use crate::counter::Counters;
use crate::special::IPV4ONLY;
use crate::upstream::Upstreams;
use crate::wire::{self, Layout, Section, kind, rcode};

/// The answers of resolvers about the name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ipv4Only {
    /// Its IPv6 addresses, in the order of the reply; at least one.
    Addresses {
        /// The addresses.
        addresses: Vec<Ipv6Addr>,
        /// For how long they hold.
        ttl: Duration,
    },
    /// That it has none: there is no DNS64.
    Nothing {
        /// The time for which that holds, if the reply has it (RFC 2308 section 5).
        ttl: Option<Duration>,
    },
}

/// Asks resolvers, one after the other, for the IPv6 addresses of `ipv4only.arpa`. Checking is not
/// disabled, for no DNS64 would synthesize then (RFC 7050 section 3). `None`: none of them replied, or
/// none without an error of its own.
pub async fn ipv4only(resolvers: &[SocketAddr]) -> Option<Ipv4Only> {
    let Config {
        upstream_timeout,
        deadline,
        ..
    } = Config::default();
    let upstreams = Upstreams::new(resolvers, upstream_timeout, Arc::new(Counters::default()));
    let ask = Ask::plain(IPV4ONLY, kind::AAAA);
    let reply = upstreams.exchange(&ask, Instant::now() + deadline).await?;
    read(&reply)
}

fn read(reply: &Reply) -> Option<Ipv4Only> {
    if !matches!(reply.rcode, rcode::NOERROR | rcode::NXDOMAIN) {
        return None;
    }
    let layout = Layout::of(&reply.wire)?;
    let mut addresses = Vec::new();
    let mut ttl = u32::MAX;
    for record in &layout.records {
        let mut owner = Vec::new();
        wire::read_name(&reply.wire, record.begin, &mut owner)?;
        let data = reply.wire.get(record.rdata.clone())?;
        if record.section != Section::Answer || record.kind != kind::AAAA || owner != IPV4ONLY {
            continue;
        }
        addresses.push(Ipv6Addr::from(<[u8; 16]>::try_from(data).ok()?));
        ttl = ttl.min(wire::ttl_at(&reply.wire, record.ttl_at)?);
    }
    if !addresses.is_empty() {
        let ttl = Duration::from_secs(ttl.into());
        return Some(Ipv4Only::Addresses { addresses, ttl });
    }
    let mut authority = layout.records.iter();
    let soa = authority.find(|r| r.kind == kind::SOA && r.section == Section::Authority);
    let ttl = soa.and_then(|soa| wire::negative_ttl(&reply.wire, soa));
    Some(Ipv4Only::Nothing {
        ttl: ttl.map(|seconds| Duration::from_secs(seconds.into())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ask::Dialect;
    use hickory_proto::op::{Message, ResponseCode};
    use hickory_proto::rr::rdata::{AAAA, SOA};
    use hickory_proto::rr::{Name, RData, Record};

    fn name(text: &str) -> Name {
        Name::from_ascii(text).unwrap()
    }

    fn aaaa(owner: &str, ttl: u32, address: &str) -> Record {
        let address: Ipv6Addr = address.parse().unwrap();
        Record::from_rdata(name(owner), ttl, RData::AAAA(AAAA(address)))
    }

    /// The reading of a reply that hickory-proto made.
    fn of(change: impl FnOnce(&mut Message)) -> Option<Ipv4Only> {
        let ask = Ask::plain(IPV4ONLY, kind::AAAA);
        let mut message = Message::from_vec(&ask.encode(7, &Dialect::Plain)).unwrap();
        // RFC 7050 section 3: with CD set no DNS64 would synthesize.
        assert!(!message.metadata.checking_disabled);
        message.metadata.message_type = hickory_proto::op::MessageType::Response;
        change(&mut message);
        read(&ask.accept(7, &message.to_vec().unwrap()).unwrap())
    }

    #[test]
    fn rfc7050_3_addresses_with_the_least_ttl() {
        let found = of(|message| {
            message.add_answer(aaaa("ipv4only.arpa.", 600, "64:ff9b::192.0.0.170"));
            message.add_answer(aaaa("IPv4only.arpa.", 300, "64:ff9b::192.0.0.171"));
            message.add_answer(aaaa("elsewhere.arpa.", 1, "2001:db8::192.0.0.171"));
            message.add_additional(aaaa("ipv4only.arpa.", 2, "2001:db8::192.0.0.170"));
        });
        let addresses = ["64:ff9b::192.0.0.170", "64:ff9b::192.0.0.171"];
        let expected = Ipv4Only::Addresses {
            addresses: addresses.map(|text| text.parse().unwrap()).to_vec(),
            ttl: Duration::from_secs(300),
        };
        assert_eq!(found, Some(expected));
    }

    /// RFC 7050 section 3: the TTL of a negative response holds, which RFC 2308 section 5 defines.
    #[test]
    fn rfc7050_3_a_negative_response() {
        let soa = SOA::new(name("a."), name("b."), 1, 2, 3, 4, 60);
        for code in [ResponseCode::NXDomain, ResponseCode::NoError] {
            let found = of(|message| {
                message.metadata.response_code = code;
                let soa = RData::SOA(soa.clone());
                message.add_authority(Record::from_rdata(name("arpa."), 900, soa));
            });
            let ttl = Some(Duration::from_secs(60));
            assert_eq!(found, Some(Ipv4Only::Nothing { ttl }));
        }
        assert_eq!(of(|_| ()), Some(Ipv4Only::Nothing { ttl: None }));
    }

    #[test]
    fn an_error_tells_nothing() {
        let found = of(|message| message.metadata.response_code = ResponseCode::ServFail);
        assert_eq!(found, None);
    }
}

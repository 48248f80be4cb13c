//! The ports of an instance, for hosts that ask for them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddrV4};
use std::sync::Arc;

use isthmus_core::address::{V4, V6};
use isthmus_core::host::{Destination, Host as CoreHost, Route, Thorough};
use isthmus_core::mechanism::Hosts;
use isthmus_core::nat::{self, Endpoint4, Held};
use isthmus_core::reason::Counter;
use isthmus_core::table::Line;
use isthmus_core::time::Instant;
use isthmus_core::verdict::{Refusal, Slow};
use isthmus_engine::counters::{Counters, Owner};
use isthmus_engine::memory::Region;
use isthmus_pcp::{
    CLIENT_PORT, Granted, Host, Internal, Lasting, Ports, Protocol, Refused, SERVER_PORT, Wish,
};

use super::super::clock;
use super::super::tables::Table;

/// The ports that an instance has to give.
pub(super) struct NatPorts {
    state: Arc<Region>,
    counters: Arc<Counters>,
    table: Table,
}

impl NatPorts {
    pub(super) fn new(state: &Arc<Region>, counters: &Arc<Counters>, table: &Table) -> Self {
        Self {
            state: Arc::clone(state),
            counters: Arc::clone(counters),
            table: table.clone(),
        }
    }

    /// Counts for the number that the instance has now.
    pub(super) fn renumber(&mut self, now: &Self) {
        self.table.number = now.table.number;
    }

    /// An internal endpoint as the tables have it; `None` if it is not one of this instance's hosts.
    fn inside(&self, host: &Host, port: u16) -> Option<nat::Inside> {
        let hosts = &self.table.hosts;
        let (address, v4) = match (hosts, host) {
            (Hosts::V6(_), Host::Plain(IpAddr::V6(address))) => ((*address).into(), V4::default()),
            (Hosts::V4(_), Host::Plain(IpAddr::V4(address))) => (V6::default(), (*address).into()),
            (Hosts::Softwires { .. }, Host::Softwire { customer, address }) => {
                ((*customer).into(), (*address).into())
            }
            _ => return None,
        };
        let inside = nat::Inside { address, v4, port };
        hosts.admit(&inside).then_some(inside)
    }

    fn release(&self, protocol: Protocol, inside: &nat::Inside, outside: Endpoint4) {
        nat::release(
            &*self.state,
            &self.table.config,
            number(protocol),
            inside,
            outside,
        );
    }
}

impl Ports for NatPorts {
    fn address(&self, host: &Host) -> Option<Ipv4Addr> {
        let inside = self.inside(host, 0)?;
        nat::address_of(&self.table.config, &inside, nat::Protocol::Udp).map(Into::into)
    }

    fn subscriber(&self, host: &Host) -> IpAddr {
        let subscriber = self
            .inside(host, 0)
            .map(|inside| nat::subscriber_of(&self.table.config, &inside));
        match (host, subscriber) {
            (Host::Plain(IpAddr::V6(_)), Some(subscriber)) => {
                Ipv6Addr::from(subscriber.address).into()
            }
            (Host::Plain(address), _) => *address,
            (Host::Softwire { customer, .. }, _) => (*customer).into(),
        }
    }

    /// Half of the ports of one protocol.
    fn most(&self) -> usize {
        usize::try_from(self.table.config.pool.ports() / 2).unwrap_or(usize::MAX)
    }

    fn has_softwires(&self) -> bool {
        matches!(self.table.hosts, Hosts::Softwires { .. })
    }

    fn configured(&self, internal: &Internal) -> Option<SocketAddrV4> {
        let inside = self.inside(&internal.host, internal.port)?;
        let protocol = number(internal.protocol);
        let mut fixed = self.table.fixed.iter();
        let fixed = fixed.find(|fixed| fixed.protocol == protocol && fixed.inside == inside)?;
        Some(socket(fixed.outside))
    }

    fn map(&mut self, internal: &Internal, wish: Wish) -> Result<Granted, Refused> {
        let inside = self
            .inside(&internal.host, internal.port)
            .ok_or(Refused::Stranger)?;
        let protocol = number(internal.protocol);
        let config = self.table.config;
        let wanted = match wish {
            Wish::Any => None,
            Wish::Rather(wanted) | Wish::Only(wanted) => {
                let address = match *wanted.ip() {
                    Ipv4Addr::UNSPECIFIED => nat::address_of(&config, &inside, protocol),
                    address => Some(address.into()),
                };
                let port = wanted.port();
                address
                    .filter(|_| port != 0)
                    .map(|address| Endpoint4 { address, port })
            }
        };
        let held = nat::hold(&mut Asking(self), &config, protocol, &inside, wanted);
        let (outside, lasting) = match held.map_err(refused)? {
            Held::Now(outside) => (outside, Lasting::Held),
            Held::Before(outside) => (outside, Lasting::Static),
        };
        // A port of PCP itself cannot be mapped (RFC 6887 section 11.3).
        let reserved = internal.protocol == Protocol::Udp
            && [SERVER_PORT, CLIENT_PORT].contains(&outside.port);
        let elsewhere = matches!(wish, Wish::Only(_)) && Some(outside) != wanted;
        if lasting == Lasting::Held && (reserved || elsewhere) {
            self.release(internal.protocol, &inside, outside);
        }
        if elsewhere {
            return Err(Refused::Elsewhere);
        }
        if reserved {
            return Err(Refused::Full);
        }
        Ok(Granted {
            external: socket(outside),
            lasting,
        })
    }

    fn unmap(&mut self, internal: &Internal, external: SocketAddrV4) {
        if let Some(inside) = self.inside(&internal.host, internal.port) {
            let outside = Endpoint4 {
                address: (*external.ip()).into(),
                port: external.port(),
            };
            self.release(internal.protocol, &inside, outside);
        }
    }
}

const fn number(protocol: Protocol) -> nat::Protocol {
    match protocol {
        Protocol::Tcp => nat::Protocol::Tcp,
        Protocol::Udp => nat::Protocol::Udp,
    }
}

fn socket(endpoint: Endpoint4) -> SocketAddrV4 {
    SocketAddrV4::new(endpoint.address.into(), endpoint.port)
}

/// The answer to a host that gets no port.
fn refused(refusal: Refusal) -> Refused {
    match refusal {
        Refusal::Reply(_, Counter::SubscriberLimit) | Refusal::Drop(Counter::SubscriberLimit) => {
            Refused::Quota
        }
        _ => Refused::Full,
    }
}

/// The tables, for callers outside the packet path.
struct Asking<'a>(&'a NatPorts);

impl CoreHost for Asking<'_> {
    type Effort = Thorough;
    type State = Region;
    type Rules = [Line];

    fn state(&self) -> &Region {
        &self.0.state
    }

    fn rules(&self) -> &[Line] {
        &[]
    }

    fn now(&self) -> Instant {
        clock::now()
    }

    fn random(&mut self) -> u32 {
        // Without chance the ports are still right, only easier to guess.
        getrandom::u32().unwrap_or_default()
    }

    fn select(&mut self, _instance: u32) {}

    fn count(&mut self, counter: Counter) {
        let owner = Owner::Instance(self.0.table.number);
        self.0.counters.add(owner, counter, 1);
    }

    fn route(&mut self, _to: Destination) -> Result<Option<Route>, Slow> {
        Ok(None)
    }
}

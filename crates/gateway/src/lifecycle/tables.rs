//! The stateful instances as the control plane sees them: names, prefixes, tables.

use std::net::IpAddr;
use std::sync::Arc;

use ipnet::IpNet;
use isthmus_core::address::rfc6052::Prefix;
use isthmus_core::config::AnyMechanism;
use isthmus_core::mechanism::nat_pt::ADDRESS_PORT;
use isthmus_core::mechanism::{Hosts, Mechanism as _};
use isthmus_core::nat::{self, Endpoint4, NatConfig, OwnLimits, StaticBinding, TcpState};
use isthmus_core::time::Span;
use isthmus_engine::memory::Region;

use crate::config::{Compiled, Document};
use crate::control::{Carried, Listed};
use crate::records::{Binding, Block, Change, Record, Session, Subject};

use super::clock;

/// One stateful instance.
#[derive(Clone, Debug)]
pub(super) struct Table {
    pub(super) name: Arc<str>,
    pub(super) number: u32,
    /// Prefix under which its inside hosts see IPv4 hosts; `None` if they are IPv4 hosts
    /// themselves.
    pub(super) prefix: Option<Prefix>,
    pub(super) config: NatConfig,
    /// Bindings that are always there.
    pub(super) fixed: Vec<StaticBinding>,
    /// Limits of single subscribers.
    pub(super) own_limits: Vec<OwnLimits>,
    /// The hosts on the inside.
    pub(super) hosts: Hosts,
    /// The bits of an IPv6 address that identify the subscriber.
    pub(super) subscriber_prefix: u8,
    /// Whether addresses are translated alone, so that a session has neither a protocol nor ports.
    pub(super) of_addresses: bool,
}

/// All stateful instances of a configuration.
pub(super) fn tables(document: &Document, compiled: &Compiled) -> Vec<Table> {
    document
        .instances
        .iter()
        .zip(&compiled.instances)
        .zip(0..)
        .filter_map(|((document, instance), number): (_, u32)| {
            let mechanism = &instance.mechanism;
            let hosts = mechanism.hosts();
            let fixed = compiled.fixed.iter();
            let fixed = fixed.filter(|(of, _)| *of == number as usize);
            let own = compiled.own_limits.iter();
            let own = own.filter(|(of, _)| *of == number as usize);
            Some(Table {
                name: document.name.value.as_str().into(),
                number,
                prefix: match hosts {
                    Hosts::V6(_) => mechanism.prefix().copied(),
                    Hosts::V4(_) | Hosts::Softwires { .. } => None,
                },
                config: *mechanism.nat()?,
                fixed: fixed.map(|(_, binding)| *binding).collect(),
                own_limits: own.map(|(_, limits)| *limits).collect(),
                hosts,
                subscriber_prefix: document.mechanism.nat()?.subscriber_prefix,
                of_addresses: matches!(mechanism, AnyMechanism::NatPt(_)),
            })
        })
        .collect()
}

/// The fate of the sessions of a table under another configuration: the rule of reloads.
#[derive(Clone, Copy, Debug)]
pub(super) enum Future<'t> {
    /// The tables stay, and the sessions that this one [admits](Table::admits).
    Stays(&'t Table),
    /// The tables go, or are made anew: all sessions end.
    Ends,
}

impl Table {
    /// Whether these are the tables of `before`, with all that is in them.
    pub(super) fn continues(&self, before: &Self) -> bool {
        self.name == before.name && self.config.layout == before.config.layout
    }

    /// Returns the fate of its sessions if there are these tables then.
    pub(super) fn future<'t>(&self, then: &'t [Self]) -> Future<'t> {
        let heir = then.iter().find(|new| new.continues(self));
        heir.map_or(Future::Ends, Future::Stays)
    }

    /// Whether it [admits](Self::admits) all sessions that the other one may have.
    pub(super) fn admits_all_of(&self, other: &Self) -> bool {
        let same_hosts = match (&self.hosts, &other.hosts) {
            (Hosts::V6(one), Hosts::V6(another)) => one == another,
            (Hosts::V4(one), Hosts::V4(another)) => one == another,
            (
                Hosts::Softwires { local, customers },
                Hosts::Softwires {
                    local: other_local,
                    customers: others,
                },
            ) => local == other_local && customers == others,
            _ => false,
        };
        same_hosts && self.config.pool == other.config.pool && self.fixed == other.fixed
    }

    /// Returns the record of an event in the tables; `None` for an event that is not recorded.
    pub(super) fn record(&self, event: &nat::Event) -> Option<Record> {
        let (change, time) = match event {
            nat::Event::BindingCreated(binding) => (Change::Began, Some(binding.created)),
            nat::Event::SessionCreated(session) => (Change::Began, Some(session.binding.created)),
            nat::Event::BlockAssigned(_) => (Change::Began, None),
            nat::Event::BindingRemoved(_)
            | nat::Event::SessionRemoved(_)
            | nat::Event::BlockReleased(_) => (Change::Ended, None),
            nat::Event::SessionIdle(_) => return None,
        };
        let subject = match event {
            nat::Event::BindingCreated(it) | nat::Event::BindingRemoved(it) => {
                Subject::Binding(self.binding(it))
            }
            nat::Event::SessionCreated(it)
            | nat::Event::SessionRemoved(it)
            | nat::Event::SessionIdle(it) => Subject::Session(self.session(it)),
            nat::Event::BlockAssigned(it) | nat::Event::BlockReleased(it) => {
                Subject::Block(block(it))
            }
        };
        Some(Record {
            time: time.map_or_else(jiff::Timestamp::now, clock::wall),
            instance: Arc::clone(&self.name),
            number: self.number,
            subscriber: self.subscriber(subject.inside()),
            change,
            subject,
        })
    }

    /// The subscriber that an inside address belongs to: the first address of its prefix.
    pub(super) fn subscriber(&self, inside: IpAddr) -> IpAddr {
        match IpNet::new(inside, self.subscriber_prefix) {
            Ok(net) if inside.is_ipv6() => net.network(),
            _ => inside,
        }
    }

    /// A session in the terms of records.
    pub(super) fn session(&self, session: &nat::Session) -> Session {
        Session {
            binding: self.binding(&session.binding),
            remote_address: session.remote.address.into(),
            remote_port: self.port(session.remote.port),
            remote_inside: self
                .prefix
                .map(|prefix| prefix.embed(session.remote.address).into()),
        }
    }

    fn binding(&self, binding: &nat::Binding) -> Binding {
        Binding {
            protocol: (!self.of_addresses).then_some(binding.protocol),
            inside_address: binding.inside.host(),
            inside_port: self.port(binding.inside.port),
            outside_address: binding.outside.address.into(),
            outside_port: self.port(binding.outside.port),
        }
    }

    /// A port, where there are some.
    fn port(&self, port: u16) -> Option<u16> {
        (!self.of_addresses).then_some(port)
    }

    /// The session of a packet between these ends.
    pub(super) fn session_between(
        &self,
        memory: &Region,
        [outside, remote]: [Endpoint4; 2],
        protocol: nat::Protocol,
    ) -> Option<nat::Session> {
        let at = |end: Endpoint4, port| Endpoint4 { port, ..end };
        let (outside, remote, protocol) = match self.of_addresses {
            true => (at(outside, ADDRESS_PORT), at(remote, 0), nat::Protocol::Tcp),
            false => (outside, remote, protocol),
        };
        nat::session_between(memory, &self.config, outside, remote, protocol)
    }

    /// A session with what a list shows.
    pub(super) fn listed(&self, session: &nat::Session) -> Listed {
        let now = clock::now();
        let seconds = |span: Span| clock::duration(span.0).as_secs();
        let last = session.last_packet(&self.config.timers, now);
        Listed {
            instance: Arc::clone(&self.name),
            session: self.session(session),
            state: match session.binding.protocol {
                nat::Protocol::Tcp if !self.of_addresses => state_name(session.state),
                _ => "-",
            }
            .into(),
            expires: seconds(session.expires.since(now)),
            age: seconds(now.since(session.binding.created)),
            idle: last.map(|last| seconds(now.since(last))),
            carried: session.traffic.map(Carried::from),
        }
    }

    /// Whether a session can live on under this configuration: its host is still one of the inside, its outside
    /// endpoint one of the pool, and no static binding wants one of its ends for another.
    pub(super) fn admits(&self, session: &nat::Session) -> bool {
        let binding = &session.binding;
        let rival = self.fixed.iter().find(|fixed| {
            fixed.protocol == binding.protocol
                && (fixed.inside == binding.inside || fixed.outside == binding.outside)
        });
        match rival {
            Some(fixed) => fixed.inside == binding.inside && fixed.outside == binding.outside,
            None => self.hosts.admit(&binding.inside) && self.in_pool(binding),
        }
    }

    fn in_pool(&self, binding: &nat::Binding) -> bool {
        self.config
            .pool
            .ports_of(binding.outside.address)
            // An ICMP identifier may be any number.
            .is_some_and(|(low, high)| {
                binding.protocol == nat::Protocol::Icmp
                    || (low..=high).contains(&binding.outside.port)
            })
    }
}

fn block(block: &nat::Block) -> Block {
    Block {
        inside_address: block.subscriber.host(),
        outside_address: block.first.address.into(),
        outside_port: block.first.port,
        outside_port_last: block.first.port + (block.size - 1),
    }
}

/// The names of RFC 6146 section 3.5.2.1.
const fn state_name(state: TcpState) -> &'static str {
    match state {
        TcpState::Closed => "closed",
        TcpState::V4Init => "v4-init",
        TcpState::V6Init => "v6-init",
        TcpState::Established => "established",
        TcpState::V4FinRcv => "v4-fin-rcv",
        TcpState::V6FinRcv => "v6-fin-rcv",
        TcpState::BothFinRcv => "v4-fin+v6-fin-rcv",
        TcpState::Trans => "trans",
    }
}

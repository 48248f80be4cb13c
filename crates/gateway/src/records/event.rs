//! What is recorded: sessions, bindings and port blocks that came and went.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use jiff::Timestamp;

/// The transports that have bindings (RFC 6146 section 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
    /// ICMP queries; the identifier stands in place of the port.
    Icmp,
}

impl Protocol {
    /// The name in records, in filters and in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
            Self::Icmp => "icmp",
        }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// An address with a port or ICMP identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Endpoint<A> {
    /// The address.
    pub address: A,
    /// The port, or the ICMP identifier.
    pub port: u16,
}

impl fmt::Display for Endpoint<Ipv4Addr> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}:{}", self.address, self.port))
    }
}

impl fmt::Display for Endpoint<IpAddr> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&std::net::SocketAddr::new(self.address, self.port).to_string())
    }
}

/// A binding: the inside transport address and the outside one that stands for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// Its transport.
    pub protocol: Protocol,
    /// The subscriber's transport address: IPv6 for NAT64, IPv4 for NAT44.
    pub inside: Endpoint<IpAddr>,
    /// The pool's transport address.
    pub outside: Endpoint<Ipv4Addr>,
}

/// A session: a binding in use towards one remote transport address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Session {
    /// The binding.
    pub mapping: Mapping,
    /// The remote transport address as the outside sees it.
    pub remote: Endpoint<Ipv4Addr>,
    /// The remote address as a NAT64's inside sees it: `remote` under the translation prefix.
    pub remote_inside: Option<Ipv6Addr>,
}

/// A block of ports that one subscriber has to itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// The subscriber's address or, for IPv6, the first address of its prefix.
    pub inside: IpAddr,
    /// The pool's address.
    pub outside: Ipv4Addr,
    /// First port.
    pub first: u16,
    /// Last port.
    pub last: u16,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A session was made.
    SessionCreated(Session),
    /// A session ended.
    SessionRemoved(Session),
    /// A binding was made.
    BindingCreated(Mapping),
    /// A binding ended.
    BindingRemoved(Mapping),
    /// A subscriber was given a block of ports.
    BlockAllocated(Block),
    /// A subscriber's block of ports is free again.
    BlockReleased(Block),
}

impl Event {
    /// The name in records.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::SessionCreated(_) => "session-created",
            Self::SessionRemoved(_) => "session-removed",
            Self::BindingCreated(_) => "binding-created",
            Self::BindingRemoved(_) => "binding-removed",
            Self::BlockAllocated(_) => "port-block-allocated",
            Self::BlockReleased(_) => "port-block-released",
        }
    }
}

/// Something that happened, when, and to which instance.
#[derive(Clone, Debug)]
pub struct Record {
    /// When; the wall clock.
    pub time: Timestamp,
    /// The instance by name.
    pub instance: Arc<str>,
    /// The instance by its place in the configuration, from 0.
    pub number: u32,
    /// What happened.
    pub event: Event,
}

#[cfg(test)]
pub(super) mod samples {
    use super::*;

    pub(crate) fn session() -> Session {
        Session {
            mapping: Mapping {
                protocol: Protocol::Tcp,
                inside: Endpoint {
                    address: "2001:db8:1::7".parse().unwrap(),
                    port: 40_000,
                },
                outside: Endpoint {
                    address: Ipv4Addr::new(203, 0, 113, 1),
                    port: 1024,
                },
            },
            remote: Endpoint {
                address: Ipv4Addr::new(192, 0, 2, 80),
                port: 443,
            },
            remote_inside: Some("64:ff9b::c000:250".parse().unwrap()),
        }
    }

    pub(crate) fn block() -> Block {
        Block {
            inside: "2001:db8:1::".parse().unwrap(),
            outside: Ipv4Addr::new(203, 0, 113, 2),
            first: 2048,
            last: 2559,
        }
    }

    pub(crate) fn record(event: Event) -> Record {
        Record {
            time: "2026-11-21T08:09:10.123456Z".parse().unwrap(),
            instance: "plat".into(),
            number: 3,
            event,
        }
    }
}

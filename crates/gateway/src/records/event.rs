//! Records of sessions, bindings and port blocks that began or ended. Their fields have the same names and the
//! same order everywhere: in files, on the control socket, and where people read them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use isthmus_core::nat::Protocol;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::config::{Choice, by_name};

pub(crate) const SESSION_CREATED: &str = "session-created";
pub(crate) const SESSION_REMOVED: &str = "session-removed";
pub(crate) const BINDING_CREATED: &str = "binding-created";
pub(crate) const BINDING_REMOVED: &str = "binding-removed";
pub(crate) const BLOCK_ALLOCATED: &str = "port-block-allocated";
pub(crate) const BLOCK_RELEASED: &str = "port-block-released";
pub(crate) const STARTED: &str = "gateway-started";
pub(crate) const TABLES_EMPTY: &str = "tables-empty";
pub(crate) const CONFIGURATION: &str = "configuration-in-force";
pub(crate) const SUPPRESSED: &str = "records-suppressed";

/// The name of all protocols, where addresses are translated alone (RFC 2766 section 3.1).
pub(crate) const ANY_PROTOCOL: &str = "any";

/// A binding: the inside transport address and the outside one that stands for it. Where there are no ports,
/// the ICMP identifier stands in their place. One of addresses alone has neither a protocol nor ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Binding {
    /// Its transport protocol; `None` for all.
    #[serde(with = "or_any")]
    pub protocol: Option<Protocol>,
    /// The subscriber's address: IPv6 for NAT64, IPv4 for NAT44.
    pub inside_address: IpAddr,
    /// The subscriber's port.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub inside_port: Option<u16>,
    /// The pool's address.
    pub outside_address: Ipv4Addr,
    /// The pool's port.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub outside_port: Option<u16>,
}

impl Binding {
    /// The name of its protocol.
    #[must_use]
    pub fn protocol_name(&self) -> &'static str {
        self.protocol.map_or(ANY_PROTOCOL, Choice::name)
    }
}

/// A protocol by its name, or that of all.
mod or_any {
    use serde::{Deserialize, Deserializer, Serializer};

    use super::{ANY_PROTOCOL, Protocol, by_name};

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Name {
        One(#[serde(with = "by_name")] Protocol),
        Other(String),
    }

    pub(super) fn serialize<S: Serializer>(
        protocol: &Option<Protocol>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        match protocol {
            Some(protocol) => by_name::serialize(protocol, to),
            None => to.serialize_str(ANY_PROTOCOL),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Protocol>, D::Error> {
        match Name::deserialize(from)? {
            Name::One(protocol) => Ok(Some(protocol)),
            Name::Other(name) if name == ANY_PROTOCOL => Ok(None),
            Name::Other(name) => {
                let message = format_args!("{name:?} is no protocol");
                Err(serde::de::Error::custom(message))
            }
        }
    }
}

/// A session: a binding in use towards one remote transport address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Session {
    /// The binding.
    #[serde(flatten)]
    pub binding: Binding,
    /// The remote address as the outside sees it.
    pub remote_address: Ipv4Addr,
    /// The remote port; 0 for ICMP.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub remote_port: Option<u16>,
    /// The remote address as a NAT64's inside sees it: under the translation prefix. Only IPFIX exports it.
    #[serde(skip)]
    pub remote_inside: Option<Ipv6Addr>,
}

/// A block of ports that one subscriber has to itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Block {
    /// The subscriber's address or, for IPv6, the first address of its prefix.
    pub inside_address: IpAddr,
    /// The pool's address.
    pub outside_address: Ipv4Addr,
    /// First port.
    pub outside_port: u16,
    /// Last port.
    pub outside_port_last: u16,
}

/// The subject of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Subject {
    /// A session.
    Session(Session),
    /// A binding.
    Binding(Binding),
    /// A block of ports.
    Block(Block),
}

impl Subject {
    /// The subscriber's address.
    #[must_use]
    pub const fn inside(&self) -> IpAddr {
        match self {
            Self::Session(session) => session.binding.inside_address,
            Self::Binding(binding) => binding.inside_address,
            Self::Block(block) => block.inside_address,
        }
    }
}

/// Whether something began or ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// A session or a binding was made, or a block of ports was allocated.
    Began,
    /// It is gone.
    Ended,
}

/// A record: the change of a subject, when, and of which instance.
#[derive(Clone, Debug)]
pub struct Record {
    /// The time, by the wall clock.
    pub time: Timestamp,
    /// The instance by name.
    pub instance: Arc<str>,
    /// The instance by its place in the configuration, from 0.
    pub number: u32,
    /// The subscriber: its address, or the first address of its prefix.
    pub subscriber: IpAddr,
    /// Whether the subject began or ended.
    pub change: Change,
    /// The session, binding or block.
    pub subject: Subject,
}

impl Record {
    /// The name of the event.
    #[must_use]
    pub const fn event(&self) -> &'static str {
        match (&self.subject, self.change) {
            (Subject::Session(_), Change::Began) => SESSION_CREATED,
            (Subject::Session(_), Change::Ended) => SESSION_REMOVED,
            (Subject::Binding(_), Change::Began) => BINDING_CREATED,
            (Subject::Binding(_), Change::Ended) => BINDING_REMOVED,
            (Subject::Block(_), Change::Began) => BLOCK_ALLOCATED,
            (Subject::Block(_), Change::Ended) => BLOCK_RELEASED,
        }
    }
}

/// A remark between records: what whoever reads them later has to know. No rate holds it back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Remark {
    /// A process begins: its counts of suppressed records begin at 0.
    Started {
        /// The version of the program.
        version: &'static str,
    },
    /// The configuration with this digest is in force from now on.
    Configuration {
        /// [`Loaded::digest`](crate::config::Loaded::digest)
        digest: String,
    },
    /// The tables of an instance are empty at a start: what was open before has ended, whether that is recorded or not.
    TablesEmpty {
        /// The instance by name.
        instance: Arc<str>,
    },
}

impl Remark {
    /// The name of its event.
    #[must_use]
    pub const fn event(&self) -> &'static str {
        match self {
            Self::Started { .. } => STARTED,
            Self::Configuration { .. } => CONFIGURATION,
            Self::TablesEmpty { .. } => TABLES_EMPTY,
        }
    }
}

/// The numbers of records that were not written, since the start of the process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Suppressed {
    /// All of them.
    pub(super) count: u64,
    /// Those of bindings.
    pub(super) bindings: u64,
}

#[cfg(test)]
pub(crate) mod samples {
    use super::*;

    pub(crate) fn session() -> Session {
        Session {
            binding: Binding {
                protocol: Some(Protocol::Tcp),
                inside_address: "2001:db8:1::7".parse().unwrap(),
                inside_port: Some(40_000),
                outside_address: Ipv4Addr::new(203, 0, 113, 1),
                outside_port: Some(1024),
            },
            remote_address: Ipv4Addr::new(192, 0, 2, 80),
            remote_port: Some(443),
            remote_inside: Some("64:ff9b::c000:250".parse().unwrap()),
        }
    }

    /// One of addresses alone.
    pub(crate) fn session_of_addresses() -> Session {
        let mut session = session();
        session.binding.protocol = None;
        session.binding.inside_port = None;
        session.binding.outside_port = None;
        session.remote_port = None;
        session
    }

    pub(crate) fn block() -> Block {
        Block {
            inside_address: "2001:db8:1::".parse().unwrap(),
            outside_address: Ipv4Addr::new(203, 0, 113, 2),
            outside_port: 2048,
            outside_port_last: 2559,
        }
    }

    pub(crate) fn record(change: Change, subject: Subject) -> Record {
        Record {
            time: "2026-11-21T08:09:10.123456Z".parse().unwrap(),
            instance: "plat".into(),
            number: 3,
            subscriber: subject.inside(),
            change,
            subject,
        }
    }
}

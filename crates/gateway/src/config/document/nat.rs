//! The keys of NATs, and of PCP in front of them.

use std::net::IpAddr;

use ipnet::{IpNet, Ipv4Net};
use isthmus_core::address::port_set::PortSet;
use isthmus_core::nat::{Filtering, OwnLimits, Pooling, StaticBinding, Timers, UnsolicitedSyn};

use crate::config::source::At;

/// The keys that all mechanisms with a NAT have.
#[derive(Clone, Debug)]
pub struct Nat {
    /// Outside addresses, at least one.
    pub pool: Vec<At<Pool>>,
    /// The ports of the one address that there are, if it is shared with other CEs.
    pub set: PortSet,
    /// Bits of the inside address that make a subscriber: 32 to 128, for `nat44` always 32.
    pub subscriber_prefix: u8,
    /// PCP, by which hosts may ask for ports.
    pub pcp: Option<Pcp>,
    /// Which packets from outside a binding lets in.
    pub filtering: Filtering,
    /// The treatment of TCP connections from outside that no host waits for.
    pub unsolicited_syn: UnsolicitedSyn,
    /// Most bindings.
    pub max_bindings: u32,
    /// Most sessions.
    pub max_sessions: u32,
    /// Most subscribers.
    pub max_subscribers: u32,
    /// Most fragmented datagrams with fragments in transit.
    pub max_fragments: u32,
    /// Whether packets and bytes of each session are counted.
    pub count_traffic: bool,
    /// Most sessions of a subscriber; 0: no bound.
    pub subscriber_sessions: u32,
    /// New sessions per second and subscriber; 0: no bound.
    pub subscriber_session_rate: u32,
    /// Most bindings of a subscriber; 0: no bound.
    pub subscriber_bindings: u32,
    /// Limits of single subscribers.
    pub subscriber_limits: Vec<At<OwnLimits>>,
    /// The behaviour when the ports of a subscriber's outside address run out.
    pub pooling: Pooling,
    /// How ports are given to subscribers.
    pub ports: At<PortPolicy>,
    /// Bindings that are always there.
    pub static_bindings: Vec<At<StaticBinding>>,
    /// When idle state ends.
    pub timers: Timers,
}

/// An entry of `pool`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool {
    /// Outside addresses.
    pub addresses: Ipv4Net,
    /// First and last port of each, not 0.
    pub ports: (u16, u16),
}

impl Pool {
    /// The ports of an entry without `ports`.
    pub const DEFAULT_PORTS: (u16, u16) = (1024, 65535);
}

/// How ports are given to subscribers: `port-blocks`, `deterministic`, or neither.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortPolicy {
    /// One by one.
    Single,
    /// In blocks that are logged once.
    Blocks {
        /// Ports in a block, a power of two from 8 to 8192.
        size: u16,
        /// Most blocks of a subscriber, 1 to 4.
        per_subscriber: u16,
    },
    /// By a computation that needs no log (RFC 7422).
    Deterministic {
        /// Addresses of the subscribers; IPv6 for `nat64`, IPv4 for `nat44`.
        inside: IpNet,
        /// Ports of each, 8 to 32768.
        size: u16,
    },
}

/// `[instance.pcp]`: hosts may ask for ports (RFC 6887, RFC 6886).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pcp {
    /// Addresses of this machine at which they do.
    pub listen: Vec<At<IpAddr>>,
    /// Whether they do at the address that an AFTR has in its softwires.
    pub in_softwires: bool,
    /// The clients that may ask; all if empty.
    pub clients: Vec<At<IpNet>>,
    /// Shortest and longest lifetime in seconds.
    pub lifetime: (u32, u32),
    /// Most mappings of one host, or of one softwire.
    pub per_host: u32,
}

/// `[instance.pcp]` where the ports are elsewhere: requests are passed on (RFC 7648).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PcpProxy {
    /// Addresses of this machine at which hosts ask, at least one.
    pub listen: Vec<At<IpAddr>>,
    /// The clients that may ask; all if empty.
    pub clients: Vec<At<IpNet>>,
    /// The server that they are passed on to.
    pub server: IpAddr,
    /// The address that they are passed on from.
    pub own: IpAddr,
    /// The tunnel or NAT that the requests pass.
    pub path: PcpPath,
}

/// The translator or tunnel between hosts and the server that their requests are passed on to (RFC 7648
/// section 3.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PcpPath {
    /// A softwire: hosts are known by their own addresses.
    Softwire,
    /// The NAT of the instance.
    Nat,
}

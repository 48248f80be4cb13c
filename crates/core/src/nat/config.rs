//! The configuration of a stateful instance: plain data for a BPF map. The gateway makes it and checks it.

use core::fmt;

use crate::address::{Address, V4, V6};
use crate::table::{Secret, Seed};
use crate::time::Span;

use super::deterministic::Deterministic;
use super::layout::Layout;
use super::pool::Pool;

/// Pool, limits, timers and table layout of one stateful instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct NatConfig {
    /// Where the tables lie.
    pub layout: Layout,
    /// Secret of all hashes: random, and the same as long as the tables live.
    pub seed: Seed,
    /// Secret of the choice of ports: random, and another one with each configuration.
    pub secret: Secret,
    /// Which packets may come in.
    pub filtering: Filtering,
    /// The action for unsolicited TCP connections from outside.
    pub unsolicited_syn: UnsolicitedSyn,
    /// The action when the ports of an outside address run out.
    pub pooling: Pooling,
    /// The bits of an inside address that identify the subscriber.
    pub subscriber: Subscriber,
    /// Bounds per subscriber.
    pub limits: Limits,
    /// How many subscribers have limits of their own, by [`set_own_limits`](super::set_own_limits).
    pub own_limits: u32,
    /// Port blocks: how ports are given to subscribers.
    pub blocks: Blocks,
    /// Lifetimes.
    pub timers: Timers,
    /// Outside addresses and ports.
    pub pool: Pool,
}

impl NatConfig {
    /// Whether an IPv4 destination is the NAT's: a packet from outside to it may have a binding,
    /// and a packet from inside to it comes back (hairpinning, RFC 6146 section 3.8).
    #[inline(always)]
    #[must_use]
    pub fn owns(&self, destination: V4) -> bool {
        self.pool.contains(destination)
    }
}

/// Filtering behaviour (RFC 4787 section 5, RFC 6146 section 3.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Filtering {
    /// Whoever knows the outside endpoint of a binding may send to it.
    EndpointIndependent,
    /// Only addresses that the inside endpoint has sent to.
    AddressDependent,
}

/// The action for a SYN from outside that has no binding, or that the filtering does not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum UnsolicitedSyn {
    /// It is dropped silently (RFC 5382 section 4.3, REQ-4 a).
    Drop,
    /// Its sender gets an error after 6 seconds, unless the inside host opens the connection meanwhile
    /// (RFC 5382 section 4.3, REQ-4; RFC 6146 section 3.5.2.2).
    Answer,
}

/// IP address pooling (RFC 4787 section 4.1, RFC 7857 section 4): a subscriber's bindings have the
/// same outside address …
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Pooling {
    /// … always.
    Strict,
    /// … as long as it has ports.
    Soft,
    /// … perhaps: its bindings are where there is room.
    Arbitrary,
}

/// The bits of an inside address that identify a subscriber.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Subscriber {
    /// Mask over the IPv6 address, in the words of the tables.
    pub(super) address: [u64; 2],
    /// Mask over the IPv4 address, in memory order.
    pub(super) v4: u32,
    /// Masks of the networks that are wider than a subscriber, from the narrowest: over the first word of its IPv6
    /// address, or over its IPv4 address. 0: no network.
    pub(super) networks: [u64; NETWORKS],
}

/// Without the networks, which follow from the rest. Processes note this text for their successors.
impl fmt::Debug for Subscriber {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = formatter.debug_struct("Subscriber");
        text.field("address", &self.address);
        text.field("v4", &self.v4).finish()
    }
}

/// Networks of a subscriber at most.
pub(super) const NETWORKS: usize = 4;
/// The lengths of their prefixes, from the narrowest.
const V6_NETWORKS: [u8; NETWORKS] = [64, 48, 40, 32];
const V4_NETWORKS: [u8; 3] = [24, 16, 8];

impl Subscriber {
    /// The first `bits` bits of the IPv6 address, 0 to 128.
    #[must_use]
    pub fn v6_prefix(bits: u8) -> Self {
        let mut networks = [0; NETWORKS];
        let wider = V6_NETWORKS.into_iter().filter(|network| *network < bits);
        for (mask, network) in networks.iter_mut().zip(wider) {
            *mask = V6::mask(network).words()[0];
        }
        Self {
            address: V6::mask(bits).words(),
            v4: 0,
            networks,
        }
    }

    /// The whole IPv4 address.
    #[must_use]
    pub fn v4_host() -> Self {
        let mut networks = [0; NETWORKS];
        for (mask, network) in networks.iter_mut().zip(V4_NETWORKS) {
            *mask = u64::from(V4::mask(network).0.0);
        }
        Self {
            address: [0; 2],
            v4: u32::MAX,
            networks,
        }
    }

    /// The words that identify the subscriber of an inside endpoint.
    #[inline(always)]
    pub(super) fn key(&self, inside: &[u64; 3]) -> [u64; 3] {
        [
            inside[0] & self.address[0],
            inside[1] & self.address[1],
            (inside[2] >> 32) & u64::from(self.v4),
        ]
    }
}

/// Bounds per subscriber (RFC 6888 requirements 4 and 5); 0: no bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Limits {
    /// Bindings, that is outside ports, of all protocols.
    pub bindings: u32,
    /// Sessions.
    pub sessions: u32,
    /// Nanoseconds from one new session to the next in the long run, up to four seconds; 0: no bound.
    pub session_interval: u32,
}

/// How ports are given to subscribers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, u32)]
pub enum Blocks {
    /// One by one.
    None,
    /// One by one, of the port set that a CE's pool has ([`Pool::of_ce`]).
    PortSet,
    /// In blocks of `size` ports, a power of two from 8 to 8192, `per_subscriber` of them at most
    /// (1 to 4). A block belongs to its subscriber until no binding uses it.
    Dynamic {
        /// Ports in a block.
        size: u16,
        /// Blocks per subscriber.
        per_subscriber: u16,
    },
    /// By calculation (RFC 7422).
    Deterministic(Deterministic),
}

/// Lifetimes (RFC 6146 section 4, RFC 7857 section 2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Timers {
    /// UDP sessions: at least 120 s, 300 s by default.
    pub udp: Span,
    /// Established TCP sessions: at least 7200 s.
    pub tcp_established: Span,
    /// TCP sessions that are being opened, 240 s by default.
    pub tcp_opening: Span,
    /// TCP sessions that are being closed or were reset: 240 s by default.
    pub tcp_closing: Span,
    /// ICMP sessions: 60 s by default.
    pub icmp: Span,
    /// Fragmented datagrams: at least 2 s.
    pub fragment: Span,
}

impl Default for Timers {
    fn default() -> Self {
        Self {
            udp: Span::from_secs(300),
            tcp_established: Span::from_secs(7440),
            tcp_opening: Span::from_secs(240),
            tcp_closing: Span::from_secs(240),
            icmp: Span::from_secs(60),
            fragment: Span::from_secs(2),
        }
    }
}

//! Tunnels, as the packet path sees them.

use super::V4Networks;
use crate::address::map::MapRules;
use crate::address::rapid::Domain;
use crate::address::rfc6052::Prefix;
use crate::address::{V4, V6};
use crate::nat::NatConfig;
use crate::packet::Word;

/// IPv6 packets in IPv4 packets (protocol 41, RFC 4213).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct SixInFour {
    /// The address of this end.
    pub local: V4,
    /// Who has the other end.
    pub peer: PeerV4,
    /// The IPv6 destinations behind the other end.
    pub destinations: V6Networks,
    /// Whether everything is among them, so that nearer networks are told by routes alone.
    pub everything: bool,
}

/// The other end of a tunnel over IPv4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, u32)]
pub enum PeerV4 {
    /// One address, whatever the packet (RFC 4213 section 3).
    Fixed(V4),
    /// The one that an IPv6 address of the domain tells, of 6rd (RFC 5969) or 6to4 (RFC 3056).
    Embedded(Embedded),
    /// The one that an address on the link tells, or a router (RFC 5214).
    Isatap(Isatap),
}

/// A node of an ISATAP link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Isatap {
    /// The routers that there may be.
    pub routers: Routers,
    /// What the node is.
    pub role: IsatapRole,
    /// The 64 bits that a router announces, and how long they hold.
    pub prefix: V6,
    /// See `prefix`.
    pub lifetimes: Lifetimes,
}

/// What a node of an ISATAP link is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum IsatapRole {
    /// It sends what is elsewhere to a router.
    Host,
    /// It forwards, and announces a prefix.
    Router,
}

/// Seconds that what a router announces holds (RFC 4861 section 6.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Lifetimes {
    /// That the router is there for all that is elsewhere; 0: it is not.
    pub router: u16,
    /// Of addresses under the prefix.
    pub valid: u32,
    /// Of addresses that new connections use.
    pub preferred: u32,
}

/// The Potential Router List (RFC 5214 section 8.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Routers {
    addresses: [V4; Self::MOST],
    count: u32,
}

impl Routers {
    /// The most routers that fit.
    pub const MOST: usize = 4;

    /// Adds a router. Gives it back if there is no room.
    ///
    /// # Errors
    /// There are [`MOST`](Self::MOST) already.
    pub fn push(&mut self, router: V4) -> Result<(), V4> {
        let slot = self.addresses.get_mut(self.count as usize).ok_or(router)?;
        *slot = router;
        self.count += 1;
        Ok(())
    }

    /// The router that is preferred; zeros if there is none.
    #[inline(always)]
    #[must_use]
    pub const fn first(&self) -> V4 {
        self.addresses[0]
    }

    /// Whether an address is a router's. No router is at the address of zeros, which stands in empty places.
    #[inline(always)]
    #[must_use]
    pub fn contains(&self, address: V4) -> bool {
        let [a, b, c, d] = &self.addresses;
        let is = |router: &V4| router.0.0 == address.0.0;
        address.0.0 != 0 && (is(a) | is(b) | is(c) | is(d))
    }
}

/// A domain whose IPv6 addresses tell the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Embedded {
    /// The prefixes of all customers.
    pub domain: Domain,
    /// Who has what is outside of the domain.
    pub outside: Outside,
}

/// How what is outside of a domain is reached, and what comes from there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, u32)]
pub enum Outside {
    /// By the IPv6 routes of this machine: it is a border relay, or a relay of 6to4. Packets come
    /// from customers only.
    Here,
    /// Through a border relay or relay: this is a customer's edge. Packets come from it, too.
    Relay(V4),
    /// The same, but packets come from any relay, as the way back of 6to4 is the affair of the
    /// other side (RFC 3056 section 5.3, RFC 3964 section 3).
    AnyRelay(V4),
}

/// IPv4 packets in IPv6 packets (RFC 2473).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct FourInSix {
    /// The address of this end.
    pub local: V6,
    /// The address of the other end.
    pub remote: V6,
    /// The IPv4 destinations behind the other end.
    pub destinations: V4Networks,
    /// Those among them that are on this side all the same. An engine that takes packets before the
    /// machine's routes do has to be told.
    pub exempt: V4Networks,
    /// Whether everything is among them, so that nearer networks are told by routes alone.
    pub everything: bool,
}

/// A few IPv6 networks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct V6Networks {
    networks: [V6Network; Self::MOST],
    count: u32,
}

/// An IPv6 network: an address and a mask, both as they lie in a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct V6Network {
    address: V6,
    mask: V6,
}

impl V6Network {
    /// The network of `length` bits (0..=128) that `address` lies in.
    #[must_use]
    pub const fn new(address: V6, length: u8) -> Self {
        let ones = if length == 0 {
            0
        } else {
            u128::MAX << (128 - length as u32)
        };
        let mask = V6::from_halves((ones >> 64) as u64, ones as u64);
        Self {
            address: V6([
                Word(address.0[0].0 & mask.0[0].0),
                Word(address.0[1].0 & mask.0[1].0),
                Word(address.0[2].0 & mask.0[2].0),
                Word(address.0[3].0 & mask.0[3].0),
            ]),
            mask,
        }
    }

    /// Whether an address lies in it. Without branches: a BPF verifier follows each.
    #[inline(always)]
    #[must_use]
    pub const fn contains(&self, address: V6) -> bool {
        let (a, m, n) = (&address.0, &self.mask.0, &self.address.0);
        let differs = (a[0].0 & m[0].0 ^ n[0].0)
            | (a[1].0 & m[1].0 ^ n[1].0)
            | (a[2].0 & m[2].0 ^ n[2].0)
            | (a[3].0 & m[3].0 ^ n[3].0);
        differs == 0
    }
}

impl V6Networks {
    /// The most networks that fit.
    pub const MOST: usize = 8;

    /// Adds a network. Gives it back if there is no room.
    ///
    /// # Errors
    /// There are [`MOST`](Self::MOST) networks already.
    pub fn push(&mut self, network: V6Network) -> Result<(), V6Network> {
        let slot = self.networks.get_mut(self.count as usize).ok_or(network)?;
        *slot = network;
        self.count += 1;
        Ok(())
    }

    /// Whether an address lies in one of them.
    #[inline(always)]
    #[must_use]
    pub fn contains(&self, address: V6) -> bool {
        for (index, network) in self.networks.iter().enumerate() {
            if index as u32 >= self.count {
                return false;
            }
            if network.contains(address) {
                return true;
            }
        }
        false
    }
}

/// The concentrator of DS-Lite (RFC 6333).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Aftr {
    /// The address of this end of all softwires.
    pub local: V6,
    /// Where the other ends may be.
    pub softwires: V6Networks,
    /// Pool, timers, limits, tables.
    pub nat: NatConfig,
}

/// The border relay of MAP-E (RFC 7597).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct SoftwireBorder {
    /// The address of this end of all softwires.
    pub local: V6,
    /// The IPv4 addresses that customers share.
    pub destinations: V4Networks,
    /// Who has which address and ports.
    pub rules: MapRules,
}

/// A customer's edge of MAP-E (RFC 7597) or lw4o6 (RFC 7596).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct SoftwireCustomer {
    /// The address of this end.
    pub local: V6,
    /// The address of the border relay.
    pub border: V6,
    /// The hosts behind the edge.
    pub inside: V4Networks,
    /// The rules by which other customers are reached directly.
    pub rules: MapRules,
    /// The address and ports of the customer, timers, limits, tables.
    pub nat: NatConfig,
}

/// The border relay of MAP-T (RFC 7599).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct MapTBorder {
    /// The IPv4 internet, seen from customers: the default mapping rule.
    pub prefix: Prefix,
    /// The IPv4 addresses that customers share.
    pub destinations: V4Networks,
    /// Who has which address and ports.
    pub rules: MapRules,
}

/// A customer's edge of MAP-T (RFC 7599), or a CLAT (RFC 6877).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct MapTCustomer {
    /// The IPv4 internet, seen from here: the default mapping rule, or the prefix of the PLAT.
    pub prefix: Prefix,
    /// The IPv6 address of the edge.
    pub local: V6,
    /// The IPv4 address of the edge, that of the pool.
    pub address: V4,
    /// The hosts behind the edge.
    pub inside: V4Networks,
    /// The rules by which other customers are reached directly.
    pub rules: MapRules,
    /// The address and ports of the customer, timers, limits, tables.
    pub nat: NatConfig,
}

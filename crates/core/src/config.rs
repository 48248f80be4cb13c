//! One instance of a mechanism, as the packet path sees it: plain data without pointers, so that
//! it can lie in a BPF map. It is made by the gateway from the configuration file and checked
//! there; the core trusts it.

mod lwaftr;
mod tunnel;

use crate::address::embedding::Embedding;
use crate::address::rfc6052::Prefix;
use crate::address::{V4, V6, ivi, special};
use crate::nat::NatConfig;

pub use lwaftr::{Borders, LwAftr, LwAftrPolicy, Permission, SoftwireTable, Unbound};
pub use tunnel::{
    Aftr, Embedded, FourInSix, Isatap, IsatapRole, Lifetimes, MapTBorder, MapTCustomer, Outside,
    PeerV4, Routers, SixInFour, SoftwireBorder, SoftwireCustomer, V6Network, V6Networks,
};

/// One configured mechanism.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Instance {
    /// What it does.
    pub mechanism: Mechanism,
    /// How it treats headers.
    pub policy: Policy,
}

/// A mapping and a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, u32)]
#[allow(
    clippy::large_enum_variant,
    reason = "it lies in maps, whose values all have one size"
)]
pub enum Mechanism {
    /// Stateless translation (RFC 7915) with RFC 6052, RFC 6219 and RFC 7757 mappings.
    Siit(Siit),
    /// Stateful translation (RFC 6146).
    Nat64(Nat64),
    /// Stateful translation within IPv4 (RFC 3022).
    Nat44(Nat44),
    /// IPv6 over IPv4 (RFC 4213).
    SixInFour(SixInFour),
    /// IPv4 over IPv6 (RFC 2473).
    FourInSix(FourInSix),
    /// DS-Lite, the concentrator (RFC 6333).
    Aftr(Aftr),
    /// MAP-E, the border relay (RFC 7597).
    SoftwireBorder(SoftwireBorder),
    /// lw4o6, the lwAFTR (RFC 7596).
    LwAftr(LwAftr),
    /// MAP-E or lw4o6, the customer's edge (RFC 7597, RFC 7596).
    SoftwireCustomer(SoftwireCustomer),
    /// MAP-T, the border relay (RFC 7599).
    MapTBorder(MapTBorder),
    /// MAP-T, the customer's edge (RFC 7599), or a CLAT with one address (RFC 6877).
    MapTCustomer(MapTCustomer),
}

impl Mechanism {
    /// The NAT of a stateful mechanism.
    #[inline(always)]
    #[must_use]
    pub const fn nat(&self) -> Option<&NatConfig> {
        match self {
            Self::Nat64(nat64) => Some(&nat64.nat),
            Self::Nat44(nat44) => Some(&nat44.nat),
            Self::Aftr(aftr) => Some(&aftr.nat),
            Self::SoftwireCustomer(edge) => Some(&edge.nat),
            Self::MapTCustomer(edge) => Some(&edge.nat),
            Self::Siit(_)
            | Self::SixInFour(_)
            | Self::FourInSix(_)
            | Self::SoftwireBorder(_)
            | Self::LwAftr(_)
            | Self::MapTBorder(_) => None,
        }
    }

    /// The first line of its tables in the rules memory, to be changed: they lie wherever an engine puts
    /// them. `None` if it has none.
    pub const fn rules_base_mut(&mut self) -> Option<&mut u32> {
        match self {
            Self::Siit(siit) => Some(&mut siit.eam.base),
            Self::LwAftr(aftr) => Some(&mut aftr.softwires.base),
            _ => None,
        }
    }

    /// The NAT of a stateful mechanism, to be changed.
    pub const fn nat_mut(&mut self) -> Option<&mut NatConfig> {
        match self {
            Self::Nat64(nat64) => Some(&mut nat64.nat),
            Self::Nat44(nat44) => Some(&mut nat44.nat),
            Self::Aftr(aftr) => Some(&mut aftr.nat),
            Self::SoftwireCustomer(edge) => Some(&mut edge.nat),
            Self::MapTCustomer(edge) => Some(&mut edge.nat),
            Self::Siit(_)
            | Self::SixInFour(_)
            | Self::FourInSix(_)
            | Self::SoftwireBorder(_)
            | Self::LwAftr(_)
            | Self::MapTBorder(_) => None,
        }
    }
}

/// The mappings of a stateless translator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Siit {
    /// Prefix of IPv4-converted addresses.
    pub prefix: PrefixMapping,
    /// The IPv4 addresses that stand for IPv6 hosts under the prefix: what is sent there is
    /// translated (RFC 7915 section 4.6). Explicit mappings come on top.
    pub hosts: V4Networks,
    /// Explicit address mappings.
    pub eam: EamTable,
    /// How they lie to the prefix.
    pub overlap: Overlap,
    /// What happens to packets between two hosts that both have a mapping here.
    pub hairpin: Hairpin,
}

/// Whether explicit mappings have IPv6 addresses under the prefix of the translator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Overlap {
    /// None has: an address under the prefix need not be looked for among them.
    Apart,
    /// Some have.
    Under,
}

/// How a prefix and an IPv4 address make an IPv6 address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct PrefixMapping {
    embedding: Embedding,
    kind: PrefixKind,
}

/// What a prefix is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
enum PrefixKind {
    None,
    /// The well-known one, which has a rule of its own.
    WellKnown,
    /// Any other.
    Own,
}

impl PrefixMapping {
    /// No prefix: explicit mappings only.
    pub const NONE: Self = Self {
        embedding: Embedding::NOTHING,
        kind: PrefixKind::None,
    };

    /// Whether there is no prefix.
    #[inline(always)]
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.kind == PrefixKind::None
    }

    /// The IPv6 address of an IPv4 address; `None` without a prefix.
    #[inline(always)]
    #[must_use]
    pub fn embed(&self, address: V4) -> Option<V6> {
        if self.is_none() {
            return None;
        }
        Some(self.embedding.embed(address))
    }

    /// The IPv4 address of an IPv6 address under the prefix.
    #[inline(always)]
    #[must_use]
    pub const fn extract(&self, address: V6) -> Option<V4> {
        self.embedding.extract(address)
    }

    /// Whether an address is under the prefix.
    #[inline(always)]
    #[must_use]
    pub const fn contains(&self, address: V6) -> bool {
        self.embedding.contains(address)
    }

    /// Whether the prefix must not represent this address (RFC 6052 section 3.1).
    #[inline(always)]
    #[must_use]
    pub fn forbids(&self, policy: &Policy, address: V4) -> bool {
        self.kind == PrefixKind::WellKnown && policy.forbids_well_known(address)
    }
}

impl From<Prefix> for PrefixMapping {
    fn from(prefix: Prefix) -> Self {
        Self {
            embedding: *prefix.embedding(),
            kind: if prefix.is_well_known() {
                PrefixKind::WellKnown
            } else {
                PrefixKind::Own
            },
        }
    }
}

impl From<ivi::Prefix> for PrefixMapping {
    fn from(prefix: ivi::Prefix) -> Self {
        Self {
            embedding: *prefix.embedding(),
            kind: PrefixKind::Own,
        }
    }
}

/// A few IPv4 networks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct V4Networks {
    networks: [V4Network; Self::MOST],
    count: u32,
}

/// An IPv4 network: an address and a mask, both as they lie in a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct V4Network {
    address: V4,
    mask: V4,
}

impl V4Network {
    /// The network of `length` bits (0..=32) that `address` lies in.
    #[must_use]
    pub const fn new(address: V4, length: u8) -> Self {
        let mask = if length == 0 {
            0
        } else {
            u32::MAX << (32 - length as u32)
        };
        Self {
            address: V4::from_number(address.number() & mask),
            mask: V4::from_number(mask),
        }
    }

    /// Whether an address lies in it.
    #[inline(always)]
    #[must_use]
    pub const fn contains(&self, address: V4) -> bool {
        self.differs(address) == 0
    }

    /// The bits by which an address does not lie in it.
    #[inline(always)]
    pub(crate) const fn differs(&self, address: V4) -> u32 {
        address.0.0 & self.mask.0.0 ^ self.address.0.0
    }
}

impl V4Networks {
    /// The most networks that fit.
    pub const MOST: usize = 16;

    /// Adds a network. Gives it back if there is no room.
    ///
    /// # Errors
    /// There are [`MOST`](Self::MOST) networks already.
    pub fn push(&mut self, network: V4Network) -> Result<(), V4Network> {
        let slot = self.networks.get_mut(self.count as usize).ok_or(network)?;
        *slot = network;
        self.count += 1;
        Ok(())
    }

    /// Whether a packet leaves them: from an address in one of them to one in none.
    #[inline(always)]
    #[must_use]
    pub fn are_left(&self, source: V4, destination: V4) -> bool {
        self.contains(source) && !self.contains(destination)
    }

    /// Whether an address lies in one of them.
    #[inline(always)]
    #[must_use]
    pub fn contains(&self, address: V4) -> bool {
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

/// A stateful translator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Nat64 {
    /// Prefix under which IPv6 hosts reach IPv4 hosts.
    pub prefix: Prefix,
    /// Pool, timers, limits, tables.
    pub nat: NatConfig,
}

/// A stateful translator within IPv4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Nat44 {
    /// The hosts that share the pool.
    pub inside: V4Networks,
    /// Destinations that they reach without translation (RFC 6888 section 3, REQ-6).
    pub exempt: V4Networks,
    /// Pool, timers, limits, tables.
    pub nat: NatConfig,
}

/// Hairpinning between explicit mappings (RFC 7757 section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Hairpin {
    /// Such packets leave as IPv4.
    Off,
    /// RFC 7757 section 4.2.1.
    Simple,
    /// RFC 7757 section 4.2.2.
    Intrinsic,
}

/// Where the explicit mappings lie in the rules memory; see [`crate::address::eam`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct EamTable {
    /// First line.
    pub base: u32,
    /// Lines per direction, a power of two; 0 if there are no mappings.
    pub lines: u32,
    /// The lowest and the highest IPv4 address that a mapping covers, as numbers.
    pub v4_bounds: (u32, u32),
    /// Bit `n` set: there is a mapping with an IPv4 prefix of `n` bits.
    pub v4_lengths: u64,
    /// Bit `n` set: there is a mapping with an IPv6 prefix of `n` bits (bit 128 of 129 is word 2).
    pub v6_lengths: [u64; 3],
    /// The length of all IPv4 prefixes, or [`SEVERAL`](Self::SEVERAL).
    pub v4_length: u8,
    /// The length of all IPv6 prefixes, or [`SEVERAL`](Self::SEVERAL).
    pub v6_length: u8,
    /// The binary logarithm of `lines`.
    pub lines_log2: u8,
}

impl EamTable {
    /// Not a length: prefixes have several.
    pub const SEVERAL: u8 = 255;

    /// Whether a mapping may cover an IPv4 address: most destinations of an internet are far from
    /// the few addresses that stand for IPv6 hosts.
    #[inline(always)]
    #[must_use]
    pub const fn may_cover(&self, address: V4) -> bool {
        let (lowest, highest) = self.v4_bounds;
        let number = address.number();
        self.lines != 0 && lowest <= number && number <= highest
    }
}

impl EamTable {
    /// Whether one of the mappings is of all of IPv4.
    #[inline(always)]
    #[must_use]
    pub const fn maps_everything(&self) -> bool {
        self.v4_lengths & 1 != 0
    }
}

/// What is written over the type of service or traffic class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, u32)]
pub enum ServiceClass {
    /// The octet of the original.
    Copy,
    /// This octet.
    Set(u8),
}

impl ServiceClass {
    /// The octet to write for one that was received.
    #[inline(always)]
    #[must_use]
    pub const fn of(self, received: u8) -> u8 {
        match self {
            Self::Copy => received,
            Self::Set(octet) => octet,
        }
    }
}

/// What to do with UDP over IPv4 without a checksum (RFC 7915 section 4.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ZeroUdpChecksum {
    /// Compute one.
    Compute,
    /// Drop the packet.
    Drop,
}

/// How headers are treated; RFC 7915's administrative choices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Policy {
    /// Traffic class of translated packets (RFC 7915 section 4.1).
    pub traffic_class: ServiceClass,
    /// Type of service of translated packets (RFC 7915 section 5.1).
    pub tos: ServiceClass,
    /// RFC 7915 section 4.1: packets without DF are split to fit this; at least 1280.
    pub lowest_ipv6_mtu: u16,
    /// MTU of the IPv4 side where the route does not tell.
    pub ipv4_mtu: u16,
    /// MTU of the IPv6 side where the route does not tell.
    pub ipv6_mtu: u16,
    /// UDP without checksum.
    pub zero_udp_checksum: ZeroUdpChecksum,
    /// Whether non-global IPv4 addresses may appear under the well-known prefix.
    pub allow_non_global: bool,
    /// Whether the MSS option of TCP SYN segments is lowered to what both links take; see
    /// [`mss`](crate::translate::mss).
    pub mss_clamp: bool,
    /// RFC 6791 pool: first address and count, a power of two; 192.0.0.8 and 1 by default.
    pub icmp_pool: (V4, u32),
    /// Source of the gateway's own ICMPv4 errors.
    pub own_v4: V4,
    /// Source of the gateway's own ICMPv6 errors.
    pub own_v6: V6,
}

impl Policy {
    /// Whether a prefix must not represent an IPv4 address: the well-known prefix is for global
    /// addresses only (RFC 6052 section 3.1).
    #[inline(always)]
    #[must_use]
    pub fn forbids(&self, prefix: &Prefix, address: V4) -> bool {
        prefix.is_well_known() && self.forbids_well_known(address)
    }

    #[inline(always)]
    fn forbids_well_known(&self, address: V4) -> bool {
        !self.allow_non_global && special::is_non_global_v4(address)
    }
}

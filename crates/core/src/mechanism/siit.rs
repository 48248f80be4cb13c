//! Stateless translation: a prefix and explicit address mappings (RFC 7915 section 6, RFC 6052,
//! RFC 6219, RFC 7757). Ports stay as they are.

use super::crossing::{Translation, Translator};
use super::{Instances, Mechanism, PacketV4, Seen, Stage};
use crate::address::eam::EamTable;
use crate::address::embedding::Embedding;
use crate::address::networks::V4Networks;
use crate::address::rfc6052::Prefix;
use crate::address::{V4, V6, eam, ivi, special};
use crate::customer::{Destination, Receiver};
use crate::host::Host;
use crate::packet::Family;
use crate::policy::Policy;
use crate::reason::Counter;
use crate::verdict::Refusal;
use crate::wire::tuple::Tuple;

/// The mappings of a stateless translator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Siit {
    /// Prefix of IPv4-converted addresses.
    pub prefix: PrefixMapping,
    /// The IPv4 addresses that represent IPv6 hosts under the prefix: packets to them are translated (RFC
    /// 7915 section 4.6), like those to explicit mappings.
    pub hosts: V4Networks,
    /// Explicit address mappings.
    pub eam: EamTable,
    /// How they lie to the prefix.
    pub overlap: Overlap,
    /// The treatment of packets between two hosts that both have a mapping here.
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

/// The kind of a prefix.
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
            embedding: *prefix,
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
            embedding: *prefix,
            kind: PrefixKind::Own,
        }
    }
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

/// The IPv4 address of an IPv6 address.
#[derive(Clone, Copy)]
struct V4Of {
    address: V4,
    /// The IPv6 address is under the prefix.
    under: bool,
}

/// Whether a packet from IPv4 is on its way back from a hairpin.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Back {
    Yes,
    No,
}

impl Mechanism for Siit {
    type Crossing = Translation;

    const STAGE: Stage = Stage::Translation;
    const ERRORS_IN_BPF: bool = true;
    const HAIRPINS_IN_BPF: Option<Family> = Some(Family::V6);

    /// Whether an IPv4 address stands for an IPv6 host (RFC 7915 section 4.6).
    #[inline(always)]
    fn owns_v4<H: Host>(&self, host: &H, packet: &PacketV4<impl Fn() -> u8>) -> bool {
        self.hosts.contains(packet.destination)
            || host.find_eam_v4(&self.eam, packet.destination).is_some()
    }

    /// Whether an IPv6 packet is for an IPv4 host: under the prefix, or under a mapping of all of
    /// IPv4, which serves as a prefix (RFC 7757 figure 2). The hosts of all other explicit mappings
    /// are on the IPv6 side: a packet to one of them is translated only if it comes from an IPv4
    /// host, or if there is no prefix and both sides have mappings.
    #[inline(always)]
    fn owns_v6<H: Host>(&self, host: &H, source: V6, destination: V6) -> bool {
        if self.prefix.contains(destination) {
            return true;
        }
        let from_v4 = self.prefix.is_none() || self.prefix.contains(source);
        if !from_v4 && !self.eam.maps_everything() {
            return false;
        }
        match host.map_eam_v6(&self.eam, destination) {
            Some(mapped) => from_v4 || mapped.of_everything,
            None => false,
        }
    }

    #[inline(always)]
    fn receiver<H: Host>(&self, _host: &H, to: &Destination) -> Option<Receiver> {
        Some(Receiver::V4(to.address))
    }

    fn rules_base_mut(&mut self) -> Option<&mut u32> {
        Some(&mut self.eam.base)
    }
}

impl Translator for Siit {
    const BY_PORTS: bool = false;

    #[inline(always)]
    fn to_v6<H: Host>(&self, host: &mut H, seen: Seen<'_, V4>) -> Result<Tuple<V6>, Refusal> {
        let back = match self.hairpin {
            // A packet from outside may be on its way back, too: nobody else looks.
            Hairpin::Simple => Back::Yes,
            Hairpin::Off | Hairpin::Intrinsic => Back::No,
        };
        self.map_v4(host, seen, back)
    }

    #[inline(always)]
    fn to_v4<H: Host>(&self, host: &mut H, seen: Seen<'_, V6>) -> Result<Tuple<V4>, Refusal> {
        let (policy, tuple) = (seen.policy, seen.tuple);
        let source = self
            .mapped_v4(host, tuple.source)
            .ok_or(Refusal::prohibited(Counter::UntranslatableSource))?;
        let destination = self
            .mapped_v4(host, tuple.destination)
            .ok_or(Refusal::prohibited(Counter::UntranslatableDestination))?;
        if special::is_illegal_source_v4(source.address) {
            return Err(Refusal::Drop(Counter::IllegalSource));
        }
        if special::is_illegal_destination_v4(destination.address) {
            return Err(Refusal::Drop(Counter::IllegalDestination));
        }
        let forbidden = |it: V4Of| it.under && self.prefix.forbids(policy, it.address);
        if forbidden(source) || forbidden(destination) {
            return Err(Refusal::prohibited(Counter::NonGlobalWellKnown));
        }
        Ok(tuple.between(source.address, destination.address))
    }

    /// The rules of RFC 7757 section 4.2.1, for the second half of a hairpin (section 4.2.2).
    #[inline(always)]
    fn turn_back<H: Host>(&self, host: &mut H, seen: Seen<'_, V4>) -> Result<Tuple<V6>, Refusal> {
        self.map_v4(host, seen, Back::Yes)
    }

    /// RFC 7757 section 4.2.2, conditions A2 and A3 or B2 and B3: the outer destination of an error is the inner
    /// source.
    #[inline(always)]
    fn hairpins<H: Host, I: Instances + ?Sized>(
        &self,
        host: &H,
        _instances: &I,
        from: V6,
        destination: V4,
    ) -> bool {
        self.hairpin == Hairpin::Intrinsic
            && self.is_by_prefix(host, from)
            && self.is_host(host, destination)
    }

    #[inline(always)]
    fn error_source_v6<H: Host>(&self, host: &H, policy: &Policy, source: V4) -> V6 {
        self.any_to_v6(host, source).unwrap_or(policy.own_v6)
    }

    #[inline(always)]
    fn error_source_v4<H: Host>(&self, host: &H, policy: &Policy, source: V6, _outside: V4) -> V4 {
        self.any_to_v4(host, source)
            .unwrap_or_else(|| policy.icmp_source_of(source))
    }
}

impl Siit {
    /// Whether an explicit mapping says that an IPv4 address is a host behind this translator. A
    /// mapping of all of IPv4 does not.
    #[inline(always)]
    fn is_host<H: Host>(&self, host: &H, address: V4) -> bool {
        match host.find_eam_v4(&self.eam, address) {
            Some(place) => !eam::is_of_everything(host.rules(), place),
            None => false,
        }
    }

    /// Whether an IPv6 address is mapped by the prefix, rather than by an explicit mapping.
    #[inline(always)]
    fn is_by_prefix<H: Host>(&self, host: &H, address: V6) -> bool {
        self.prefix.contains(address)
            && (self.overlap == Overlap::Apart || host.map_eam_v6(&self.eam, address).is_none())
    }

    /// The IPv6 tuple of an IPv4 packet.
    #[inline(always)]
    fn map_v4<H: Host>(
        &self,
        host: &H,
        seen: Seen<'_, V4>,
        back: Back,
    ) -> Result<Tuple<V6>, Refusal> {
        let (policy, tuple) = (seen.policy, seen.tuple);
        let Some(source) = self.source_to_v6(host, tuple.source, back) else {
            return Err(Refusal::prohibited(Counter::UntranslatableSource));
        };
        let Some(destination) = self.any_to_v6(host, tuple.destination) else {
            return Err(Refusal::prohibited(Counter::UntranslatableDestination));
        };
        let forbidden = |v4, v6| self.prefix.forbids(policy, v4) && self.prefix.contains(v6);
        if forbidden(tuple.source, source) || forbidden(tuple.destination, destination) {
            return Err(Refusal::prohibited(Counter::NonGlobalWellKnown));
        }
        Ok(tuple.between(source, destination))
    }

    /// The IPv6 source of a packet from an IPv4 address. If it is on its way back from a hairpin, its
    /// correspondent knows it under the prefix, whatever mapping it has (RFC 7757 section 4.2.1). For a quoted
    /// packet the tuple is swapped, so that rules 1 and 2 are the same.
    #[inline(always)]
    fn source_to_v6<H: Host>(&self, host: &H, address: V4, back: Back) -> Option<V6> {
        if back == Back::Yes && !self.prefix.is_none() {
            return self.prefix.embed(address);
        }
        self.any_to_v6(host, address)
    }

    /// The explicit mapping of an IPv4 address, else that by the prefix (RFC 7757 section 3.3).
    #[inline(always)]
    pub fn any_to_v6<H: Host>(&self, host: &H, address: V4) -> Option<V6> {
        if let Some(place) = host.find_eam_v4(&self.eam, address)
            && let Some(mapped) = eam::to_v6(host.rules(), place, address)
        {
            return Some(mapped);
        }
        self.prefix.embed(address)
    }

    /// The explicit mapping of an IPv6 address, else that by the prefix (RFC 7757 section 3.3).
    #[inline(always)]
    pub fn any_to_v4<H: Host>(&self, host: &H, address: V6) -> Option<V4> {
        self.mapped_v4(host, address).map(|mapped| mapped.address)
    }

    /// [`any_to_v4`](Self::any_to_v4), and whether the IPv6 address is under the prefix.
    #[inline(always)]
    fn mapped_v4<H: Host>(&self, host: &H, address: V6) -> Option<V4Of> {
        let by_prefix = self.prefix.extract(address);
        let under = by_prefix.is_some();
        if (!under || self.overlap == Overlap::Under)
            && let Some(mapped) = host.map_eam_v6(&self.eam, address)
        {
            let address = mapped.address;
            return Some(V4Of { address, under });
        }
        by_prefix.map(|address| V4Of { address, under })
    }
}

//! Stateful translation within IPv4, for hosts that share the pool's addresses (RFC 3022, with the
//! behaviour of RFC 4787, RFC 5382, RFC 5508 and RFC 6888).

use super::crossing::Napt44;
use super::passage::{Passage, Passed};
use super::{Hosts, Mechanism, Opens, PacketV4, Remembered, Seen, Stage, stateful};
use crate::address::networks::V4Networks;
use crate::address::{V4, V6};
use crate::host::Host;
use crate::nat::{self, NatConfig};
use crate::packet::Family;

use crate::customer::{Destination, Receiver};
use crate::reason::Counter;
use crate::verdict::{Refusal, Slow};
use crate::wire::tuple::Tuple;

/// A stateful translator within IPv4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Nat44 {
    /// Pool, timers, limits, tables.
    pub nat: NatConfig,
    /// The hosts that share the pool.
    pub inside: V4Networks,
    /// Destinations that they reach without translation (RFC 6888 section 3, REQ-6).
    pub exempt: V4Networks,
}

impl Mechanism for Nat44 {
    type Crossing = Napt44;

    const STAGE: Stage = Stage::Translation;

    const OPENS_IN_BPF: Option<Opens> = Some(Opens::V4);

    const ERRORS_IN_BPF: bool = true;
    const HAIRPINS_IN_BPF: Option<Family> = Some(Family::V4);
    const FRAGMENTS_IN_BPF: bool = true;

    const COUNTS_TRAFFIC: bool = true;

    const CUSTOMERS: Family = Family::V4;

    /// Whether a packet is from an inside host to one that is neither inside nor exempt, or to the
    /// pool.
    #[inline(always)]
    fn owns_v4<H: Host>(&self, _host: &H, packet: &PacketV4<impl Fn() -> u8>) -> bool {
        let outbound = self.is_inside(packet.source)
            && !self.is_inside(packet.destination)
            && !self.exempt.contains(packet.destination);
        outbound || self.nat.owns(packet.destination)
    }

    #[inline(always)]
    fn nat(&self) -> Option<&NatConfig> {
        Some(&self.nat)
    }

    #[inline(always)]
    fn goes_out(&self, source: V4) -> bool {
        self.is_inside(source)
    }

    #[inline(always)]
    fn receiver<H: Host>(&self, host: &H, to: &Destination) -> Option<Receiver> {
        stateful::receiver(host, &self.nat, to)
    }

    fn nat_mut(&mut self) -> Option<&mut NatConfig> {
        Some(&mut self.nat)
    }

    fn hosts(&self) -> Hosts {
        Hosts::V4(self.inside)
    }
}

impl Nat44 {
    /// Whether an address is of an inside host. Its packets go out; those of all others come in.
    #[inline(always)]
    #[must_use]
    pub fn is_inside(&self, address: V4) -> bool {
        self.inside.contains(address)
    }
}

impl Passage for Nat44 {
    const COUNTER: Counter = Counter::Translated4To4;

    #[inline(always)]
    fn pass<H: Host>(&self, host: &mut H, seen: Seen<'_, V4>) -> Result<Passed, Refusal> {
        let outbound = self.is_inside(seen.tuple.source);
        let tuple = if outbound {
            match stateful::out(host, &self.nat, V6::default(), seen) {
                // The kernel brings no packet to an address of its own to user space.
                Err(Refusal::Slow(Slow::Session))
                    if nat::is_for_others::<H, H::Effort>(host, seen.tuple.destination) =>
                {
                    return Err(Refusal::Slow(Slow::Own));
                }
                out => out?,
            }
        } else {
            stateful::back(host, &self.nat, seen)?.0
        };
        Ok(Passed::by_link(tuple).hiding(outbound))
    }

    /// A packet from an inside host does. An error of this machine itself, whose address is an inside one, quotes what
    /// came from outside.
    #[inline(always)]
    fn turns(&self, tuple: &Tuple<V4>) -> bool {
        self.is_inside(tuple.source)
    }

    #[inline(always)]
    fn datagrams(&self) -> Option<Remembered<'_>> {
        Some(Remembered::ByNat(&self.nat))
    }

    #[inline(always)]
    fn counting_nat(&self) -> Option<&NatConfig> {
        Mechanism::counting_nat(self)
    }
}

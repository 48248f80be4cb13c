//! The AFTR of DS-Lite: hosts behind softwires share the pool, each known by the IPv6 address of its
//! softwire and its own IPv4 address (RFC 6333 section 6.6).

use super::crossing::{SharesV4, Softwires};
use super::passage::Passed;
use super::{Hosts, Mechanism, Opens, PacketV4, Part, Seen, Stage, stateful};
use crate::address::networks::V6Networks;
use crate::address::{V4, V6, special};
use crate::customer::{Destination, Receiver};
use crate::host::{Effort, Host};
use crate::nat::NatConfig;
use crate::packet::Family;
use crate::reason::Counter;
use crate::verdict::{Refusal, Slow};
use crate::wire::tuple::Ends;

/// The address that an AFTR has in every softwire: 192.0.0.1 (RFC 6333 section 6.5).
pub const OWN: V4 = V4::from_number(0xc000_0001);

/// The AFTR of DS-Lite (RFC 6333).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Aftr {
    /// The address of the AFTR, one endpoint of all softwires.
    pub local: V6,
    /// The networks that B4s have their addresses in.
    pub softwires: V6Networks,
    /// Pool, timers, limits, tables.
    pub nat: NatConfig,
}

impl Mechanism for Aftr {
    type Crossing = Softwires;

    const STAGE: Stage = Stage::Softwires;

    const OPENS_IN_BPF: Option<Opens> = Some(Opens::Softwires);
    const ERRORS_IN_BPF: bool = true;
    const HAIRPINS_IN_BPF: Option<Family> = Some(Family::V6);
    const FRAGMENTS_IN_BPF: bool = true;

    const PRIVATE_SOFTWIRES: bool = true;

    const COUNTS_TRAFFIC: bool = true;

    #[inline(always)]
    fn owns_v4<H: Host>(&self, _host: &H, packet: &PacketV4<impl Fn() -> u8>) -> bool {
        self.nat.owns(packet.destination)
    }

    #[inline(always)]
    fn owns_v6<H: Host>(&self, _host: &H, _source: V6, destination: V6) -> bool {
        destination.is(self.local)
    }

    #[inline(always)]
    fn nat(&self) -> Option<&NatConfig> {
        Some(&self.nat)
    }

    #[inline(always)]
    fn receiver<H: Host>(&self, host: &H, to: &Destination) -> Option<Receiver> {
        stateful::receiver(host, &self.nat, to)
    }

    fn nat_mut(&mut self) -> Option<&mut NatConfig> {
        Some(&mut self.nat)
    }

    fn hosts(&self) -> Hosts {
        Hosts::Softwires {
            local: self.local,
            customers: self.softwires,
        }
    }
}

impl SharesV4 for Aftr {
    /// A host behind a B4 has no address of the internet (RFC 6333 section 11).
    #[inline(always)]
    fn check_sender<H: Host>(
        &self,
        _host: &H,
        ends: &Ends<V6>,
        seen: Seen<'_, V4>,
    ) -> Result<(), Refusal> {
        if !self.softwires.contains(ends.source) {
            return Err(Refusal::Drop(Counter::TunnelSource));
        }
        if !special::is_non_global_v4(seen.tuple.source) {
            return Err(Refusal::Drop(Counter::TunnelSpoofed));
        }
        Ok(())
    }

    /// From a B4 to the internet.
    #[inline(always)]
    fn decapsulate<H: Host>(
        &self,
        host: &mut H,
        ends: &Ends<V6>,
        seen: Seen<'_, V4>,
    ) -> Result<Passed, Refusal> {
        // A packet for the AFTR itself never has a session, so that programs which make none hand it on without
        // a rule of their own.
        if H::Effort::OPENS && seen.part == Part::Outer && seen.tuple.destination == OWN {
            return Err(Refusal::Slow(Slow::Own));
        }
        let tuple = stateful::out(host, &self.nat, ends.source, seen)?;
        Ok(Passed::by_link(tuple).hiding(true))
    }

    /// From the internet to a B4.
    #[inline(always)]
    fn encapsulate<H: Host>(&self, host: &mut H, seen: Seen<'_, V4>) -> Result<Passed, Refusal> {
        let (tuple, b4) = stateful::back(host, &self.nat, seen)?;
        Ok(Passed::by_softwire(tuple, Ends::new(self.local, b4)))
    }

    /// RFC 6333 section 8.1.
    #[inline(always)]
    fn hairpins(&self, destination: V4) -> bool {
        self.nat.owns(destination)
    }
}

//! The CE of MAP-E (RFC 7597) and the lwB4 of lw4o6 (RFC 7596): a NAT44 whose outside is a share of an
//! IPv4 address, at the end of a softwire.

use super::crossing::{SharesV4, Softwires};
use super::passage::Passed;
use super::{Hosts, Mechanism, Opens, PacketV4, Seen, Stage, map, stateful};
use crate::address::map::MapRules;
use crate::address::networks::V4Networks;
use crate::address::{V4, V6};
use crate::host::Host;
use crate::nat::NatConfig;
use crate::packet::Family;

use crate::verdict::Refusal;
use crate::wire::tuple::Ends;

/// A CE of MAP-E (RFC 7597) or a lwB4 (RFC 7596).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct MapECe {
    /// The address and ports of the CE, timers, limits, tables.
    pub nat: NatConfig,
    /// The address of the CE.
    pub local: V6,
    /// The address of the BR or lwAFTR.
    pub br: V6,
    /// The networks of the hosts behind the CE.
    pub inside: V4Networks,
    /// The rules by which other CEs are reached directly.
    pub rules: MapRules,
}

impl Mechanism for MapECe {
    type Crossing = Softwires;

    const STAGE: Stage = Stage::Softwires;

    const OPENS_IN_BPF: Option<Opens> = Some(Opens::V4);
    const ERRORS_IN_BPF: bool = true;
    const FRAGMENTS_IN_BPF: bool = true;

    const CUSTOMERS: Family = Family::V4;

    #[inline(always)]
    fn owns_v4<H: Host>(&self, _host: &H, packet: &PacketV4<impl Fn() -> u8>) -> bool {
        self.inside.are_left(packet.source, packet.destination)
    }

    #[inline(always)]
    fn owns_v6<H: Host>(&self, _host: &H, _source: V6, destination: V6) -> bool {
        destination.is(self.local)
    }

    #[inline(always)]
    fn nat(&self) -> Option<&NatConfig> {
        Some(&self.nat)
    }

    fn nat_mut(&mut self) -> Option<&mut NatConfig> {
        Some(&mut self.nat)
    }

    fn hosts(&self) -> Hosts {
        Hosts::V4(self.inside)
    }
}

impl SharesV4 for MapECe {
    /// The BR sends, or another CE.
    #[inline(always)]
    fn check_sender<H: Host>(
        &self,
        _host: &H,
        ends: &Ends<V6>,
        seen: Seen<'_, V4>,
    ) -> Result<(), Refusal> {
        let sender = ends.source;
        if sender.is(self.br) {
            return Ok(());
        }
        let rule = self.rules.find_v6(sender);
        map::check(rule, sender, seen.tuple.source, seen.tuple.source_port)
    }

    /// From the internet to a host.
    #[inline(always)]
    fn decapsulate<H: Host>(
        &self,
        host: &mut H,
        _ends: &Ends<V6>,
        seen: Seen<'_, V4>,
    ) -> Result<Passed, Refusal> {
        let (tuple, _) = stateful::back(host, &self.nat, seen)?;
        Ok(Passed::by_link(tuple))
    }

    /// From a host to the internet.
    #[inline(always)]
    fn encapsulate<H: Host>(&self, host: &mut H, seen: Seen<'_, V4>) -> Result<Passed, Refusal> {
        let tuple = stateful::out(host, &self.nat, V6::default(), seen)?;
        // RFC 7597 section 8.1: directly to another CE where a rule gives its address.
        let (address, port) = (tuple.destination, tuple.destination_port);
        let rule = self.rules.find_v4(address, port);
        let other = rule.and_then(|rule| rule.address_of(address, port));
        let ends = Ends::new(self.local, other.unwrap_or(self.br));
        Ok(Passed::by_softwire(tuple, ends).hiding(true))
    }
}

// Where all mechanisms have it whose sessions BPF programs make for IPv4 hosts.
const _: () = assert!(core::mem::offset_of!(MapECe, nat) == 0);

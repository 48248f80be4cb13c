//! The BR of MAP-E: shared IPv4 addresses over softwires, by rule and without state (RFC 7597
//! section 8).

use super::crossing::{SharesV4, Softwires};
use super::passage::Passed;
use super::{Mechanism, PacketV4, Remembered, Seen, Stage, map};
use crate::address::map::MapRules;
use crate::address::networks::V4Networks;
use crate::address::{V4, V6};
use crate::customer::{Destination, Receiver};
use crate::datagrams::BorderDatagrams;
use crate::host::Host;
use crate::packet::Family;
use crate::verdict::Refusal;
use crate::wire::tuple::Ends;

/// The BR of MAP-E (RFC 7597).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct MapEBr {
    /// The address of the BR, one endpoint of all softwires.
    pub local: V6,
    /// The IPv4 addresses that CEs share.
    pub destinations: V4Networks,
    /// The rules by which CEs have their addresses and ports.
    pub rules: MapRules,
    /// The datagrams whose ports it knows.
    pub datagrams: BorderDatagrams,
}

impl Mechanism for MapEBr {
    type Crossing = Softwires;

    const STAGE: Stage = Stage::Softwires;
    const ERRORS_IN_BPF: bool = true;
    const HAIRPINS_IN_BPF: Option<Family> = Some(Family::V6);
    const FRAGMENTS_IN_BPF: bool = true;
    const FRAGMENTS_BY_SOFTWIRE: bool = true;

    #[inline(always)]
    fn owns_v4<H: Host>(&self, _host: &H, packet: &PacketV4<impl Fn() -> u8>) -> bool {
        self.destinations.contains(packet.destination)
    }

    #[inline(always)]
    fn receiver<H: Host>(&self, _host: &H, to: &Destination) -> Option<Receiver> {
        map::receiver(&self.rules, to)
    }

    #[inline(always)]
    fn datagrams(&self) -> Option<Remembered<'_>> {
        Some(Remembered::ByBorder(&self.datagrams))
    }

    fn datagrams_mut(&mut self) -> Option<&mut BorderDatagrams> {
        Some(&mut self.datagrams)
    }

    #[inline(always)]
    fn owns_v6<H: Host>(&self, _host: &H, _source: V6, destination: V6) -> bool {
        destination.is(self.local)
    }
}

impl SharesV4 for MapEBr {
    #[inline(always)]
    fn check_sender<H: Host>(
        &self,
        _host: &H,
        ends: &Ends<V6>,
        seen: Seen<'_, V4>,
    ) -> Result<(), Refusal> {
        let rule = self.rules.find_v6(ends.source);
        map::check(rule, ends.source, seen.tuple.source, seen.tuple.source_port)
    }

    /// From the internet to a CE.
    #[inline(always)]
    fn encapsulate<H: Host>(&self, _host: &mut H, seen: Seen<'_, V4>) -> Result<Passed, Refusal> {
        let (address, port) = (seen.tuple.destination, seen.tuple.destination_port);
        let rule = self.rules.find_v4(address, port);
        // RFC 7596 section 6.2: the sender gets an error for an address and port without a CE.
        let ce = rule
            .and_then(|rule| rule.address_of(address, port))
            .ok_or(map::NOBODY)?;
        Ok(Passed::by_softwire(*seen.tuple, Ends::new(self.local, ce)))
    }

    /// RFC 7597 section 8.1.
    #[inline(always)]
    fn hairpins(&self, destination: V4) -> bool {
        self.destinations.contains(destination)
    }
}

//! The BR of MAP-T: shared IPv4 addresses by translation, by rule and without state (RFC 7599).

use super::crossing::{Translation, Translator};
use super::{Instances, Mechanism, PacketV4, Remembered, Seen, Stage, map};
use crate::address::map::MapRules;
use crate::address::networks::V4Networks;
use crate::address::rfc6052::Prefix;
use crate::address::{V4, V6, special};
use crate::customer::{Destination, Receiver};
use crate::datagrams::BorderDatagrams;
use crate::host::Host;
use crate::packet::Family;
use crate::policy::Policy;
use crate::reason::Counter;
use crate::verdict::Refusal;
use crate::wire::tuple::Tuple;

/// The BR of MAP-T (RFC 7599).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct MapTBr {
    /// The IPv4 internet, seen from CEs: the default mapping rule.
    pub prefix: Prefix,
    /// The IPv4 addresses that CEs share.
    pub destinations: V4Networks,
    /// The rules by which CEs have their addresses and ports.
    pub rules: MapRules,
    /// The datagrams whose ports it knows.
    pub datagrams: BorderDatagrams,
}

impl Mechanism for MapTBr {
    type Crossing = Translation;

    const STAGE: Stage = Stage::MapT;
    const ERRORS_IN_BPF: bool = true;
    const HAIRPINS_IN_BPF: Option<Family> = Some(Family::V6);
    const FRAGMENTS_IN_BPF: bool = true;

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
        self.prefix.contains(destination)
    }

    fn prefix(&self) -> Option<&Prefix> {
        Some(&self.prefix)
    }
}

impl Translator for MapTBr {
    /// From the internet to a CE (RFC 7599 section 8.4).
    #[inline(always)]
    fn to_v6<H: Host>(&self, _host: &mut H, seen: Seen<'_, V4>) -> Result<Tuple<V6>, Refusal> {
        let tuple = seen.tuple;
        let (address, port) = (tuple.destination, tuple.destination_port);
        let rule = self.rules.find_v4(address, port).ok_or(map::NOBODY)?;
        let Some(destination) = rule.host_address_of(address, port) else {
            return Err(map::NOBODY);
        };
        Ok(tuple.between(self.prefix.embed(tuple.source), destination))
    }

    /// From a CE to the internet (RFC 7599 section 8.3).
    #[inline(always)]
    fn to_v4<H: Host>(&self, _host: &mut H, seen: Seen<'_, V6>) -> Result<Tuple<V4>, Refusal> {
        let tuple = seen.tuple;
        let source = map::ce_of(self.rules.find_v6(tuple.source), tuple)?;
        let destination = self
            .prefix
            .extract(tuple.destination)
            .ok_or(Refusal::Drop(Counter::UntranslatableDestination))?;
        if special::is_illegal_destination_v4(destination) {
            return Err(Refusal::Drop(Counter::IllegalDestination));
        }
        Ok(tuple.between(source, destination))
    }

    #[inline(always)]
    fn hairpins<H: Host, I: Instances + ?Sized>(
        &self,
        _host: &H,
        _instances: &I,
        _from: V6,
        destination: V4,
    ) -> bool {
        self.destinations.contains(destination)
    }

    #[inline(always)]
    fn error_source_v6<H: Host>(&self, _host: &H, _policy: &Policy, source: V4) -> V6 {
        self.prefix.embed(source)
    }

    #[inline(always)]
    fn error_source_v4<H: Host>(&self, _host: &H, policy: &Policy, source: V6, _outside: V4) -> V4 {
        match self.rules.find_v6(source) {
            Some(rule) => rule.host_v4_in(source),
            None => policy.icmp_source_of(source),
        }
    }
}

//! The CE of MAP-T (RFC 7599): a NAT44 whose outside is translated. A CE without rules is the CLAT of
//! 464XLAT (RFC 6877) for hosts that share its one address.

use super::crossing::{Translation, Translator};
use super::{Hosts, Mechanism, Opens, PacketV4, Part, Seen, Stage, map, stateful};
use crate::address::map::MapRules;
use crate::address::networks::V4Networks;
use crate::address::rfc6052::Prefix;
use crate::address::{V4, V6};
use crate::host::Host;
use crate::nat::NatConfig;
use crate::packet::Family;

use crate::policy::Policy;
use crate::verdict::{Refusal, Slow};
use crate::wire::content::Content;
use crate::wire::tuple::Tuple;

/// A CE of MAP-T (RFC 7599), or a CLAT (RFC 6877).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct MapTCe {
    /// The address and ports of the CE, timers, limits, tables.
    pub nat: NatConfig,
    /// The IPv4 internet, seen from here: the default mapping rule, or the prefix of the PLAT.
    pub prefix: Prefix,
    /// The IPv6 address of the CE.
    pub local: V6,
    /// The IPv4 address of the CE, that of the pool.
    pub address: V4,
    /// The networks of the hosts behind the CE.
    pub inside: V4Networks,
    /// The rules by which other CEs are reached directly.
    pub rules: MapRules,
}

impl Mechanism for MapTCe {
    type Crossing = Translation;

    const STAGE: Stage = Stage::MapT;

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

    fn prefix(&self) -> Option<&Prefix> {
        Some(&self.prefix)
    }

    fn hosts(&self) -> Hosts {
        Hosts::V4(self.inside)
    }
}

impl Translator for MapTCe {
    /// From a host behind the CE to the internet (RFC 7599 section 8.1).
    #[inline(always)]
    fn to_v6<H: Host>(&self, host: &mut H, seen: Seen<'_, V4>) -> Result<Tuple<V6>, Refusal> {
        let tuple = stateful::out(host, &self.nat, V6::default(), seen)?;
        let (address, port) = (tuple.destination, tuple.destination_port);
        let rule = self.rules.find_v4(address, port);
        let other = rule.and_then(|rule| rule.host_address_of(address, port));
        Ok(tuple.between(
            self.local,
            other.unwrap_or_else(|| self.prefix.embed(address)),
        ))
    }

    /// From the internet to a host behind the CE (RFC 7599 section 8.2). The sender is under the
    /// prefix, or another CE.
    #[inline(always)]
    fn to_v4<H: Host>(&self, host: &mut H, seen: Seen<'_, V6>) -> Result<Tuple<V4>, Refusal> {
        let tuple = seen.tuple;
        let source = match self.prefix.extract(tuple.source) {
            Some(address) => address,
            None => match self.rules.find_v6(tuple.source) {
                None if is_for_ce(seen) => return Err(Refusal::Slow(Slow::Own)),
                rule => map::ce_of(rule, tuple)?,
            },
        };
        let outside = tuple.between(source, self.address);
        let outside = Seen {
            policy: seen.policy,
            tuple: &outside,
            transport: seen.transport,
            part: seen.part,
        };
        let (tuple, _) = stateful::back(host, &self.nat, outside)?;
        Ok(tuple)
    }

    /// A router behind the CE has no address outside: it gets the CE's.
    #[inline(always)]
    fn error_source_v6<H: Host>(&self, _host: &H, _policy: &Policy, _source: V4) -> V6 {
        self.local
    }

    #[inline(always)]
    fn error_source_v4<H: Host>(&self, _host: &H, policy: &Policy, source: V6, _outside: V4) -> V4 {
        match self.prefix.extract(source) {
            Some(address) => address,
            None => match self.rules.find_v6(source) {
                Some(rule) => rule.host_v4_in(source),
                None => policy.icmp_source_of(source),
            },
        }
    }
}

/// The UDP port of PCP servers (RFC 6887 section 19.1).
const PCP: u16 = 5351;

/// Whether a packet may be the answer of a PCP server to the CE itself, which sends requests from its own
/// address (RFC 7648 section 3.3).
#[inline(always)]
fn is_for_ce(seen: Seen<'_, V6>) -> bool {
    seen.part == Part::Outer
        && matches!(seen.transport.content, Content::Udp)
        && seen.tuple.source_port == PCP
}

// Where all mechanisms have it whose sessions BPF programs make for IPv4 hosts.
const _: () = assert!(core::mem::offset_of!(MapTCe, nat) == 0);

//! The CE of MAP-E (RFC 7597) and the lwB4 of lw4o6 (RFC 7596): a NAT44 whose outside is a share of an
//! IPv4 address, at the end of a softwire.

use super::crossing::{SharesV4, Softwires};
use super::passage::{Exit, Passage, Passed};
use super::{Hosts, Mechanism, PacketV4, Part, Stage, map, stateful};
use crate::address::map::MapRules;
use crate::address::networks::V4Networks;
use crate::address::{V4, V6};
use crate::host::Host;
use crate::nat::NatConfig;
use crate::reason::Counter;
use crate::verdict::Refusal;
use crate::wire::transport::Transport;
use crate::wire::tuple::{Ends, Tuple};

/// A CE of MAP-E (RFC 7597) or a lwB4 (RFC 7596).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct MapECe {
    /// The address of the CE.
    pub local: V6,
    /// The address of the BR or lwAFTR.
    pub br: V6,
    /// The networks of the hosts behind the CE.
    pub inside: V4Networks,
    /// The rules by which other CEs are reached directly.
    pub rules: MapRules,
    /// The address and ports of the CE, timers, limits, tables.
    pub nat: NatConfig,
}

impl Mechanism for MapECe {
    type Crossing = Softwires;

    const STAGE: Stage = Stage::Softwires;

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
    type FromSoftwire<'a> = FromBr<'a>;
    type ToSoftwire<'a> = ToBr<'a>;

    #[inline(always)]
    fn out_of_softwire(&self, ends: Ends<V6>) -> FromBr<'_> {
        FromBr {
            ce: self,
            sender: ends.source,
        }
    }

    #[inline(always)]
    fn to_softwire(&self) -> ToBr<'_> {
        ToBr(self)
    }
}

/// From a host to the internet.
pub struct ToBr<'a>(&'a MapECe);

/// From the internet to a host.
pub struct FromBr<'a> {
    ce: &'a MapECe,
    /// The BR, or another CE.
    sender: V6,
}

impl Passage for ToBr<'_> {
    const COUNTER: Counter = Counter::Encapsulated4In6;

    #[inline(always)]
    fn pass<H: Host>(
        &self,
        host: &mut H,
        tuple: &Tuple<V4>,
        transport: &Transport,
        part: Part,
    ) -> Result<Passed, Refusal> {
        let Self(ce) = self;
        let tuple = stateful::out(host, &ce.nat, V6::default(), tuple, transport, part)?;
        // RFC 7597 section 8.1: directly to another CE where a rule gives its address.
        let (address, port) = (tuple.destination, tuple.destination_port);
        let rule = ce.rules.find_v4(address, port);
        let other = rule.and_then(|rule| rule.address_of(address, port));
        Ok(Passed {
            tuple,
            exit: Exit::Softwire(Ends {
                source: ce.local,
                destination: other.unwrap_or(ce.br),
            }),
            hides: true,
        })
    }

    #[inline(always)]
    fn nat(&self) -> Option<&NatConfig> {
        let Self(ce) = self;
        Some(&ce.nat)
    }
}

impl Passage for FromBr<'_> {
    const COUNTER: Counter = Counter::Decapsulated4In6;

    #[inline(always)]
    fn pass<H: Host>(
        &self,
        host: &mut H,
        tuple: &Tuple<V4>,
        transport: &Transport,
        part: Part,
    ) -> Result<Passed, Refusal> {
        let ce = self.ce;
        if !self.sender.is(ce.br) {
            let rule = ce.rules.find_v6(self.sender);
            map::check(rule, self.sender, tuple.source, tuple.source_port)?;
        }
        let (tuple, _) = stateful::back(host, &ce.nat, tuple, transport, part)?;
        Ok(Passed {
            tuple,
            exit: Exit::Link,
            hides: false,
        })
    }

    #[inline(always)]
    fn nat(&self) -> Option<&NatConfig> {
        Some(&self.ce.nat)
    }
}

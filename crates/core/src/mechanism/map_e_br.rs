//! The BR of MAP-E: shared IPv4 addresses over softwires, by rule and without state (RFC 7597
//! section 8).

use super::crossing::{SharesV4, Softwires};
use super::passage::{Exit, Passage, Passed};
use super::{Mechanism, PacketV4, Part, Stage, map};
use crate::address::map::MapRules;
use crate::address::networks::V4Networks;
use crate::address::{V4, V6};
use crate::host::Host;
use crate::reason::Counter;
use crate::verdict::{IcmpError, Refusal};
use crate::wire::transport::Transport;
use crate::wire::tuple::{Ends, Tuple};

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
}

impl Mechanism for MapEBr {
    type Crossing = Softwires;

    const STAGE: Stage = Stage::Softwires;

    #[inline(always)]
    fn owns_v4<H: Host>(&self, _host: &H, packet: &PacketV4<impl Fn() -> u8>) -> bool {
        self.destinations.contains(packet.destination)
    }

    #[inline(always)]
    fn owns_v6<H: Host>(&self, _host: &H, _source: V6, destination: V6) -> bool {
        destination.is(self.local)
    }
}

impl SharesV4 for MapEBr {
    type FromSoftwire<'a> = FromCe<'a>;
    type ToSoftwire<'a> = ToCe<'a>;

    #[inline(always)]
    fn out_of_softwire(&self, ends: Ends<V6>) -> FromCe<'_> {
        FromCe {
            br: self,
            ce: ends.source,
        }
    }

    #[inline(always)]
    fn to_softwire(&self) -> ToCe<'_> {
        ToCe(self)
    }

    /// RFC 7597 section 8.1.
    #[inline(always)]
    fn hairpins(&self, destination: V4) -> bool {
        self.destinations.contains(destination)
    }
}

/// From a CE to the internet.
pub struct FromCe<'a> {
    br: &'a MapEBr,
    ce: V6,
}

/// From the internet to a CE.
pub struct ToCe<'a>(&'a MapEBr);

impl Passage for FromCe<'_> {
    const COUNTER: Counter = Counter::Decapsulated4In6;

    #[inline(always)]
    fn pass<H: Host>(
        &self,
        _host: &mut H,
        tuple: &Tuple<V4>,
        _transport: &Transport,
        _part: Part,
    ) -> Result<Passed, Refusal> {
        let rule = self.br.rules.find_v6(self.ce);
        map::check(rule, self.ce, tuple.source, tuple.source_port)?;
        Ok(Passed {
            tuple: *tuple,
            exit: Exit::Link,
            hides: false,
        })
    }
}

impl Passage for ToCe<'_> {
    const COUNTER: Counter = Counter::Encapsulated4In6;

    #[inline(always)]
    fn pass<H: Host>(
        &self,
        _host: &mut H,
        tuple: &Tuple<V4>,
        _transport: &Transport,
        _part: Part,
    ) -> Result<Passed, Refusal> {
        let Self(br) = self;
        let (address, port) = (tuple.destination, tuple.destination_port);
        let rule = br.rules.find_v4(address, port);
        // RFC 7596 section 6.2: the sender gets an error for an address and port without a CE.
        let ce = rule
            .and_then(|rule| rule.address_of(address, port))
            .ok_or(Refusal::Reply(
                IcmpError::AddressUnreachable,
                Counter::TunnelDestination,
            ))?;
        Ok(Passed {
            tuple: *tuple,
            exit: Exit::Softwire(Ends {
                source: br.local,
                destination: ce,
            }),
            hides: false,
        })
    }
}

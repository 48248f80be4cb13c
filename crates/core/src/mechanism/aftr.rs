//! The AFTR of DS-Lite: hosts behind softwires share the pool, each known by the IPv6 address of its
//! softwire and its own IPv4 address (RFC 6333 section 6.6).

use super::crossing::{SharesV4, Softwires};
use super::passage::{Exit, Passage, Passed};
use super::{Hosts, Mechanism, PacketV4, Part, Stage, stateful};
use crate::address::networks::V6Networks;
use crate::address::{V4, V6};
use crate::host::{Effort, Host};
use crate::nat::{FragmentKey, NatConfig};
use crate::reason::Counter;
use crate::verdict::{Refusal, Slow};
use crate::wire::ipv4;
use crate::wire::transport::Transport;
use crate::wire::tuple::{Ends, Tuple};

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

    const PRIVATE_SOFTWIRES: bool = true;

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
    type FromSoftwire<'a> = FromB4<'a>;
    type ToSoftwire<'a> = ToB4<'a>;

    #[inline(always)]
    fn out_of_softwire(&self, ends: Ends<V6>) -> FromB4<'_> {
        FromB4 {
            aftr: self,
            b4: ends.source,
        }
    }

    #[inline(always)]
    fn to_softwire(&self) -> ToB4<'_> {
        ToB4(self)
    }

    /// RFC 6333 section 8.1.
    #[inline(always)]
    fn hairpins(&self, destination: V4) -> bool {
        self.nat.owns(destination)
    }
}

/// From a B4 to the internet.
pub struct FromB4<'a> {
    aftr: &'a Aftr,
    b4: V6,
}

/// From the internet to a B4.
pub struct ToB4<'a>(&'a Aftr);

impl Passage for FromB4<'_> {
    const COUNTER: Counter = Counter::Decapsulated4In6;

    #[inline(always)]
    fn pass<H: Host>(
        &self,
        host: &mut H,
        tuple: &Tuple<V4>,
        transport: &Transport,
        part: Part,
    ) -> Result<Passed, Refusal> {
        if !self.aftr.softwires.contains(self.b4) {
            return Err(Refusal::Drop(Counter::TunnelSource));
        }
        // A packet for the AFTR itself never has a session, so that other engines hand it on without
        // a rule of their own.
        if H::Effort::ACCOUNTS && part == Part::Outer && tuple.destination == OWN {
            return Err(Refusal::Slow(Slow::Own));
        }
        let nat = &self.aftr.nat;
        Ok(Passed {
            tuple: stateful::out(host, nat, self.b4, tuple, transport, part)?,
            exit: Exit::Link,
            hides: true,
        })
    }

    #[inline(always)]
    fn nat(&self) -> Option<&NatConfig> {
        Some(&self.aftr.nat)
    }

    /// Hosts behind two softwires may have the same IPv4 address.
    #[inline(always)]
    fn fragment_key(&self, header: &ipv4::Header) -> FragmentKey {
        FragmentKey::softwire(
            self.b4,
            header.source(),
            header.destination(),
            header.identification(),
            header.protocol(),
        )
    }
}

impl Passage for ToB4<'_> {
    const COUNTER: Counter = Counter::Encapsulated4In6;

    #[inline(always)]
    fn pass<H: Host>(
        &self,
        host: &mut H,
        tuple: &Tuple<V4>,
        transport: &Transport,
        part: Part,
    ) -> Result<Passed, Refusal> {
        let Self(aftr) = self;
        let (tuple, b4) = stateful::back(host, &aftr.nat, tuple, transport, part)?;
        Ok(Passed {
            tuple,
            exit: Exit::Softwire(Ends {
                source: aftr.local,
                destination: b4,
            }),
            hides: false,
        })
    }

    #[inline(always)]
    fn nat(&self) -> Option<&NatConfig> {
        let Self(aftr) = self;
        Some(&aftr.nat)
    }
}

//! The concentrator of DS-Lite: hosts behind softwires share the pool, each known by the IPv6
//! address of its softwire and its own IPv4 address (RFC 6333 section 6.6).

use super::passage::{Exit, Passage, Passed};
use super::{Part, stateful};
use crate::address::{V4, V6};
use crate::config::Aftr;
use crate::encap::Ends;
use crate::host::{Host, Sessions};
use crate::nat::{FragmentKey, NatConfig};
use crate::reason::Counter;
use crate::translate::Tuple;
use crate::translate::transport::Transport;
use crate::verdict::{Refusal, Slow};
use crate::wire::ipv4;

/// The address that a concentrator has in every softwire: 192.0.0.1 (RFC 6333 section 6.5).
pub const OWN: V4 = V4::from_number(0xc000_0001);

/// From a B4 to the internet.
pub struct Up<'a> {
    /// The concentrator.
    pub aftr: &'a Aftr,
    /// The address of the B4.
    pub softwire: V6,
}

/// From the internet to a B4.
pub struct Down<'a>(pub &'a Aftr);

impl Passage for Up<'_> {
    const COUNTER: Counter = Counter::Decapsulated4In6;
    const PRIVATE: bool = true;

    #[inline(always)]
    fn pass<H: Host>(
        &self,
        host: &mut H,
        tuple: &Tuple<V4>,
        transport: &Transport,
        part: Part,
    ) -> Result<Passed, Refusal> {
        if !self.aftr.softwires.contains(self.softwire) {
            return Err(Refusal::Drop(Counter::TunnelSource));
        }
        // What is for the concentrator itself never has a session, so that other engines hand it on
        // without a rule of their own.
        if matches!(H::SESSIONS, Sessions::Exhaustive)
            && part == Part::Outer
            && tuple.destination == OWN
        {
            return Err(Refusal::Slow(Slow::Own));
        }
        let nat = &self.aftr.nat;
        Ok(Passed {
            tuple: stateful::out(host, nat, self.softwire, tuple, transport, part)?,
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
            self.softwire,
            header.source(),
            header.destination(),
            header.identification(),
            header.protocol(),
        )
    }
}

impl Passage for Down<'_> {
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
        let (tuple, softwire) = stateful::back(host, &aftr.nat, tuple, transport, part)?;
        Ok(Passed {
            tuple,
            exit: Exit::Softwire(Ends {
                source: aftr.local,
                destination: softwire,
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

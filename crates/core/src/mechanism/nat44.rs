//! Stateful translation within IPv4, for hosts that share the pool's addresses (RFC 3022, with the
//! behaviour of RFC 4787, RFC 5382, RFC 5508 and RFC 6888).

use super::passage::{Exit, Passage, Passed};
use super::{Part, stateful};
use crate::address::{V4, V6};
use crate::config::Nat44;
use crate::host::Host;
use crate::nat::NatConfig;
use crate::reason::Counter;
use crate::translate::Tuple;
use crate::translate::transport::Transport;
use crate::verdict::Refusal;

/// Which way a packet goes through the NAT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From an inside host.
    Out,
    /// To the pool, from anybody else.
    In,
}

/// Whether a packet is the NAT's: from an inside host to one that is neither inside nor exempt, or to
/// the pool.
#[inline(always)]
pub fn owns(nat44: &Nat44, source: V4, destination: V4) -> bool {
    let out = nat44.inside.contains(source)
        && !nat44.inside.contains(destination)
        && !nat44.exempt.contains(destination);
    out || nat44.nat.owns(destination)
}

/// The way of a packet that is the NAT's, by its source.
#[inline(always)]
pub fn way(nat44: &Nat44, source: V4) -> Way {
    if nat44.inside.contains(source) {
        Way::Out
    } else {
        Way::In
    }
}

impl Passage for Nat44 {
    const COUNTER: Counter = Counter::Translated4To4;

    #[inline(always)]
    fn pass<H: Host>(
        &self,
        host: &mut H,
        tuple: &Tuple<V4>,
        transport: &Transport,
        part: Part,
    ) -> Result<Passed, Refusal> {
        let out = way(self, tuple.source) == Way::Out;
        let tuple = if out {
            stateful::out(host, &self.nat, V6::default(), tuple, transport, part)?
        } else {
            stateful::back(host, &self.nat, tuple, transport, part)?.0
        };
        Ok(Passed {
            tuple,
            exit: Exit::Link,
            hides: out,
        })
    }

    #[inline(always)]
    fn nat(&self) -> Option<&NatConfig> {
        Some(&self.nat)
    }
}

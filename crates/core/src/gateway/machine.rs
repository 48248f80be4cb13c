//! An outside address that an instance shares with this machine: packets that no session claims are for the kernel's
//! sockets. The one rule is here, for all mechanisms and engines.
//!
//! A packet that has a session or a binding never gets to the kernel, whose answer (a TCP RST, Port Unreachable) would
//! end the session of an inside host. So only refusals count that say that the NAT knows nothing of the flow: a packet
//! that the filtering holds off is a binding's.

use crate::address::V4;
use crate::host::Host;
use crate::reason::Counter;
use crate::verdict::{Refusal, Slow, Verdict};

/// Leaves an IPv4 packet to the sockets of this machine, if they [get](gets) it. A program that hands packets on asks
/// [where it finds no session](crate::nat::is_for_others): the verifier of BPF does not follow a verdict that is looked at
/// twice beside all packets of a mechanism. It does beside ICMP errors alone.
pub(super) fn unless_claimed<H: Host>(
    host: &mut H,
    destination: V4,
    crossed: Result<Verdict, Refusal>,
) -> Result<Verdict, Refusal> {
    if gets(host, destination, &crossed) {
        host.count(Counter::NotOurs);
        return Ok(Verdict::Deliver);
    }
    crossed
}

/// Whether the sockets of this machine get a packet, after what became of it in its mechanism: its destination is one
/// of the machine's addresses, and no session claims it. So does the second half of a hairpin, which goes on as the
/// first half has left it.
pub(super) fn gets<H: Host>(host: &H, destination: V4, crossed: &Result<Verdict, Refusal>) -> bool {
    match crossed {
        Err(refusal) => is_unclaimed(*refusal) && host.is_local(destination),
        Ok(_) => false,
    }
}

/// Whether a packet is refused because no session or binding is there for it, nor could be.
const fn is_unclaimed(refusal: Refusal) -> bool {
    matches!(
        refusal,
        Refusal::Drop(
            Counter::NoBinding
                | Counter::NonGlobalWellKnown
                | Counter::IcmpInner
                | Counter::IcmpUntranslatable
        ) | Refusal::Reply(_, Counter::UnsupportedProtocol)
            | Refusal::Slow(Slow::UnboundSyn)
    )
}

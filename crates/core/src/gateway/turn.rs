//! Hairpins within IPv4: a packet from one inside host to another goes through both halves at once, so that one which is
//! refused is as it came.

use super::machine;
use crate::host::Host;
use crate::mechanism::passage::{Passage, Turn};
use crate::packet::Packet;
use crate::policy::Policy;
use crate::translate::four_to_four;
use crate::verdict::{Refusal, Verdict};
use crate::wire::ipv4;

/// Takes a packet out and into another place of the inside (RFC 4787 section 6). If nobody has that, and its address is one of
/// this machine's own too, the packet is for the machine, as it is after the first half.
#[inline(always)]
pub(super) fn within_v4<P: Packet, H: Host, O: Passage, I: Passage>(
    packet: &mut P,
    host: &mut H,
    policy: &Policy,
    (out, into): (&O, &I),
    header: ipv4::Header,
    tos: u8,
) -> Result<Verdict, Refusal> {
    let turn = Turn { out, into };
    let turned = four_to_four::translate(packet, host, policy, &turn, header, tos);
    // A part of an engine leaves what it refuses to the others.
    if P::ABILITIES.all() && machine::gets(host, header.destination(), &turned) {
        return four_to_four::translate(packet, host, policy, out, header, tos);
    }
    turned
}

//! The crossing of a NAT within IPv4, with hairpins.

use super::{Cross, Owner, pass, turn};
use crate::host::Host;
use crate::mechanism::Instances;
use crate::mechanism::crossing::Napt44;
use crate::mechanism::nat44::Nat44;
use crate::packet::Packet;
use crate::translate::four_to_four;
use crate::verdict::{Refusal, Verdict};
use crate::wire::{ipv4, ipv6};

impl Cross<Nat44> for Napt44 {
    const HAS_IPV6: bool = false;

    /// A packet turns back if it is from one inside host to another (RFC 4787 section 6).
    #[inline(always)]
    fn v4<P: Packet, H: Host, I: Instances + ?Sized>(
        owner: &Owner<'_, Nat44, I>,
        packet: &mut P,
        host: &mut H,
        header: ipv4::Header,
    ) -> Result<Verdict, Refusal> {
        let (nat44, policy) = (owner.mechanism, owner.policy);
        let tos = header.tos();
        let hairpin = nat44.is_inside(header.source()) && nat44.nat.owns(header.destination());
        Refusal::unless_taken::<P>(hairpin)?;
        if hairpin {
            return turn::within_v4(packet, host, policy, (nat44, nat44), header, tos);
        }
        four_to_four::translate(packet, host, policy, nat44, header, tos)
    }

    /// It owns no IPv6 packets.
    #[inline(always)]
    fn v6<P: Packet, H: Host, I: Instances + ?Sized>(
        _owner: &Owner<'_, Nat44, I>,
        _packet: &mut P,
        host: &mut H,
        _header: ipv6::Header,
    ) -> Result<Verdict, Refusal> {
        Ok(pass(host))
    }
}

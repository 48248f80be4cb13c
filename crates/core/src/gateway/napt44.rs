//! The crossing of a NAT within IPv4, with hairpins.

use super::{Cross, Owner, machine, pass};
use crate::host::Host;
use crate::mechanism::Instances;
use crate::mechanism::crossing::Napt44;
use crate::mechanism::nat44::Nat44;
use crate::packet::Packet;
use crate::reason::Counter;
use crate::translate::{Hop, four_to_four};
use crate::verdict::{Refusal, Slow, Verdict};
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
        let outbound = nat44.is_inside(header.source());
        if !P::ABILITIES.hairpins && outbound && nat44.nat.owns(header.destination()) {
            return Err(Refusal::Slow(Slow::Hairpin));
        }
        let tos = header.tos();
        let verdict =
            four_to_four::translate(packet, host, policy, nat44, header, tos, Hop::Forward)?;
        if !P::ABILITIES.hairpins {
            return Ok(verdict);
        }
        // An error of the machine itself, whose address is an inside one, has its host as destination now.
        let header = ipv4::Header::read(packet, 0)?;
        if !outbound || !nat44.nat.owns(header.destination()) {
            return Ok(verdict);
        }
        let back = four_to_four::translate(packet, host, policy, nat44, header, tos, Hop::Hairpin);
        if machine::gets(host, header.destination(), &back) {
            return Ok(verdict);
        }
        let verdict = back?;
        host.count(Counter::Hairpinned);
        Ok(verdict)
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

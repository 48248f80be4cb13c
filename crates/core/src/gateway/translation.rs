//! The crossing by translation, with hairpins, and the sessions that it needs.

use super::{Cross, Owner, machine, owner_v4};
use crate::address::V6;
use crate::host::Host;
use crate::mechanism::crossing::{Translation, Translator};
use crate::mechanism::{Instances, Member};
use crate::packet::Packet;
use crate::reason::Counter;
use crate::translate::{Hop, four_to_six, six_to_four};
use crate::verdict::{Refusal, Verdict};
use crate::wire::{ipv4, ipv6};

impl<M: Translator + Member> Cross<M> for Translation {
    #[inline(always)]
    fn v4<P: Packet, H: Host, I: Instances + ?Sized>(
        owner: &Owner<'_, M, I>,
        packet: &mut P,
        host: &mut H,
        header: ipv4::Header,
    ) -> Result<Verdict, Refusal> {
        let (mechanism, policy) = (owner.mechanism, owner.policy);
        four_to_six::translate(packet, host, mechanism, policy, header, Hop::Forward)
    }

    #[inline(always)]
    fn v6<P: Packet, H: Host, I: Instances + ?Sized>(
        owner: &Owner<'_, M, I>,
        packet: &mut P,
        host: &mut H,
        header: ipv6::Header,
    ) -> Result<Verdict, Refusal> {
        let (mechanism, policy) = (owner.mechanism, owner.policy);
        let instances = owner.instances;
        let verdict = six_to_four::translate(packet, host, instances, mechanism, policy, header)?;
        if P::ABILITIES.hairpins && P::ABILITIES.all() {
            return hairpin(owner, packet, host, header.destination(), verdict);
        }
        Ok(verdict)
    }
}

/// Translates a packet back, which was sent to `from`, if it was meant for another host behind this gateway (RFC 6146
/// section 3.8, RFC 7757 section 4.2.2). That may be a host of another instance, or this machine. A part of an engine
/// that takes hairpins has done both halves at once (`translate::six_to_six`), and any other has refused such a
/// packet before it changed it.
fn hairpin<M: Translator + Member, P: Packet, H: Host, I: Instances + ?Sized>(
    owner: &Owner<'_, M, I>,
    packet: &mut P,
    host: &mut H,
    from: V6,
    verdict: Verdict,
) -> Result<Verdict, Refusal> {
    let header = ipv4::Header::read(packet, 0)?;
    let (mechanism, instances) = (owner.mechanism, owner.instances);
    if !mechanism.hairpins(host, instances, from, header.destination()) {
        return Ok(verdict);
    }
    let there = owner_v4::<M, _, _, _>(packet, host, instances, &header)
        .ok_or(Refusal::Drop(Counter::NoBinding))?;
    let (mechanism, policy) = (there.mechanism, there.policy);
    let back = four_to_six::translate(packet, host, mechanism, policy, header, Hop::Hairpin);
    if machine::gets(host, header.destination(), &back) {
        host.count(Counter::Translated6To4);
        return Ok(verdict);
    }
    let verdict = back?;
    host.count(Counter::Translated6To4);
    host.count(Counter::Hairpinned);
    Ok(verdict)
}

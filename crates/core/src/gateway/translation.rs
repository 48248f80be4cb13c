//! The crossing by translation, with hairpins, and the sessions that it needs.

use super::{Cross, choose_v4, choose_v6};
use crate::host::Host;
use crate::incoming::{v4, v6};
use crate::mechanism::crossing::{Translation, Translator};
use crate::mechanism::{Instances, Member, Part};
use crate::packet::Packet;
use crate::policy::Policy;
use crate::reason::Counter;
use crate::translate::{Hop, four_to_six, six_to_four};
use crate::verdict::{Refusal, Verdict};
use crate::wire::content::Messages;
use crate::wire::{ipv4, ipv6};

impl<M: Translator> Cross<M> for Translation {
    #[inline(always)]
    fn v4<P: Packet, H: Host, I: Instances + ?Sized>(
        mechanism: &M,
        policy: &Policy,
        packet: &mut P,
        host: &mut H,
        _instances: &I,
        header: ipv4::Header,
    ) -> Result<Verdict, Refusal> {
        four_to_six::translate(packet, host, mechanism, policy, header, Hop::Forward)
    }

    #[inline(always)]
    fn v6<P: Packet, H: Host, I: Instances + ?Sized>(
        mechanism: &M,
        policy: &Policy,
        packet: &mut P,
        host: &mut H,
        instances: &I,
        header: ipv6::Header,
    ) -> Result<Verdict, Refusal> {
        let verdict = six_to_four::translate(packet, host, instances, mechanism, policy, header)?;
        if P::ABILITIES.hairpins {
            return hairpin(packet, host, instances, mechanism, policy, verdict);
        }
        Ok(verdict)
    }
}

/// Translates a packet back that was meant for another host behind the same instance (RFC 6146 section
/// 3.8, RFC 7757 section 4.2.2). An engine that does not do hairpins has refused such a packet before it
/// changed it.
fn hairpin<P: Packet, H: Host, I: Instances + ?Sized, M: Translator>(
    packet: &mut P,
    host: &mut H,
    instances: &I,
    mechanism: &M,
    policy: &Policy,
    verdict: Verdict,
) -> Result<Verdict, Refusal> {
    let header = ipv4::Header::read(packet, 0)?;
    if !mechanism.hairpins(host, instances, header.destination()) {
        return Ok(verdict);
    }
    let verdict = four_to_six::translate(packet, host, mechanism, policy, header, Hop::Hairpin)?;
    host.count(Counter::Translated6To4);
    host.count(Counter::Hairpinned);
    Ok(verdict)
}

/// Makes the session that an IPv4 packet needs, and leaves the packet as it is: the work in between of an
/// engine whose [effort](Host::Effort) opens none.
///
/// # Errors
/// There will be no session.
#[inline(always)]
pub fn open_v4<M: Translator + Member, P: Packet, H: Host, I: Instances + ?Sized>(
    packet: &mut P,
    host: &mut H,
    instances: &I,
) -> Result<(), Refusal> {
    let header = ipv4::Header::read(packet, 0)?;
    let (mechanism, instance) = choose_v4::<M, _, _, _>(packet, host, instances, &header)
        .ok_or(Refusal::Drop(Counter::EngineError))?;
    let transport = v4::read(packet, header, Messages::V4)?.transport;
    let tuple = transport.tuple(header.source(), header.destination());
    mechanism
        .to_v6(host, &instance.policy, &tuple, &transport, Part::Outer)
        .map(|_| ())
}

/// Makes the session that an IPv6 packet needs; see [`open_v4`].
///
/// # Errors
/// There will be no session.
#[inline(always)]
pub fn open_v6<M: Translator + Member, P: Packet, H: Host, I: Instances + ?Sized>(
    packet: &mut P,
    host: &mut H,
    instances: &I,
) -> Result<(), Refusal> {
    let header = ipv6::Header::read(packet, 0)?;
    let (mechanism, instance) = choose_v6::<M, _, _>(host, instances, &header)
        .ok_or(Refusal::Drop(Counter::EngineError))?;
    let transport = v6::read(packet, header)?.transport;
    let tuple = transport.tuple(header.source(), header.destination());
    mechanism
        .to_v4(host, &instance.policy, &tuple, &transport, Part::Outer)
        .map(|_| ())
}

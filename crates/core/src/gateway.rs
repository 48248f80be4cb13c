//! One packet through the gateway.

use crate::address::special;
use crate::config::{Instance, Nat44};
use crate::encap;
use crate::host::{Host, Instances};
use crate::mechanism::nat44::{self, Way};
use crate::mechanism::{self, Part, Task, four_in_six, six_in_four};
use crate::packet::Packet;
use crate::reason::Counter;
use crate::translate::transport::Messages;
use crate::translate::{Hop, Tuple, four_to_four, four_to_six, six_to_four, v4, v6};
use crate::verdict::{Refusal, Verdict};
use crate::wire::{ipv4, ipv6};

/// Finds the instance that a packet belongs to, and translates the packet in place.
///
/// # Errors
/// The packet is not to be sent on; it is unchanged then.
#[inline(always)]
pub fn process<P: Packet, H: Host, I: Instances + ?Sized>(
    packet: &mut P,
    host: &mut H,
    instances: &I,
) -> Result<Verdict, Refusal> {
    let [first] = packet.words::<1>(0)?;
    match first.bytes()[0] >> 4 {
        4 => process_v4(packet, host, instances),
        6 => process_v6(packet, host, instances),
        _ => Err(Refusal::Drop(Counter::MalformedHeader)),
    }
}

/// An IPv4 packet.
///
/// # Errors
/// See [`process`].
#[inline(always)]
pub fn process_v4<P: Packet, H: Host, I: Instances + ?Sized>(
    packet: &mut P,
    host: &mut H,
    instances: &I,
) -> Result<Verdict, Refusal> {
    let header = ipv4::Header::read(packet, 0)?;
    let destination = header.destination();
    if special::is_illegal_destination_v4(destination) {
        return Ok(pass(host));
    }
    let Some(instance) = choose_v4(host, instances, &header) else {
        return Ok(pass(host));
    };
    match mechanism::task(host, instance) {
        Task::Translate => four_to_six::translate(packet, host, instance, header, Hop::Forward),
        Task::WithinV4(nat44) => within_v4(packet, host, instance, nat44, header),
        Task::FourInSix(tunnel) => {
            let ends = four_in_six::ends(tunnel, destination)?;
            encap::four_in_six::enter(packet, host, instance, header, ends)
        }
        Task::SixInFour(tunnel) => {
            let accept = |inner: &ipv6::Header| six_in_four::accept(tunnel, header.source(), inner);
            encap::six_in_four::leave(packet, host, instance, header, accept)
        }
    }
}

/// An IPv4 packet that stays one; it turns back if it is from one inside host to another (RFC 4787
/// section 6).
fn within_v4<P: Packet, H: Host>(
    packet: &mut P,
    host: &mut H,
    instance: &Instance,
    nat44: &Nat44,
    header: ipv4::Header,
) -> Result<Verdict, Refusal> {
    let out = nat44::way(nat44, header.source()) == Way::Out;
    let tos = header.tos();
    let verdict =
        four_to_four::translate(packet, host, instance, nat44, header, tos, Hop::Forward)?;
    let header = ipv4::Header::read(packet, 0)?;
    if !out || !nat44.nat.owns(header.destination()) {
        return Ok(verdict);
    }
    let verdict =
        four_to_four::translate(packet, host, instance, nat44, header, tos, Hop::Hairpin)?;
    host.count(Counter::Hairpinned);
    Ok(verdict)
}

/// An IPv6 packet.
///
/// # Errors
/// See [`process`].
#[inline(always)]
pub fn process_v6<P: Packet, H: Host, I: Instances + ?Sized>(
    packet: &mut P,
    host: &mut H,
    instances: &I,
) -> Result<Verdict, Refusal> {
    let header = ipv6::Header::read(packet, 0)?;
    let destination = header.destination();
    if special::is_illegal_destination_v6(destination) {
        return Ok(pass(host));
    }
    let Some(instance) = choose_v6(host, instances, &header) else {
        return Ok(pass(host));
    };
    match mechanism::task(host, instance) {
        Task::Translate | Task::WithinV4(_) => {}
        Task::SixInFour(tunnel) => {
            let ends = six_in_four::ends(tunnel, destination)?;
            return encap::six_in_four::enter(packet, host, instance, header, ends);
        }
        // What the machine that has this address gets for itself.
        Task::FourInSix(_) if !encap::four_in_six::carries(header.next_header()) => {
            return Ok(pass(host));
        }
        Task::FourInSix(tunnel) => {
            let accept = |inner: &ipv4::Header| four_in_six::accept(tunnel, header.source(), inner);
            return encap::four_in_six::leave(packet, host, instance, header, accept);
        }
    }
    let verdict = six_to_four::translate(packet, host, instances, instance, header)?;
    if packet.bytes().is_some() {
        return hairpin(packet, host, instances, instance, verdict);
    }
    Ok(verdict)
}

/// Translates a packet back that was meant for another host behind the same instance (RFC 6146
/// section 3.8, RFC 7757 section 4.2.2). BPF engines refuse such packets before they change them.
fn hairpin<P: Packet, H: Host, I: Instances + ?Sized>(
    packet: &mut P,
    host: &mut H,
    instances: &I,
    instance: &Instance,
    verdict: Verdict,
) -> Result<Verdict, Refusal> {
    let header = ipv4::Header::read(packet, 0)?;
    if !mechanism::hairpins(host, instances, instance, header.destination()) {
        return Ok(verdict);
    }
    let verdict = four_to_six::translate(packet, host, instance, header, Hop::Hairpin)?;
    host.count(Counter::Translated6To4);
    host.count(Counter::Hairpinned);
    Ok(verdict)
}

/// Makes the session that an IPv4 packet needs, and leaves the packet as it is: what an engine
/// does in between when its [`Host::SESSIONS`] are the established ones only.
///
/// # Errors
/// There will be no session.
#[inline(always)]
pub fn open_v4<P: Packet, H: Host, I: Instances + ?Sized>(
    packet: &P,
    host: &mut H,
    instances: &I,
) -> Result<(), Refusal> {
    let header = ipv4::Header::read(packet, 0)?;
    let destination = header.destination();
    let instance =
        choose_v4(host, instances, &header).ok_or(Refusal::Drop(Counter::EngineError))?;
    let transport = v4::read(packet, header, Messages::V4)?.transport;
    let tuple = Tuple {
        source: header.source(),
        destination,
        source_port: transport.source_port,
        destination_port: transport.destination_port,
    };
    mechanism::to_v6(host, instance, &tuple, &transport, Part::Outer).map(|_| ())
}

/// Makes the session that an IPv6 packet needs; see [`open_v4`].
///
/// # Errors
/// There will be no session.
#[inline(always)]
pub fn open_v6<P: Packet, H: Host, I: Instances + ?Sized>(
    packet: &P,
    host: &mut H,
    instances: &I,
) -> Result<(), Refusal> {
    let header = ipv6::Header::read(packet, 0)?;
    let destination = header.destination();
    let instance =
        choose_v6(host, instances, &header).ok_or(Refusal::Drop(Counter::EngineError))?;
    let transport = v6::read(packet, header)?.transport;
    let tuple = Tuple {
        source: header.source(),
        destination,
        source_port: transport.source_port,
        destination_port: transport.destination_port,
    };
    mechanism::to_v4(host, instance, &tuple, &transport, Part::Outer).map(|_| ())
}

#[inline(always)]
fn pass<H: Host>(host: &mut H) -> Verdict {
    host.count(Counter::NotOurs);
    Verdict::Pass
}

/// The instance that an IPv4 packet belongs to; the host counts for it from then on.
#[inline(always)]
fn choose_v4<'a, H: Host, I: Instances + ?Sized>(
    host: &mut H,
    instances: &'a I,
    header: &ipv4::Header,
) -> Option<&'a Instance> {
    let index = instances.find_v4(host, header)?;
    host.select(index);
    instances.get(index)
}

/// The instance that an IPv6 packet belongs to; the host counts for it from then on.
#[inline(always)]
fn choose_v6<'a, H: Host, I: Instances + ?Sized>(
    host: &mut H,
    instances: &'a I,
    header: &ipv6::Header,
) -> Option<&'a Instance> {
    let index = instances.find_v6(host, header.source(), header.destination())?;
    host.select(index);
    instances.get(index)
}

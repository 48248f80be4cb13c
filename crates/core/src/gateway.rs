//! One packet through the gateway.

mod tunnel_error;

use crate::address::special;
use crate::address::{V4, V6};
use crate::config::{Instance, Nat44, PeerV4};
use crate::encap::{self, Ends, class};
use crate::host::{Host, Instances};
use crate::mechanism::nat44::{self, Way};
use crate::mechanism::passage::Passage;
use crate::mechanism::{
    self, Part, Task, aftr, four_in_six, isatap, lwaftr, six_in_four, softwire,
};
use crate::packet::{Packet, Truncated};
use crate::reason::Counter;
use crate::slow::neighbour;
use crate::translate::transport::Messages;
use crate::translate::{Hop, Tuple, four_to_four, four_to_six, six_to_four, v4, v6};
use crate::verdict::{IcmpError, Refusal, Slow, Verdict};
use crate::wire::{ipv4, ipv6, protocol};

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
    let Some(instance) = choose_v4(packet, host, instances, &header) else {
        return Ok(pass(host));
    };
    let tos = header.tos();
    match mechanism::task(host, instance) {
        Task::Translate => four_to_six::translate(packet, host, instance, header, Hop::Forward),
        Task::Nat44(nat44) => within_v4(packet, host, instance, nat44, header),
        Task::FourInSix(tunnel) => {
            let ends = four_in_six::ends(tunnel);
            encap::four_in_six::enter(packet, host, instance, header, ends)
        }
        Task::SixInFour(tunnel) if header.protocol() == protocol::ICMP => {
            tunnel_error::over_v4(packet, host, tunnel, &header)
        }
        Task::SixInFour(tunnel) => {
            if let PeerV4::Isatap(link) = &tunnel.peer
                && is_for_link(packet, &header)
            {
                if packet.bytes().is_none() {
                    return Err(Refusal::Slow(Slow::Neighbour));
                }
                return neighbour::receive(packet, host, instance, tunnel, link, &header);
            }
            let accept = |inner: &ipv6::Header| six_in_four::accept(tunnel, header.source(), inner);
            encap::six_in_four::leave(packet, host, instance, header, accept)
        }
        Task::Aftr(aftr) => {
            let down = aftr::Down(aftr);
            four_to_four::translate(packet, host, instance, &down, header, tos, Hop::Forward)
        }
        Task::SoftwireBorder(border) => {
            let down = softwire::Down(border);
            four_to_four::translate(packet, host, instance, &down, header, tos, Hop::Forward)
        }
        Task::LwAftr(aftr) => {
            let down = lwaftr::Down(aftr);
            four_to_four::translate(packet, host, instance, &down, header, tos, Hop::Forward)
        }
        Task::SoftwireCustomer(edge) => {
            let out = softwire::Out(edge);
            four_to_four::translate(packet, host, instance, &out, header, tos, Hop::Forward)
        }
    }
}

/// Whether the packet in a packet is for the nodes of an ISATAP link.
#[inline(always)]
fn is_for_link<P: Packet>(packet: &P, outer: &ipv4::Header) -> bool {
    const DESTINATION: usize = 24;
    if outer.fragment().is_fragment() {
        return false;
    }
    match packet.words::<4>(outer.header_length() + DESTINATION) {
        Ok(destination) => isatap::is_of_link(V6(destination)),
        Err(Truncated) => false,
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
        return match neighbour::sender(packet, instances, &header) {
            Some(index) => neighbour::send(packet, host, instances, index, &header),
            None => Ok(pass(host)),
        };
    }
    let Some(instance) = choose_v6(host, instances, &header) else {
        return Ok(pass(host));
    };
    let sender = header.source();
    let task = mechanism::task(host, instance);
    match task {
        Task::Translate | Task::Nat44(_) => {}
        Task::SixInFour(tunnel) => {
            let ends = six_in_four::ends(tunnel, sender, destination)?;
            return encap::six_in_four::enter(packet, host, instance, header, ends);
        }
        _ if header.next_header() == protocol::ICMPV6 => {
            return tunnel_error::over_v6(packet, host, task, &header);
        }
        // What the machine that has this address gets for itself.
        _ if !encap::four_in_six::carries(header.next_header()) => return Ok(pass(host)),
        Task::FourInSix(tunnel) => {
            let accept = |inner: &ipv4::Header| four_in_six::accept(tunnel, sender, inner);
            return encap::four_in_six::leave(packet, host, instance, header, accept);
        }
        Task::Aftr(aftr) => {
            let softwire = sender;
            let up = aftr::Up { aftr, softwire };
            let turns = |destination| aftr.nat.owns(destination);
            let down = aftr::Down(aftr);
            return out_of_softwire(packet, host, instance, header, (&up, &down), turns);
        }
        Task::SoftwireBorder(border) => {
            let softwire = sender;
            let up = softwire::Up { border, softwire };
            let turns = |destination| border.destinations.contains(destination);
            let down = softwire::Down(border);
            return out_of_softwire(packet, host, instance, header, (&up, &down), turns);
        }
        Task::LwAftr(aftr) => {
            let ends = Ends {
                source: sender,
                destination,
            };
            let up = lwaftr::Up { aftr, ends };
            let turns = |destination| aftr.shared.find(destination).is_some();
            let down = lwaftr::Down(aftr);
            return out_of_softwire(packet, host, instance, header, (&up, &down), turns);
        }
        Task::SoftwireCustomer(customer) => {
            let back = softwire::In { customer, sender };
            let out = softwire::Out(customer);
            return out_of_softwire(packet, host, instance, header, (&back, &out), |_| false);
        }
    }
    let verdict = six_to_four::translate(packet, host, instances, instance, header)?;
    if packet.bytes().is_some() {
        return hairpin(packet, host, instances, instance, verdict);
    }
    Ok(verdict)
}

/// An IPv4 packet that came through a softwire; it turns back into another if it `turns` (RFC 6333
/// section 8.1, RFC 7596 section 6.2, RFC 7597 section 8.1).
#[inline(always)]
fn out_of_softwire<P: Packet, H: Host, U: Passage, D: Passage>(
    packet: &mut P,
    host: &mut H,
    instance: &Instance,
    outer: ipv6::Header,
    (up, down): (&U, &D),
    turns: impl Fn(V4) -> bool,
) -> Result<Verdict, Refusal> {
    let mut softwire = encap::four_in_six::Softwire::open(packet, &outer)?;
    let header = softwire.header;
    let destination = header.destination();
    let back = turns(destination);
    if special::is_illegal_destination_v4(destination) {
        return Err(Refusal::Drop(Counter::IllegalDestination));
    }
    if back && softwire.inner.bytes().is_none() {
        return Err(Refusal::Slow(Slow::Hairpin));
    }
    let tos = class::inner(outer.traffic_class(), header.tos())?;
    let inner = &mut softwire.inner;
    let verdict = four_to_four::translate(inner, host, instance, up, header, tos, Hop::Forward);
    let verdict = match verdict {
        // About the packet as it came.
        Err(refusal @ Refusal::Reply(IcmpError::SourcePolicy, _)) => return Err(refusal),
        Err(refusal @ Refusal::Reply(..)) if !U::PRIVATE => {
            softwire.leave();
            return Err(refusal);
        }
        other => other?,
    };
    if !back {
        return Ok(verdict);
    }
    let header = ipv4::Header::read(packet, 0)?;
    let verdict = four_to_four::translate(packet, host, instance, down, header, tos, Hop::Hairpin)?;
    host.count(Counter::Hairpinned);
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
    packet: &mut P,
    host: &mut H,
    instances: &I,
) -> Result<(), Refusal> {
    let header = ipv4::Header::read(packet, 0)?;
    let destination = header.destination();
    let instance =
        choose_v4(packet, host, instances, &header).ok_or(Refusal::Drop(Counter::EngineError))?;
    let messages = mechanism::messages(host, instance);
    let transport = v4::read(packet, header, messages)?.transport;
    let tuple = Tuple {
        source: header.source(),
        destination,
        source_port: transport.source_port,
        destination_port: transport.destination_port,
    };
    match mechanism::task(host, instance) {
        Task::Nat44(nat44) => nat44
            .pass(host, &tuple, &transport, Part::Outer)
            .map(|_| ()),
        Task::Aftr(aftr) => {
            let down = aftr::Down(aftr);
            down.pass(host, &tuple, &transport, Part::Outer).map(|_| ())
        }
        Task::SoftwireCustomer(edge) => {
            let out = softwire::Out(edge);
            out.pass(host, &tuple, &transport, Part::Outer).map(|_| ())
        }
        _ => mechanism::to_v6(host, instance, &tuple, &transport, Part::Outer).map(|_| ()),
    }
}

/// Makes the session that an IPv6 packet needs; see [`open_v4`].
///
/// # Errors
/// There will be no session.
#[inline(always)]
pub fn open_v6<P: Packet, H: Host, I: Instances + ?Sized>(
    packet: &mut P,
    host: &mut H,
    instances: &I,
) -> Result<(), Refusal> {
    let header = ipv6::Header::read(packet, 0)?;
    let destination = header.destination();
    let instance =
        choose_v6(host, instances, &header).ok_or(Refusal::Drop(Counter::EngineError))?;
    let sender = header.source();
    match mechanism::task(host, instance) {
        Task::Aftr(aftr) => {
            let softwire = sender;
            let up = aftr::Up { aftr, softwire };
            return open_softwire(packet, host, &header, &up);
        }
        Task::SoftwireCustomer(customer) => {
            let back = softwire::In { customer, sender };
            return open_softwire(packet, host, &header, &back);
        }
        _ => {}
    }
    let transport = v6::read(packet, header)?.transport;
    let tuple = Tuple {
        source: header.source(),
        destination,
        source_port: transport.source_port,
        destination_port: transport.destination_port,
    };
    mechanism::to_v4(host, instance, &tuple, &transport, Part::Outer).map(|_| ())
}

/// Makes the session that a packet in a softwire needs.
#[inline(always)]
fn open_softwire<P: Packet, H: Host, M: Passage>(
    packet: &mut P,
    host: &mut H,
    outer: &ipv6::Header,
    passage: &M,
) -> Result<(), Refusal> {
    let softwire = encap::four_in_six::Softwire::open(packet, outer)?;
    let header = softwire.header;
    let transport = v4::read(&softwire.inner, header, Messages::WithinV4)?.transport;
    let tuple = Tuple {
        source: header.source(),
        destination: header.destination(),
        source_port: transport.source_port,
        destination_port: transport.destination_port,
    };
    passage
        .pass(host, &tuple, &transport, Part::Outer)
        .map(|_| ())
}

#[inline(always)]
fn pass<H: Host>(host: &mut H) -> Verdict {
    host.count(Counter::NotOurs);
    Verdict::Pass
}

/// The instance that an IPv4 packet belongs to; the host counts for it from then on.
#[inline(always)]
fn choose_v4<'a, P: Packet, H: Host, I: Instances + ?Sized>(
    packet: &P,
    host: &mut H,
    instances: &'a I,
    header: &ipv4::Header,
) -> Option<&'a Instance> {
    let protocol = || encap::tunnel_error::telling_protocol(packet, header);
    let index = instances.find_v4(host, header, protocol)?;
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

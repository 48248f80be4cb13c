//! Takes one packet through the gateway: finds the instance that it belongs to, and lets the mechanism
//! take it across.
//!
//! An engine that knows the mechanism, like a BPF program, calls `process_v4::<M>`. User space calls it
//! for any mechanism.

mod cross;
mod machine;
mod napt44;
mod open;
mod softwires;
mod translation;
mod turn;
mod v4_over_v6;
mod v6_over_v4;

use crate::address::special;
use crate::host::Host;
use crate::mechanism::instances::Found;
use crate::mechanism::{AnyMechanism, Instances, Member, PacketV4};
use crate::packet::Packet;
use crate::reason::Counter;
use crate::slow::neighbour;
use crate::verdict::{Refusal, Verdict};
use crate::wire::{icmp, icmpv6, ipv4, ipv6, protocol, router};

pub use cross::{Cross, Crosses, Owner};
pub use open::{open_softwire, open_v4, open_v6, remember_softwire, remember_v4, remember_v6};

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
        4 => process_v4::<AnyMechanism, _, _, _>(packet, host, instances),
        6 => process_v6::<AnyMechanism, _, _, _>(packet, host, instances),
        _ => Err(Refusal::Drop(Counter::MalformedHeader)),
    }
}

/// Takes an IPv4 packet through its instance, if the mechanism of that is `M`.
///
/// # Errors
/// See [`process`].
#[inline(always)]
pub fn process_v4<M: Crosses, P: Packet, H: Host, I: Instances + ?Sized>(
    packet: &mut P,
    host: &mut H,
    instances: &I,
) -> Result<Verdict, Refusal> {
    let header = ipv4::Header::read(packet, 0)?;
    if special::is_illegal_destination_v4(header.destination()) {
        return Ok(pass(host));
    }
    match owner_v4::<M, _, _, _>(packet, host, instances, &header) {
        Some(owner) => {
            let crossed = M::Crossing::v4(&owner, packet, host, header);
            if P::ABILITIES.icmp_errors {
                return machine::unless_claimed(host, header.destination(), crossed);
            }
            crossed
        }
        None => Ok(pass(host)),
    }
}

/// Takes an IPv6 packet through its instance, if the mechanism of that is `M`.
///
/// # Errors
/// See [`process`].
#[inline(always)]
pub fn process_v6<M: Crosses, P: Packet, H: Host, I: Instances + ?Sized>(
    packet: &mut P,
    host: &mut H,
    instances: &I,
) -> Result<Verdict, Refusal> {
    let header = ipv6::Header::read(packet, 0)?;
    if special::is_illegal_destination_v6(header.destination()) {
        return match neighbour::sender::<P, _>(instances, &header) {
            Some((index, tunnel)) => {
                host.select(index);
                neighbour::send(packet, host, tunnel, &header)
            }
            None => Ok(pass(host)),
        };
    }
    if !P::ABILITIES.neighbours && asks_a_neighbour(packet, &header) {
        return Ok(pass(host));
    }
    match owner_v6::<M, _, _>(host, instances, &header) {
        Some(owner) => M::Crossing::v6(&owner, packet, host, header),
        None => Ok(pass(host)),
    }
}

/// Whether a neighbour asks if the node of an address is still there (RFC 4861 section 7.3.3). An engine that drops
/// such a question takes it from whoever answers on this machine.
#[inline(always)]
fn asks_a_neighbour<P: Packet>(packet: &P, header: &ipv6::Header) -> bool {
    header.next_header() == protocol::ICMPV6
        && header.hop_limit() == router::HOP_LIMIT
        && packet
            .words::<1>(ipv6::HEADER)
            .is_ok_and(|[word]| word.bytes()[0] == icmpv6::NEIGHBOUR_SOLICITATION)
}

/// Leaves a packet to the machine: it belongs to no instance.
#[inline(always)]
fn pass<H: Host>(host: &mut H) -> Verdict {
    host.count(Counter::NotOurs);
    Verdict::Pass
}

/// The instance that an IPv4 packet belongs to; the host counts for it from then on.
#[inline(always)]
fn owner_v4<'a, M: Member, P: Packet, H: Host, I: Instances + ?Sized>(
    packet: &P,
    host: &mut H,
    instances: &'a I,
    header: &ipv4::Header,
) -> Option<Owner<'a, M, I>> {
    let packet = PacketV4 {
        source: header.source(),
        destination: header.destination(),
        protocol: || icmp::quoted_protocol(packet, header),
    };
    let found = instances.find_v4::<M, _>(host, &packet)?;
    Some(owner(host, instances, &found))
}

/// The instance that an IPv6 packet belongs to; the host counts for it from then on.
#[inline(always)]
fn owner_v6<'a, M: Member, H: Host, I: Instances + ?Sized>(
    host: &mut H,
    instances: &'a I,
    header: &ipv6::Header,
) -> Option<Owner<'a, M, I>> {
    let (source, destination) = (header.source(), header.destination());
    let found = instances.find_v6::<M, _>(host, source, destination)?;
    Some(owner(host, instances, &found))
}

#[inline(always)]
fn owner<'a, M, H: Host, I: ?Sized>(
    host: &mut H,
    instances: &'a I,
    found: &Found<'a, M>,
) -> Owner<'a, M, I> {
    host.select(found.index);
    Owner {
        mechanism: found.mechanism,
        policy: found.policy,
        instances,
    }
}

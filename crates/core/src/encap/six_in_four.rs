//! IPv6 packets in IPv4 packets (RFC 4213 sections 3.5 and 3.6).

use super::inner::Inner;
use super::{HOP_LIMIT, class, path_mtu, size};
use crate::address::{V4, V6, special};
use crate::host::{Destination, Host};
use crate::incoming::v4;
use crate::packet::{Family, Packet, Truncated};
use crate::policy::Policy;
use crate::reason::Counter;
use crate::verdict::{Refusal, Slow, Verdict};
use crate::wire::ipv4::{self, Fragment};
use crate::wire::tuple::Ends;
use crate::wire::{ipv6, protocol};
use crate::word::Word;

/// Puts an IPv6 packet into an IPv4 packet between `ends`.
///
/// # Errors
/// The packet is not to be sent on; it is unchanged then.
#[inline(always)]
pub fn enter<P: Packet, H: Host>(
    packet: &mut P,
    host: &mut H,
    policy: &Policy,
    header: ipv6::Header,
    ends: Ends<V4>,
) -> Result<Verdict, Refusal> {
    let total = check(packet, &header)?;
    if header.hop_limit() <= 1 {
        return Err(Refusal::hop_limit());
    }
    let tos = class::outer(policy.tos, header.traffic_class());
    let route = host.route(Destination::V4 {
        source: ends.source,
        destination: ends.destination,
        tos,
    })?;
    let link = route.map_or(policy.ipv4_mtu, |route| route.mtu);
    let link = if total > usize::from(ipv6::MINIMUM_MTU) {
        path_mtu::limit(host, ends.destination.into(), link)
    } else {
        // RFC 4213 section 3.2.2: it may be cut on the way.
        link
    };
    let outer_total =
        u16::try_from(total + ipv4::HEADER).map_err(|_| Refusal::too_big::<P>(link))?;
    // Fragments are told apart by it, and those of a packet without DF only (RFC 6864 section 4).
    let identification = host.random() as u16;
    let fit = size::six_in_four(packet, &header, link, || u32::from(identification))?;
    let outer = ipv4::Header::from(ipv4::Fields {
        tos,
        total_length: outer_total,
        identification,
        // RFC 4213 section 3.2.2: a packet that its sender cannot make smaller may be cut on the
        // way.
        dont_fragment: total > usize::from(ipv6::MINIMUM_MTU),
        fragment: Fragment::WHOLE,
        ttl: HOP_LIMIT,
        protocol: protocol::IPV6,
        source: ends.source,
        destination: ends.destination,
    });
    packet.replace_front(0, ipv4::HEADER, Family::V4)?;
    (|| {
        packet.set_words(0, outer.0)?;
        let second = header.0[1].number() - 1;
        packet.set_words(ipv4::HEADER + 4, [Word::from_number(second)])
    })()
    .map_err(|Truncated| Refusal::Drop(Counter::EngineError))?;
    host.count(Counter::Encapsulated6In4);
    Ok(Verdict::Forward {
        family: Family::V4,
        split: fit.split(),
    })
}

/// Removes the outer header of an IPv6 packet. `accept` says whether this sender may send a packet with
/// this header.
///
/// # Errors
/// The packet is not to be sent on. It is unchanged then, but for an error to the sender of the
/// inner packet where the bytes are in reach: that packet is what is left.
#[inline(always)]
pub fn leave<P: Packet, H: Host>(
    packet: &mut P,
    host: &mut H,
    policy: &Policy,
    outer: ipv4::Header,
    accept: impl FnOnce(&ipv6::Header) -> Result<(), Refusal>,
) -> Result<Verdict, Refusal> {
    let at = outer.header_length();
    let payload = v4::check(packet, &outer)?;
    if outer.fragment().is_fragment() {
        return Err(Refusal::Slow(Slow::Reassemble));
    }
    // RFC 4213 section 3.6: an inner packet that is not a whole IPv6 packet is dropped.
    let mut inner = Inner::new(packet, at, payload)?;
    let header = ipv6::Header::read(&inner, 0)?;
    if header.version() != 6 {
        return Err(Refusal::Drop(Counter::MalformedHeader));
    }
    check(&inner, &header)?;
    accept(&header)?;
    let traffic_class = class::inner(outer.tos(), header.traffic_class())?;
    let may_go_on = onwards(&inner, host, policy, &header, traffic_class);
    if P::ABILITIES.replies && matches!(may_go_on, Err(Refusal::Reply(..))) {
        // Taking away never fails where bytes are in reach.
        let _taken = inner.replace_front(0, 0, Family::V6);
    }
    may_go_on?;
    inner.replace_front(0, 0, Family::V6)?;
    let first = header.0[0].number() & 0xf00f_ffff | u32::from(traffic_class) << 20;
    let words = [first, header.0[1].number() - 1].map(Word::from_number);
    inner
        .set_words(0, words)
        .map_err(|Truncated| Refusal::Drop(Counter::EngineError))?;
    host.count(Counter::Decapsulated6In4);
    Ok(Verdict::whole(Family::V6))
}

/// Checks an IPv6 packet as any router does before it forwards it (RFC 8200 section 3), and returns its
/// length.
#[inline(always)]
fn check<P: Packet>(packet: &P, header: &ipv6::Header) -> Result<usize, Refusal> {
    let total = ipv6::HEADER + usize::from(header.payload_length());
    if total > packet.len() {
        return Err(Refusal::Drop(Counter::MalformedHeader));
    }
    if special::is_illegal_source_v6(header.source()) {
        return Err(Refusal::Drop(Counter::IllegalSource));
    }
    Ok(total)
}

/// Whether a packet that left the tunnel can go on.
#[inline(always)]
fn onwards<P: Packet, H: Host>(
    packet: &P,
    host: &mut H,
    policy: &Policy,
    header: &ipv6::Header,
    traffic_class: u8,
) -> Result<(), Refusal> {
    let destination: V6 = header.destination();
    if special::is_illegal_destination_v6(destination) {
        return Err(Refusal::Drop(Counter::IllegalDestination));
    }
    if header.hop_limit() <= 1 {
        return Err(Refusal::hop_limit());
    }
    let route = host.route(Destination::V6 {
        source: header.source(),
        destination,
        traffic_class,
    })?;
    size::out_v6(
        packet,
        header,
        route.map_or(policy.ipv6_mtu, |route| route.mtu),
    )
}

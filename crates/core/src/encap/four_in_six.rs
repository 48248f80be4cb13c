//! IPv4 packets in IPv6 packets (RFC 2473 sections 3 to 7).

use super::inner::Inner;
use super::{HOP_LIMIT, class, path_mtu, size};
use crate::address::{V6, special};
use crate::checksum::{ChecksumKind, Sum};
use crate::host::{Destination, Host};
use crate::incoming::{v4, v6};
use crate::packet::{Family, Packet, Truncated, patch_complete};
use crate::policy::Policy;
use crate::reason::Counter;
use crate::verdict::{Refusal, Slow, Verdict};
use crate::wire::transport::Extent;
use crate::wire::tuple::Ends;
use crate::wire::{ipv4, ipv6, protocol};
use crate::word::Word;

/// Whether an IPv6 packet with this next header may have an IPv4 packet in it.
#[inline(always)]
#[must_use]
pub const fn carries(next_header: u8) -> bool {
    matches!(
        next_header,
        protocol::IPV4 | protocol::FRAGMENT | protocol::DESTINATION_OPTIONS
    )
}

/// Puts an IPv4 packet into an IPv6 packet between `ends`.
///
/// # Errors
/// The packet is not to be sent on; it is unchanged then.
#[inline(always)]
pub fn enter<P: Packet, H: Host>(
    packet: &mut P,
    host: &mut H,
    policy: &Policy,
    header: ipv4::Header,
    ends: Ends<V6>,
) -> Result<Verdict, Refusal> {
    v4::check(packet, &header)?;
    if special::is_illegal_source_v4(header.source()) {
        return Err(Refusal::Drop(Counter::IllegalSource));
    }
    if header.ttl() <= 1 {
        return Err(Refusal::hop_limit());
    }
    let traffic_class = class::outer(policy.traffic_class, header.tos());
    let route = host.route(Destination::V6 {
        source: ends.source,
        destination: ends.destination,
        traffic_class,
    })?;
    let link = route.map_or(policy.ipv6_mtu, |route| route.mtu);
    let link = narrowed(host, ends.destination, header.total_length(), link);
    let fit = size::four_in_six(packet, &header, link, || host.random())?;
    let outer = outer(ends, traffic_class, header.total_length());
    packet.replace_front(0, ipv6::HEADER, Family::V6)?;
    packet
        .set_words(0, outer.0)
        .and_then(|()| forwarded(packet, ipv6::HEADER, &header, header.tos()))
        .map_err(|Truncated| Refusal::Drop(Counter::EngineError))?;
    host.count(Counter::Encapsulated4In6);
    Ok(Verdict::Forward {
        family: Family::V6,
        split: fit.split(),
    })
}

/// Returns the MTU of the path to the tunnel endpoint for a packet of `length` bytes, if the next link has
/// the MTU `link`. Every IPv6 path has 1280 bytes, so small packets need no lookup.
#[inline(always)]
pub fn narrowed<H: Host>(host: &H, other: V6, length: u16, link: u16) -> u16 {
    if usize::from(length) + ipv6::HEADER <= usize::from(ipv6::MINIMUM_MTU) {
        return link;
    }
    path_mtu::limit(host, other.into(), link)
}

/// The outer header of an IPv4 packet of `length` bytes (RFC 2473 section 5.1).
#[inline(always)]
#[must_use]
pub fn outer(ends: Ends<V6>, traffic_class: u8, length: u16) -> ipv6::Header {
    ipv6::Header::from(ipv6::Fields {
        traffic_class,
        payload_length: length,
        next_header: protocol::IPV4,
        hop_limit: HOP_LIMIT,
        source: ends.source,
        destination: ends.destination,
    })
}

/// An IPv4 packet in an IPv6 packet.
#[derive(Debug)]
pub struct Softwire<'a, P> {
    /// The packet inside.
    pub inner: Inner<'a, P>,
    /// Its header, not checked yet.
    pub header: ipv4::Header,
}

impl<'a, P: Packet> Softwire<'a, P> {
    /// Finds the packet inside of one with this header.
    ///
    /// # Errors
    /// There is none, or it is in fragments.
    #[inline(always)]
    pub fn open(packet: &'a mut P, outer: &ipv6::Header) -> Result<Self, Refusal> {
        let (at, length) = contents(packet, outer)?;
        let inner = Inner::new(packet, at, length)?;
        let header = ipv4::Header::read(&inner, 0)?;
        if header.version() != 4 {
            return Err(Refusal::Drop(Counter::MalformedHeader));
        }
        Ok(Self { inner, header })
    }

    /// Leaves the packet inside alone in hand, for an error that is about it; where the bytes are
    /// out of reach another engine sends the error, and the packet stays as it is.
    #[inline(always)]
    pub fn leave(self) {
        let Self { mut inner, .. } = self;
        if P::ABILITIES.replies {
            // Taking away never fails where bytes are in reach.
            let _taken = inner.replace_front(0, 0, Family::V4);
        }
    }
}

/// Removes the outer header of an IPv4 packet. `accept` says whether this sender may send a packet with
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
    outer: ipv6::Header,
    accept: impl FnOnce(&ipv4::Header) -> Result<(), Refusal>,
) -> Result<Verdict, Refusal> {
    let mut softwire = Softwire::open(packet, &outer)?;
    let (inner, header) = (&mut softwire.inner, softwire.header);
    // Before anything that would be answered (RFC 2473 section 3.3).
    accept(&header)?;
    v4::check(inner, &header)?;
    if special::is_illegal_source_v4(header.source()) {
        return Err(Refusal::Drop(Counter::IllegalSource));
    }
    let tos = class::inner(outer.traffic_class(), header.tos())?;
    let fit = match onwards(inner, host, policy, &header, tos) {
        Err(refusal @ Refusal::Reply(..)) => {
            softwire.leave();
            return Err(refusal);
        }
        other => other?,
    };
    inner.replace_front(0, 0, Family::V4)?;
    forwarded(inner, 0, &header, tos).map_err(|Truncated| Refusal::Drop(Counter::EngineError))?;
    host.count(Counter::Decapsulated4In6);
    Ok(Verdict::Forward {
        family: Family::V4,
        split: fit.split(),
    })
}

/// The offset of the inner packet, and its length. Destination options may stand before it, such as the
/// encapsulation limit (RFC 2473 section 4.1.1).
#[inline(always)]
fn contents<P: Packet>(packet: &P, outer: &ipv6::Header) -> Result<(usize, usize), Refusal> {
    let length = usize::from(outer.payload_length());
    if ipv6::HEADER + length > packet.len() {
        return Err(Refusal::Drop(Counter::MalformedHeader));
    }
    if outer.next_header() == protocol::IPV4 {
        return Ok((ipv6::HEADER, length));
    }
    if !P::ABILITIES.softwire_options {
        return Err(Refusal::Slow(Slow::ExtensionHeaders));
    }
    // Whoever sent this is not known to be the other end yet, and gets no answer.
    let chain = v6::chain(packet, outer, ipv6::HEADER, length, Extent::Whole).map_err(silently)?;
    if chain
        .fragment
        .get()
        .is_some_and(|header| header.fragment.is_fragment())
    {
        return Err(Refusal::Slow(Slow::Reassemble));
    }
    if chain.protocol == protocol::IPV4 {
        Ok((chain.at, chain.length))
    } else {
        Err(Refusal::Drop(Counter::UnsupportedProtocol))
    }
}

/// The same refusal without an answer.
#[inline(always)]
const fn silently(refusal: Refusal) -> Refusal {
    match refusal {
        Refusal::Reply(_, counter) => Refusal::Drop(counter),
        other => other,
    }
}

/// Whether a packet that left the tunnel can go on.
#[inline(always)]
fn onwards<P: Packet, H: Host>(
    packet: &P,
    host: &mut H,
    policy: &Policy,
    header: &ipv4::Header,
    tos: u8,
) -> Result<size::Fit, Refusal> {
    if special::is_illegal_destination_v4(header.destination()) {
        return Err(Refusal::Drop(Counter::IllegalDestination));
    }
    if header.ttl() <= 1 {
        return Err(Refusal::hop_limit());
    }
    let route = host.route(Destination::V4 {
        source: header.source(),
        destination: header.destination(),
        tos,
    })?;
    let link = route.map_or(policy.ipv4_mtu, |route| route.mtu);
    size::out_v4(packet, header, link)
}

/// Writes what changes in the header of a forwarded packet that begins `at` bytes in: its type of
/// service, and its TTL, which is at least 2.
#[inline(always)]
fn forwarded<P: Packet>(
    packet: &mut P,
    at: usize,
    header: &ipv4::Header,
    tos: u8,
) -> Result<(), Truncated> {
    let first = header.0[0].number() & 0xff00_ffff | u32::from(tos) << 16;
    let first = Word::from_number(first);
    let third = Word::from_number(header.0[2].number() - (1 << 24));
    packet.set_words(at, [first])?;
    packet.set_words(at + 8, [third])?;
    // The checksum itself is in both sums and cancels.
    let change = Sum::ZERO.word(first).word(third) - Sum::ZERO.word(header.0[0]).word(header.0[2]);
    patch_complete(packet, at + ipv4::CHECKSUM, ChecksumKind::Plain, change)
}

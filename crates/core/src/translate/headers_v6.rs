//! The IPv6 headers of a packet that was IPv4 (RFC 7915 section 4.1), and what their checksums cover.

use crate::address::V6;
use crate::checksum::Sum;
use crate::host::{Destination, Host};
use crate::packet::{Packet, Truncated};
use crate::policy::Policy;
use crate::verdict::Refusal;
use crate::wire::ipv6::{FRAGMENT_HEADER, FragmentHeader, HEADER};
use crate::wire::tuple::Tuple;
use crate::wire::{ipv4, ipv6, protocol};

/// The IPv6 headers of a translated packet.
#[derive(Clone, Copy)]
pub(super) struct Outgoing {
    pub(super) fields: ipv6::Fields,
    pub(super) fragment: Option<FragmentHeader>,
}

impl Outgoing {
    /// Bytes of the fixed header and the fragment header.
    #[inline(always)]
    pub(super) const fn headers_length(&self) -> usize {
        HEADER
            + if self.fragment.is_some() {
                FRAGMENT_HEADER
            } else {
                0
            }
    }

    /// Writes the headers at the front of a packet, and returns their sum.
    #[inline(always)]
    pub(super) fn write<P: Packet>(&self, packet: &mut P, at: usize) -> Result<Sum, Truncated> {
        let header = ipv6::Header::from(self.fields);
        packet.set_words(at, header.0)?;
        let mut sum = Sum::ZERO.words(&header.0);
        if let Some(fragment) = self.fragment {
            let words = fragment.to_words();
            packet.set_words(at + HEADER, words)?;
            sum = sum.words(&words);
        }
        Ok(sum)
    }
}

/// The headers of RFC 7915 section 4.1 for a packet with these addresses; `length` is that of the
/// payload. The hop limit is not decremented yet.
#[inline(always)]
pub(super) fn headers(
    policy: &Policy,
    header: &ipv4::Header,
    (source, destination): (V6, V6),
    length: usize,
) -> Outgoing {
    let next = match header.protocol() {
        protocol::ICMP => protocol::ICMPV6,
        other => other,
    };
    let fragment = header.fragment();
    let fragment = fragment.is_fragment().then_some(FragmentHeader {
        next_header: next,
        fragment,
        identification: u32::from(header.identification()),
    });
    let extra = if fragment.is_some() {
        FRAGMENT_HEADER
    } else {
        0
    };
    Outgoing {
        fields: ipv6::Fields {
            traffic_class: policy.traffic_class.of(header.tos()),
            payload_length: (length + extra) as u16,
            next_header: if fragment.is_some() {
                protocol::FRAGMENT
            } else {
                next
            },
            hop_limit: header.ttl(),
            source,
            destination,
        },
        fragment,
    }
}

/// MTU of the link that a packet with these headers will take.
#[inline(always)]
pub(super) fn link_mtu<H: Host>(
    host: &mut H,
    policy: &Policy,
    fields: &ipv6::Fields,
) -> Result<u16, Refusal> {
    let route = host.route(Destination::V6 {
        source: fields.source,
        destination: fields.destination,
        traffic_class: fields.traffic_class,
    });
    Ok(route?.map_or(policy.ipv6_mtu, |route| route.mtu))
}

/// The pseudo-header that ICMPv6 has and ICMPv4 has not (RFC 4443 section 2.3).
#[inline(always)]
pub(super) fn icmpv6_pseudo_header(tuple: &Tuple<V6>, length: usize) -> Sum {
    icmpv6_pseudo_sum(tuple.address_sum(), length)
}

/// [`icmpv6_pseudo_header`] with addresses of this sum.
#[inline(always)]
pub(super) fn icmpv6_pseudo_sum(addresses: Sum, length: usize) -> Sum {
    addresses
        .number(length as u16)
        .number(u16::from(protocol::ICMPV6))
}

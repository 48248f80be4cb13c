//! The IPv4 header of a packet that was IPv6 (RFC 7915 sections 5.1 and 5.1.1).

use crate::address::V4;
use crate::host::{Destination, Host};
use crate::incoming::v6;
use crate::packet::Packet;
use crate::policy::Policy;
use crate::verdict::Refusal;
use crate::wire::ipv4::{Fields, Fragment, HEADER};
use crate::wire::protocol;

/// Translated packets up to this size may be fragmented on the way (RFC 7915 section 5.1).
const DF_CLEAR_UP_TO: usize = 1260;

/// The header of RFC 7915 sections 5.1 and 5.1.1 for a packet with these addresses. The hop limit
/// is not decremented, the identification not chosen yet.
#[inline(always)]
pub(super) fn headers(
    policy: &Policy,
    incoming: &v6::Incoming,
    (source, destination): (V4, V4),
    length: usize,
) -> Fields {
    let total = HEADER + length;
    let (identification, dont_fragment, fragment) = match incoming.fragment.get() {
        Some(header) => (header.identification as u16, false, header.fragment),
        None => (0, total > DF_CLEAR_UP_TO, Fragment::WHOLE),
    };
    Fields {
        tos: policy.tos.of(incoming.header.traffic_class()),
        total_length: total as u16,
        identification,
        dont_fragment,
        fragment,
        ttl: incoming.header.hop_limit(),
        protocol: match incoming.protocol {
            protocol::ICMPV6 => protocol::ICMP,
            other => other,
        },
        source,
        destination,
    }
}

/// MTU of the link that a packet with these headers will take.
#[inline(always)]
pub(super) fn link_mtu<H: Host>(
    host: &mut H,
    policy: &Policy,
    fields: &Fields,
) -> Result<u16, Refusal> {
    let route = host.route(Destination::V4 {
        source: fields.source,
        destination: fields.destination,
        tos: fields.tos,
    });
    Ok(route?.map_or(policy.ipv4_mtu, |route| route.mtu))
}

/// The identification of a packet that has none of its own. That of a fragment header stays, whether a
/// fragment is behind it or not (RFC 7915 section 5.1.1).
#[inline(always)]
pub(super) fn choose_identification<P: Packet, H: Host>(
    packet: &P,
    host: &mut H,
    incoming: &v6::Incoming,
    fields: &mut Fields,
) {
    if let Some(identification) = packet.reassembled() {
        fields.identification = identification as u16;
        fields.dont_fragment = false;
    } else if !incoming.fragment.is_present() && !fields.dont_fragment {
        // RFC 6864 section 4: only what may be fragmented needs an identification of its own.
        fields.identification = host.random() as u16;
    }
}

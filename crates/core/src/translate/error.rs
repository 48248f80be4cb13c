//! ICMP types, codes, pointers and MTUs from one family to the other (RFC 7915 sections 4.2, 5.2).

use crate::wire::icmp::ErrorHeader;
use crate::wire::icmpv4::{self, plateau};
use crate::wire::icmpv6;
use crate::wire::ipv6::FragmentHeader;
use crate::word::Word;

/// MTUs that the size of a Packet Too Big depends on.
#[derive(Clone, Copy, Debug)]
pub struct LinkMtus {
    /// MTU of the IPv4 next hop.
    pub v4: u16,
    /// MTU of the IPv6 next hop.
    pub v6: u16,
}

/// The ICMPv6 header of an error with this ICMPv4 header (RFC 7915 section 4.2). `inner_total_length` is that of the packet in error. `None`: silently
/// drop.
#[must_use]
#[inline(always)]
pub fn error_to_v6(
    head: [Word; 2],
    inner_total_length: u16,
    mtus: LinkMtus,
) -> Option<ErrorHeader> {
    let ([message, code, ..], rest) = (head[0].bytes(), head[1]);
    let (message, code, rest) = match (message, code) {
        // The Next Header field of the fixed header.
        (icmpv4::UNREACHABLE, 2) => (icmpv6::PARAMETER_PROBLEM, 1, 6),
        (icmpv4::UNREACHABLE, 3) => (icmpv6::UNREACHABLE, 4, 0),
        (icmpv4::UNREACHABLE, 4) => {
            let mtu = too_big_to_v6(rest.low(), inner_total_length, mtus);
            (icmpv6::TOO_BIG, 0, mtu)
        }
        (icmpv4::UNREACHABLE, 0 | 1 | 5..=8 | 11 | 12) => (icmpv6::UNREACHABLE, 0, 0),
        (icmpv4::UNREACHABLE, 9 | 10 | 13 | 15) => (icmpv6::UNREACHABLE, 1, 0),
        (icmpv4::TIME_EXCEEDED, code) => (icmpv6::TIME_EXCEEDED, code, 0),
        (icmpv4::PARAMETER_PROBLEM, 0 | 2) => {
            let pointer = pointer_to_v6(rest.bytes()[0])?;
            (icmpv6::PARAMETER_PROBLEM, 0, pointer)
        }
        _ => return None,
    };
    Some(ErrorHeader {
        message,
        code,
        rest,
    })
}

/// RFC 7915 section 4.2, code 4: `max(1280, min(reported + 20, v6 next hop, v4 next hop + 20))`.
#[inline(always)]
fn too_big_to_v6(reported: u16, inner_total_length: u16, mtus: LinkMtus) -> u32 {
    let reported = if reported == 0 {
        plateau(inner_total_length)
    } else {
        reported
    };
    (u32::from(reported) + 20)
        .min(u32::from(mtus.v6))
        .min(u32::from(mtus.v4) + 20)
        .max(1280)
}

/// RFC 7915 figure 3.
#[inline(always)]
fn pointer_to_v6(pointer: u8) -> Option<u32> {
    match pointer {
        0 => Some(0),
        1 => Some(1),
        2 | 3 => Some(4),
        8 => Some(7),
        9 => Some(6),
        12..=15 => Some(8),
        16..=19 => Some(24),
        _ => None,
    }
}

/// The ICMPv4 header of an error with this ICMPv6 header (RFC 7915 section 5.2). `fragment` is the fragment header of the packet in error. `None`: silently
/// drop.
#[must_use]
#[inline(always)]
pub fn error_to_v4(
    head: [Word; 2],
    fragment: Option<FragmentHeader>,
    mtus: LinkMtus,
) -> Option<ErrorHeader> {
    let ([message, code, ..], rest) = (head[0].bytes(), head[1]);
    let (message, code, rest) = match (message, code) {
        (icmpv6::UNREACHABLE, 0 | 2 | 3) => (icmpv4::UNREACHABLE, 1, 0),
        (icmpv6::UNREACHABLE, 1) => (icmpv4::UNREACHABLE, 10, 0),
        (icmpv6::UNREACHABLE, 4) => (icmpv4::UNREACHABLE, 3, 0),
        (icmpv6::TOO_BIG, _) => {
            let mtu = too_big_to_v4(rest.number(), fragment, mtus);
            (icmpv4::UNREACHABLE, 4, mtu)
        }
        (icmpv6::TIME_EXCEEDED, code) => (icmpv4::TIME_EXCEEDED, code, 0),
        (icmpv6::PARAMETER_PROBLEM, 0) => {
            let pointer = u32::from(pointer_to_v4(rest.number())?);
            (icmpv4::PARAMETER_PROBLEM, 0, pointer << 24)
        }
        (icmpv6::PARAMETER_PROBLEM, 1) => (icmpv4::UNREACHABLE, 2, 0),
        _ => return None,
    };
    Some(ErrorHeader {
        message,
        code,
        rest,
    })
}

/// RFC 7915 section 5.2: `min(reported - 20, v4 next hop, v6 next hop - 20)`, and 8 less where the
/// packet in error has a fragment header, which IPv4 does not need.
#[inline(always)]
fn too_big_to_v4(reported: u32, fragment: Option<FragmentHeader>, mtus: LinkMtus) -> u32 {
    let header = if fragment.is_some() { 28 } else { 20 };
    // 68 is the least MTU of IPv4 (RFC 791 section 3.2); it also holds off nonsense reports.
    reported
        .saturating_sub(header)
        .min(u32::from(mtus.v4))
        .min(u32::from(mtus.v6).saturating_sub(20))
        .max(68)
}

/// RFC 7915 figure 6.
#[inline(always)]
fn pointer_to_v4(pointer: u32) -> Option<u8> {
    match pointer {
        0 => Some(0),
        1 => Some(1),
        4 | 5 => Some(2),
        6 => Some(9),
        7 => Some(8),
        8..=23 => Some(12),
        24..=39 => Some(16),
        _ => None,
    }
}

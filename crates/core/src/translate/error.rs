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

/// RFC 7915 section 4.2. `inner_total_length` is that of the packet in error. `None`: silently
/// drop.
#[must_use]
pub fn error_to_v6(
    message: u8,
    code: u8,
    rest: Word,
    inner_total_length: u16,
    mtus: LinkMtus,
) -> Option<ErrorHeader> {
    let simple = |message, code| {
        Some(ErrorHeader {
            message,
            code,
            rest: 0,
            extensible: true,
        })
    };
    match (message, code) {
        (icmpv4::UNREACHABLE, 2) => Some(ErrorHeader {
            message: icmpv6::PARAMETER_PROBLEM,
            code: 1,
            // The Next Header field of the fixed header.
            rest: 6,
            extensible: false,
        }),
        (icmpv4::UNREACHABLE, 3) => simple(icmpv6::UNREACHABLE, 4),
        (icmpv4::UNREACHABLE, 4) => Some(ErrorHeader {
            message: icmpv6::TOO_BIG,
            code: 0,
            rest: too_big_to_v6(rest.low(), inner_total_length, mtus),
            extensible: false,
        }),
        (icmpv4::UNREACHABLE, 0 | 1 | 5..=8 | 11 | 12) => simple(icmpv6::UNREACHABLE, 0),
        (icmpv4::UNREACHABLE, 9 | 10 | 13 | 15) => simple(icmpv6::UNREACHABLE, 1),
        (icmpv4::TIME_EXCEEDED, code) => simple(icmpv6::TIME_EXCEEDED, code),
        (icmpv4::PARAMETER_PROBLEM, 0 | 2) => Some(ErrorHeader {
            message: icmpv6::PARAMETER_PROBLEM,
            code: 0,
            rest: pointer_to_v6(rest.bytes()[0])?,
            extensible: false,
        }),
        _ => None,
    }
}

/// RFC 7915 section 4.2, code 4: `max(1280, min(reported + 20, v6 next hop, v4 next hop + 20))`.
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

/// RFC 7915 section 5.2. `fragment` is the fragment header of the packet in error. `None`: silently
/// drop.
#[must_use]
pub fn error_to_v4(
    message: u8,
    code: u8,
    rest: Word,
    fragment: Option<FragmentHeader>,
    mtus: LinkMtus,
) -> Option<ErrorHeader> {
    let simple = |message, code| {
        Some(ErrorHeader {
            message,
            code,
            rest: 0,
            extensible: true,
        })
    };
    match (message, code) {
        (icmpv6::UNREACHABLE, 0 | 2 | 3) => simple(icmpv4::UNREACHABLE, 1),
        (icmpv6::UNREACHABLE, 1) => simple(icmpv4::UNREACHABLE, 10),
        (icmpv6::UNREACHABLE, 4) => simple(icmpv4::UNREACHABLE, 3),
        (icmpv6::TOO_BIG, _) => Some(ErrorHeader {
            message: icmpv4::UNREACHABLE,
            code: 4,
            rest: too_big_to_v4(rest.number(), fragment, mtus),
            extensible: true,
        }),
        (icmpv6::TIME_EXCEEDED, code) => simple(icmpv4::TIME_EXCEEDED, code),
        (icmpv6::PARAMETER_PROBLEM, 0) => Some(ErrorHeader {
            message: icmpv4::PARAMETER_PROBLEM,
            code: 0,
            rest: u32::from(pointer_to_v4(rest.number())?) << 24,
            extensible: true,
        }),
        (icmpv6::PARAMETER_PROBLEM, 1) => simple(icmpv4::UNREACHABLE, 2),
        _ => None,
    }
}

/// RFC 7915 section 5.2: `min(reported - 20, v4 next hop, v6 next hop - 20)`, and 8 less where the
/// packet in error has a fragment header, which IPv4 does not need.
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

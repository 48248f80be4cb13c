//! ICMP types, codes, pointers and MTUs from one family to the other (RFC 7915 sections 4.2, 5.2).

use super::transport::{Echo, Kind, Messages};
use crate::packet::Word;
use crate::wire::ipv6::FragmentHeader;

/// ICMPv4 types (RFC 792).
pub mod v4 {
    /// Echo reply.
    pub const ECHO_REPLY: u8 = 0;
    /// Destination unreachable.
    pub const UNREACHABLE: u8 = 3;
    /// Echo request.
    pub const ECHO_REQUEST: u8 = 8;
    /// Time exceeded.
    pub const TIME_EXCEEDED: u8 = 11;
    /// Parameter problem.
    pub const PARAMETER_PROBLEM: u8 = 12;
    /// Timestamp.
    pub const TIMESTAMP: u8 = 13;
    /// Address mask reply (RFC 950); before it timestamp reply, both information messages, address
    /// mask request.
    pub const MASK_REPLY: u8 = 18;
    /// Extended echo request (RFC 8335).
    pub const EXTENDED_ECHO_REQUEST: u8 = 42;
    /// Extended echo reply (RFC 8335).
    pub const EXTENDED_ECHO_REPLY: u8 = 43;
}

/// ICMPv6 types (RFC 4443).
pub mod v6 {
    /// Destination unreachable.
    pub const UNREACHABLE: u8 = 1;
    /// Packet too big.
    pub const TOO_BIG: u8 = 2;
    /// Time exceeded.
    pub const TIME_EXCEEDED: u8 = 3;
    /// Parameter problem.
    pub const PARAMETER_PROBLEM: u8 = 4;
    /// Echo request.
    pub const ECHO_REQUEST: u8 = 128;
    /// Echo reply.
    pub const ECHO_REPLY: u8 = 129;
}

/// What an ICMP message of a translatable type is; `None` for the others.
#[inline(always)]
#[must_use]
pub fn kind(messages: Messages, message: u8) -> Option<Kind> {
    match messages {
        Messages::V4 | Messages::WithinV4 => match message {
            v4::ECHO_REQUEST => Some(Kind::Echo(Echo::Request)),
            v4::ECHO_REPLY => Some(Kind::Echo(Echo::Reply)),
            v4::UNREACHABLE | v4::TIME_EXCEEDED | v4::PARAMETER_PROBLEM => Some(Kind::IcmpError),
            v4::TIMESTAMP..=v4::MASK_REPLY
            | v4::EXTENDED_ECHO_REQUEST
            | v4::EXTENDED_ECHO_REPLY
                if messages == Messages::WithinV4 =>
            {
                Some(Kind::Query)
            }
            _ => None,
        },
        Messages::V6 => match message {
            v6::ECHO_REQUEST => Some(Kind::Echo(Echo::Request)),
            v6::ECHO_REPLY => Some(Kind::Echo(Echo::Reply)),
            v6::UNREACHABLE | v6::TOO_BIG | v6::TIME_EXCEEDED | v6::PARAMETER_PROBLEM => {
                Some(Kind::IcmpError)
            }
            _ => None,
        },
    }
}

/// The type of an echo message in ICMPv6.
#[inline(always)]
#[must_use]
pub const fn echo_v6(echo: Echo) -> u8 {
    match echo {
        Echo::Request => v6::ECHO_REQUEST,
        Echo::Reply => v6::ECHO_REPLY,
    }
}

/// The type of an echo message in ICMPv4.
#[inline(always)]
#[must_use]
pub const fn echo_v4(echo: Echo) -> u8 {
    match echo {
        Echo::Request => v4::ECHO_REQUEST,
        Echo::Reply => v4::ECHO_REPLY,
    }
}

/// The first eight bytes of an ICMP error, without its checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error {
    /// Type.
    pub message: u8,
    /// Code.
    pub code: u8,
    /// The second word: unused, pointer or MTU.
    pub rest: u32,
    /// The second word has room for an RFC 4884 length.
    pub extensible: bool,
}

/// MTUs that the size of a Packet Too Big depends on.
#[derive(Clone, Copy, Debug)]
pub struct LinkMtus {
    /// MTU of the IPv4 next hop.
    pub v4: u16,
    /// MTU of the IPv6 next hop.
    pub v6: u16,
}

/// RFC 1191 section 7: likely path MTUs, for routers that do not tell.
const PLATEAUS: [u16; 6] = [32000, 17914, 8166, 4352, 2002, 1492];

/// The MTU to assume when a router reports none: the greatest plateau less than the length of the
/// packet in error, but at least what makes 1280 bytes of IPv6 (RFC 7915 section 4.2).
#[must_use]
pub fn plateau(total_length: u16) -> u16 {
    for candidate in PLATEAUS {
        if candidate < total_length {
            return candidate;
        }
    }
    1260
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
) -> Option<Error> {
    let simple = |message, code| {
        Some(Error {
            message,
            code,
            rest: 0,
            extensible: true,
        })
    };
    match (message, code) {
        (v4::UNREACHABLE, 2) => Some(Error {
            message: v6::PARAMETER_PROBLEM,
            code: 1,
            // The Next Header field of the fixed header.
            rest: 6,
            extensible: false,
        }),
        (v4::UNREACHABLE, 3) => simple(v6::UNREACHABLE, 4),
        (v4::UNREACHABLE, 4) => Some(Error {
            message: v6::TOO_BIG,
            code: 0,
            rest: too_big_to_v6(rest.low(), inner_total_length, mtus),
            extensible: false,
        }),
        (v4::UNREACHABLE, 0 | 1 | 5..=8 | 11 | 12) => simple(v6::UNREACHABLE, 0),
        (v4::UNREACHABLE, 9 | 10 | 13 | 15) => simple(v6::UNREACHABLE, 1),
        (v4::TIME_EXCEEDED, code) => simple(v6::TIME_EXCEEDED, code),
        (v4::PARAMETER_PROBLEM, 0 | 2) => Some(Error {
            message: v6::PARAMETER_PROBLEM,
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
) -> Option<Error> {
    let simple = |message, code| {
        Some(Error {
            message,
            code,
            rest: 0,
            extensible: true,
        })
    };
    match (message, code) {
        (v6::UNREACHABLE, 0 | 2 | 3) => simple(v4::UNREACHABLE, 1),
        (v6::UNREACHABLE, 1) => simple(v4::UNREACHABLE, 10),
        (v6::UNREACHABLE, 4) => simple(v4::UNREACHABLE, 3),
        (v6::TOO_BIG, _) => Some(Error {
            message: v4::UNREACHABLE,
            code: 4,
            rest: too_big_to_v4(rest.number(), fragment, mtus),
            extensible: true,
        }),
        (v6::TIME_EXCEEDED, code) => simple(v4::TIME_EXCEEDED, code),
        (v6::PARAMETER_PROBLEM, 0) => Some(Error {
            message: v4::PARAMETER_PROBLEM,
            code: 0,
            rest: u32::from(pointer_to_v4(rest.number())?) << 24,
            extensible: true,
        }),
        (v6::PARAMETER_PROBLEM, 1) => simple(v4::UNREACHABLE, 2),
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

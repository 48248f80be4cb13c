//! The header that ICMPv4 and ICMPv6 share (RFC 792, RFC 4443 section 2.1), and the messages that
//! both have.

use super::content::{Content, Echo, Messages};
use super::{icmpv4, icmpv6, ipv4, protocol};
use crate::packet::Packet;

/// Bytes of a header, the second word included.
pub const HEADER: usize = 8;
/// Offset of the checksum.
pub const CHECKSUM: usize = 2;

/// The content of an ICMP message of a translatable type; `None` for the others.
#[inline(always)]
#[must_use]
pub fn content(messages: Messages, message: u8) -> Option<Content> {
    match messages {
        Messages::V4 | Messages::WithinV4 => match message {
            icmpv4::ECHO_REQUEST => Some(Content::Echo(Echo::Request)),
            icmpv4::ECHO_REPLY => Some(Content::Echo(Echo::Reply)),
            icmpv4::UNREACHABLE | icmpv4::TIME_EXCEEDED | icmpv4::PARAMETER_PROBLEM => {
                Some(Content::IcmpError)
            }
            icmpv4::TIMESTAMP..=icmpv4::MASK_REPLY
            | icmpv4::EXTENDED_ECHO_REQUEST
            | icmpv4::EXTENDED_ECHO_REPLY
                if messages == Messages::WithinV4 =>
            {
                Some(Content::Query)
            }
            _ => None,
        },
        Messages::V6 => match message {
            icmpv6::ECHO_REQUEST => Some(Content::Echo(Echo::Request)),
            icmpv6::ECHO_REPLY => Some(Content::Echo(Echo::Reply)),
            icmpv6::UNREACHABLE
            | icmpv6::TOO_BIG
            | icmpv6::TIME_EXCEEDED
            | icmpv6::PARAMETER_PROBLEM => Some(Content::IcmpError),
            _ => None,
        },
    }
}

/// The type of an echo message in ICMPv6.
#[inline(always)]
#[must_use]
pub const fn echo_v6(echo: Echo) -> u8 {
    match echo {
        Echo::Request => icmpv6::ECHO_REQUEST,
        Echo::Reply => icmpv6::ECHO_REPLY,
    }
}

/// The type of an echo message in ICMPv4.
#[inline(always)]
#[must_use]
pub const fn echo_v4(echo: Echo) -> u8 {
    match echo {
        Echo::Request => icmpv4::ECHO_REQUEST,
        Echo::Reply => icmpv4::ECHO_REPLY,
    }
}

/// The first eight bytes of an ICMP error, without its checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorHeader {
    /// Type.
    pub message: u8,
    /// Code.
    pub code: u8,
    /// The second word: unused, pointer or MTU.
    pub rest: u32,
}

/// The protocol of an IPv4 packet, or 41 for an ICMP error about a packet of that protocol: it decides
/// whether the packet is for a tunnel endpoint, whose address may be another's for all other protocols.
#[inline(always)]
#[must_use]
pub fn quoted_protocol<P: Packet>(packet: &P, header: &ipv4::Header) -> u8 {
    let own = header.protocol();
    if own != protocol::ICMP
        || header.header_length() != ipv4::HEADER
        || header.fragment().is_fragment()
    {
        return own;
    }
    // The word of the quoted header that has the protocol is its third.
    let quoted = ipv4::HEADER + HEADER + 8;
    match (packet.words::<1>(ipv4::HEADER), packet.words::<1>(quoted)) {
        (Ok([first]), Ok([third]))
            if content(Messages::V4, first.bytes()[0]) == Some(Content::IcmpError)
                && third.bytes()[1] == protocol::IPV6 =>
        {
            protocol::IPV6
        }
        _ => own,
    }
}

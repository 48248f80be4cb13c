//! ICMPv4 message types (RFC 792), and the little that is asked of messages before they are read.

use super::icmp::{self, Messages};
use super::transport::Content;
use super::{ipv4, protocol};
use crate::packet::Packet;

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

/// The protocol of an IPv4 packet, or 41 for an ICMP error about a packet of that protocol: it tells
/// whether the packet is for a tunnel endpoint, whose address others may share for all else.
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
    let quoted = ipv4::HEADER + icmp::HEADER + 8;
    match (packet.words::<1>(ipv4::HEADER), packet.words::<1>(quoted)) {
        (Ok([first]), Ok([third]))
            if icmp::content(Messages::V4, first.bytes()[0]) == Some(Content::IcmpError)
                && third.bytes()[1] == protocol::IPV6 =>
        {
            protocol::IPV6
        }
        _ => own,
    }
}

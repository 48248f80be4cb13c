//! The header that ICMPv4 and ICMPv6 share (RFC 792, RFC 4443 section 2.1), and the messages that
//! both have.

use super::transport::Content;
use super::{icmpv4, icmpv6, protocol};

/// Bytes of a header, the second word included.
pub const HEADER: usize = 8;
/// Offset of the checksum.
pub const CHECKSUM: usize = 2;

/// Which ICMP messages a packet may carry: those that have a counterpart where it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Messages {
    /// Of ICMPv4, those that ICMPv6 has as well (RFC 7915 section 4.2).
    V4,
    /// Of ICMPv6, those that ICMPv4 has as well (RFC 7915 section 5.2).
    V6,
    /// Of ICMPv4, all that have an identifier or quote a packet (RFC 5508 section 3.1).
    WithinV4,
}

impl Messages {
    /// The protocol that carries them.
    #[inline(always)]
    pub(super) const fn protocol(self) -> u8 {
        match self {
            Self::V4 | Self::WithinV4 => protocol::ICMP,
            Self::V6 => protocol::ICMPV6,
        }
    }
}

/// The two queries that both families have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Echo {
    /// Type 8 or 128.
    Request,
    /// Type 0 or 129.
    Reply,
}

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
    /// The second word has room for an RFC 4884 length.
    pub extensible: bool,
}

//! The kinds of content of an IP packet, as far as rules tell them apart.

use super::protocol;

/// The content of an IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// A TCP header.
    Tcp,
    /// A UDP header.
    Udp,
    /// An ICMP echo request or reply.
    Echo(Echo),
    /// Another ICMPv4 query with an identifier, or its answer; only of [`Messages::WithinV4`].
    Query,
    /// An ICMP error; its packet in error begins 8 bytes in.
    IcmpError,
    /// Any other protocol: passed as it is.
    Other,
    /// A fragment after the first: payload without a header.
    Continuation,
}

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

//! Verdicts on packets.

use crate::packet::{Family, NoRoom, Packet, Truncated};
use crate::reason::Counter;
use crate::wire::transport::Unreadable;

/// The packet is fine: what to do with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It was rewritten in place and now is of this family: send it.
    Forward {
        /// Family of the packet as it is now.
        family: Family,
        /// Set if it does not fit its link and must be cut after translation. Only for packets
        /// whose [`bytes`](crate::packet::Packet::bytes) are in reach.
        split: Option<Split>,
    },
    /// No instance is responsible for it; it is unchanged.
    Pass,
    /// It is for a socket of this machine, at an address that an instance shares with it; it is unchanged.
    Deliver,
}

impl Verdict {
    /// The packet is of this family now, and is sent as it is.
    #[inline(always)]
    #[must_use]
    pub const fn whole(family: Family) -> Self {
        Self::Forward {
            family,
            split: None,
        }
    }
}

/// How to cut a translated packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Split {
    /// Bytes that a piece may have, IP header included.
    pub mtu: u16,
    /// Identification of the datagram, for a fragment header that is not there yet.
    pub identification: u32,
}

/// The packet is not sent on. It is unchanged, byte for byte, in all three cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Dropped silently.
    Drop(Counter),
    /// Dropped, and its sender gets an error, subject to the rate limit. An engine that cannot build ICMP
    /// errors hands the packet to one that can.
    Reply(IcmpError, Counter),
    /// This engine cannot do it; the user-space engine can.
    Slow(Slow),
}

/// The work that only the user-space engine does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slow {
    /// The packet is not [plain](crate::packet::Plain), or not an ICMP error of the [simple
    /// kind](crate::packet::Errors), and the engine takes no others.
    Uncommon,
    /// IPv4 options have to be searched for a source route.
    Options,
    /// The options of a TCP SYN have to be searched for the maximum segment size.
    TcpOptions,
    /// More extension headers, or longer ones, than a BPF program follows.
    ExtensionHeaders,
    /// The packet has to be cut in pieces.
    Split,
    /// The packet is too large for its link, and its sender is told so.
    TooBig,
    /// A checksum over the whole payload has to be computed.
    Checksum,
    /// An ICMP error: the packet that it quotes changes its size in the middle.
    IcmpError,
    /// A fragment whose first fragment is not known yet: hold it.
    HoldFragment,
    /// A first fragment, which is to be remembered.
    FirstFragment,
    /// A fragment of a message whose checksum needs the whole, of ICMP or of UDP without a checksum:
    /// reassemble.
    Reassemble,
    /// The destination is another host behind this translator: translate back at once.
    Hairpin,
    /// A message of neighbour discovery, which has an answer.
    Neighbour,
    /// The packet is for the gateway itself: in a softwire, for its address in there (RFC 6333 section
    /// 6.5); or for a CE that asks others for ports (RFC 7648).
    Own,
    /// A session has to be made, which another program of this engine does.
    Session,
    /// A TCP SYN from outside without a binding, which is answered if nobody inside wants it within
    /// [`WAIT`](crate::slow::unexpected::WAIT) (RFC 5382 section 4.3, REQ-4).
    UnboundSyn,
    /// Likewise, one that the filtering does not let in.
    FilteredSyn,
    /// The engine cannot send where the packet has to go.
    Route,
    /// A table operation that a BPF program gave up on.
    Table,
    /// The engine could not change the size of the packet in place.
    NoRoom,
    /// An application level gateway has to look at the payload first.
    Application,
}

/// An ICMP error to the sender of the original packet, in the family of the original.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IcmpError {
    /// TTL or hop limit exceeded in transit.
    TimeExceeded,
    /// The next link takes this many bytes (Fragmentation Needed or Packet Too Big, in the terms
    /// of the original's family).
    TooBig(u16),
    /// IPv4 only: Source Route Failed (RFC 7915 section 4.1).
    SourceRouteFailed,
    /// IPv6 only: Parameter Problem, code 0, at this offset (RFC 7915 section 5.1).
    ParameterProblem(u32),
    /// Communication administratively prohibited (RFC 7915 sections 4.4 and 5.4).
    Prohibited,
    /// IPv6 only: source address failed ingress/egress policy (RFC 4443 section 3.1), about a packet as it
    /// came, with what it carries (RFC 7596 section 6.2).
    SourcePolicy,
    /// Host or address unreachable (RFC 6146 section 3.5).
    AddressUnreachable,
    /// Port unreachable; Protocol Unreachable about an IPv4 packet without ports (RFC 6146 section
    /// 3.4).
    PortUnreachable,
}

impl Refusal {
    /// The refusal of a packet that is too large for its link, of which the sender is told the most that it takes.
    #[inline(always)]
    #[must_use]
    pub const fn too_big<P: Packet>(most: u16) -> Self {
        if P::ABILITIES.replies {
            Self::Reply(IcmpError::TooBig(most), Counter::TooBig)
        } else {
            Self::Slow(Slow::TooBig)
        }
    }

    /// Whether this part of an engine takes a packet, which turns back to another inside host or does not.
    ///
    /// # Errors
    /// Another part does.
    #[inline(always)]
    pub const fn unless_taken<P: Packet>(hairpin: bool) -> Result<(), Self> {
        match (hairpin, P::ABILITIES.hairpins) {
            (true, false) => Err(Self::Slow(Slow::Hairpin)),
            (false, _) if P::ABILITIES.hairpins_only() => Err(Self::Slow(Slow::Uncommon)),
            _ => Ok(()),
        }
    }

    /// The refusal of a packet whose TTL or hop limit expires here.
    #[inline(always)]
    #[must_use]
    pub const fn hop_limit() -> Self {
        Self::Reply(IcmpError::TimeExceeded, Counter::HopLimitExceeded)
    }

    /// The error to the sender of a dropped packet where no RFC asks for another error, nor for silence
    /// (RFC 7915 sections 4.4 and 5.4).
    #[inline(always)]
    #[must_use]
    pub const fn prohibited(counter: Counter) -> Self {
        Self::Reply(IcmpError::Prohibited, counter)
    }
}

impl From<Truncated> for Refusal {
    #[inline(always)]
    fn from(_: Truncated) -> Self {
        Self::Drop(Counter::Truncated)
    }
}

impl From<Unreadable> for Refusal {
    #[inline(always)]
    fn from(unreadable: Unreadable) -> Self {
        match unreadable {
            Unreadable::Uncommon => Self::Slow(Slow::Uncommon),
            Unreadable::Truncated => Self::Drop(Counter::Truncated),
            Unreadable::Malformed => Self::Drop(Counter::MalformedTransport),
            Unreadable::IcmpType => Self::Drop(Counter::IcmpUntranslatable),
        }
    }
}

impl From<Slow> for Refusal {
    #[inline(always)]
    fn from(slow: Slow) -> Self {
        Self::Slow(slow)
    }
}

impl From<NoRoom> for Refusal {
    #[inline(always)]
    fn from(_: NoRoom) -> Self {
        Self::Slow(Slow::NoRoom)
    }
}

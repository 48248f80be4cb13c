//! The header after the IP headers, as far as translation needs it.

use crate::nat::Ports;
use crate::packet::{Packet, Word};
use crate::reason::Counter;
use crate::verdict::Refusal;
use crate::wire::protocol;

/// What follows the IP headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
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
    const fn protocol(self) -> u8 {
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

/// The transport part of a packet.
#[derive(Clone, Copy, Debug)]
pub struct Transport {
    /// What it is.
    pub kind: Kind,
    /// Number of the protocol, in the packet's own family.
    pub protocol: u8,
    /// Where it begins in the packet.
    pub at: usize,
    /// Bytes from there to the end of the IP packet.
    pub length: usize,
    /// First word of the header: both ports, or type, code and checksum.
    pub first: Word,
    /// Source port or identifier; 0 where there is none.
    pub source_port: u16,
    /// Destination port or identifier; 0 where there is none.
    pub destination_port: u16,
    /// Bytes of the transport header of TCP and UDP; 0 otherwise.
    pub header: u8,
    /// TCP flags (RFC 9293 section 3.1, the low eight bits); 0 otherwise.
    pub tcp_flags: u8,
    /// The UDP checksum field is zero.
    pub zero_checksum: bool,
}

/// Bytes of a UDP header.
pub const UDP_HEADER: usize = 8;
/// Bytes of a TCP header without options.
pub const TCP_HEADER: usize = 20;
/// Bytes of an ICMP header.
pub const ICMP_HEADER: usize = 8;
/// Offset of the checksum in a TCP header.
pub const TCP_CHECKSUM: usize = 16;
/// Offset of the checksum in a UDP header.
pub const UDP_CHECKSUM: usize = 6;
/// Offset of the checksum in an ICMP header.
pub const ICMP_CHECKSUM: usize = 2;

/// How much of the header must be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// All of it.
    Whole,
    /// The packet is quoted in an ICMP error, which need not hold more than 8 bytes of it.
    Quoted,
}

impl Transport {
    /// A fragment after the first.
    #[inline(always)]
    #[must_use]
    pub const fn continuation(at: usize, length: usize, protocol: u8) -> Self {
        Self {
            kind: Kind::Continuation,
            protocol,
            at,
            length,
            first: Word(0),
            source_port: 0,
            destination_port: 0,
            header: 0,
            tcp_flags: 0,
            zero_checksum: false,
        }
    }

    /// Both ports.
    #[inline(always)]
    #[must_use]
    pub const fn ports(&self) -> Ports {
        Ports {
            source: self.source_port,
            destination: self.destination_port,
        }
    }

    /// Reads the transport header of a whole packet or a first fragment. `messages` tells the ICMP
    /// types of the packet's family apart.
    ///
    /// # Errors
    /// A header that is cut short, an ICMP type without counterpart.
    #[inline(always)]
    pub fn read<P: Packet>(
        packet: &P,
        at: usize,
        length: usize,
        protocol: u8,
        messages: Messages,
        extent: Extent,
    ) -> Result<Self, Refusal> {
        const SHORT: Refusal = Refusal::Drop(Counter::MalformedTransport);
        let mut transport = Self::continuation(at, length, protocol);
        match protocol {
            protocol::TCP => {
                transport.kind = Kind::Tcp;
                if extent == Extent::Whole {
                    if length < TCP_HEADER {
                        return Err(SHORT);
                    }
                    let words = packet.words::<5>(at)?;
                    transport.first = words[0];
                    transport.tcp_flags = words[3].high() as u8;
                    transport.header = words[3].bytes()[0] >> 4 << 2;
                    if usize::from(transport.header) < TCP_HEADER {
                        return Err(SHORT);
                    }
                } else {
                    [transport.first] = packet.words::<1>(at)?;
                }
                transport.source_port = transport.first.high();
                transport.destination_port = transport.first.low();
            }
            protocol::UDP => {
                transport.kind = Kind::Udp;
                if length < UDP_HEADER {
                    return Err(SHORT);
                }
                let words = packet.words::<2>(at)?;
                transport.first = words[0];
                transport.header = UDP_HEADER as u8;
                transport.zero_checksum = words[1].low() == 0;
                transport.source_port = transport.first.high();
                transport.destination_port = transport.first.low();
            }
            number if number == messages.protocol() => {
                if length < ICMP_HEADER {
                    return Err(SHORT);
                }
                let words = packet.words::<2>(at)?;
                transport.first = words[0];
                transport.kind = super::icmp::kind(messages, words[0].bytes()[0])
                    .ok_or(Refusal::Drop(Counter::IcmpUntranslatable))?;
                if let Kind::Echo(_) | Kind::Query = transport.kind {
                    transport.source_port = words[1].high();
                    transport.destination_port = words[1].high();
                }
            }
            _ => transport.kind = Kind::Other,
        }
        Ok(transport)
    }
}

//! The transport header of a packet: ports, flags and length, as far as the gateway needs them.

use super::content::{Content, Messages};
use super::icmp;
use super::tuple::{Ports, Tuple};
use super::{protocol, tcp, udp};
use crate::packet::{Packet, Truncated};
use crate::word::Word;

/// The transport part of a packet.
#[derive(Clone, Copy, Debug)]
pub struct Transport {
    /// The kind of header, or of payload without one.
    pub content: Content,
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

/// Why a transport header cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// The packet is not of those that the [part](crate::packet::Takes) of the engine takes.
    Uncommon,
    /// The packet ends before the header does.
    Truncated,
    /// The header is shorter than its protocol allows.
    Malformed,
    /// The ICMP message has no counterpart on the other side.
    IcmpType,
}

impl From<Truncated> for Unreadable {
    #[inline(always)]
    fn from(_: Truncated) -> Self {
        Self::Truncated
    }
}

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
            content: Content::Continuation,
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

    /// The tuple of a packet between two addresses.
    #[inline(always)]
    #[must_use]
    pub fn tuple<A>(&self, source: A, destination: A) -> Tuple<A> {
        self.ports().between(source, destination)
    }

    /// Reads the transport header of a whole packet or a first fragment. `messages` selects the ICMP types
    /// of the packet's family.
    ///
    /// # Errors
    /// The header is cut short, or the ICMP type has no counterpart.
    #[inline(always)]
    pub fn read<P: Packet>(
        packet: &P,
        at: usize,
        length: usize,
        protocol: u8,
        messages: Messages,
        extent: Extent,
    ) -> Result<Self, Unreadable> {
        const SHORT: Unreadable = Unreadable::Malformed;
        let mut transport = Self::continuation(at, length, protocol);
        match protocol {
            protocol::TCP | protocol::UDP
                if P::ABILITIES.errors_only() && extent == Extent::Whole =>
            {
                return Err(Unreadable::Uncommon);
            }
            protocol::TCP => {
                transport.content = Content::Tcp;
                if extent == Extent::Whole {
                    if length < tcp::HEADER {
                        return Err(SHORT);
                    }
                    let words = packet.words::<5>(at)?;
                    transport.first = words[0];
                    transport.tcp_flags = words[3].high() as u8;
                    transport.header = words[3].bytes()[0] >> 4 << 2;
                    if usize::from(transport.header) < tcp::HEADER {
                        return Err(SHORT);
                    }
                } else {
                    [transport.first] = packet.words::<1>(at)?;
                }
                transport.source_port = transport.first.high();
                transport.destination_port = transport.first.low();
            }
            protocol::UDP => {
                transport.content = Content::Udp;
                if length < udp::HEADER {
                    return Err(SHORT);
                }
                let words = packet.words::<2>(at)?;
                transport.first = words[0];
                transport.header = udp::HEADER as u8;
                transport.zero_checksum = words[1].low() == 0;
                if !P::ABILITIES.all() && transport.zero_checksum {
                    return Err(Unreadable::Uncommon);
                }
                transport.source_port = transport.first.high();
                transport.destination_port = transport.first.low();
            }
            _ if !P::ABILITIES.icmp() => return Err(Unreadable::Uncommon),
            number if number == messages.protocol() => {
                if length < icmp::HEADER {
                    return Err(SHORT);
                }
                let words = packet.words::<2>(at)?;
                transport.first = words[0];
                transport.content = message::<P>(messages, words[0].bytes()[0], extent)?;
                if let Content::Echo(_) | Content::Query = transport.content {
                    transport.source_port = words[1].high();
                    transport.destination_port = words[1].high();
                }
            }
            // It may be an extension header.
            _ if !P::ABILITIES.all() => return Err(Unreadable::Uncommon),
            _ => transport.content = Content::Other,
        }
        Ok(transport)
    }
}

/// The content of an ICMP message of this type. Where errors alone are taken, it is one, or quoted in one.
#[inline(always)]
fn message<P: Packet>(messages: Messages, kind: u8, extent: Extent) -> Result<Content, Unreadable> {
    let content = icmp::content(messages, kind).ok_or(Unreadable::IcmpType)?;
    if P::ABILITIES.errors_only() && extent == Extent::Whole && content != Content::IcmpError {
        return Err(Unreadable::Uncommon);
    }
    Ok(content)
}

//! A UDP datagram in an IPv6 packet.

use std::net::SocketAddrV6;

use isthmus_core::wire::{ipv6, protocol, udp};

use crate::packet::{self, HOP_LIMIT, number, put};

/// Where a UDP header has its length and its checksum.
const LENGTH: usize = 4;
const CHECKSUM: usize = 6;
/// The hop limit of a new packet (RFC 1700).
const HOPS: u8 = 64;

/// A datagram, as it came.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Datagram<'a> {
    headers: &'a [u8],
    ends: [SocketAddrV6; 2],
    pub(crate) payload: &'a [u8],
}

impl<'a> Datagram<'a> {
    /// Reads a packet. `None` if it is another one, or not whole.
    pub(crate) fn read(packet: &'a [u8]) -> Option<Self> {
        let (ends, transport) = packet::open(packet, protocol::UDP)?;
        let datagram = transport.get(..usize::from(number(transport, LENGTH)))?;
        Some(Self {
            headers: packet.get(..ipv6::HEADER + udp::HEADER)?,
            ends,
            payload: datagram.get(udp::HEADER..)?,
        })
    }

    pub(crate) const fn source(&self) -> SocketAddrV6 {
        self.ends[0]
    }

    pub(crate) const fn destination(&self) -> SocketAddrV6 {
        self.ends[1]
    }

    /// The same with another payload. `None` if that is longer than a datagram can be.
    pub(crate) fn with(&self, payload: &[u8]) -> Option<Vec<u8>> {
        let mut packet = [self.headers, payload].concat();
        let length = u16::try_from(udp::HEADER + payload.len()).ok()?;
        put(&mut packet, ipv6::HEADER + LENGTH, &length.to_be_bytes());
        packet::finish(&mut packet, CHECKSUM)?;
        Some(packet)
    }

    /// A datagram that goes the other way, with this payload, as the host itself would send it.
    pub(crate) fn back(&self, payload: &[u8]) -> Option<Vec<u8>> {
        let mut packet = self.with(payload)?;
        packet[HOP_LIMIT] = HOPS;
        packet::turn(&mut packet, &self.ends);
        packet::finish(&mut packet, CHECKSUM)?;
        Some(packet)
    }
}

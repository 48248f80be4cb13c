//! A UDP datagram in an IPv6 packet without extension headers.

use std::net::{Ipv6Addr, SocketAddrV6};

use isthmus_core::checksum::Sum;
use isthmus_core::wire::{ipv6, protocol, udp};

/// Where a UDP header has its checksum.
const CHECKSUM: usize = 6;

/// The hop limit of a new packet (RFC 1700).
const HOP_LIMIT: u8 = 64;

/// A datagram, as it came.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Datagram<'a> {
    headers: &'a [u8],
    pub(crate) source: SocketAddrV6,
    pub(crate) destination: SocketAddrV6,
    pub(crate) payload: &'a [u8],
}

impl<'a> Datagram<'a> {
    /// Reads a packet. `None` if it is another one, or not whole.
    pub(crate) fn read(packet: &'a [u8]) -> Option<Self> {
        let (headers, rest) = packet.split_at_checked(ipv6::HEADER + udp::HEADER)?;
        if headers[0] >> 4 != 6 || headers[6] != protocol::UDP {
            return None;
        }
        let number = |at: usize| u16::from_be_bytes([headers[at], headers[at + 1]]);
        let length = usize::from(number(ipv6::HEADER + 4)).checked_sub(udp::HEADER)?;
        let address = |at: usize| -> Option<Ipv6Addr> {
            Some(Ipv6Addr::from(*headers.get(at..)?.first_chunk::<16>()?))
        };
        let end = |address, port| SocketAddrV6::new(address, port, 0, 0);
        Some(Self {
            headers,
            source: end(address(8)?, number(ipv6::HEADER)),
            destination: end(address(24)?, number(ipv6::HEADER + 2)),
            payload: rest.get(..length)?,
        })
    }

    /// The same with another payload. `None` if that is longer than a datagram can be.
    pub(crate) fn with(&self, payload: &[u8]) -> Option<Vec<u8>> {
        let length = u16::try_from(udp::HEADER + payload.len()).ok()?;
        let mut packet = [self.headers, payload].concat();
        packet[4..6].copy_from_slice(&length.to_be_bytes());
        packet[ipv6::HEADER + 4..][..2].copy_from_slice(&length.to_be_bytes());
        finish(&mut packet);
        Some(packet)
    }

    /// A datagram that goes the other way, with this payload, as the host itself would send it.
    pub(crate) fn back(&self, payload: &[u8]) -> Option<Vec<u8>> {
        let mut packet = self.with(payload)?;
        let (source, destination) = (self.source, self.destination);
        packet[7] = HOP_LIMIT;
        packet[8..24].copy_from_slice(&destination.ip().octets());
        packet[24..40].copy_from_slice(&source.ip().octets());
        packet[ipv6::HEADER..][..2].copy_from_slice(&destination.port().to_be_bytes());
        packet[ipv6::HEADER + 2..][..2].copy_from_slice(&source.port().to_be_bytes());
        finish(&mut packet);
        Some(packet)
    }
}

/// Writes the checksum of a packet whose lengths are right.
fn finish(packet: &mut [u8]) {
    let at = ipv6::HEADER + CHECKSUM;
    packet[at..at + 2].fill(0);
    let length = (packet.len() - ipv6::HEADER) as u16;
    let sum = Sum::ZERO
        .bytes(&packet[8..])
        .number(length)
        .number(u16::from(protocol::UDP));
    // RFC 768: zero would mean that there is none.
    let checksum = match sum.checksum() {
        0 => 0xffff,
        checksum => checksum,
    };
    packet[at..at + 2].copy_from_slice(&checksum.to_be_bytes());
}

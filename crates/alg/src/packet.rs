//! IPv6 packets without extension headers, which is how applications send.

use std::net::{Ipv6Addr, SocketAddrV6};

use isthmus_core::checksum::Sum;
use isthmus_core::wire::ipv6;

/// Where an IPv6 header has its fields.
const LENGTH: usize = 4;
const NEXT_HEADER: usize = 6;
pub(crate) const HOP_LIMIT: usize = 7;
const SOURCE: usize = 8;
const DESTINATION: usize = 24;

/// The 16 bits at an offset; 0 behind the end.
pub(crate) fn number(bytes: &[u8], at: usize) -> u16 {
    let bytes = bytes.get(at..).and_then(|bytes| bytes.first_chunk());
    bytes.map_or(0, |bytes| u16::from_be_bytes(*bytes))
}

/// The 32 bits at an offset; 0 behind the end.
pub(crate) fn long(bytes: &[u8], at: usize) -> u32 {
    u32::from(number(bytes, at)) << 16 | u32::from(number(bytes, at + 2))
}

/// Writes bytes at an offset, which is within.
pub(crate) fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    bytes[at..at + value.len()].copy_from_slice(value);
}

/// The ends of a packet of this protocol, and its transport part. `None` if it is another one, or not whole.
pub(crate) fn open(packet: &[u8], protocol: u8) -> Option<([SocketAddrV6; 2], &[u8])> {
    let (header, rest) = packet.split_at_checked(ipv6::HEADER)?;
    if header[0] >> 4 != 6 || header[NEXT_HEADER] != protocol {
        return None;
    }
    let transport = rest.get(..usize::from(number(header, LENGTH)))?;
    let end = |address: usize, port| -> Option<SocketAddrV6> {
        let address = *header.get(address..)?.first_chunk::<16>()?;
        let port = number(transport, port);
        Some(SocketAddrV6::new(Ipv6Addr::from(address), port, 0, 0))
    };
    Some(([end(SOURCE, 0)?, end(DESTINATION, 2)?], transport))
}

/// Swaps addresses and ports.
pub(crate) fn turn(packet: &mut [u8], [source, destination]: &[SocketAddrV6; 2]) {
    put(packet, SOURCE, &destination.ip().octets());
    put(packet, DESTINATION, &source.ip().octets());
    put(packet, ipv6::HEADER, &destination.port().to_be_bytes());
    put(packet, ipv6::HEADER + 2, &source.port().to_be_bytes());
}

/// Writes the length of a packet, and its transport checksum, which is `at` in the transport header. `None` if it is longer
/// than a packet can be.
pub(crate) fn finish(packet: &mut [u8], at: usize) -> Option<()> {
    let length = u16::try_from(packet.len() - ipv6::HEADER).ok()?;
    put(packet, LENGTH, &length.to_be_bytes());
    let at = ipv6::HEADER + at;
    put(packet, at, &[0, 0]);
    let protocol = u16::from(packet[NEXT_HEADER]);
    let sum = Sum::ZERO.bytes(&packet[SOURCE..]);
    // Zero would mean that UDP has none (RFC 768); in TCP, 0xffff is as good.
    let checksum = match sum.number(length).number(protocol).checksum() {
        0 => 0xffff,
        checksum => checksum,
    };
    put(packet, at, &checksum.to_be_bytes());
    Some(())
}

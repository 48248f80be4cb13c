//! Cuts a super-packet that went into a tunnel into its segments, each in an outer packet of its
//! own, where the kernel cannot be told how (a TUN link takes super-packets without tunnels only).
//!
//! The fields that change from segment to segment are those that change between consecutive packets of one
//! flow: lengths, identifications, TCP's sequence numbers and flags (RFC 9293 section 3.1), and the
//! checksums over them.

use crate::checksum::Sum;
use crate::wire::{ipv4, ipv6, protocol};

/// Bytes of the longest headers of a segment: two of IPv6 and IPv4 with options, and TCP with
/// options.
pub const LONGEST: usize = 40 + 60 + 60;

const FIN: u8 = 1;
const PUSH: u8 = 1 << 3;
const CWR: u8 = 1 << 7;

/// Why a super-packet cannot be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CannotSegment {
    /// It is no TCP or UDP in IP in IP, or shorter than its headers say.
    Malformed,
}

/// The segments of a super-packet, in order.
#[derive(Debug)]
pub struct Segments<'a> {
    headers: &'a [u8],
    payload: &'a [u8],
    /// Payload bytes of a segment, but for the last.
    size: usize,
    inner: usize,
    transport: usize,
    tcp: bool,
    sent: usize,
}

/// A segment: its bytes are those of [`headers`](Self::headers) followed by `payload`.
#[derive(Debug)]
pub struct Segment<'a> {
    headers: [u8; LONGEST],
    length: usize,
    /// The payload.
    pub payload: &'a [u8],
}

impl Segment<'_> {
    /// All headers.
    #[must_use]
    pub fn headers(&self) -> &[u8] {
        &self.headers[..self.length]
    }
}

/// Where the packet begins that a packet carries (RFC 4213, RFC 2473); `None` if it carries none.
#[must_use]
pub fn carried(packet: &[u8]) -> Option<usize> {
    match (packet.first()? >> 4, packet.get(6)?, packet.get(9)?) {
        (6, &protocol::IPV4, _) => Some(ipv6::HEADER),
        (4, _, &protocol::IPV6) => header_v4(packet),
        _ => None,
    }
}

/// Bytes of an IPv4 header with its options.
fn header_v4(packet: &[u8]) -> Option<usize> {
    let length = usize::from(packet.first()? & 15) * 4;
    (length >= ipv4::HEADER).then_some(length)
}

impl<'a> Segments<'a> {
    /// Looks at a packet that carries another, which is to be cut into segments of `size` bytes.
    ///
    /// # Errors
    /// [`CannotSegment`].
    pub fn new(packet: &'a [u8], size: u16) -> Result<Self, CannotSegment> {
        Self::read(packet, size).ok_or(CannotSegment::Malformed)
    }

    fn read(packet: &'a [u8], size: u16) -> Option<Self> {
        let inner = carried(packet)?;
        let (next, header) = match packet.get(inner)? >> 4 {
            4 => (*packet.get(inner + 9)?, header_v4(&packet[inner..])?),
            6 => (*packet.get(inner + 6)?, ipv6::HEADER),
            _ => return None,
        };
        let transport = inner + header;
        let tcp = next == protocol::TCP;
        let length = match next {
            protocol::TCP => usize::from(packet.get(transport + 12)? >> 4) * 4,
            protocol::UDP => 8,
            _ => return None,
        };
        let (headers, payload) = packet.split_at_checked(transport + length)?;
        if headers.len() > LONGEST || length < 8 || tcp && length < 20 || size == 0 {
            return None;
        }
        Some(Self {
            headers,
            payload,
            size: size.into(),
            inner,
            transport,
            tcp,
            sent: 0,
        })
    }
}

impl<'a> Iterator for Segments<'a> {
    type Item = Segment<'a>;

    fn next(&mut self) -> Option<Segment<'a>> {
        let rest = self.payload.get(self.sent..).filter(|r| !r.is_empty())?;
        let payload = &rest[..rest.len().min(self.size)];
        let mut segment = Segment {
            headers: [0; LONGEST],
            length: self.headers.len(),
            payload,
        };
        let headers = &mut segment.headers[..self.headers.len()];
        headers.copy_from_slice(self.headers);
        let number = (self.sent / self.size) as u16;
        let total = headers.len() + payload.len();
        let (outer, inner) = headers.split_at_mut(self.inner);
        address(outer, total, number);
        address(inner, total - self.inner, number);
        let transport = self.transport - self.inner;
        let pseudo = pseudo_header(inner, transport, total - self.transport, self.tcp);
        let header = &mut inner[transport..];
        let last = payload.len() == rest.len();
        if self.tcp {
            let sequence = u32::from_be_bytes([header[4], header[5], header[6], header[7]]);
            let sequence = sequence.wrapping_add(self.sent as u32);
            header[4..8].copy_from_slice(&sequence.to_be_bytes());
            if !last {
                header[13] &= !(FIN | PUSH);
            }
            if self.sent != 0 {
                // Told once (RFC 3168 section 6.1.2).
                header[13] &= !CWR;
            }
        } else {
            let length = (header.len() + payload.len()) as u16;
            header[4..6].copy_from_slice(&length.to_be_bytes());
        }
        let field = if self.tcp { 16 } else { 6 };
        header[field..field + 2].fill(0);
        // Headers have an even length.
        let checksum = (pseudo + Sum::ZERO.bytes(header) + Sum::ZERO.bytes(payload)).checksum();
        let checksum = match checksum {
            0 if !self.tcp => 0xffff,
            other => other,
        };
        header[field..field + 2].copy_from_slice(&checksum.to_be_bytes());
        self.sent += payload.len();
        Some(segment)
    }
}

/// Writes the length of a packet of `total` bytes into its header, and for IPv4 the identification
/// of the segment with this number, and the checksum.
fn address(header: &mut [u8], total: usize, number: u16) {
    if header[0] >> 4 == 6 {
        let length = (total - ipv6::HEADER) as u16;
        header[4..6].copy_from_slice(&length.to_be_bytes());
        return;
    }
    let length = usize::from(header[0] & 15) * 4;
    let header = &mut header[..length];
    header[2..4].copy_from_slice(&(total as u16).to_be_bytes());
    let identification = u16::from_be_bytes([header[4], header[5]]).wrapping_add(number);
    header[4..6].copy_from_slice(&identification.to_be_bytes());
    header[10..12].fill(0);
    let checksum = Sum::ZERO.bytes(header).checksum();
    header[10..12].copy_from_slice(&checksum.to_be_bytes());
}

/// The sum of the pseudo-header of a transport of `length` bytes (RFC 9293 section 3.1, RFC 8200
/// section
/// 8.1).
fn pseudo_header(packet: &[u8], transport: usize, length: usize, tcp: bool) -> Sum {
    let addresses = match packet[0] >> 4 {
        4 => &packet[12..20],
        _ => &packet[8..transport.min(ipv6::HEADER)],
    };
    let protocol = if tcp { protocol::TCP } else { protocol::UDP };
    Sum::ZERO
        .bytes(addresses)
        .number(length as u16)
        .number(u16::from(protocol))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    /// A super-packet of 3000 bytes of TCP (FIN, PSH and CWR set) over IPv4, in IPv6.
    fn super_packet() -> Vec<u8> {
        let mut inner = std::vec![0x45, 0, 0, 0, 0x12, 0x34, 0x40, 0, 64, 6, 0, 0];
        inner.extend([192, 0, 2, 1, 198, 51, 100, 7]);
        inner.extend([0x9c, 0x40, 0, 80, 0xff, 0xff, 0xff, 0, 1, 2, 3, 4]);
        inner.extend([0x50, 0x99, 1, 0, 0, 0, 0, 0]);
        inner.extend((0..3000u32).map(|n| (n * 7) as u8));
        let length = inner.len() as u16;
        inner[2..4].copy_from_slice(&length.to_be_bytes());
        let mut packet = std::vec![0x60, 0, 0, 0, 0, 0, 4, 64];
        packet[4..6].copy_from_slice(&length.to_be_bytes());
        packet.extend([0x20; 16]);
        packet.extend([0x30; 16]);
        packet.extend(inner);
        packet
    }

    fn number(bytes: &[u8], at: usize) -> u16 {
        u16::from_be_bytes([bytes[at], bytes[at + 1]])
    }

    /// The one's complement sum of RFC 1071; 0xffff over data with a right checksum.
    fn sum(bytes: &[u8]) -> u16 {
        let mut sum: u32 = bytes
            .chunks(2)
            .map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)))
            .sum();
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        sum as u16
    }

    #[test]
    fn tcp_is_cut_as_its_sender_would_have_sent_it() {
        let packet = super_packet();
        let segments: Vec<_> = Segments::new(&packet, 1400).unwrap().collect();
        let lengths: Vec<_> = segments.iter().map(|s| s.payload.len()).collect();
        assert_eq!(lengths, [1400, 1400, 200]);
        let mut sequence = 0xffff_ff00_u32;
        for (index, segment) in segments.iter().enumerate() {
            let bytes = [segment.headers(), segment.payload].concat();
            assert_eq!(usize::from(number(&bytes, 4)), bytes.len() - 40);
            let inner = &bytes[40..];
            assert_eq!(usize::from(number(inner, 2)), inner.len());
            assert_eq!(number(inner, 4), 0x1234 + index as u16);
            assert_eq!(sum(&inner[..20]), 0xffff);
            let got = u32::from(number(inner, 24)) << 16 | u32::from(number(inner, 26));
            assert_eq!(got, sequence);
            sequence = sequence.wrapping_add(segment.payload.len() as u32);
            let flags = [0x90, 0x10, 0x19][index];
            assert_eq!(inner[33], flags, "segment {index}");
            let mut covered = inner[12..20].to_vec();
            covered.extend([0, 6]);
            covered.extend(((inner.len() - 20) as u16).to_be_bytes());
            covered.extend(&inner[20..]);
            assert_eq!(sum(&covered), 0xffff);
        }
        let whole: Vec<u8> = segments.iter().flat_map(|s| s.payload.to_vec()).collect();
        assert_eq!(whole, packet[80..]);
    }

    #[test]
    fn what_is_no_tunnel_is_refused() {
        let packet = super_packet();
        assert_eq!(carried(&packet), Some(40));
        assert_eq!(carried(&packet[40..]), None);
        for cut in 0..80 {
            assert!(Segments::new(&packet[..cut], 1400).is_err(), "{cut}");
        }
        assert!(Segments::new(&packet[40..], 1400).is_err());
    }
}

//! Datagrams for the gateway itself: those for the AFTR through softwires (RFC 6333 section 6.5), with the
//! answers, which go back the same way; and those for a CE that sent a request.

use super::leading_words;
use crate::address::{V4, V6};
use crate::checksum::Sum;
use crate::encap::four_in_six;
use crate::nat::Endpoint4;
use crate::wire::ipv4::{self, Fragment};
use crate::wire::tuple::{Ends, Ports};
use crate::wire::{ipv6, protocol, udp};
use crate::word::Word;

/// Bytes before the payload of an answer.
pub const HEADERS: usize = ipv6::HEADER + ipv4::HEADER + udp::HEADER;
/// TTL of an answer.
const TTL: u8 = 64;

/// A UDP datagram in a softwire.
#[derive(Clone, Copy, Debug)]
pub struct Datagram<'a> {
    /// The ends of the softwire, from its sender to the gateway.
    pub softwire: Ends<V6>,
    /// The source in the inner header.
    pub source: Endpoint4,
    /// The destination in the inner header.
    pub destination: Endpoint4,
    /// The payload.
    pub payload: &'a [u8],
}

impl<'a> Datagram<'a> {
    /// Reads the packet `inner` that came in a packet with the header `outer`; `None` if it is no whole
    /// datagram, or one that changed on its way (RFC 768, RFC 1122 section 4.1.3.4).
    #[must_use]
    pub fn read(outer: &ipv6::Header, inner: &'a [u8]) -> Option<Self> {
        let header = ipv4::Header(leading_words(inner)?);
        if header.protocol() != protocol::UDP || header.fragment().is_fragment() {
            return None;
        }
        let packet = inner.get(..usize::from(header.total_length()))?;
        let datagram = packet.get(header.header_length()..)?;
        let pseudo = |length| pseudo_header(header.source(), header.destination(), length);
        let (ports, payload) = udp(datagram, pseudo, NoChecksum::Fine)?;
        Some(Self {
            softwire: Ends {
                source: outer.source(),
                destination: outer.destination(),
            },
            source: Endpoint4 {
                address: header.source(),
                port: ports.source,
            },
            destination: Endpoint4 {
                address: header.destination(),
                port: ports.destination,
            },
            payload,
        })
    }

    /// The headers of the packet that takes an answer back; `None` if that is longer than any packet.
    #[must_use]
    pub fn answer(&self, payload: &[u8]) -> Option<[u8; HEADERS]> {
        let length = u16::try_from(udp::HEADER + payload.len()).ok()?;
        let total_length = length.checked_add(ipv4::HEADER as u16)?;
        let (source, destination) = (self.destination, self.source);
        let ends = Ends {
            source: self.softwire.destination,
            destination: self.softwire.source,
        };
        let inner = ipv4::Header::from(ipv4::Fields {
            tos: 0,
            total_length,
            // Never cut, so the identification says nothing (RFC 6864 section 4.1).
            identification: 0,
            dont_fragment: true,
            fragment: Fragment::WHOLE,
            ttl: TTL,
            protocol: protocol::UDP,
            source: source.address,
            destination: destination.address,
        });
        let ports = Word::from_halves(source.port, destination.port);
        let sum = pseudo_header(source.address, destination.address, length)
            .word(ports)
            .number(length)
            .bytes(payload);
        // RFC 768: none is sent as 0, so that 0 is sent as its other form.
        let checksum = match sum.checksum() {
            0 => 0xffff,
            checksum => checksum,
        };
        let udp = [ports, Word::from_halves(length, checksum)];
        let outer = four_in_six::outer(ends, 0, total_length);
        let words = outer.0.iter().chain(&inner.0).chain(&udp);
        let mut headers = [0; HEADERS];
        for (place, word) in headers.chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&word.bytes());
        }
        Some(headers)
    }
}

/// A UDP datagram to an address of the gateway.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// The source.
    pub source: V6,
    /// The destination.
    pub destination: V6,
    /// The ports of both.
    pub ports: Ports,
    /// The payload.
    pub payload: &'a [u8],
}

impl<'a> Message<'a> {
    /// Reads an IPv6 packet; `None` if it is no datagram, has extension headers, or changed on its way.
    #[must_use]
    pub fn read(packet: &'a [u8]) -> Option<Self> {
        let header = ipv6::Header(leading_words(packet)?);
        if header.version() != 6 || header.next_header() != protocol::UDP {
            return None;
        }
        let length = usize::from(header.payload_length());
        let datagram = packet.get(ipv6::HEADER..)?.get(..length)?;
        let pseudo = |length| {
            Sum::ZERO
                .words(&header.source().0)
                .words(&header.destination().0)
                .number(u16::from(protocol::UDP))
                .number(length)
        };
        let (ports, payload) = udp(datagram, pseudo, NoChecksum::Wrong)?;
        Some(Self {
            source: header.source(),
            destination: header.destination(),
            ports,
            payload,
        })
    }
}

/// The treatment of a datagram without a checksum: IPv4 allows it (RFC 768), IPv6 does not (RFC 8200
/// section 8.1).
enum NoChecksum {
    Fine,
    Wrong,
}

/// The ports and the payload of a datagram whose checksum is right.
fn udp(
    datagram: &[u8],
    pseudo_header: impl Fn(u16) -> Sum,
    none: NoChecksum,
) -> Option<(Ports, &[u8])> {
    let [ports, length]: [Word; 2] = leading_words(datagram)?;
    let (length, checksum) = (length.high(), length.low());
    let datagram = datagram.get(..usize::from(length))?;
    let payload = datagram.get(udp::HEADER..)?;
    let right = match (checksum, none) {
        (0, NoChecksum::Fine) => true,
        (0, NoChecksum::Wrong) => false,
        _ => pseudo_header(length).bytes(datagram).fold() == 0xffff,
    };
    if !right {
        return None;
    }
    let ports = Ports {
        source: ports.high(),
        destination: ports.low(),
    };
    Some((ports, payload))
}

/// The sum of the pseudo-header of a datagram of this length (RFC 768).
fn pseudo_header(source: V4, destination: V4, length: u16) -> Sum {
    Sum::ZERO
        .word(source.0)
        .word(destination.0)
        .number(u16::from(protocol::UDP))
        .number(length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::net::{Ipv4Addr, Ipv6Addr};
    use etherparse::{
        Ipv4HeaderSlice, Ipv6HeaderSlice, PacketBuilder, SlicedPacket, TransportSlice, UdpHeader,
    };
    use std::vec::Vec;

    const B4: [u8; 4] = [192, 0, 0, 2];
    const AFTR: [u8; 4] = [192, 0, 0, 1];
    const CUSTOMER: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0xa, 0, 0, 0, 0, 1);
    const GATEWAY: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0xffff, 0, 0, 0, 0, 1);

    fn outer() -> ipv6::Header {
        let ends = Ends {
            source: CUSTOMER.into(),
            destination: GATEWAY.into(),
        };
        four_in_six::outer(ends, 0, 0)
    }

    fn request(payload: &[u8]) -> Vec<u8> {
        let mut packet = Vec::new();
        PacketBuilder::ipv4(B4, AFTR, 9)
            .udp(40_000, 5351)
            .write(&mut packet, payload)
            .unwrap();
        packet
    }

    #[test]
    fn rfc6333_6_5_a_datagram_and_its_answer() {
        let packet = request(b"odd");
        // The bytes after the packet are padding.
        let padded = [&packet[..], &[7; 9]].concat();
        let datagram = Datagram::read(&outer(), &padded).unwrap();
        assert_eq!(datagram.payload, b"odd");
        assert_eq!(datagram.source.address, Ipv4Addr::from(B4).into());
        assert_eq!(
            (datagram.source.port, datagram.destination.port),
            (40_000, 5351)
        );

        let payload = b"an answer of odd length";
        let packet = [&datagram.answer(payload).unwrap()[..], payload].concat();
        let outer = Ipv6HeaderSlice::from_slice(&packet).unwrap();
        assert_eq!(
            (outer.source_addr(), outer.destination_addr()),
            (GATEWAY, CUSTOMER)
        );
        assert_eq!(
            (outer.next_header().0, usize::from(outer.payload_length())),
            (4, packet.len() - 40)
        );
        let inner = Ipv4HeaderSlice::from_slice(&packet[40..]).unwrap();
        assert_eq!((inner.source(), inner.destination()), (AFTR, B4));
        assert_eq!(
            inner.header_checksum(),
            inner.to_header().calc_header_checksum()
        );
        let sliced = SlicedPacket::from_ip(&packet[40..]).unwrap();
        let Some(TransportSlice::Udp(udp)) = sliced.transport else {
            panic!("{sliced:?}");
        };
        assert_eq!((udp.source_port(), udp.destination_port()), (5351, 40_000));
        assert_eq!(udp.payload(), payload);
        let header = UdpHeader::with_ipv4_checksum(5351, 40_000, &inner.to_header(), payload);
        assert_eq!(udp.checksum(), header.unwrap().checksum);
    }

    #[test]
    fn what_changed_on_its_way_is_none() {
        let packet = request(b"datagram");
        for at in 20..packet.len() {
            let mut changed = packet.clone();
            changed[at] ^= 1;
            assert!(Datagram::read(&outer(), &changed).is_none(), "{at}");
        }
        let mut unchecked = packet.clone();
        unchecked[26..28].fill(0);
        assert!(Datagram::read(&outer(), &unchecked).is_some(), "RFC 768");
        for length in 0..packet.len() {
            assert!(
                Datagram::read(&outer(), &packet[..length]).is_none(),
                "{length}"
            );
        }
    }

    #[test]
    fn rfc8200_8_1_messages_to_an_edge() {
        let mut packet = Vec::new();
        PacketBuilder::ipv6(GATEWAY.octets(), CUSTOMER.octets(), 9)
            .udp(5351, 40_000)
            .write(&mut packet, b"said")
            .unwrap();
        let message = Message::read(&packet).unwrap();
        assert_eq!(
            (message.source, message.destination),
            (GATEWAY.into(), CUSTOMER.into())
        );
        assert_eq!(
            (message.ports.source, message.ports.destination),
            (5351, 40_000)
        );
        assert_eq!(message.payload, b"said");
        for at in 8..packet.len() {
            let mut changed = packet.clone();
            changed[at] ^= 1;
            assert!(Message::read(&changed).is_none(), "{at}");
        }
        // Another version, whose bits are not in the checksum.
        let mut changed = packet.clone();
        changed[0] ^= 0x20;
        assert!(Message::read(&changed).is_none());
        // There is always a checksum.
        packet[46..48].fill(0);
        assert!(Message::read(&packet).is_none());
    }
}

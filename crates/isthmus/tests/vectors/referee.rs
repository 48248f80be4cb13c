//! Checks packets with `etherparse`, which shares no code with the translator: lengths, header
//! checksums, and the checksums of TCP, UDP, ICMP and ICMPv6, also over reassembled fragments.

use std::collections::BTreeMap;

use etherparse::checksum::Sum16BitWords;
use etherparse::{
    Icmpv4Slice, Icmpv6Slice, IpNumber, Ipv4HeaderSlice, Ipv6FragmentHeaderSlice, Ipv6HeaderSlice,
    TcpSlice, UdpSlice,
};

/// Returns the problems of these packets, which left in this order.
pub(crate) fn check(packets: &[&[u8]]) -> Vec<String> {
    let mut problems = Vec::new();
    let mut datagrams: BTreeMap<(Vec<u8>, u32, u8), Vec<Piece<'_>>> = BTreeMap::new();
    for (number, packet) in packets.iter().enumerate() {
        match parse(packet) {
            Err(problem) => problems.push(format!("packet {}: {problem}", number + 1)),
            Ok(piece) if piece.is_whole() => {
                let verdict = transport(&piece.addresses, piece.protocol, piece.payload);
                problems.extend(
                    verdict
                        .err()
                        .map(|problem| format!("packet {}: {problem}", number + 1)),
                );
            }
            Ok(piece) => {
                let key = (
                    piece.addresses.clone(),
                    piece.identification,
                    piece.protocol.0,
                );
                datagrams.entry(key).or_default().push(piece);
            }
        }
    }
    for ((addresses, identification, protocol), pieces) in datagrams {
        if let Some(whole) = reassembled(pieces) {
            let verdict = transport(&addresses, IpNumber(protocol), &whole);
            problems.extend(
                verdict
                    .err()
                    .map(|problem| format!("datagram {identification:#x}: {problem}")),
            );
        }
    }
    problems
}

/// An IP packet that may be a fragment.
struct Piece<'a> {
    /// Source and destination in the order of the pseudo-header.
    addresses: Vec<u8>,
    protocol: IpNumber,
    identification: u32,
    offset: usize,
    more: bool,
    payload: &'a [u8],
}

impl Piece<'_> {
    fn is_whole(&self) -> bool {
        self.offset == 0 && !self.more
    }
}

fn parse(packet: &[u8]) -> Result<Piece<'_>, String> {
    match packet.first().map(|byte| byte >> 4) {
        Some(4) => parse_ipv4(packet),
        Some(6) => parse_ipv6(packet),
        _ => Err("neither IPv4 nor IPv6".to_owned()),
    }
}

fn parse_ipv4(packet: &[u8]) -> Result<Piece<'_>, String> {
    let header = Ipv4HeaderSlice::from_slice(packet).map_err(|e| format!("IPv4: {e}"))?;
    if usize::from(header.total_len()) != packet.len() {
        return Err(format!(
            "IPv4: total length {} of {} bytes",
            header.total_len(),
            packet.len()
        ));
    }
    if header.header_checksum() != header.to_header().calc_header_checksum() {
        return Err(format!(
            "IPv4: header checksum {:#06x}",
            header.header_checksum()
        ));
    }
    Ok(Piece {
        addresses: [header.source(), header.destination()].concat(),
        protocol: header.protocol(),
        identification: header.identification().into(),
        offset: usize::from(header.fragments_offset().value()) * 8,
        more: header.more_fragments(),
        payload: &packet[header.slice().len()..],
    })
}

fn parse_ipv6(packet: &[u8]) -> Result<Piece<'_>, String> {
    let header = Ipv6HeaderSlice::from_slice(packet).map_err(|e| format!("IPv6: {e}"))?;
    if usize::from(header.payload_length()) + 40 != packet.len() {
        return Err(format!(
            "IPv6: payload length {} of {} bytes",
            header.payload_length(),
            packet.len()
        ));
    }
    let mut piece = Piece {
        addresses: [header.source(), header.destination()].concat(),
        protocol: header.next_header(),
        identification: 0,
        offset: 0,
        more: false,
        payload: &packet[40..],
    };
    if piece.protocol == IpNumber::IPV6_FRAGMENTATION_HEADER {
        let extension = Ipv6FragmentHeaderSlice::from_slice(piece.payload)
            .map_err(|e| format!("fragment header: {e}"))?;
        piece.protocol = extension.next_header();
        piece.identification = extension.identification();
        piece.offset = usize::from(extension.fragment_offset().value()) * 8;
        piece.more = extension.more_fragments();
        piece.payload = &piece.payload[8..];
    }
    if piece.more && !piece.payload.len().is_multiple_of(8) {
        return Err(format!(
            "fragment: {} bytes, not a multiple of 8",
            piece.payload.len()
        ));
    }
    Ok(piece)
}

/// Returns the payload of a datagram if every byte of it is there exactly once.
fn reassembled(mut pieces: Vec<Piece<'_>>) -> Option<Vec<u8>> {
    pieces.sort_by_key(|piece| piece.offset);
    let mut whole = Vec::new();
    for piece in &pieces {
        if piece.offset != whole.len() {
            return None;
        }
        whole.extend(piece.payload);
    }
    (!pieces.last()?.more).then_some(whole)
}

fn transport(addresses: &[u8], protocol: IpNumber, payload: &[u8]) -> Result<(), String> {
    let valid = |pseudo: bool| sum(addresses, protocol, payload, pseudo) == 0;
    let fail = |name: &str, at: usize| {
        Err(format!(
            "{name}: checksum {:#06x}",
            u16::from_be_bytes([payload[at], payload[at + 1]])
        ))
    };
    match protocol {
        IpNumber::TCP => {
            TcpSlice::from_slice(payload).map_err(|e| format!("TCP: {e}"))?;
            if valid(true) { Ok(()) } else { fail("TCP", 16) }
        }
        IpNumber::UDP => {
            let udp = UdpSlice::from_slice(payload).map_err(|e| format!("UDP: {e}"))?;
            if usize::from(udp.length()) != payload.len() {
                return Err(format!(
                    "UDP: length {} of {} bytes",
                    udp.length(),
                    payload.len()
                ));
            }
            // Over IPv4 zero means no checksum, over IPv6 it is forbidden.
            let absent = udp.checksum() == 0 && addresses.len() == 8;
            if absent || (udp.checksum() != 0 && valid(true)) {
                Ok(())
            } else {
                fail("UDP", 6)
            }
        }
        IpNumber::ICMP => {
            Icmpv4Slice::from_slice(payload).map_err(|e| format!("ICMP: {e}"))?;
            if valid(false) {
                Ok(())
            } else {
                fail("ICMP", 2)
            }
        }
        IpNumber::IPV6_ICMP => {
            Icmpv6Slice::from_slice(payload).map_err(|e| format!("ICMPv6: {e}"))?;
            if valid(true) {
                Ok(())
            } else {
                fail("ICMPv6", 2)
            }
        }
        _ => Ok(()),
    }
}

/// Returns the checksum over a packet including its own checksum: zero if it is right.
fn sum(addresses: &[u8], protocol: IpNumber, payload: &[u8], pseudo: bool) -> u16 {
    let sum = Sum16BitWords::new().add_slice(payload);
    if !pseudo {
        return sum.ones_complement();
    }
    let length = u32::try_from(payload.len()).expect("an IP packet");
    let mut sum = sum.add_slice(addresses).add_2bytes([0, protocol.0]);
    sum.add_4bytes(length.to_be_bytes()).ones_complement()
}

//! A packet in a few words.

use std::net::{IpAddr, SocketAddr};

use etherparse::{LaxNetSlice, LaxSlicedPacket, TcpSlice, TransportSlice};

/// Packets in packets that are told.
const DEPTH: usize = 3;

/// Who sends what to whom: with an Ethernet header before it if `framed`. What is cut off is not told.
pub(crate) fn summary(bytes: &[u8], framed: bool) -> String {
    let parsed = if framed {
        LaxSlicedPacket::from_ethernet(bytes).ok()
    } else {
        LaxSlicedPacket::from_ip(bytes).ok()
    };
    parsed.map_or_else(|| "no packet".into(), |packet| of(&packet, DEPTH))
}

fn of(packet: &LaxSlicedPacket<'_>, depth: usize) -> String {
    let (ends, fragment, payload) = match &packet.net {
        Some(LaxNetSlice::Ipv4(net)) => {
            let header = net.header();
            let ends = [
                header.source_addr().into(),
                header.destination_addr().into(),
            ];
            (ends, header.is_fragmenting_payload(), net.payload())
        }
        Some(LaxNetSlice::Ipv6(net)) => {
            let header = net.header();
            let ends = [
                header.source_addr().into(),
                header.destination_addr().into(),
            ];
            (ends, net.is_payload_fragmented(), net.payload())
        }
        _ => return "no IP packet".into(),
    };
    let ends: [IpAddr; 2] = ends;
    let (ports, kind) = match &packet.transport {
        Some(TransportSlice::Tcp(tcp)) => (
            Some([tcp.source_port(), tcp.destination_port()]),
            format!("TCP {}", flags(tcp)),
        ),
        Some(TransportSlice::Udp(udp)) => (
            Some([udp.source_port(), udp.destination_port()]),
            "UDP".into(),
        ),
        Some(TransportSlice::Icmpv4(icmp)) => {
            (None, format!("ICMP {}/{}", icmp.type_u8(), icmp.code_u8()))
        }
        Some(TransportSlice::Icmpv6(icmp)) => (
            None,
            format!("ICMPv6 {}/{}", icmp.type_u8(), icmp.code_u8()),
        ),
        _ => (None, inner(payload.ip_number.0, payload.payload, depth)),
    };
    let [from, to] = match ports {
        Some([from, to]) => [SocketAddr::new(ends[0], from), SocketAddr::new(ends[1], to)]
            .map(|end| end.to_string()),
        None => ends.map(|end| end.to_string()),
    };
    let fragment = if fragment { ", fragment" } else { "" };
    format!("{from} > {to} {kind}{fragment}")
}

/// The payload of a packet without ports: another packet, or a number.
fn inner(protocol: u8, payload: &[u8], depth: usize) -> String {
    // IPv4 in IP, IPv6 in IP.
    if matches!(protocol, 4 | 41)
        && depth > 0
        && let Ok(packet) = LaxSlicedPacket::from_ip(payload)
    {
        return format!("| {}", of(&packet, depth - 1));
    }
    format!("protocol {protocol}")
}

fn flags(tcp: &TcpSlice<'_>) -> String {
    let flags = [
        (tcp.syn(), 'S'),
        (tcp.fin(), 'F'),
        (tcp.rst(), 'R'),
        (tcp.psh(), 'P'),
        (tcp.ack(), 'A'),
    ];
    flags
        .iter()
        .filter(|(set, _)| *set)
        .map(|(_, letter)| letter)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::PacketBuilder;

    #[test]
    fn packets_in_words() {
        let mut tcp = Vec::new();
        let builder = PacketBuilder::ethernet2([2; 6], [4; 6])
            .ipv6([0x20; 16], [0x30; 16], 64)
            .tcp(40_000, 443, 7, 100)
            .syn();
        builder.write(&mut tcp, b"").unwrap();
        let expected = "[2020:2020:2020:2020:2020:2020:2020:2020]:40000 > \
                        [3030:3030:3030:3030:3030:3030:3030:3030]:443 TCP S";
        assert_eq!(summary(&tcp, true), expected);
        let mut udp = Vec::new();
        let builder = PacketBuilder::ipv4([192, 0, 2, 1], [192, 0, 2, 2], 64).udp(53, 4711);
        builder.write(&mut udp, &[7; 8]).unwrap();
        assert_eq!(summary(&udp, false), "192.0.2.1:53 > 192.0.2.2:4711 UDP");
        // RFC 2473: in IPv6.
        let mut tunnelled = vec![0x60, 0, 0, 0, 0, udp.len() as u8, 4, 64];
        tunnelled.extend([0x20; 16]);
        tunnelled.extend([0x30; 16]);
        tunnelled.extend(&udp);
        let said = summary(&tunnelled, false);
        assert!(
            said.ends_with("| 192.0.2.1:53 > 192.0.2.2:4711 UDP"),
            "{said}"
        );
    }

    #[test]
    fn whatever_comes_is_told_of() {
        let mut udp = Vec::new();
        let builder = PacketBuilder::ipv4([192, 0, 2, 1], [192, 0, 2, 2], 64).udp(53, 4711);
        builder.write(&mut udp, &[7; 8]).unwrap();
        for length in 0..udp.len() {
            for framed in [true, false] {
                assert!(!summary(&udp[..length], framed).is_empty());
            }
        }
    }
}

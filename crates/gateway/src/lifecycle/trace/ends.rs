//! The two ends of a packet.

use std::net::IpAddr;

use etherparse::{Icmpv4Type, LaxNetSlice, LaxSlicedPacket, TransportSlice};
use isthmus_core::nat::{Endpoint4, Protocol};

/// Who sends to whom in IPv4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ends {
    pub(super) protocol: Protocol,
    pub(super) source: Endpoint4,
    pub(super) destination: Endpoint4,
}

impl Ends {
    pub(super) fn swapped(self) -> Self {
        Self {
            source: self.destination,
            destination: self.source,
            ..self
        }
    }
}

/// The endpoints of an IPv4 packet of a protocol with sessions. The identifier of an ICMP query stands for the port
/// of both.
pub(super) fn of_v4(bytes: &[u8], framed: bool) -> Option<Ends> {
    let packet = parse(bytes, framed)?;
    let Some(LaxNetSlice::Ipv4(net)) = &packet.net else {
        return None;
    };
    let (protocol, ports) = match packet.transport? {
        TransportSlice::Tcp(tcp) => (Protocol::Tcp, [tcp.source_port(), tcp.destination_port()]),
        TransportSlice::Udp(udp) => (Protocol::Udp, [udp.source_port(), udp.destination_port()]),
        TransportSlice::Icmpv4(icmp) => match icmp.icmp_type() {
            Icmpv4Type::EchoRequest(echo) | Icmpv4Type::EchoReply(echo) => {
                (Protocol::Icmp, [echo.id; 2])
            }
            _ => return None,
        },
        _ => return None,
    };
    let header = net.header();
    let addresses = [header.source_addr(), header.destination_addr()];
    let end = |number: usize| Endpoint4 {
        address: addresses[number].into(),
        port: ports[number],
    };
    Some(Ends {
        protocol,
        source: end(0),
        destination: end(1),
    })
}

/// The addresses of a packet, source and destination, with their ports if it has some.
pub(super) fn addresses(bytes: &[u8], framed: bool) -> Vec<(IpAddr, Option<u16>)> {
    let Some(packet) = parse(bytes, framed) else {
        return Vec::new();
    };
    let addresses: [IpAddr; 2] = match &packet.net {
        Some(LaxNetSlice::Ipv4(net)) => {
            let header = net.header();
            [
                header.source_addr().into(),
                header.destination_addr().into(),
            ]
        }
        Some(LaxNetSlice::Ipv6(net)) => {
            let header = net.header();
            [
                header.source_addr().into(),
                header.destination_addr().into(),
            ]
        }
        _ => return Vec::new(),
    };
    let ports = match &packet.transport {
        Some(TransportSlice::Tcp(tcp)) => [tcp.source_port(), tcp.destination_port()].map(Some),
        Some(TransportSlice::Udp(udp)) => [udp.source_port(), udp.destination_port()].map(Some),
        _ => [None; 2],
    };
    addresses.into_iter().zip(ports).collect()
}

fn parse(bytes: &[u8], framed: bool) -> Option<LaxSlicedPacket<'_>> {
    if framed {
        LaxSlicedPacket::from_ethernet(bytes).ok()
    } else {
        LaxSlicedPacket::from_ip(bytes).ok()
    }
}

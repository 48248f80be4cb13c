//! The endpoints of a packet in IPv4.

use etherparse::{Icmpv4Type, LaxNetSlice, LaxSlicedPacket, TransportSlice};
use isthmus_core::nat::{Endpoint4, Protocol};

/// Who sends to whom.
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
pub(super) fn endpoints(bytes: &[u8], framed: bool) -> Option<Ends> {
    let packet = if framed {
        LaxSlicedPacket::from_ethernet(bytes).ok()?
    } else {
        LaxSlicedPacket::from_ip(bytes).ok()?
    };
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

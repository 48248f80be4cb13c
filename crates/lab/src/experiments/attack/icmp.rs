//! ICMP errors: those that packets ask the gateway for, and those that strangers make up.

use std::net::Ipv4Addr;

use super::{
    Assault, Attack, ENGINES, arena::Arena, flood::Rate, inbound_flood, outcome::Service, packets,
};
use crate::{Result, network::random::Random, subjects::isthmus::Engine, traffic::packet::Ends};

/// The attack of a customer.
pub(super) const EXPIRING: Attack = Attack {
    name: "expiring",
    finding: "-",
    about: "A customer sends packets with a hop limit of one, in one flow. The victim sends and receives datagrams of 4000 \
            octets.",
    engines: ENGINES,
    keys: &[super::NAT64, super::POOL],
    rates: &[Rate::PerSecond(2000), Rate::PerSecond(100_000)],
    services: &[Service::Echo, Service::Fragments],
    prepare: |_| Ok(Assault::from_inside(expiring)),
    gain: None,
};

/// The attack of strangers.
pub(super) const FORGED: Attack = Attack {
    name: "forged-errors",
    about: "Strangers send ICMP errors (Port Unreachable) to the pool, about datagrams that nobody has sent.",
    prepare: |_| Ok(Assault::from_outside(to_the_pool)),
    ..EXPIRING
};

/// The attack of strangers by way of an accomplice.
pub(super) const TOO_LARGE: Attack = Attack {
    name: "too-large",
    about: "Strangers send packets of 1500 octets, which must not be cut, to the binding of an accomplice inside: as IPv6 they \
            are too large for its link. Not in user space, where each costs what any of its size does.",
    engines: &[Engine::Xdp, Engine::Tc],
    prepare: too_large,
    ..EXPIRING
};

/// The same attack with packets that may be cut.
pub(super) const CUT: Attack = Attack {
    name: "cut",
    about: "The same to 500 bindings of the accomplice, with packets that must be cut, which programs leave to user space. So must \
            the victim's fragments be. Not in user space, where each costs what any of its size does.",
    prepare: cut,
    ..TOO_LARGE
};

/// Octets of payload of a UDP datagram in an IPv4 packet of 1500.
const LARGE: usize = 1472;
/// The place of the flags in an IPv4 header, and Don't Fragment.
const FLAGS: (usize, u8) = (6, 0x40);
/// The hop limit in an IPv6 header.
const HOP_LIMIT: usize = 7;
const ICMP: u8 = 1;
/// Destination Unreachable, Port Unreachable (RFC 792).
const PORT_UNREACHABLE: [u8; 2] = [3, 3];

/// Returns a packet that expires at the gateway.
fn expiring(number: u64) -> Vec<u8> {
    let mut packet = packets::harmless(number);
    packet[HOP_LIMIT] = 1;
    packet
}

fn too_large(arena: &Arena) -> Result<Assault> {
    large(arena, FLAGS.1, 1)
}

fn cut(arena: &Arena) -> Result<Assault> {
    // More than a queue of the slow path has places.
    large(arena, 0, 500)
}

/// Returns an assault of packets of 1500 octets with these flags, to so many bindings in turn.
fn large(arena: &Arena, flags: u8, bindings: usize) -> Result<Assault> {
    let accomplices = (0..bindings).map(|_| inbound_flood::accomplice(arena));
    let accomplices = accomplices.collect::<Result<Vec<_>>>()?;
    let (sockets, outside): (Vec<_>, Vec<_>) = accomplices.into_iter().unzip();
    let packet = move |number| {
        let to = outside[number as usize % outside.len()];
        let mut packet = inbound_flood::from_stranger(number, to, &[0; LARGE]);
        // The kernel fills in the checksum.
        packet[FLAGS.0] = flags;
        packet
    };
    Ok(Assault {
        held: Some(Box::new(sockets)),
        ..Assault::from_outside(packet)
    })
}

/// Returns an ICMP error to an address of the pool, each in turn, about a packet from there.
fn to_the_pool(number: u64) -> Vec<u8> {
    let outside = Ipv4Addr::from_bits(0xcb00_7100 | number as u32 & 15);
    forged_error(number, outside, outside)
}

/// Returns an ICMP error to an address, from a router and about a flow of its own `from` an address.
pub fn forged_error(number: u64, to: Ipv4Addr, from: Ipv4Addr) -> Vec<u8> {
    let mut random = Random::new(number);
    let router = Ipv4Addr::from_bits(0x2000_0000 | random.number() as u32 & 0x07ff_ffff);
    let port = 1024 + (random.number() % 64_000) as u16;
    let quoted = packets::datagram(Ends::V4(from, packets::NOWHERE), (port, 53), &[0; 18]);
    unreachable(router, to, &quoted)
}

/// Returns an ICMP error (Port Unreachable) between two hosts, about this packet.
pub fn unreachable(from: Ipv4Addr, to: Ipv4Addr, quoted: &[u8]) -> Vec<u8> {
    let message = [&PORT_UNREACHABLE[..], &[0; 6], quoted].concat();
    Ends::V4(from, to).carry(ICMP, &with_checksum(message), 0)
}

/// Returns an ICMP message with its checksum (RFC 1071), for which it has zeros.
fn with_checksum(mut message: Vec<u8>) -> Vec<u8> {
    let pairs = message.chunks(2);
    let words = pairs.map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)));
    let sum: u32 = words.sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    let checksum = !((folded & 0xffff) + (folded >> 16)) as u16;
    message[2..4].copy_from_slice(&checksum.to_be_bytes());
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_about_a_packet_of_the_pool() {
        let packet = to_the_pool(7);
        let (outer, rest) = etherparse::Ipv4Header::from_slice(&packet).unwrap();
        assert_eq!((outer.protocol.0, outer.total_len), (ICMP, 74));
        let (message, quoted) = etherparse::Icmpv4Header::from_slice(rest).unwrap();
        assert_eq!(message.checksum, message.icmp_type.calc_checksum(quoted));
        let (inner, _) = etherparse::Ipv4Header::from_slice(quoted).unwrap();
        assert_eq!(inner.source, outer.destination);
        assert_eq!(inner.header_checksum, inner.calc_header_checksum());
        assert_ne!(packet, to_the_pool(8));
    }

    #[test]
    fn packets_expire_at_the_first_router() {
        let packet = expiring(3);
        assert_eq!(packet[HOP_LIMIT], 1);
        assert_eq!(packet.len(), packets::harmless(3).len());
    }
}

//! A conversation through the application level gateways: whatever passes, what goes on is a whole packet of the same hosts.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddrV4, SocketAddrV6};

use isthmus_alg::{Applications, Direction, Outside, Rewritten, Translator};
use isthmus_core::address::rfc6052::Prefix;
use isthmus_core::checksum::Sum;

use crate::reader::Reader;

const HOST: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 1, 0, 0, 0, 0, 1);
const SERVER: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0x64, 0, 0, 0, 0xc000, 0x202);
const POOL: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 1);

struct Lent;

impl Translator for Lent {
    fn prefix(&self) -> Prefix {
        Prefix::new(Ipv6Addr::new(0x2001, 0xdb8, 0x64, 0, 0, 0, 0, 0), 96)
            .expect("a prefix of 96 bits")
    }

    fn outside(&mut self, inside: Ipv6Addr, _asker: Ipv4Addr) -> Option<Outside> {
        (inside == HOST).then_some(Outside {
            address: POOL,
            always: false,
        })
    }

    fn inside(&mut self, outside: Ipv4Addr) -> Option<Ipv6Addr> {
        (outside == POOL).then_some(HOST)
    }

    fn bind(&mut self, inside: SocketAddrV6, _remote: SocketAddrV6) -> Option<SocketAddrV4> {
        Some(SocketAddrV4::new(POOL, inside.port()))
    }
}

/// An input is packets: an octet of choices and a payload with its length each.
pub(crate) fn run(input: &[u8]) {
    let mut input = Reader(input);
    let applications = Applications::default();
    let mut now = 0;
    while !input.is_empty() {
        let choices = input.byte();
        now += u64::from(choices) << 26;
        let payload = input.counted();
        let direction = if choices & 1 == 0 {
            Direction::Out
        } else {
            Direction::In
        };
        let packet = packet(choices, direction, payload);
        match applications.rewrite(&packet, direction, now, &mut Lent) {
            Rewritten::Unchanged => {}
            Rewritten::Packet(other) => check(&other, &packet[8..40]),
            Rewritten::Back(other) => {
                check(&other, &[&packet[24..40], &packet[8..24]].concat());
            }
        }
    }
}

/// A packet of one of the two applications, from or to its server.
fn packet(choices: u8, direction: Direction, payload: &[u8]) -> Vec<u8> {
    let ends = match direction {
        Direction::Out => [HOST, SERVER],
        Direction::In => [SERVER, HOST],
    };
    let (is_dns, to_server) = (choices & 2 == 0, choices & 4 == 0);
    let server: u16 = if is_dns { 53 } else { 21 };
    let ports = if to_server {
        [40_000, server]
    } else {
        [server, 40_000]
    };
    let mut transport: Vec<u8> = ports.iter().flat_map(|port| port.to_be_bytes()).collect();
    if is_dns {
        transport.extend((8 + payload.len() as u16).to_be_bytes());
        transport.extend([0, 0]);
    } else {
        let flags = if choices & 0xf8 == 0 { 0x02 } else { 0x18 };
        transport.extend([
            0,
            0,
            0,
            choices >> 3,
            0,
            0,
            0,
            0,
            0x50,
            flags,
            0xff,
            0xff,
            0,
            0,
            0,
            0,
        ]);
    }
    transport.extend(payload);
    let mut packet = vec![0x60, 0, 0, 0];
    packet.extend((transport.len() as u16).to_be_bytes());
    packet.extend([if is_dns { 17 } else { 6 }, 64]);
    packet.extend(ends.iter().flat_map(Ipv6Addr::octets));
    packet.extend(transport);
    packet
}

/// A packet that goes on has the right lengths and checksum, and these addresses.
fn check(packet: &[u8], addresses: &[u8]) {
    let length = usize::from(u16::from_be_bytes([packet[4], packet[5]]));
    assert_eq!(packet.len(), 40 + length, "length");
    assert_eq!(&packet[8..40], addresses, "addresses");
    let sum = Sum::ZERO.bytes(&packet[8..]).number(length as u16);
    let checksum = sum.number(packet[6].into()).checksum();
    assert_eq!(checksum, 0, "checksum");
}

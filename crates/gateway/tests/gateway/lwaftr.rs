//! lwB4s and their lwAFTR together, both ours, configured as operators do. Packets are made and read by
//! etherparse, and port sets by the formula of RFC 7597 section 5.1.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::Path;

use etherparse::{
    IcmpEchoHeader, Icmpv4Type, IpHeaders, NetSlice, PacketBuilder, SlicedPacket, TransportSlice,
};
use isthmus_core::config as core;
use isthmus_core::reason::Counter;
use isthmus_engine::memory::Region;
use isthmus_engine::offline::{Translator, UserTranslator};
use isthmus_gateway::config::{self, Loaded};
use proptest::prelude::*;

const SERVER: [u8; 4] = [1, 2, 3, 4];
const SHARED: [u8; 4] = [192, 0, 2, 18];

/// The user-space engine with a configuration.
fn gateway(text: &str) -> UserTranslator {
    let Loaded { document, .. } = config::parse("test", "test", text.to_owned(), Path::new(""))
        .unwrap_or_else(|report| panic!("{report}\n{text}"));
    let compiled = document.compile(&[7; 8].into()).unwrap();
    let state = Region::anonymous(compiled.state_lines).unwrap();
    UserTranslator::new(compiled.ruleset().unwrap(), state, 1)
}

/// The outcome of a packet.
fn through(gateway: &mut UserTranslator, packet: &[u8]) -> Vec<Vec<u8>> {
    let mut out = Vec::new();
    let mut send = |head: &[u8], tail: &[u8]| out.push([head, tail].concat());
    gateway.translate(packet, 1_000_000, &mut send).unwrap();
    out
}

/// The one packet that comes of a packet.
fn one(gateway: &mut UserTranslator, packet: &[u8]) -> Vec<u8> {
    let mut out = through(gateway, packet);
    assert_eq!(out.len(), 1, "{out:x?}");
    out.remove(0)
}

/// How an address is divided.
#[derive(Clone, Copy, Debug)]
struct Ports {
    offset: u8,
    length: u8,
}

impl Ports {
    /// RFC 7597 section 5.1: whose a port is. `None`: nobody's.
    fn psid_of(self, port: u16) -> Option<u16> {
        let (port, rest) = (u32::from(port), 16 - u32::from(self.offset));
        if self.length == 0 {
            return Some(0);
        }
        if self.offset > 0 && port >> rest == 0 {
            return None;
        }
        let low = rest - u32::from(self.length);
        Some((port >> low & ((1 << self.length) - 1)) as u16)
    }

    /// A port of a set: this one, with the bits of another PSID, and of A above 0.
    fn port_of(self, psid: u16, any: u16) -> u16 {
        let low = 16 - self.offset - self.length;
        let port = any & !(((1 << self.length) - 1) << low) | psid << low;
        match self.offset {
            0 => port,
            offset => port | 1 << (16 - offset),
        }
    }
}

/// The address of the lwB4 of this number.
fn b4_address(number: usize) -> Ipv6Addr {
    Ipv6Addr::new(0x2001, 0xdb8, 0xa + number as u16, 0, 0, 0, 0, 1)
}

const AFTR: &str = "2001:db8:ffff::1";

fn b4(number: usize, ports: Ports, psid: u16) -> UserTranslator {
    let Ports { offset, length } = ports;
    gateway(&format!(
        "[[instance]]\nname = \"b4\"\nmechanism = \"lw4o6\"\nrole = \"b4\"\nlocal = \"{}\"\n\
         aftr = \"{AFTR}\"\naddress = \"192.0.2.18\"\npsid = {psid}\npsid-length = {length}\n\
         psid-offset = {offset}\ninside = [\"192.168.0.0/16\"]\nmax-bindings = 1024\n\
         max-sessions = 1024\nmax-subscribers = 64\n",
        b4_address(number)
    ))
}

fn aftr(ports: Ports, psids: &[u16]) -> UserTranslator {
    let Ports { offset, length } = ports;
    let mut text = format!(
        "[[instance]]\nname = \"aftr\"\nmechanism = \"lw4o6\"\nrole = \"aftr\"\nlocal = \"{AFTR}\"\n\
         sharing = [{{ v4 = \"192.0.2.0/24\", psid-length = {length}, psid-offset = {offset} }}]\n\
         softwires = [\n"
    );
    for (number, psid) in psids.iter().enumerate() {
        let b4 = b4_address(number);
        writeln!(
            text,
            "{{ b4 = \"{b4}\", v4 = \"192.0.2.18\", psid = {psid} }},"
        )
        .unwrap();
    }
    gateway(&format!("{text}]\n"))
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Udp,
    Tcp,
    Echo,
}

/// Addresses and ports, the identifier of an echo message being both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seen {
    source: [u8; 4],
    destination: [u8; 4],
    source_port: u16,
    destination_port: u16,
}

impl Seen {
    fn back(self) -> Self {
        Self {
            source: self.destination,
            destination: self.source,
            source_port: self.destination_port,
            destination_port: self.source_port,
        }
    }
}

/// A request, or the answer to one.
fn packet(kind: Kind, seen: Seen, is_answer: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    let ip = PacketBuilder::ipv4(seen.source, seen.destination, 64);
    let (from, to) = (seen.source_port, seen.destination_port);
    match kind {
        Kind::Udp => ip.udp(from, to).write(&mut bytes, b"data").unwrap(),
        Kind::Tcp if is_answer => ip
            .tcp(from, to, 9, 1000)
            .syn()
            .ack(2)
            .write(&mut bytes, &[])
            .unwrap(),
        Kind::Tcp => ip
            .tcp(from, to, 1, 1000)
            .syn()
            .write(&mut bytes, &[])
            .unwrap(),
        Kind::Echo => {
            let id = if is_answer { to } else { from };
            let echo = IcmpEchoHeader { id, seq: 1 };
            let message = match is_answer {
                true => Icmpv4Type::EchoReply(echo),
                false => Icmpv4Type::EchoRequest(echo),
            };
            ip.icmpv4(message).write(&mut bytes, b"data").unwrap();
        }
    }
    bytes
}

/// Reads an IPv4 packet.
fn seen(packet: &[u8]) -> Seen {
    let sliced = SlicedPacket::from_ip(packet).unwrap();
    let Some(NetSlice::Ipv4(ip)) = sliced.net else {
        panic!("{packet:x?}");
    };
    let (source_port, destination_port) = match sliced.transport {
        Some(TransportSlice::Udp(udp)) => (udp.source_port(), udp.destination_port()),
        Some(TransportSlice::Tcp(tcp)) => (tcp.source_port(), tcp.destination_port()),
        Some(TransportSlice::Icmpv4(icmp)) => match icmp.icmp_type() {
            Icmpv4Type::EchoRequest(echo) => (echo.id, 0),
            Icmpv4Type::EchoReply(echo) => (0, echo.id),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    };
    Seen {
        source: ip.header().source(),
        destination: ip.header().destination(),
        source_port,
        destination_port,
    }
}

/// Source and destination of an IPv6 packet, and what it carries.
fn outer(packet: &[u8]) -> (Ipv6Addr, Ipv6Addr, &[u8]) {
    let (IpHeaders::Ipv6(header, _), _) = IpHeaders::from_slice(packet).unwrap() else {
        panic!("{packet:x?}");
    };
    let ends = (header.source_addr(), header.destination_addr());
    (ends.0, ends.1, &packet[40..])
}

prop_compose! {
    /// How an address is divided, and two of its PSIDs.
    fn divided()(length in 1_u8..=8)
        (length in Just(length), offset in 0_u8..=6, first in 0..1_u16 << length, step in 1..1_u16 << length)
        -> (Ports, [u16; 2])
    {
        let second = (first + step) % (1 << length);
        (Ports { offset, length }, [first, second])
    }
}

/// Which lwB4, host, kind, port of the host, port of the server.
fn flow() -> impl Strategy<Value = (usize, u8, Kind, u16, u16)> {
    let kind = prop_oneof![Just(Kind::Udp), Just(Kind::Tcp), Just(Kind::Echo)];
    (0_usize..2, 1_u8..9, kind, 1..=u16::MAX, 1..=u16::MAX)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A lwAFTR lets the packets of its lwB4s pass, each with a port that no other lwB4 has; the answer comes
    /// back to the host; from another lwB4 it would not have passed.
    #[test]
    fn packets_of_a_b4_pass_its_aftr(
        (ports, psids) in divided(),
        flows in prop::collection::vec(flow(), 1..40),
    ) {
        let mut b4s = [b4(0, ports, psids[0]), b4(1, ports, psids[1])];
        let mut aftr = aftr(ports, &psids);
        let mut used = [HashSet::new(), HashSet::new()];
        for (number, host, kind, from, to) in flows {
            let inside = Seen {
                source: [192, 168, 1, host],
                destination: SERVER,
                source_port: from,
                destination_port: if matches!(kind, Kind::Echo) { 0 } else { to },
            };
            let entered = one(&mut b4s[number], &packet(kind, inside, false));
            let (source, destination, _) = outer(&entered);
            prop_assert_eq!((source, destination), (b4_address(number), AFTR.parse().unwrap()));
            let left = one(&mut aftr, &entered);
            let outside = seen(&left);
            prop_assert_eq!((outside.source, outside.destination), (SHARED, SERVER));
            prop_assert_eq!(ports.psid_of(outside.source_port), Some(psids[number]));
            used[number].insert(outside.source_port);

            let answer = packet(kind, outside.back(), true);
            let back = one(&mut aftr, &answer);
            let (source, destination, inner) = outer(&back);
            prop_assert_eq!((source, destination), (AFTR.parse().unwrap(), b4_address(number)));
            prop_assert_eq!(seen(inner), seen(&answer));
            let came = one(&mut b4s[number], &back);
            prop_assert_eq!(seen(&came), inside.back());

            let mut spoofed = entered;
            spoofed[8..24].copy_from_slice(&b4_address(1 - number).octets());
            let before = aftr.counters().unwrap().get(Counter::TunnelSpoofed);
            for said in through(&mut aftr, &spoofed) {
                // At most an error, to who was said to have sent it.
                prop_assert_eq!(outer(&said).1, b4_address(1 - number));
            }
            let after = aftr.counters().unwrap().get(Counter::TunnelSpoofed);
            prop_assert_eq!(after, before + 1);
        }
        prop_assert!(used[0].is_disjoint(&used[1]));
    }

    /// A packet from one lwB4 to a port of the other gets there.
    #[test]
    fn a_b4_reaches_another((ports, psids) in divided(), any in any::<u16>()) {
        let port = ports.port_of(psids[1], any);
        prop_assert_eq!(ports.psid_of(port), Some(psids[1]));
        let mut aftr = aftr(ports, &psids);
        let to = Seen {
            source: [192, 168, 1, 1],
            destination: SHARED,
            source_port: 5000,
            destination_port: port,
        };
        let entered = one(&mut b4(0, ports, psids[0]), &packet(Kind::Udp, to, false));
        let turned = one(&mut aftr, &entered);
        let (source, destination, inner) = outer(&turned);
        prop_assert_eq!((source, destination), (AFTR.parse().unwrap(), b4_address(1)));
        prop_assert_eq!(seen(inner), seen(outer(&entered).2));
    }
}

/// A table of a million softwires is read and laid out in seconds, and every row is found.
#[test]
fn a_million_softwires() {
    const COUNT: u32 = 1 << 20;
    let folder = tempfile::tempdir().unwrap();
    let b4 = |n: u32| Ipv6Addr::new(0x2001, 0xdb8, 1 + (n >> 16) as u16, n as u16, 0, 0, 0, 1);
    let v4 = |n: u32| Ipv4Addr::from(0x0a00_0000 | n >> 6);
    let mut rows = String::new();
    for n in 0..COUNT {
        writeln!(rows, "{},{},{}", b4(n), v4(n), n % 64).unwrap();
    }
    std::fs::write(folder.path().join("softwires.csv"), rows).unwrap();
    let text = format!(
        "[[instance]]\nname = \"aftr\"\nmechanism = \"lw4o6\"\nrole = \"aftr\"\nlocal = \"{AFTR}\"\n\
         sharing = [{{ v4 = \"10.0.0.0/8\", psid-length = 6 }}]\nsoftwire-file = \"softwires.csv\"\n"
    );
    let Loaded { document, .. } = config::parse("test", "test", text, folder.path())
        .unwrap_or_else(|report| panic!("{report}"));
    let compiled = document.compile(&[7; 8].into()).unwrap();
    // Five bytes a softwire, most of which are its row.
    assert!(compiled.rules.len() * 64 < COUNT as usize * 5);
    let core::AnyMechanism::LwAftr(aftr) = &compiled.instances[0].mechanism else {
        panic!("{compiled:?}");
    };
    let rules = compiled.rules.as_slice();
    let found = |n: u32| {
        use isthmus_core::address::softwire;
        let sharing = aftr.shared.find(v4(n).into())?;
        let key = softwire::B4Key::new(v4(n).into(), (n % 64) as u16, sharing);
        let place = softwire::find(rules, &aftr.softwires, key)?;
        Some(Ipv6Addr::from(
            softwire::read(rules, &aftr.softwires, place, key)?.0,
        ))
    };
    for n in 0..COUNT {
        assert_eq!(found(n), Some(b4(n)));
    }
    assert_eq!(found(COUNT), None);
}

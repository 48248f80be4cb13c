//! Packets to an outside address that is the machine's own as well: what no session claims is left to the machine,
//! unchanged, and nothing else is. Packets are made and read by etherparse.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::Path;

use etherparse::{
    IcmpEchoHeader, Icmpv4Type, IpFragOffset, IpNumber, NetSlice, PacketBuilder, SlicedPacket,
    TransportSlice, icmpv4,
};
use isthmus_core::reason::Counter;
use isthmus_engine::memory::Region;
use isthmus_engine::offline::{Translator, UserTranslator};
use isthmus_gateway::config::{self, Loaded};

const OWN: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 1);
/// Of the pool, and not the machine's.
const OTHER: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 2);
const REMOTE: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 99);
const INSIDE: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2);
const INSIDE_V4: Ipv4Addr = Ipv4Addr::new(192, 168, 0, 2);

const NAT64: &str = "mechanism = \"nat64\"\nprefix = \"64:ff9b::/96\"\nallow-non-global = true\n";
const NAT44: &str =
    "mechanism = \"nat44\"\ninside = [\"192.168.0.0/16\"]\nown-v4 = \"203.0.113.1\"\n";

fn gateway(mechanism: &str, keys: &str) -> UserTranslator {
    let text = format!(
        "[[instance]]\nname = \"one\"\n{mechanism}{keys}\
         pool = [{{ addresses = \"203.0.113.0/29\", ports = \"20000-29999\" }}]\nmax-sessions = 64\nmax-bindings = 64\n"
    );
    let Loaded { document, .. } = config::parse("test", "test", text.clone(), Path::new(""))
        .unwrap_or_else(|report| panic!("{report}\n{text}"));
    let compiled = document.compile(&[7; 8].into()).unwrap();
    let state = Region::anonymous(compiled.state_lines).unwrap();
    let ruleset = compiled.ruleset().unwrap();
    ruleset.share([OWN].into());
    UserTranslator::new(ruleset, state, 1)
}

fn through(gateway: &mut UserTranslator, packet: &[u8]) -> Vec<Vec<u8>> {
    let mut out = Vec::new();
    let mut send = |head: &[u8], tail: &[u8]| out.push([head, tail].concat());
    gateway.translate(packet, 1_000_000, &mut send).unwrap();
    out
}

fn udp(from: (Ipv4Addr, u16), to: (Ipv4Addr, u16)) -> Vec<u8> {
    let mut packet = Vec::new();
    PacketBuilder::ipv4(from.0.octets(), to.0.octets(), 64)
        .udp(from.1, to.1)
        .write(&mut packet, b"data")
        .unwrap();
    packet
}

fn tcp_syn(from: (Ipv4Addr, u16), to: (Ipv4Addr, u16)) -> Vec<u8> {
    let mut packet = Vec::new();
    PacketBuilder::ipv4(from.0.octets(), to.0.octets(), 64)
        .tcp(from.1, to.1, 1, 1024)
        .syn()
        .write(&mut packet, &[])
        .unwrap();
    packet
}

fn echo(kind: fn(IcmpEchoHeader) -> Icmpv4Type, id: u16, to: Ipv4Addr) -> Vec<u8> {
    let mut packet = Vec::new();
    PacketBuilder::ipv4(REMOTE.octets(), to.octets(), 64)
        .icmpv4(kind(IcmpEchoHeader { id, seq: 1 }))
        .write(&mut packet, b"data")
        .unwrap();
    packet
}

/// UDP from the inside host to an IPv4 address behind the prefix.
fn udp_from_inside(to: (Ipv4Addr, u16)) -> Vec<u8> {
    let [a, b, c, d] = to.0.octets();
    let to6 = Ipv6Addr::from([0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0, a, b, c, d]);
    let mut packet = Vec::new();
    PacketBuilder::ipv6(INSIDE.octets(), to6.octets(), 64)
        .udp(5000, to.1)
        .write(&mut packet, b"data")
        .unwrap();
    packet
}

/// The IPv4 addresses and the UDP ports of a packet.
fn endpoints(packet: &[u8]) -> ((Ipv4Addr, u16), (Ipv4Addr, u16)) {
    let sliced = SlicedPacket::from_ip(packet).unwrap();
    let (Some(NetSlice::Ipv4(ip)), Some(TransportSlice::Udp(udp))) = (sliced.net, sliced.transport)
    else {
        panic!("{packet:x?}");
    };
    let (source, destination) = (ip.header().source_addr(), ip.header().destination_addr());
    (
        (source, udp.source_port()),
        (destination, udp.destination_port()),
    )
}

/// Port Unreachable from the remote host about a packet.
fn unreachable(about: &[u8]) -> Vec<u8> {
    let (from, _) = endpoints(about);
    let mut packet = Vec::new();
    PacketBuilder::ipv4(REMOTE.octets(), from.0.octets(), 64)
        .icmpv4(Icmpv4Type::DestinationUnreachable(
            icmpv4::DestUnreachableHeader::Port,
        ))
        .write(&mut packet, about)
        .unwrap();
    packet
}

/// Packets that no session claims, to an address.
fn unclaimed(to: Ipv4Addr) -> Vec<Vec<u8>> {
    let mut esp = Vec::new();
    PacketBuilder::ipv4(REMOTE.octets(), to.octets(), 64)
        .write(&mut esp, IpNumber::ENCAPSULATING_SECURITY_PAYLOAD, &[1; 32])
        .unwrap();
    vec![
        udp((REMOTE, 53), (to, 53)),
        udp((REMOTE, 53), (to, 25_000)),
        tcp_syn((REMOTE, 5000), (to, 22)),
        tcp_syn((REMOTE, 5000), (to, 25_000)),
        echo(Icmpv4Type::EchoRequest, 25_000, to),
        echo(Icmpv4Type::EchoReply, 25_000, to),
        unreachable(&udp((to, 25_000), (REMOTE, 9))),
        esp,
    ]
}

#[test]
fn the_machine_gets_what_no_session_claims() {
    for keys in ["", "unsolicited-syn = \"answer\"\n"] {
        for mechanism in [NAT64, NAT44] {
            let mut gateway = gateway(mechanism, keys);
            for packet in unclaimed(OWN) {
                let out = through(&mut gateway, &packet);
                assert_eq!(out, std::slice::from_ref(&packet), "{mechanism}");
            }
            let expected = unclaimed(OWN).len() as u64;
            let counters = gateway.counters().unwrap();
            assert_eq!(counters.get(Counter::NotOurs), expected);
            // Of an address that is the gateway's alone nothing is delivered.
            for packet in unclaimed(OTHER) {
                assert!(
                    !through(&mut gateway, &packet).contains(&packet),
                    "{packet:x?}"
                );
            }
        }
    }
}

/// A session with a host that has no global address cannot be, but the machine may know that host.
#[test]
fn the_machine_gets_what_the_well_known_prefix_is_not_for() {
    let mechanism = NAT64.replace("allow-non-global = true\n", "");
    let mut gateway = gateway(&mechanism, "");
    for packet in unclaimed(OWN) {
        assert_eq!(
            through(&mut gateway, &packet),
            std::slice::from_ref(&packet)
        );
    }
    for packet in unclaimed(OTHER) {
        assert!(!through(&mut gateway, &packet).contains(&packet));
    }
}

/// The kernel would answer them, and end the session of the inside host.
#[test]
fn the_machine_gets_nothing_of_a_session() {
    let mut gateway = gateway(NAT64, "filtering = \"address-dependent\"\n");
    // Until the pool gives the address that is shared.
    let outside = (0..64)
        .find_map(|host| {
            let mut packet = udp_from_inside((REMOTE, 9));
            packet[15] = host;
            // The checksum of the address.
            let sum = u16::from_be_bytes([packet[46], packet[47]]).wrapping_sub(host.into());
            packet[46..48].copy_from_slice(&sum.to_be_bytes());
            let out = through(&mut gateway, &packet);
            let (from, _) = endpoints(out.first()?);
            (from.0 == OWN).then_some(from)
        })
        .unwrap();
    let answer = through(&mut gateway, &udp((REMOTE, 9), outside));
    assert_eq!(answer[0][0] >> 4, 6, "{answer:x?}");
    let error = through(&mut gateway, &unreachable(&udp(outside, (REMOTE, 9))));
    assert_eq!(error[0][0] >> 4, 6, "{error:x?}");
    // A stranger, whom the filtering holds off.
    let stranger = udp((Ipv4Addr::new(192, 0, 2, 66), 9), outside);
    assert!(through(&mut gateway, &stranger).is_empty());
}

#[test]
fn fragments_go_where_the_first_one_goes() {
    let mut gateway = gateway(NAT64, "");
    let whole = udp((REMOTE, 53), (OWN, 53));
    let fragment = |offset: u16, more: bool, payload: &[u8]| {
        let mut header = etherparse::Ipv4Header::new(
            payload.len() as u16,
            64,
            IpNumber::UDP,
            REMOTE.octets(),
            OWN.octets(),
        )
        .unwrap();
        header.identification = 7;
        header.more_fragments = more;
        header.fragment_offset = IpFragOffset::try_new(offset).unwrap();
        header.header_checksum = header.calc_header_checksum();
        let mut packet = Vec::new();
        header.write(&mut packet).unwrap();
        packet.extend_from_slice(payload);
        packet
    };
    let first = fragment(0, true, &whole[20..28]);
    let last = fragment(1, false, &whole[28..]);
    assert!(through(&mut gateway, &last).is_empty());
    assert_eq!(through(&mut gateway, &first), [first.clone(), last]);
}

/// A packet that an inside host sends to the machine's sockets by the outside address gets there, and the answer
/// finds its way back.
#[test]
fn inside_hosts_reach_the_machine() {
    let mut gateway = gateway(NAT64, "");
    let out = through(&mut gateway, &udp_from_inside((OWN, 53)));
    let (from, to) = endpoints(&out[0]);
    assert_eq!(to, (OWN, 53));
    assert!((20_000..30_000).contains(&from.1));
    let back = through(&mut gateway, &udp(to, from));
    assert_eq!(back[0][0] >> 4, 6, "{back:x?}");
    assert_eq!(back[0][24..40], INSIDE.octets());
    // Nobody is at another address.
    assert!(through(&mut gateway, &udp_from_inside((OTHER, 53))).is_empty());

    let mut gateway = self::gateway(NAT44, "");
    let out = through(&mut gateway, &udp((INSIDE_V4, 5000), (OWN, 53)));
    let (from, to) = endpoints(&out[0]);
    assert_eq!(to, (OWN, 53));
    let back = through(&mut gateway, &udp(to, from));
    assert_eq!(endpoints(&back[0]), ((OWN, 53), (INSIDE_V4, 5000)));
}

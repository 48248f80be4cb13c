//! The instructions of a packet from card to card, as the emulator counts them (`-icount`), and what is noted of them in
//! `bench/bare.json`: by mechanism and size, and as paper 001 has it, by the protocol above IP and by the length of the
//! prefix.

use std::collections::BTreeMap;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;
use std::sync::PoisonError;

use etherparse::PacketBuilder;
use isthmus_core::address::rfc6052::Prefix;

use super::{Bench, LEFT, NAT64, ONE, RIGHT, SERVER_V6, SIIT, udp_v4, udp_v6};

/// The options of an emulator whose time-stamp counter counts instructions.
pub(crate) const EXACT: [&str; 2] = ["-icount", "shift=0,sleep=off"];
/// The host and the server, whose IPv6 addresses follow from a prefix.
const ENDS: [Ipv4Addr; 2] = [
    Ipv4Addr::new(198, 51, 100, 7),
    Ipv4Addr::new(203, 0, 113, 9),
];
/// An address of the pool.
const NO_PORT: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 65);
/// The lengths of prefixes (RFC 6052 section 2.2).
const LENGTHS: [u8; 6] = [32, 40, 48, 56, 64, 96];
/// The payload of a packet above IP and UDP that has 1,024 bytes as IPv4.
const PAYLOAD: [u8; 996] = [7; 996];

/// Instructions from card to card, one packet a round. Random identifications are made 64 at a time, which belong to as many
/// packets.
pub(crate) fn instructions(bench: &mut Bench, card: usize, packet: &[u8]) -> f64 {
    const PACKETS: u64 = 64;
    // The neighbour is found, and memory touched.
    for _ in 0..5 {
        bench.exchange(card, packet);
    }
    let before = bench.counters();
    for _ in 0..PACKETS {
        bench.exchange(card, packet);
    }
    let after = bench.counters();
    let grown = |name| after[name] - before[name];
    assert_eq!(grown("frames"), PACKETS);
    grown("ticks") as f64 / PACKETS as f64
}

/// Instructions of a packet that nobody gets, one a round.
fn dropped(bench: &mut Bench, card: usize, packet: &[u8]) -> f64 {
    const PACKETS: u64 = 8;
    let before = bench.counters();
    let mut after = before.clone();
    for number in 1..=PACKETS {
        bench.machine.send_packet(card, packet).unwrap();
        while after["frames"] < before["frames"] + number {
            after = bench.counters();
        }
    }
    assert_eq!(after["no-binding"], PACKETS);
    (after["ticks"] - before["ticks"]) as f64 / PACKETS as f64
}

#[test]
fn a_packet_takes_as_many_instructions_as_noted() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(mut bench) = Bench::start(SIIT, &EXACT) else {
        return;
    };
    let mut counted = BTreeMap::new();
    for size in [128, 1024] {
        let to_v4 = udp_v6(SERVER_V6, &vec![7; size - 48]);
        let to_v6 = udp_v4(&vec![7; size - 28]);
        for (name, card, packet) in [("6to4", LEFT, to_v4), ("4to6", RIGHT, to_v6)] {
            let number = instructions(&mut bench, card, &packet);
            counted.insert(format!("siit-{name}-{size}"), number);
        }
    }
    drop(bench);
    let mut bench = Bench::start(NAT64, &EXACT).unwrap();
    let out = udp_v6("64:ff9b::c000:202", &[7; 80]);
    let number = instructions(&mut bench, LEFT, &out);
    counted.insert("nat64-6to4-128".to_owned(), number);
    // A stranger sends to a port that nobody has: dropped at the first look, it costs less than a packet that goes on.
    let stranger = packet(ENDS[1].into(), NO_PORT.into(), "udp");
    let number = dropped(&mut bench, RIGHT, &stranger);
    counted.insert("nat64-no-binding".to_owned(), number);
    drop(bench);
    for length in LENGTHS {
        by_prefix(length, &mut counted);
    }
    check(&counted);
}

/// Counts a stateless translator whose addresses follow from a prefix of this length; of the longest one with each protocol.
fn by_prefix(length: u8, counted: &mut BTreeMap<String, f64>) {
    let network = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0);
    let prefix = Prefix::new(network, length).unwrap();
    let configuration = format!(
        "[[card]]\naddresses = [\"fd00:1::1/64\"]\nroutes = [{{ to = \"::/0\", via = \"fd00:1::2\" }}]\n\
         [[card]]\naddresses = [\"192.0.2.1/24\"]\nroutes = [{{ to = \"0.0.0.0/0\", via = \"192.0.2.2\" }}]\n\
         [[instance]]\nname = \"siit\"\nmechanism = \"siit\"\nprefix = \"{prefix}\"\n"
    );
    let mut bench = Bench::start(&configuration, &EXACT).unwrap();
    let protocols = match length {
        96 => &["udp", "tcp", "icmp"][..],
        _ => &["udp"],
    };
    for protocol in protocols {
        let [host, server] = ENDS;
        let [host_v6, server_v6] = ENDS.map(|end| Ipv6Addr::from(prefix.embed(end.into())));
        let v6 = packet(host_v6.into(), server_v6.into(), protocol);
        let v4 = packet(server.into(), host.into(), protocol);
        for (way, card, packet) in [("6to4", LEFT, v6), ("4to6", RIGHT, v4)] {
            let name = match *protocol {
                "udp" => format!("siit-{way}-prefix-{length}"),
                other => format!("siit-{way}-{other}"),
            };
            counted.insert(name, instructions(&mut bench, card, &packet));
        }
    }
}

/// A packet of this protocol; of `icmp` an echo request.
fn packet(from: IpAddr, to: IpAddr, protocol: &str) -> Vec<u8> {
    let way = match (from, to) {
        (IpAddr::V4(from), IpAddr::V4(to)) => PacketBuilder::ipv4(from.octets(), to.octets(), 64),
        (IpAddr::V6(from), IpAddr::V6(to)) => PacketBuilder::ipv6(from.octets(), to.octets(), 64),
        _ => unreachable!("both ends have one family"),
    };
    let mut packet = Vec::new();
    let written = match (protocol, from.is_ipv6()) {
        ("udp", _) => way.udp(5000, 5001).write(&mut packet, &PAYLOAD),
        ("tcp", _) => way.tcp(5000, 5001, 1, 1000).write(&mut packet, &PAYLOAD),
        (_, true) => way.icmpv6_echo_request(1, 1).write(&mut packet, &PAYLOAD),
        (_, false) => way.icmpv4_echo_request(1, 1).write(&mut packet, &PAYLOAD),
    };
    written.unwrap();
    packet
}

/// Compares with what is noted in `bench/bare.json`: a difference of more than 2 % has to be explained there.
pub(crate) fn check(counted: &BTreeMap<String, f64>) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/bare.json");
    let shown = serde_json::to_string_pretty(counted).unwrap();
    println!("{shown}");
    let noted: BTreeMap<String, f64> =
        serde_json::from_slice(&fs::read(&file).unwrap_or_default()).unwrap_or_default();
    let differs = |(name, number): (&String, &f64)| {
        let noted = noted.get(name).copied().unwrap_or(0.0);
        ((number - noted).abs() > 0.02 * noted).then(|| format!("{name}: noted {noted}"))
    };
    let wrong: Vec<_> = counted.iter().filter_map(differs).collect();
    assert!(
        wrong.is_empty(),
        "{wrong:#?}\nput into bench/bare.json:\n{shown}"
    );
}

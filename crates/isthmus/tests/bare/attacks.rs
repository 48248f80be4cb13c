//! Attacks, with a victim beside: an established session, whose packets must get through and must not become dearer. The machine is one
//! loop for everything, so that a packet of an attacker must not get much more work out of it than one of the victim. All is
//! counted in instructions, which do not depend on the computer that emulates.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::PoisonError;
use std::thread;
use std::time::{Duration, Instant};

use etherparse::PacketBuilder;
use isthmus_lab::subjects::bare::Board;

use super::instructions::{EXACT, check, instructions};
use super::{Bench, HOST, LEFT, NAT64, ONE, RIGHT, SERVER};
use super::{fragment, octets_v4, octets_v6, udp_v6};

/// The server, as the hosts behind the translator see it.
const TO: &str = "64:ff9b::c000:202";
/// An attacker on the victim's side.
const CUSTOMER: &str = "2001:db8:1::66";
/// An address of the pool.
const NO_PORT: &str = "192.0.2.65";
/// Packets of an attack whose instructions are counted.
const COUNTED: u32 = 16;
/// The packets of the victim that a packet of an attacker may cost.
const MOST: f64 = 4.5;
/// The part that packets of the victim may become dearer by: once fragments wait, each packet is looked at for whether it is one.
const DEARER: f64 = 0.07;
/// Packets that the machine takes at once from both cards.
const ROUND: u64 = 64;

/// An attack: its name, the card that it comes by, how many packets come before those that are counted, and the packet with a number.
type Attack = (&'static str, usize, u32, fn(u32) -> Vec<u8>);

const ATTACKS: [Attack; 11] = [
    ("attack-no-binding", RIGHT, 0, |_| {
        udp(SERVER, NO_PORT, 5000, 64)
    }),
    ("attack-own-address", RIGHT, 0, |_| {
        udp(SERVER, "192.0.2.1", 5000, 64)
    }),
    ("attack-ping-v4", RIGHT, 0, |_| ping(SERVER, "192.0.2.1")),
    ("attack-ping-v6", LEFT, 0, |_| ping(HOST, "2001:db8:1::1")),
    ("attack-errors", LEFT, 0, |_| udp(HOST, TO, 5000, 1)),
    ("attack-errors-limited", LEFT, 1024, |_| {
        udp(HOST, TO, 5000, 1)
    }),
    ("attack-neighbours", LEFT, 2048, |number| {
        let absent = format!("2001:db8:1::bad:{number:x}");
        ping(&absent, "2001:db8:1::1")
    }),
    ("attack-sessions", LEFT, 0, |number| {
        udp(CUSTOMER, TO, port(number), 64)
    }),
    ("attack-sessions-full", LEFT, 2048, |number| {
        udp(CUSTOMER, TO, port(number), 64)
    }),
    ("attack-fragments", LEFT, 1024, |number| {
        fragment("2001:db8:66::1", number, false)
    }),
    ("attack-fragments-of-many", LEFT, 2048, |number| {
        let from = format!("2001:db8:66:{:x}::1", number % 64);
        fragment(&from, number, false)
    }),
];

fn port(number: u32) -> u16 {
    1024 + number as u16
}

/// The way of a packet between two ends of one family.
fn way(from: &str, to: &str, hops: u8) -> etherparse::PacketBuilderStep<etherparse::IpHeaders> {
    match from.contains(':') {
        true => PacketBuilder::ipv6(octets_v6(from), octets_v6(to), hops),
        false => PacketBuilder::ipv4(octets_v4(from), octets_v4(to), hops),
    }
}

/// A long datagram.
fn udp(from: &str, to: &str, port: u16, hops: u8) -> Vec<u8> {
    let mut packet = Vec::new();
    let way = way(from, to, hops).udp(port, 5001);
    way.write(&mut packet, &[7; 1000]).unwrap();
    packet
}

/// A long ping.
fn ping(from: &str, to: &str) -> Vec<u8> {
    let mut packet = Vec::new();
    let way = way(from, to, 64);
    let written = match from.contains(':') {
        true => way.icmpv6_echo_request(1, 1).write(&mut packet, &[7; 1400]),
        false => way.icmpv4_echo_request(1, 1).write(&mut packet, &[7; 1400]),
    };
    written.unwrap();
    packet
}

/// Whether a neighbour is there: no one that an attacker invents.
fn is_there(address: IpAddr) -> bool {
    !address.to_string().starts_with("2001:db8:1::bad:")
}

/// Sends packets, and waits until the machine has taken all of them.
fn flood(bench: &mut Bench, card: usize, packets: impl Iterator<Item = Vec<u8>>) {
    for (at, packet) in packets.enumerate() {
        bench.machine.send_packet(card, &packet).unwrap();
        // Its queues take so many.
        if at % 64 == 63 {
            assert!(bench.answers_a_ping());
        }
    }
    assert!(bench.answers_a_ping());
}

/// Instructions of a packet, one a round.
fn cost(bench: &mut Bench, card: usize, packets: impl Iterator<Item = Vec<u8>>) -> f64 {
    let before = bench.counters();
    let mut after = before.clone();
    for (packet, number) in packets.zip(1..) {
        bench.machine.send_packet(card, &packet).unwrap();
        while after["frames"] < before["frames"] + number {
            after = bench.counters();
        }
    }
    let grown = |name| (after[name] - before[name]) as f64;
    grown("ticks") / grown("frames")
}

/// Instructions of a packet of the victim, each of which arrives.
fn victim(bench: &mut Bench) -> f64 {
    // What the machine has answered the attacker.
    assert!(bench.answers_a_ping());
    instructions(bench, LEFT, &udp_v6(TO, &[7; 80]))
}

#[test]
fn what_an_attacker_sends_costs_little_and_its_victim_nothing() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut counted = BTreeMap::new();
    for (name, card, before, packet) in ATTACKS {
        let Some(mut bench) = Bench::start(NAT64, &EXACT) else {
            return;
        };
        bench.machine.is_there = is_there;
        bench.exchange(LEFT, &udp_v6(TO, &[7; 80]));
        let alone = victim(&mut bench);
        flood(&mut bench, card, (0..before).map(packet));
        let attack = cost(&mut bench, card, (before..before + COUNTED).map(packet));
        let beside = victim(&mut bench);
        println!("{name}: {attack}; the victim {alone} alone, {beside} beside it");
        assert!(attack <= MOST * alone, "{name}: {attack}, {alone}");
        assert!(
            beside <= (1.0 + DEARER) * alone,
            "{name}: {beside}, {alone}"
        );
        counted.insert(name.to_owned(), attack);
    }
    check(&counted);
}

#[test]
fn nobody_is_answered_who_should_not_be() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(mut bench) = Bench::start(NAT64, &[]) else {
        return;
    };
    // Errors stay below their rate: one second's worth, since no time passes.
    flood(&mut bench, LEFT, (0..1500).map(|_| udp(HOST, TO, 5000, 1)));
    let counters = bench.counters();
    assert_eq!(counters["icmp-error-sent"], 1000, "{counters:?}");
    assert_eq!(counters["icmp-error-suppressed"], 500, "{counters:?}");
    drop(bench);
    // Pings of nobody: all of them have a route, by a neighbour that is found.
    let routed = NAT64
        .replace(
            "1::1/64\"]",
            "1::1/64\"]\nroutes = [{ to = \"::/0\", via = \"2001:db8:1::2\" }]",
        )
        .replace(
            "2.1/24\"]",
            "2.1/24\"]\nroutes = [{ to = \"0.0.0.0/0\", via = \"192.0.2.2\" }]",
        );
    let mut bench = Bench::start(&routed, &[]).unwrap();
    assert!(bench.answers_a_ping());
    for from in ["0.1.2.3", "127.0.0.1", "224.0.0.1", "255.255.255.255"] {
        bench
            .machine
            .send_packet(RIGHT, &ping(from, "192.0.2.1"))
            .unwrap();
    }
    for from in ["::", "::1", "ff02::1"] {
        bench
            .machine
            .send_packet(LEFT, &ping(from, "2001:db8:1::1"))
            .unwrap();
    }
    // Those of the host and of the server come next, and nothing before.
    let own = [
        (RIGHT, SERVER, "192.0.2.1", 20),
        (LEFT, HOST, "2001:db8:1::1", 40),
    ];
    for (card, from, to, at) in own {
        let (by, packet) = bench.exchange(card, &ping(from, to));
        assert_eq!(
            (by, packet[at] & 0x7f),
            (card, if at == 20 { 0 } else { 1 })
        );
        assert!(packet.ends_with(&[7; 1400]) && packet.len() == at + 8 + 1400);
    }
}

/// Sixteen instances, each with sessions of its own.
fn sixteen() -> String {
    let (cards, instance) = NAT64.split_once("[[instance]]").unwrap();
    let instance = |number: u32| {
        let instance = instance
            .replace("\"plat\"", &format!("\"plat-{number}\""))
            .replace("64:ff9b::/96", &format!("2001:db8:64:{number:x}::/96"))
            .replace("192.0.2.64/28", &format!("192.0.2.{}/32", 64 + number));
        format!("[[instance]]{instance}")
    };
    let all: String = (0..16).map(instance).collect();
    format!("{cards}{all}")
}

#[test]
fn packets_do_not_wait_for_the_end_of_many_sessions() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    const SESSIONS: u64 = 900;
    // A million instructions a second: sessions end soon.
    let slow = ["-icount", "shift=10,sleep=off"];
    let Some(mut bench) = Bench::packed(Board::Q35, &sixteen(), &[], &slow) else {
        return;
    };
    let to = |number: u32| format!("2001:db8:64:{:x}::c000:202", number % 16);
    let sessions = (0..SESSIONS as u32).map(|number| udp(HOST, &to(number), port(number), 64));
    flood(&mut bench, LEFT, sessions);
    let packet = 1400;
    bench.counters();
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        thread::sleep(Duration::from_millis(100));
        let counters = bench.counters();
        let away = counters["away"] / 1024;
        assert!(away <= ROUND * packet, "{away} instructions: {counters:?}");
        if counters.get("session-removed") == Some(&SESSIONS) {
            break;
        }
        assert!(Instant::now() < until, "{counters:?}");
    }
}

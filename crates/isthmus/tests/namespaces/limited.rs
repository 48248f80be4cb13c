//! Sessions of subscribers with limits and port blocks, which the programs make (RFC 6888 section 3).

use std::net::{Ipv6Addr, UdpSocket};
use std::ops::Range;
use std::sync::Arc;

use isthmus_lab::experiments::attack::{Flood, Packets, Rate, datagram};
use isthmus_lab::traffic::packet::Ends;

use crate::forward::counted;
use crate::gateway::Gateway;
use crate::net::Net;
use crate::site::{PLAT, Site, both_links};

const SERVER: &str = "64:ff9b::192.0.2.2";
/// A subscriber, who behaves as badly as it can, and the victim beside it.
const SUBSCRIBER: &str = "2001:db8:1::2";
const VICTIM: &str = "2001:db8:1::3";

/// Bindings that a subscriber may have.
const MOST: u64 = 100;
/// Subscribers that come while another one floods, whose packets in a second are more than user space takes.
const NEWCOMERS: usize = 20;
const RATE: u32 = 100_000;

#[test]
fn xdp_makes_them() {
    makes("xdp");
}

#[test]
fn tc_makes_them() {
    makes("tc");
}

#[test]
fn a_flood_beyond_a_limit_takes_a_share_of_the_slow_path_in_xdp() {
    shares("xdp");
}

#[test]
fn a_flood_beyond_a_limit_takes_a_share_of_the_slow_path_in_tc() {
    shares("tc");
}

/// A subscriber that may have no more sends as much as it can: user space tells it so, now and then. Newcomers get their blocks
/// from user space meanwhile.
fn shares(engine: &str) {
    let Some(site) = Site::new() else {
        return;
    };
    site.configure(&format!("{}{PLAT}{}", both_links(engine, ""), limits()));
    let gateway = site.start();
    let net = &site.net;
    let newcomers: Vec<String> = (0..NEWCOMERS)
        .map(|host| format!("2001:db8:1::1:{host:x}"))
        .collect();
    for newcomer in &newcomers {
        net.ip(
            "host",
            &format!("addr add {newcomer}/64 dev eth0 nodad preferred_lft 0"),
        );
    }
    // The first packets wait for neighbours.
    assert!(net.pings(SERVER), "{}", gateway.log());
    send(net, SUBSCRIBER, 20_000..20_000 + MOST as u16);
    let packets: Packets = Arc::new(beyond);
    let flood = Flood::start(net.node("host"), &packets, 0, Rate::PerSecond(RATE)).unwrap();
    let refused = || counted(&gateway, engine, |row| row["counter"] == "slow-path-share");
    gateway.wait_until(|_| refused() > 0);
    let answered = newcomers.iter().filter(|newcomer| {
        let ping = ["-n", "-c", "1", "-W", "2", "-I", newcomer.as_str(), SERVER];
        let output = net.command("host", "ping").args(ping).output().unwrap();
        output.status.success()
    });
    let answered = answered.count();
    let (sent, _) = flood.stop().unwrap();
    let told = format!(
        "{answered} answered, {} of {sent} refused\n{}",
        refused(),
        tell(&gateway)
    );
    println!("{told}");
    assert!(answered >= NEWCOMERS * 4 / 5, "{told}");
    assert!(gateway.stop().success());
}

/// A packet of a flow of its own, of the subscriber.
fn beyond(number: u64) -> Vec<u8> {
    let ends = Ends::V6(SUBSCRIBER.parse().unwrap(), SERVER.parse().unwrap());
    datagram(ends, (30_000 + (number % 30_000) as u16, 9), &[0; 18])
}

/// The limits of each subscriber.
fn limits() -> String {
    format!(
        "port-blocks = {{ size = 512, per-subscriber = 1 }}\nsubscriber-prefix = 128\n\
         subscriber-bindings = {MOST}\nsubscriber-session-rate = 100000\n"
    )
}

/// User space gives the block, and the engine makes the sessions, until the subscriber has all that it may have.
fn makes(engine: &str) {
    let Some(site) = Site::new() else {
        return;
    };
    site.configure(&format!("{}{PLAT}{}", both_links(engine, ""), limits()));
    let gateway = site.start();
    let net = &site.net;
    net.ip(
        "host",
        &format!("addr add {VICTIM}/64 dev eth0 nodad preferred_lft 0"),
    );
    // The first packet has user space give the subscriber its block.
    assert!(net.pings(SERVER), "{}", gateway.log());
    let of =
        |engine: &str, counter: &str| counted(&gateway, engine, |row| row["counter"] == counter);
    send(net, SUBSCRIBER, 20_000..20_050);
    gateway.wait_until(|_| of(engine, "session-created") + of("user", "session-created") == 51);
    // Of four ports that it tries, an engine finds one that is free.
    assert!(of("user", "session-created") <= 2, "{}", tell(&gateway));

    // A thousand flows, of which the subscriber may not have most. User space tells it so, as often as its share allows.
    send(net, SUBSCRIBER, 21_000..22_000);
    gateway.wait_until(|_| {
        of("user", "subscriber-limit") + of(engine, "slow-path-share") == 51 + 1000 - MOST
    });

    // The victim gets its block, and sessions by the engine.
    let before = of(engine, "session-created");
    send(net, VICTIM, 20_000..20_001);
    gateway.wait_until(|_| gateway.sessions() == MOST + 1);
    send(net, VICTIM, 20_001..20_050);
    gateway.wait_until(|_| gateway.sessions() == MOST + 50);
    assert!(
        of(engine, "session-created") - before >= 47,
        "{}",
        tell(&gateway)
    );
    assert!(gateway.stop().success());
}

/// Sends a packet from each of these ports of an address.
fn send(net: &Net, from: &str, ports: Range<u16>) {
    let from: Ipv6Addr = from.parse().unwrap();
    net.enter("host", || {
        for port in ports {
            let socket = UdpSocket::bind((from, port)).unwrap();
            // An answer that the server has no such port is of no interest.
            let _refused = socket.send_to(b"?", (SERVER, 9));
        }
    });
}

fn tell(gateway: &Gateway) -> String {
    gateway.json("counters --engines").to_string()
}

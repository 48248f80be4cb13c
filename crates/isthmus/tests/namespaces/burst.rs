//! Bursts of packets that the programs leave to user space.

use std::net::{SocketAddr, UdpSocket};

use isthmus_core::slow::customer::{BURST, Queue};

use crate::forward::counted;
use crate::gateway::Gateway;
use crate::net::{Net, text};
use crate::site::{PLAT, Site, both_links};

const HOST: &str = "[2001:db8:1::2]:7000";
const SERVER: &str = "192.0.2.2:7000";
const TRANSLATED: &str = "[64:ff9b::192.0.2.2]:7000";

/// Bytes in a datagram that an IPv4 router may cut, and that is longer than any IPv6 link must carry.
const LONG: usize = 1400;
/// Who is alone may have half of a queue.
const MOST: u64 = Queue::Outside.places() as u64 * BURST as u64 / 2;

#[test]
fn all_of_a_burst_is_carried_after_xdp() {
    carries("xdp");
}

#[test]
fn all_of_a_burst_is_carried_after_tc() {
    carries("tc");
}

#[test]
fn a_link_that_stays_gets_its_queue_back_and_a_longer_one_stays() {
    for (before, while_it_runs) in [(500, Queue::PLACES + 500), (5000, 5000)] {
        let Some(site) = Site::new() else {
            return;
        };
        let net = &site.net;
        net.ip("gateway", "tuntap add dev isthmus0 mode tun multi_queue");
        net.ip("gateway", &format!("link set isthmus0 txqueuelen {before}"));
        site.configure(&format!("{}{PLAT}", both_links("tc", "")));
        let gateway = site.start();
        assert_eq!(queue(net), while_it_runs);
        assert!(gateway.stop().success());
        assert_eq!(queue(net), before);
    }
}

/// The packets that find room in the queue of the gateway's link.
fn queue(net: &Net) -> u32 {
    let links = net.ip("gateway", "-j link show isthmus0");
    let links: serde_json::Value = serde_json::from_str(&links).unwrap();
    serde_json::from_value(links[0]["txqlen"].clone()).unwrap()
}

/// User space has no turn while datagrams come that it has to cut, as if others kept the processor from it.
fn carries(engine: &str) {
    let Some(site) = Site::new() else {
        return;
    };
    site.configure(&format!("{}{PLAT}", both_links(engine, "")));
    let gateway = site.start();
    let net = &site.net;
    let mut sysctl = net.command("server", "sysctl");
    sysctl.args(["-q", "-w", "net.ipv4.ip_no_pmtu_disc=1"]);
    assert!(sysctl.status().unwrap().success());
    let host = net.enter("host", || UdpSocket::bind(HOST).unwrap());
    let server = net.enter("server", || UdpSocket::bind(SERVER).unwrap());
    host.send_to(b"?", TRANSLATED).unwrap();
    let (_, client) = server.recv_from(&mut [0; 1]).unwrap();
    let sent = MOST + 10;

    gateway.signal("STOP");
    send(&server, client, sent);
    gateway.signal("CONT");

    let refused = || counted(&gateway, engine, |row| row["counter"] == "slow-path-share");
    gateway.wait_until(|_| joined(net) + refused() == sent);
    assert!(joined(net) >= MOST, "{}", tell(&gateway));
    assert!(gateway.stop().success());
}

fn send(from: &UdpSocket, to: SocketAddr, datagrams: u64) {
    for _ in 0..datagrams {
        from.send_to(&[0; LONG], to).unwrap();
    }
}

/// The datagrams that the host has joined of fragments, whether or not its socket had room for them.
fn joined(net: &Net) -> u64 {
    let mut cat = net.command("host", "cat");
    let counts = text(&cat.arg("/proc/net/snmp6").output().unwrap());
    let count = counts
        .lines()
        .find_map(|line| line.strip_prefix("Ip6ReasmOKs"));
    count.unwrap().trim().parse().unwrap()
}

fn tell(gateway: &Gateway) -> String {
    gateway.json("counters --engines").to_string()
}

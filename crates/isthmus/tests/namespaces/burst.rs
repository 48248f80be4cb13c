//! Bursts of packets that the programs leave to user space: datagrams that have to be cut.

use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use isthmus_core::customer::{BURST, Queue};

use crate::forward::counted;
use crate::gateway::Gateway;
use crate::net::{Net, text};
use crate::site::{PLAT, Site, both_links};

const HOST: &str = "[2001:db8:1::2]:7000";
const VICTIM: &str = "2001:db8:1::3";
const SERVER: &str = "192.0.2.2:7000";
const TRANSLATED: &str = "[64:ff9b::192.0.2.2]:7000";

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(8);
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
    let (gateway, server) = start(&site, engine, "");
    let net = &site.net;
    let host = net.enter("host", || UdpSocket::bind(HOST).unwrap());
    let client = binding(&host, &server);
    let sent = MOST + 10;

    gateway.signal("STOP");
    send(&server, client, sent);
    gateway.signal("CONT");

    let refused = || counted(&gateway, engine, |row| row["counter"] == "slow-path-share");
    gateway.wait_until(|_| joined(net) + refused() == sent);
    assert!(joined(net) >= MOST, "{}", tell(&gateway));
    assert!(gateway.stop().success());
}

#[test]
fn an_accomplice_with_many_bindings_is_one_customer_in_xdp() {
    spares_a_victim("xdp");
}

#[test]
fn an_accomplice_with_many_bindings_is_one_customer_in_tc() {
    spares_a_victim("tc");
}

/// A server sends to more bindings of an accomplice than the queue has places, while user space has no turn, and then to a
/// victim.
fn spares_a_victim(engine: &str) {
    let Some(site) = Site::new() else {
        return;
    };
    let limits = "subscriber-prefix = 128\nsubscriber-bindings = 4000\n";
    let (gateway, server) = start(&site, engine, limits);
    let net = &site.net;
    add_victim(net);
    let on = |host: SocketAddr| net.enter("host", move || UdpSocket::bind(host).unwrap());
    let accomplice: SocketAddr = HOST.parse().unwrap();
    let ports = 20_000..20_000 + Queue::Outside.places() as u16 * BURST as u16;
    let bindings = ports.map(|port| binding(&on((accomplice.ip(), port).into()), &server));
    let bindings: Vec<SocketAddr> = bindings.collect();
    let victim = on(SocketAddr::new(VICTIM.parse().unwrap(), 7000));
    let to_victim = binding(&victim, &server);

    gateway.signal("STOP");
    for to in bindings {
        send(&server, to, 1);
    }
    send(&server, to_victim, 5);
    gateway.signal("CONT");

    for _ in 0..5 {
        let arrived = victim.recv(&mut [0; LONG]);
        assert_eq!(arrived.ok(), Some(LONG), "{}", tell(&gateway));
    }
    let refused = counted(&gateway, engine, |row| row["counter"] == "slow-path-share");
    assert!(refused > 0, "{}", tell(&gateway));
    assert!(gateway.stop().success());
}

#[test]
fn who_keeps_the_queue_flooded_leaves_others_bursts_in_xdp() {
    leaves_bursts("xdp");
}

#[test]
fn who_keeps_the_queue_flooded_leaves_others_bursts_in_tc() {
    leaves_bursts("tc");
}

/// A server sends more to an accomplice at once than the queue has places for, and soon afterwards a burst to a victim.
fn leaves_bursts(engine: &str) {
    let Some(site) = Site::new() else {
        return;
    };
    let (gateway, server) = start(&site, engine, "subscriber-prefix = 128\n");
    let net = &site.net;
    add_victim(net);
    let [accomplice, victim] = [HOST.to_owned(), format!("[{VICTIM}]:7000")]
        .map(|host| net.enter("host", move || UdpSocket::bind(host).unwrap()));
    let (to_accomplice, to_victim) = (binding(&accomplice, &server), binding(&victim, &server));
    let at_once = |to, datagrams| {
        gateway.signal("STOP");
        send(&server, to, datagrams);
        gateway.signal("CONT");
    };
    let refused = || counted(&gateway, engine, |row| row["counter"] == "slow-path-share");

    // Too many even for two rounds: the clock may end one while they are sent.
    let flood = 2 * MOST + 10;
    at_once(to_accomplice, flood);
    gateway.wait_until(|_| joined(net) + refused() == flood);
    let lost = refused();
    assert!(lost > 0, "{}", tell(&gateway));
    // The round of the flood ends, and not what the queue remembers of it.
    std::thread::sleep(Duration::from_millis(30));
    let burst = u64::from(Queue::Outside.places()) / 2;
    at_once(to_victim, burst);
    gateway.wait_until(|_| joined(net) + refused() == flood + burst);
    assert_eq!(refused(), lost, "{}", tell(&gateway));
    assert!(gateway.stop().success());
}

fn add_victim(net: &Net) {
    net.ip(
        "host",
        &format!("addr add {VICTIM}/64 dev eth0 nodad preferred_lft 0"),
    );
}

/// Starts a gateway with these keys, and a server whose datagrams may be cut.
fn start(site: &Site, engine: &str, keys: &str) -> (Gateway, UdpSocket) {
    site.configure(&format!("{}{PLAT}{keys}", both_links(engine, "")));
    let gateway = site.start();
    let mut sysctl = site.net.command("server", "sysctl");
    sysctl.args(["-q", "-w", "net.ipv4.ip_no_pmtu_disc=1"]);
    assert!(sysctl.status().unwrap().success());
    // XDP cannot tell which checksums are not finished.
    site.net.offload("host", "eth0", &["tx", "off"]);
    let server = site
        .net
        .enter("server", || UdpSocket::bind(SERVER).unwrap());
    server.set_read_timeout(Some(PATIENCE)).unwrap();
    (gateway, server)
}

/// Has a host send to the server, and returns the address and port that the server sees.
fn binding(host: &UdpSocket, server: &UdpSocket) -> SocketAddr {
    host.set_read_timeout(Some(PATIENCE)).unwrap();
    host.send_to(b"?", TRANSLATED).unwrap();
    server.recv_from(&mut [0; 1]).unwrap().1
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

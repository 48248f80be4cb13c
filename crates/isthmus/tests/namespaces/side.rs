//! Links where nobody is an inside host: who sends like one from there, with a forged source for example, gets no
//! session.

use std::net::UdpSocket;
use std::sync::Arc;
use std::time::Duration;

use isthmus_lab::experiments::attack::{Flood, Packets, Rate, datagram};
use isthmus_lab::traffic::packet::Ends;

use crate::forward::counted;
use crate::site::{HOME, PLAT, Site, both_links};

const SERVER: &str = "64:ff9b::192.0.2.2";
/// A host, and another one beside it that is reached from outside.
const HOST: &str = "192.168.7.2";
const OTHER: &str = "192.168.7.3";
const OTHER_OUTSIDE: &str = "203.0.113.40";
/// Packets in a second of a stranger, more than user space takes.
const RATE: u32 = 100_000;
/// Flows between the hosts meanwhile.
const FLOWS: u16 = 50;

/// Both links with this engine; this one leads to the outside.
fn links(engine: &str, outside: &str) -> String {
    let links = both_links(engine, "");
    let name = format!("name = \"{outside}\"");
    links.replace(&name, &format!("{name}\nside = \"outside\""))
}

#[test]
fn strangers_open_no_sessions_in_user_space() {
    refuses("user");
}

#[test]
fn strangers_open_no_sessions_in_xdp() {
    refuses("xdp");
}

#[test]
fn strangers_open_no_sessions_in_tc() {
    refuses("tc");
}

fn refuses(engine: &str) {
    let Some(site) = Site::new() else {
        return;
    };
    let net = &site.net;
    net.dual_stack();
    let before = net.dump();
    let rules = format!("{PLAT}{HOME}");
    site.configure(&format!("{}{rules}", links(engine, "toh")));
    let gateway = site.start();
    for server in [SERVER, "192.0.2.2"] {
        assert!(!net.pings(server), "{server}: {}", gateway.log());
    }
    assert_eq!(gateway.sessions(), 0, "{}", gateway.log());
    assert!(gateway.stop().success());
    assert_eq!(net.dump(), before);

    // The other link leads to the servers, as it should.
    site.configure(&format!("{}{rules}", links(engine, "tos")));
    let gateway = site.start();
    for server in [SERVER, "192.0.2.2"] {
        assert!(net.pings(server), "{server}: {}", gateway.log());
    }
    // What a crash leaves behind, the next run removes.
    gateway.signal("KILL");
    drop(gateway);
    site.configure(PLAT);
    let gateway = site.start();
    assert!(net.pings(SERVER), "{}", gateway.log());
    assert!(gateway.stop().success());
    assert_eq!(net.dump(), before);
}

#[test]
fn strangers_take_no_share_of_a_host_in_xdp() {
    spares("xdp");
}

#[test]
fn strangers_take_no_share_of_a_host_in_tc() {
    spares("tc");
}

/// A stranger sends as if it were a host, from one place outside to others, which only user space could open. The host's own
/// first packets of the same kind need user space, and its share is whole.
fn spares(engine: &str) {
    let Some(site) = Site::new() else {
        return;
    };
    let net = &site.net;
    net.dual_stack();
    net.ip("host", &format!("addr add {OTHER}/24 dev eth0"));
    // XDP cannot tell which checksums are not finished.
    net.offload("host", "eth0", &["tx", "off"]);
    site.configure(&format!(
        "{}{HOME}static = [{{ protocol = \"udp\", inside = \"{OTHER}:7007\", outside = \"{OTHER_OUTSIDE}:7007\" }}]\n",
        links(engine, "tos")
    ));
    let gateway = site.start();
    let on = |host: String| net.enter("host", move || UdpSocket::bind(host).unwrap());
    let other = on(format!("{OTHER}:7007"));
    other
        .set_read_timeout(Some(Duration::from_secs(2)))
        .unwrap();
    let of =
        |engine: &str, counter: &str| counted(&gateway, engine, |row| row["counter"] == counter);

    let packets: Packets = Arc::new(|number| {
        let ends = Ends::V4(HOST.parse().unwrap(), OTHER_OUTSIDE.parse().unwrap());
        datagram(ends, (30_000 + (number % 30_000) as u16, 7007), &[0; 18])
    });
    let flood = Flood::start(net.node("server"), &packets, 0, Rate::PerSecond(RATE)).unwrap();
    gateway.wait_until(|_| of(engine, "not-inside") > 1000);
    let arrived = (20_000..20_000 + FLOWS).filter(|port| {
        let socket = on(format!("{HOST}:{port}"));
        socket.send_to(b"?", (OTHER_OUTSIDE, 7007)).unwrap();
        other.recv(&mut [0; 18]).is_ok_and(|octets| octets == 1)
    });
    let arrived = arrived.count();
    let (sent, _) = flood.stop().unwrap();
    let tell = gateway.json("counters --engines");
    println!("{arrived} arrived beside {sent}: {tell}");
    assert_eq!(arrived, usize::from(FLOWS), "{tell}");
    assert!(of(engine, "not-inside") > sent / 2, "{tell}");
    assert_eq!(of(engine, "slow-path-share"), 0, "{tell}");
    assert!(gateway.stop().success());
}

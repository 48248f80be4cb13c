//! The gateway answers neighbours that ask for addresses that it translates, where these are in the network of a link.
//!
//! ```text
//!  host ── 2001:db8:1::/64 ── gateway ── 192.0.2.0/24 ── server
//!   ::2     prefix           ::1       .1    pool       .2
//! ```

use std::fs;
use std::time::{Duration, Instant};

use crate::gateway::Gateway;
use crate::net::Net;
use crate::site::{Site, both_links};

/// The host has the IPv4 address 192.0.2.99, and sees the server under a prefix in its own network.
const SIIT: &str = r#"
[[instance]]
name = "siit"
mechanism = "siit"
prefix = "2001:db8:1::64:0:0/96"
eam = [{ v4 = "192.0.2.99", v6 = "2001:db8:1::2" }]
"#;
const SERVER_OF_SIIT: &str = "2001:db8:1::64:192.0.2.2";

/// The pool is in the network of the server.
const NAT64: &str = r#"
[[instance]]
name = "plat"
mechanism = "nat64"
prefix = "64:ff9b::/96"
allow-non-global = true
pool = [{ addresses = "192.0.2.32/28", ports = "1024-65535" }]
max-sessions = 4096
max-bindings = 4096
"#;
const SERVER_OF_NAT64: &str = "64:ff9b::192.0.2.2";

#[test]
fn user_space_answers_neighbours() {
    answers("");
}

#[test]
fn tc_answers_neighbours() {
    answers(&both_links("tc", ""));
}

#[test]
fn xdp_answers_neighbours() {
    answers(&both_links("xdp", ""));
}

fn answers(links: &str) {
    let Some(site) = Site::new() else {
        return;
    };
    let net = &site.net;
    // Nobody has a route to the gateway but the host, for what is not in its own network.
    net.ip("server", "route del default");
    let before = net.dump();
    site.configure(&format!("{links}{SIIT}{NAT64}"));
    let gateway = site.start();
    for server in [SERVER_OF_SIIT, SERVER_OF_NAT64] {
        assert!(net.pings(server), "{server}: {}", gateway.log());
    }
    // A probe to the gateway alone, whether it is still there.
    let known = net.ip("host", &format!("-6 neigh show {SERVER_OF_SIIT} dev eth0"));
    let mac = known
        .split(' ')
        .nth(2)
        .unwrap_or_else(|| panic!("{known}"))
        .to_owned();
    net.ip(
        "host",
        &format!("-6 neigh replace {SERVER_OF_SIIT} lladdr {mac} dev eth0 nud probe"),
    );
    let state = || net.ip("host", &format!("-6 neigh show {SERVER_OF_SIIT} dev eth0"));
    soon(&gateway, || state().contains("REACHABLE"));
    // Nothing of the machine's own was changed, but forwarding and the link.
    assert!(!net.ip("gateway", "neigh show proxy").contains("192.0.2"));

    // It returns with the link, and with the network of the link.
    net.ip("gateway", "link set tos down");
    net.ip("gateway", "link set tos up");
    forget(net);
    soon(&gateway, || net.pings(SERVER_OF_NAT64));
    net.ip("gateway", "addr flush dev tos");
    net.ip("gateway", "addr add 192.0.2.1/24 dev tos");
    forget(net);
    soon(&gateway, || {
        net.pings(SERVER_OF_NAT64) && net.pings(SERVER_OF_SIIT)
    });

    // Nobody answers any more, whatever the end was.
    gateway.kill();
    forget(net);
    assert!(!asks(net, "192.0.2.33"));
    let gateway = site.start();
    assert!(
        asks(net, "192.0.2.33") && asks(net, "192.0.2.99"),
        "{}",
        gateway.log()
    );
    // Neither for others' addresses, nor twice for the machine's own.
    assert!(!asks(net, "192.0.2.200"));
    assert!(asks(net, "192.0.2.1"));
    assert!(gateway.stop().success());
    assert!(!asks(net, "192.0.2.33"));
    assert_eq!(net.dump(), before);
}

/// The example of the CLAT as it stands, between its host and a network that has IPv6 only.
#[test]
fn the_example_of_a_clat_carries_packets() {
    let Some(site) = Site::new() else {
        return;
    };
    let net = &site.net;
    // The far side of the provider's NAT64, as it looks from here.
    net.ip("gateway", "addr flush dev toh");
    net.ip("gateway", "addr add 2001:db8:1:2::1/64 dev toh nodad");
    net.ip("gateway", "addr add fe80::1/64 dev toh nodad");
    net.ip("host", "addr flush dev eth0");
    net.ip("host", "addr add 2001:db8:1:2::2/64 dev eth0 nodad");
    net.ip("host", "addr add fe80::2/64 dev eth0 nodad");
    net.ip("host", "addr add 64:ff9b::1.2.3.4/128 dev lo nodad");
    net.ip("gateway", "-6 route add default via 2001:db8:1:2::2");
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/siit-clat.toml");
    let example = fs::read_to_string(example).unwrap();
    let socket = site.path("edge.sock");
    let head = format!(
        "[gateway]\nname = \"edge\"\ncontrol = \"{}\"\n\n",
        socket.display()
    );
    fs::write(site.file(), format!("{head}{example}")).unwrap();
    let gateway = site.start();
    let pings = net.pings_from("gateway", "1.2.3.4");
    assert!(pings, "{}", crate::net::text(&gateway.client("counters")));
    assert!(gateway.stop().success());
}

/// Has the hosts forget their neighbours.
fn forget(net: &Net) {
    for node in ["host", "server"] {
        net.ip(node, "neigh flush dev eth0");
        net.ip(node, "-6 neigh flush dev eth0");
    }
}

/// Whether an address of the server's network has an Ethernet address.
fn asks(net: &Net, address: &str) -> bool {
    net.ip("server", "neigh flush dev eth0");
    let mut ping = net.command("server", "ping");
    let _whatever = ping
        .args(["-n", "-c", "1", "-W", "1", address])
        .output()
        .unwrap();
    let neighbour = net.ip("server", &format!("neigh show {address} dev eth0"));
    neighbour.contains("lladdr")
}

fn soon(gateway: &Gateway, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(
            begun.elapsed() < Duration::from_secs(20),
            "{}",
            gateway.log()
        );
        std::thread::sleep(Duration::from_millis(100));
    }
}

//! Routes that the BPF programs remember, and that change.

use std::thread;
use std::time::Duration;

use crate::forward::{PINGS, translated};
use crate::site::{PLAT, Site, both_links};

const SERVER: &str = "64:ff9b::192.0.2.2";
/// Much less than the second after which everything is asked for again, and much more than it takes to
/// hear of a change.
const HEARD: Duration = Duration::from_millis(100);

#[test]
fn xdp_follows_a_next_hop_that_changes() {
    follows("xdp");
}

#[test]
fn tc_follows_a_next_hop_that_changes() {
    follows("tc");
}

/// Both hosts get other Ethernet addresses. What is sent to the old ones is for nobody.
fn follows(engine: &str) {
    let Some(site) = Site::new() else {
        return;
    };
    let net = &site.net;
    if !net.polls() {
        return;
    }
    site.configure(&format!("{}{PLAT}", both_links(engine, "")));
    let gateway = site.start();
    assert!(net.pings(SERVER), "{}", gateway.log());
    for (node, link, host, octet) in [
        ("server", "tos", "192.0.2.2", 1),
        ("host", "toh", "2001:db8:1::2", 2),
    ] {
        let address = format!("02:00:5e:00:53:0{octet}");
        net.ip(node, &format!("link set eth0 address {address}"));
        net.ip(
            "gateway",
            &format!("neigh replace {host} lladdr {address} dev {link}"),
        );
        thread::sleep(HEARD);
        let before = translated(&gateway, engine);
        assert!(net.pings(SERVER), "{node}: {}", gateway.log());
        assert_eq!(translated(&gateway, engine) - before, 2 * PINGS, "{node}");
    }
}

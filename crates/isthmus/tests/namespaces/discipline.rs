//! The queueing discipline of the TUN link.

use isthmus_lab::network::process;

use crate::net::Net;
use crate::site::{HOME, PLAT, Site};

/// Runs `tc` on the gateway.
fn tc(net: &Net, what: &str) -> String {
    let mut tc = net.command("gateway", "tc");
    process::run(tc.args(what.split_whitespace())).unwrap()
}

/// The discipline at the link's root, as the kernel names it, or that of its first queue.
fn root(net: &Net) -> String {
    let all = tc(net, "qdisc show dev isthmus0");
    let first = all.lines().next().unwrap_or_default();
    let name = first.split_whitespace().nth(1);
    name.unwrap_or_default().to_owned()
}

#[test]
fn a_link_has_no_queue_before_that_of_the_device() {
    let Some(site) = Site::new() else { return };
    site.configure(&format!("{PLAT}{HOME}"));
    let gateway = site.start();
    assert_eq!(root(&site.net), "noqueue");
    assert!(gateway.stop().success());
}

#[test]
fn a_link_that_stays_gets_its_discipline_back() {
    let Some(site) = Site::new() else { return };
    let net = &site.net;
    net.ip("gateway", "tuntap add dev isthmus0 mode tun multi_queue");
    net.ip("gateway", "link set isthmus0 up");
    let before = root(net);
    assert_ne!(before, "noqueue");
    site.configure(&format!("{PLAT}{HOME}"));
    let gateway = site.start();
    assert_eq!(root(net), "noqueue");
    assert!(gateway.stop().success());
    net.ip("gateway", "link set isthmus0 up");
    assert_eq!(root(net), before);
}

#[test]
fn a_discipline_of_the_operators_stays() {
    let Some(site) = Site::new() else { return };
    let net = &site.net;
    net.ip("gateway", "tuntap add dev isthmus0 mode tun multi_queue");
    tc(net, "qdisc add dev isthmus0 root pfifo limit 7");
    site.configure(&format!("{PLAT}{HOME}"));
    let gateway = site.start();
    assert_eq!(root(net), "pfifo");
    assert!(gateway.stop().success());
    assert_eq!(root(net), "pfifo");
}

//! Which way translated packets take through the machine: past its firewall, or through it.

use serde_json::Value;

use crate::gateway::Gateway;
use crate::net::{Net, text};
use crate::site::{PLAT, Site, both_links};

const SERVER: &str = "64:ff9b::192.0.2.2";

/// Counts translated packets in the forward chain of the gateway, and at both ends those that were
/// forwarded once on the way: hosts send with a hop limit of 64.
const FIREWALL: &str = "table inet seen {
    counter four { }
    counter six { }
    chain forward {
        type filter hook forward priority 0;
        iifname toh oifname tos ip saddr 203.0.113.0/28 ip daddr 192.0.2.2 counter name four
        iifname tos oifname toh ip6 saddr 64:ff9b::/96 ip6 daddr 2001:db8:1::2 counter name six
    }
}";
const ARRIVALS: &str = "table inet seen {
    counter four { }
    counter six { }
    chain input {
        type filter hook input priority 0;
        ip saddr 203.0.113.0/28 ip ttl 63 counter name four
        ip6 saddr 64:ff9b::/96 ip6 hoplimit 63 counter name six
    }
}";
/// Pings of [`Net::pings`].
pub(crate) const PINGS: u64 = 3;

#[test]
fn xdp_forwards_past_the_firewall() {
    forwards("xdp", "redirect");
}

#[test]
fn xdp_leaves_forwarding_to_the_kernel() {
    forwards("xdp", "kernel");
}

#[test]
fn tc_forwards_past_the_firewall() {
    forwards("tc", "redirect");
}

#[test]
fn tc_leaves_forwarding_to_the_kernel() {
    forwards("tc", "kernel");
}

fn forwards(engine: &str, forward: &str) {
    let Some(site) = Site::new() else {
        return;
    };
    let net = &site.net;
    if !net.has_nft() {
        return;
    }
    if forward == "redirect" {
        // As many distributions have it. The kernel takes no IPv4 packets from the host's link then,
        // which has no IPv4 address.
        let mut sysctl = net.command("gateway", "sysctl");
        sysctl.args(["-q", "-w", "net.ipv4.conf.all.rp_filter=2"]);
        assert!(sysctl.status().unwrap().success());
    }
    net.nft("gateway", FIREWALL);
    net.nft("host", ARRIVALS);
    net.nft("server", ARRIVALS);
    let forward_key = format!("forward = \"{forward}\"");
    site.configure(&format!("{}{PLAT}", both_links(engine, &forward_key)));
    let gateway = site.start();
    // Neighbours are found, a session is made.
    assert!(net.pings(SERVER), "{}", gateway.log());
    for node in ["gateway", "host", "server"] {
        net.nft(node, "reset counters");
    }
    let before = translated(&gateway, engine);
    assert!(net.pings(SERVER), "{}", gateway.log());
    assert_eq!(translated(&gateway, engine) - before, 2 * PINGS);
    let seen = if forward == "kernel" { PINGS } else { 0 };
    assert_eq!(counters(net, "gateway"), (seen, seen));
    assert_eq!(counters(net, "server"), (PINGS, 0));
    assert_eq!(counters(net, "host"), (0, PINGS));

    // What the firewall drops does not pass, where it is asked.
    net.nft(
        "gateway",
        "add rule inet seen forward ip daddr 192.0.2.2 drop",
    );
    assert_eq!(net.pings(SERVER), forward == "redirect");
}

/// Packets that this engine translated, both ways.
pub(crate) fn translated(gateway: &Gateway, engine: &str) -> u64 {
    counted(gateway, engine, |row| {
        row["counter"] == "translated-6to4" || row["counter"] == "translated-4to6"
    })
}

/// Packets that this engine sent on, whatever it did to them.
pub(crate) fn forwarded(gateway: &Gateway, engine: &str) -> u64 {
    counted(gateway, engine, |row| row["kind"] == "forwarded")
}

/// The sum of some of an engine's counters.
fn counted(gateway: &Gateway, engine: &str, some: impl Fn(&Value) -> bool) -> u64 {
    let counters = gateway.json("counters --engines");
    counters
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| row["engine"] == engine && some(row))
        .map(|row| row["value"].as_u64().unwrap())
        .sum()
}

/// Packets of the counters `four` and `six` of a node.
pub(crate) fn counters(net: &Net, node: &str) -> (u64, u64) {
    let mut nft = net.command(node, "nft");
    nft.args(["-j", "list", "counters"]);
    let listed: Value = serde_json::from_str(&text(&nft.output().unwrap())).unwrap();
    let of = |name: &str| {
        listed["nftables"]
            .as_array()
            .unwrap()
            .iter()
            .find(|entry| entry["counter"]["name"] == name)
            .and_then(|entry| entry["counter"]["packets"].as_u64())
            .unwrap()
    };
    (of("four"), of("six"))
}

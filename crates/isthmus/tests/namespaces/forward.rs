//! The path of translated packets through the machine: past its firewall, or through it.

use serde_json::Value;

use crate::gateway::Gateway;
use crate::net::{Net, text};
use crate::site::{PLAT, Site, both_links};

const SERVER: &str = "64:ff9b::192.0.2.2";

/// Counts translated packets in the gateway's forward chain, and at both ends the packets that were forwarded
/// exactly once: hosts send with a hop limit of 64.
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
/// Number of pings of [`Net::pings`].
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
        // Many distributions set this. The kernel then accepts no IPv4 packets from the host's link, which has no IPv4
        // address.
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
    // This resolves neighbours and makes a session.
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

    // Packets that the firewall drops do not pass if the firewall sees them.
    net.nft(
        "gateway",
        "add rule inet seen forward ip daddr 192.0.2.2 drop",
    );
    assert_eq!(net.pings(SERVER), forward == "redirect");
}

/// Returns the number of packets that this engine translated, in both directions.
pub(crate) fn translated(gateway: &Gateway, engine: &str) -> u64 {
    counted(gateway, engine, |row| {
        row["counter"] == "translated-6to4" || row["counter"] == "translated-4to6"
    })
}

/// Returns the number of packets that this engine forwarded in any way.
pub(crate) fn forwarded(gateway: &Gateway, engine: &str) -> u64 {
    counted(gateway, engine, |row| row["kind"] == "forwarded")
}

/// Returns the sum of some counters of an engine.
pub(crate) fn counted(gateway: &Gateway, engine: &str, some: impl Fn(&Value) -> bool) -> u64 {
    let counters = gateway.json("counters --engines");
    counters
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| row["engine"] == engine && some(row))
        .map(|row| row["value"].as_u64().unwrap())
        .sum()
}

/// Returns the packets in the counters `four` and `six` of a node.
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

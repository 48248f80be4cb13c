//! Hosts in VLANs: the gateway works on the lower links, and on frames with tags.

use crate::forward::{PINGS, counters, translated};
use crate::gateway::Gateway;
use crate::net::Net;
use crate::site::{PLAT, Site, both_links};

const SERVER: &str = "64:ff9b::192.0.2.2";

/// Counts the packets that the kernel forwards, between any links.
const FIREWALL: &str = "table inet seen {
    counter four { }
    counter six { }
    chain forward {
        type filter hook forward priority 0;
        ip saddr 203.0.113.0/28 ip daddr 192.0.2.2 counter name four
        ip6 saddr 64:ff9b::/96 ip6 daddr 2001:db8:1::2 counter name six
    }
}";

#[test]
fn xdp_translates_frames_with_tags() {
    with_tags("xdp", "802.1Q");
}

#[test]
fn xdp_translates_frames_with_service_tags() {
    with_tags("xdp", "802.1ad");
}

#[test]
fn tc_translates_frames_with_tags() {
    with_tags("tc", "802.1Q");
}

fn with_tags(engine: &str, protocol: &str) {
    let Some(site) = Site::new() else {
        return;
    };
    let net = &site.net;
    if !net.has_nft() || !tags_are_in_frames(net) {
        return;
    }
    net.nft("gateway", FIREWALL);
    into_vlan(net, Side::Host, protocol);
    into_vlan(net, Side::Server, protocol);
    site.configure(&format!("{}{PLAT}", on_both(engine, "redirect")));
    let gateway = site.start();
    let check = |what: &str| passes(net, &gateway, engine, 0, what);
    check("both tagged");

    // Devices appear and disappear while the gateway runs.
    out_of_vlan(net, Side::Server);
    check("the host tagged");
    into_vlan(net, Side::Server, protocol);
    out_of_vlan(net, Side::Host);
    check("the server tagged");
    out_of_vlan(net, Side::Server);
    check("none tagged");
    drop(gateway);

    into_vlan(net, Side::Host, protocol);
    into_vlan(net, Side::Server, protocol);
    site.configure(&format!("{}{PLAT}", on_both(engine, "kernel")));
    let gateway = site.start();
    passes(net, &gateway, engine, PINGS, "the kernel forwards");
}

/// Frames with a tag that is no VLAN of this machine are not ours, whatever their content. Here they belong to
/// another network namespace, which has its own route to the server.
#[test]
fn xdp_leaves_vlans_of_others_alone() {
    vlans_of_others("xdp");
}

#[test]
fn tc_leaves_vlans_of_others_alone() {
    vlans_of_others("tc");
}

fn vlans_of_others(engine: &str) {
    let Some(site) = Site::new() else {
        return;
    };
    let net = &site.net;
    if !tags_are_in_frames(net) {
        return;
    }
    site.configure(&format!("{}{PLAT}", on_both(engine, "redirect")));
    let gateway = site.start();
    assert!(net.pings(SERVER), "{}", gateway.log());
    let before = translated(&gateway, engine);
    // The host's VLAN ends in the server, on a device of the gateway's link that was moved there. The server has the
    // address of an IPv4 host under the prefix.
    net.ip("host", "link add link eth0 name eth0.10 type vlan id 10");
    net.ip("host", "link set eth0.10 up");
    net.ip("host", "addr add 2001:db8:a::1/64 dev eth0.10 nodad");
    net.ip("host", "route add 64:ff9b::/96 via 2001:db8:a::2");
    net.ip("gateway", "link add link toh name away type vlan id 10");
    net.ip(
        "gateway",
        &format!("link set away netns {}", net.name("server")),
    );
    net.ip("server", "link set away up");
    net.ip("server", "addr add 2001:db8:a::2/64 dev away nodad");
    net.ip("server", "addr add 64:ff9b::192.0.2.2/128 dev lo nodad");
    assert!(net.pings(SERVER), "{}", gateway.log());
    assert_eq!(translated(&gateway, engine), before);
}

fn on_both(engine: &str, forward: &str) -> String {
    both_links(engine, &format!("forward = \"{forward}\""))
}

/// Checks that packets pass this engine, and that this many pass the kernel's forwarding in each direction.
fn passes(net: &Net, gateway: &Gateway, engine: &str, forwarded: u64, what: &str) {
    // This resolves neighbours, makes a session, and lets the gateway learn of new links.
    assert!(net.pings(SERVER), "{what}: {}", gateway.log());
    net.nft("gateway", "reset counters");
    let before = translated(gateway, engine);
    assert!(net.pings(SERVER), "{what}: {}", gateway.log());
    assert_eq!(translated(gateway, engine) - before, 2 * PINGS, "{what}");
    assert_eq!(counters(net, "gateway"), (forwarded, forwarded), "{what}");
}

#[derive(Clone, Copy)]
pub(crate) enum Side {
    Host,
    Server,
}

impl Side {
    /// The far node, the gateway's link to it, and the addresses and route to move from link to link.
    fn moves(self) -> (&'static str, &'static str, [&'static str; 4]) {
        match self {
            Self::Host => (
                "host",
                "toh",
                [
                    "2001:db8:1::2/64",
                    "2001:db8:1::1/64",
                    "fe80::1/64",
                    "2001:db8:1::1",
                ],
            ),
            Self::Server => (
                "server",
                "tos",
                ["192.0.2.2/24", "192.0.2.1/24", "fe80::3/64", "192.0.2.1"],
            ),
        }
    }
}

pub(crate) fn into_vlan(net: &Net, side: Side, protocol: &str) {
    let (node, near, _) = side.moves();
    for (node, link) in [(node, "eth0"), ("gateway", near)] {
        net.ip(
            node,
            &format!("link add link {link} name {link}.10 type vlan protocol {protocol} id 10"),
        );
        net.ip(node, &format!("link set {link}.10 up"));
    }
    shift(net, side, "", ".10");
}

pub(crate) fn out_of_vlan(net: &Net, side: Side) {
    let (node, near, _) = side.moves();
    shift(net, side, ".10", "");
    for (node, link) in [(node, "eth0"), ("gateway", near)] {
        net.ip(node, &format!("link del {link}.10"));
    }
}

/// Moves the addresses, and the default route of the far node.
fn shift(net: &Net, side: Side, from: &str, to: &str) {
    let (node, near, [far_address, near_address, link_local, router]) = side.moves();
    let nodad = if far_address.contains(':') {
        " nodad"
    } else {
        ""
    };
    for (node, link, address) in [(node, "eth0", far_address), ("gateway", near, near_address)] {
        net.ip(node, &format!("addr del {address} dev {link}{from}"));
        net.ip(node, &format!("addr add {address} dev {link}{to}{nodad}"));
    }
    net.ip(
        "gateway",
        &format!("addr replace {link_local} dev {near}{to} nodad"),
    );
    net.ip(node, &format!("route replace default via {router}"));
}

/// Puts tags into the frames, as on a wire. Prints the reason if that is not possible.
fn tags_are_in_frames(net: &Net) -> bool {
    let mut add = net.command("gateway", "ip");
    add.args("link add link toh name toh.10 type vlan id 10".split(' '));
    if !add.output().is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: the kernel has no VLANs (CONFIG_VLAN_8021Q)");
        return false;
    }
    net.ip("gateway", "link del toh.10");
    let done = ["host", "server"].iter().all(|node| {
        let mut ethtool = net.command(node, "ethtool");
        ethtool.args([
            "-K",
            "eth0",
            "txvlan",
            "off",
            "tx-vlan-stag-hw-insert",
            "off",
        ]);
        ethtool.status().is_ok_and(|status| status.success())
    });
    if !done {
        eprintln!("skipped: ethtool cannot have tags in frames");
    }
    done
}

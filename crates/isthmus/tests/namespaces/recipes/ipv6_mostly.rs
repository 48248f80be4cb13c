//! `docs/recipes/ipv6-mostly.md`: DHCP option 108 turns IPv4 off on a laptop, and not on a printer.
//!
//! ```text
//!  laptop ── wlan0 ──┐
//!                    switch ── lan, router, wan ── 203.0.113.0/24 ── eth0, internet
//!  printer ── eth0 ──┘        ::1, 192.168.7.1  .2                .1, 9.9.9.9
//! ```

use isthmus_lab::network::topology::{
    End, Link, Neighbours, Network, Node, Offloads, Role, Topology,
};

use super::{Recipe, SHOPPERS, open_shop};

pub(super) const PAGE: &str = "recipes/ipv6-mostly";

/// A client of DHCP that has never heard of option 108.
const OLD: &str = "allowinterfaces eth0\nipv4only\nnoipv4ll\n";

const CAPTURE: &str = "exec tcpdump --immediate-mode -U -Z root -i lan -w /var/log/lan.pcap";
/// The laptop asks for option 108 and gets it (RFC 8925 section 3.1), and the router advertises the prefix of its NAT64
/// (RFC 8781 section 4), as another program reads them.
const SEEN: [(&str, &str); 3] = [
    (
        "dhcp.option.dhcp == 1 and dhcp.option.request_list_item == 108",
        "DHCP Discover",
    ),
    (
        "dhcp.option.type == 108 and (dhcp.option.dhcp == 2 or dhcp.option.dhcp == 5)",
        "DHCP",
    ),
    ("icmpv6.opt.type == 38", "Router Advertisement"),
];

#[test]
fn a_laptop_lives_without_ipv4_and_a_printer_with_it() {
    let own = [
        ("dhcpcd", "dhcpcd-base"),
        ("tcpdump", "tcpdump"),
        ("tshark", "tshark"),
    ];
    let tools = [&own[..], &SHOPPERS].concat();
    let nodes = ["laptop", "printer", "router", "internet"];
    let Some(recipe) = Recipe::new(&tools, &nodes, network) else {
        return;
    };
    open_shop(recipe.machine("internet"));
    recipe.machine("printer").write("/etc/dhcpcd.conf", OLD);
    let mut capture = recipe.machine("router").shell(CAPTURE).spawn().unwrap();
    recipe.follow(PAGE);
    for (frames, words) in SEEN {
        let tshark = format!("tshark -r /var/log/lan.pcap -Y '{frames}'");
        recipe
            .machine("router")
            .see(&tshark, &[format!("…{words}…")]);
    }
    let _ = capture.kill();
    let _ = capture.wait();
    // Not because nobody answered.
    let laptop = recipe.machine("laptop").log("dhcpcd");
    assert!(laptop.contains("IPv6-Only Preferred received"), "{laptop}");
}

fn network() -> Network {
    let topology = Topology {
        nodes: vec![
            Node::new("laptop", Role::Plain, &[]),
            Node::new("printer", Role::Plain, &[]),
            Node::new("switch", Role::Plain, &[]),
            Node::new("router", Role::Plain, &["default via 203.0.113.1"]),
            Node::new("internet", Role::Host, &[]),
        ],
        links: vec![
            Link::veth(
                End::new("switch", "one", &[]),
                End::new("laptop", "wlan0", &[]),
            ),
            Link::veth(
                End::new("switch", "two", &[]),
                End::new("printer", "eth0", &[]),
            ),
            Link::veth(
                End::new("switch", "three", &[]),
                End::new("router", "lan", &["2001:db8:1::1/64", "192.168.7.1/24"]),
            ),
            Link::veth(
                End::new("router", "wan", &["203.0.113.2/24"]),
                End::new("internet", "eth0", &["203.0.113.1/24"]),
            ),
        ],
        neighbours: Neighbours::Resolved,
        offloads: Offloads::On,
    };
    let network = topology.build().unwrap();
    let run = |node: &str, line: &str| network.node(node).unwrap().run(line).unwrap();
    run("switch", "ip link add bridge type bridge mcast_snooping 0");
    for port in ["one", "two", "three"] {
        run("switch", &format!("ip link set {port} master bridge"));
    }
    run("switch", "ip link set bridge up");
    network
}

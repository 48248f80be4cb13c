//! `docs/recipes/office.md`: one public address for a router with a firewall and the hosts behind it.
//!
//! ```text
//!  host ── eth0, 2001:db8:1::/64 ── lan, router, wan ── 203.0.113.0/24, 2001:db8:0:1::/64 ── eth0, internet
//!   ::10                            ::1           .2                                     .1, 9.9.9.9
//! ```

use isthmus_lab::network::topology::{
    End, Link, Neighbours, Network, Node, Offloads, Role, Topology,
};

use super::{Recipe, SHOPPERS, open_shop};

pub(super) const PAGE: &str = "recipes/office";

/// A service that is no part of the page.
const SSH: &str = "[Service]\nExecStart=nc -ll -p 22 -e echo SSH-2.0-here\n";

#[test]
fn a_page_of_a_server_that_has_ipv4_alone() {
    let nft = [("nft", "nftables")];
    let tools = [&nft[..], &SHOPPERS].concat();
    let Some(recipe) = Recipe::new(&tools, &["host", "router", "internet"], network) else {
        return;
    };
    open_shop(recipe.machine("internet"));
    let router = recipe.machine("router");
    router.write("/etc/systemd/system/ssh.service", SSH);
    router.run("systemctl start ssh");
    recipe.follow(PAGE);
}

pub(super) fn network() -> Network {
    let topology = Topology {
        nodes: vec![
            Node::new("host", Role::Host, &["default via 2001:db8:1::1"]),
            Node::new(
                "router",
                Role::Plain,
                &["default via 203.0.113.1", "default via 2001:db8:0:1::1"],
            ),
            Node::new(
                "internet",
                Role::Host,
                &["2001:db8:1::/64 via 2001:db8:0:1::2"],
            ),
        ],
        links: vec![
            Link::veth(
                End::new("router", "lan", &["2001:db8:1::1/64"]),
                End::new("host", "eth0", &["2001:db8:1::10/64"]),
            ),
            Link::veth(
                End::new("router", "wan", &["203.0.113.2/24", "2001:db8:0:1::2/64"]),
                End::new(
                    "internet",
                    "eth0",
                    &["203.0.113.1/24", "2001:db8:0:1::1/64"],
                ),
            ),
        ],
        neighbours: Neighbours::Resolved,
        offloads: Offloads::On,
    };
    topology.build().unwrap()
}

//! `docs/recipes/pods.md`: a node whose pods have IPv6 alone.
//!
//! ```text
//!  web ── eth0, 2001:db8:42:1::a ── cali1, node, eth0 ── 203.0.113.0/24, 2001:db8:0:1::/64 ── eth0, internet
//!  job ── eth0, 2001:db8:42:1::b ── cali2          .2                                     .1, 9.9.9.9
//! ```

use isthmus_lab::network::topology::{
    End, Link, Neighbours, Network, Node, Offloads, Role, Topology,
};

use super::{Recipe, SHOPPERS, open_shop};

pub(super) const PAGE: &str = "recipes/pods";

#[test]
fn pods_reach_a_server_that_has_ipv4_alone() {
    let nodes = ["web", "job", "node", "internet"];
    let Some(recipe) = Recipe::new(&SHOPPERS, &nodes, network) else {
        return;
    };
    open_shop(recipe.machine("internet"));
    recipe.follow(PAGE);
}

/// As Calico makes it: each pod has a link to the node, which is its router.
fn network() -> Network {
    const GATEWAY: &str = "2001:db8:42:1::1";
    let to_gateway = format!("{GATEWAY}/128 dev eth0");
    let default = format!("default via {GATEWAY}");
    let pod = |name| Node::new(name, Role::Host, &[&to_gateway, &default]);
    let link = |pod, link, address: &str| {
        Link::veth(
            End::new("node", link, &[&format!("{GATEWAY}/128")]),
            End::new(pod, "eth0", &[address]),
        )
    };
    let topology = Topology {
        nodes: vec![
            pod("web"),
            pod("job"),
            Node::new(
                "node",
                Role::Router,
                &[
                    "2001:db8:42:1::a/128 dev cali1",
                    "2001:db8:42:1::b/128 dev cali2",
                    "default via 203.0.113.1",
                    "default via 2001:db8:0:1::1",
                ],
            ),
            Node::new(
                "internet",
                Role::Host,
                &["2001:db8:42::/48 via 2001:db8:0:1::2"],
            ),
        ],
        links: vec![
            link("web", "cali1", "2001:db8:42:1::a/128"),
            link("job", "cali2", "2001:db8:42:1::b/128"),
            Link::veth(
                End::new("node", "eth0", &["203.0.113.2/24", "2001:db8:0:1::2/64"]),
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

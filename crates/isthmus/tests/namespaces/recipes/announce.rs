//! `docs/recipes/announce.md` and `announce-frr.md`: BIRD or FRR announces prefix and pool while the gateway is healthy.
//!
//! ```text
//!  host ── eth0, 2001:db8:1::/64 ── lan ┌──────┐ gw6 ── 2001:db8:f::/64 ── inside  ┌─────────┐
//!   ::10                            ::1 │ core │ ::1                          ::2  │ gateway │
//!  server ── eth0, 198.51.100.0/24 ─ net│      │ gw4 ── 203.0.113.0/30 ─── outside │         │
//!   9.9.9.9         .2               .1 └──────┘  .1                           .2  └─────────┘
//! ```

use isthmus_lab::network::topology::{
    End, Link, Neighbours, Network, Node, Offloads, Role, Topology,
};

use super::Recipe;

pub(super) const PAGES: [&str; 2] = [BIRD, FRR];
const BIRD: &str = "recipes/announce";
const FRR: &str = "recipes/announce-frr";

#[test]
fn a_gateway_that_is_ill_withdraws_its_prefix() {
    follow(&[("bird", "bird2"), ("birdc", "bird2")], BIRD);
}

#[test]
fn a_gateway_with_frr_does_so_too() {
    follow(&[("vtysh", "frr")], FRR);
}

fn follow(tools: &[(&str, &str)], page: &str) {
    if let Some(recipe) = Recipe::new(tools, &["host", "core", "gateway"], network) {
        recipe.follow(page);
    }
}

fn network() -> Network {
    let core6 = "default via 2001:db8:f::1";
    let topology = Topology {
        nodes: vec![
            Node::new("host", Role::Host, &["default via 2001:db8:1::1"]),
            Node::new("core", Role::Router, &["9.9.9.9 via 198.51.100.2"]),
            Node::new("gateway", Role::Plain, &[core6, "default via 203.0.113.1"]),
            Node::new("server", Role::Host, &["default via 198.51.100.1"]),
        ],
        links: vec![
            Link::veth(
                End::new("core", "lan", &["2001:db8:1::1/64"]),
                End::new("host", "eth0", &["2001:db8:1::10/64"]),
            ),
            Link::veth(
                End::new("core", "gw6", &["2001:db8:f::1/64"]),
                End::new("gateway", "inside", &["2001:db8:f::2/64"]),
            ),
            Link::veth(
                End::new("core", "gw4", &["203.0.113.1/30"]),
                End::new("gateway", "outside", &["203.0.113.2/30"]),
            ),
            Link::veth(
                End::new("core", "net", &["198.51.100.1/24"]),
                End::new("server", "eth0", &["198.51.100.2/24"]),
            ),
        ],
        neighbours: Neighbours::Resolved,
        offloads: Offloads::On,
    };
    let network = topology.build().unwrap();
    let server = network.node("server").unwrap();
    server.run("ip address add 9.9.9.9/32 dev lo").unwrap();
    network
}

//! `docs/start`: ten minutes to the first packet.
//!
//! ```text
//!  host ── 192.168.1.0/24 ── lan, home, wan ── fd00:a::/64 ── access, provider, wan ── 198.51.100.0/24 ── internet
//!   .10                       .1          ::2               ::1             .1                      .2, 9.9.9.9
//! ```

use isthmus_lab::network::topology::{
    End, Link, Neighbours, Network, Node, Offloads, Role, Topology,
};

use super::{Recipe, SHOPPERS, office, open_shop};

pub(super) const PAGES: [&str; 3] = [NAT64, MAP, AFTR];
const NAT64: &str = "start/nat64";
const MAP: &str = "start/map-customer";
const AFTR: &str = "start/aftr";

/// The provider of a customer with MAP-T.
const BR: &str = "[[instance]]\nname = \"br\"\nmechanism = \"map-t\"\nrole = \"br\"\nprefix = \"2001:db8:ffff::/64\"
rules = [{ v6 = \"2001:db8::/40\", v4 = \"192.0.2.0/24\", ea-bits = 16 }]\nown-v4 = \"198.51.100.1\"\n";

#[test]
fn a_nat64() {
    let nodes = ["host", "router", "internet"];
    let Some(recipe) = Recipe::new(&SHOPPERS, &nodes, office::network) else {
        return;
    };
    open_shop(recipe.machine("internet"));
    recipe.follow(NAT64);
}

#[test]
fn a_map_customer() {
    let nodes = ["host", "home", "provider", "internet"];
    let Some(recipe) = Recipe::new(&SHOPPERS, &nodes, || network("provider")) else {
        return;
    };
    open_shop(recipe.machine("internet"));
    let provider = recipe.machine("provider");
    provider.write("/etc/isthmus/br.toml", BR);
    provider.run("systemctl start isthmus@br");
    recipe.follow(MAP);
}

#[test]
fn an_aftr() {
    let nodes = ["host", "home", "aftr", "internet"];
    let Some(recipe) = Recipe::new(&SHOPPERS, &nodes, || network("aftr")) else {
        return;
    };
    open_shop(recipe.machine("internet"));
    recipe.follow(AFTR);
}

/// A home and its provider, whose machine has this name.
pub(super) fn network(provider: &'static str) -> Network {
    let node = |name, routes: &[&str]| Node::new(name, Role::Plain, routes);
    let topology = Topology {
        nodes: vec![
            node("host", &["default via 192.168.1.1"]),
            node("home", &["default via fd00:a::1"]),
            node(
                provider,
                &[
                    "2001:db8:a::/48 via fd00:a::2",
                    "2001:db8:12:3400::/56 via fd00:a::2",
                    "default via 198.51.100.2",
                ],
            ),
            node(
                "internet",
                &[
                    "192.0.2.0/24 via 198.51.100.1",
                    "203.0.113.0/28 via 198.51.100.1",
                ],
            ),
        ],
        links: vec![
            Link::veth(
                End::new("home", "lan", &["192.168.1.1/24"]),
                End::new("host", "eth0", &["192.168.1.10/24"]),
            ),
            Link::veth(
                End::new(provider, "access", &["fd00:a::1/64"]),
                End::new("home", "wan", &["fd00:a::2/64"]),
            ),
            Link::veth(
                End::new(provider, "wan", &["198.51.100.1/24"]),
                End::new("internet", "eth0", &["198.51.100.2/24"]),
            ),
        ],
        neighbours: Neighbours::Resolved,
        offloads: Offloads::On,
    };
    topology.build().unwrap()
}

/// Has the home and the provider speak DHCPv6, from addresses that links of the laboratory do not have by themselves.
pub(super) fn speak_dhcpv6(recipe: &Recipe) {
    for (machine, link, address) in [
        ("provider", "access", "fe80::1"),
        ("home", "wan", "fe80::2"),
    ] {
        let line = format!("ip address add {address}/64 dev {link} nodad");
        recipe.machine(machine).run(&line);
    }
}

//! `docs/recipes/map-dhcpv6.md`: a customer of MAP-T hears its rules by DHCPv6, and hears of others later.

use super::start::network;
use super::{Recipe, SHOPPERS, open_shop};

pub(super) const PAGE: &str = "recipes/map-dhcpv6";

#[test]
fn a_customer_follows_its_provider() {
    let daemons = [("dhcpcd", "dhcpcd-base"), ("kea-dhcp6", "kea-dhcp6-server")];
    let tools = [&daemons[..], &SHOPPERS].concat();
    let nodes = ["host", "home", "provider", "internet"];
    let Some(recipe) = Recipe::new(&tools, &nodes, || network("provider")) else {
        return;
    };
    open_shop(recipe.machine("internet"));
    // DHCPv6 speaks from addresses that links of the laboratory do not have by themselves.
    for (machine, link, address) in [
        ("provider", "access", "fe80::1"),
        ("home", "wan", "fe80::2"),
    ] {
        let line = format!("ip address add {address}/64 dev {link} nodad");
        recipe.machine(machine).run(&line);
    }
    let internet = recipe.machine("internet");
    internet.run("ip route replace 203.0.113.0/24 via 198.51.100.1");
    recipe.follow(PAGE);
}

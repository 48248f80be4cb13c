//! `docs/recipes/map-dhcpv6.md`: a customer of MAP-T hears its rules by DHCPv6, and hears of others later.

use super::start::{network, speak_dhcpv6};
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
    speak_dhcpv6(&recipe);
    let internet = recipe.machine("internet");
    internet.run("ip route replace 203.0.113.0/24 via 198.51.100.1");
    recipe.follow(PAGE);
}

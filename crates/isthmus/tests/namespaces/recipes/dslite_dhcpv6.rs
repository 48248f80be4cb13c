//! `docs/recipes/dslite-dhcpv6.md`: a customer of DS-Lite hears the name of its AFTR by DHCPv6, and follows it.

use super::start::{network, speak_dhcpv6};
use super::{Recipe, SHOPPERS, open_shop};

pub(super) const PAGE: &str = "recipes/dslite-dhcpv6";

#[test]
fn a_customer_follows_its_aftr() {
    let daemons = [("dhcpcd", "dhcpcd-base"), ("kea-dhcp6", "kea-dhcp6-server")];
    let tools = [&daemons[..], &SHOPPERS].concat();
    let nodes = ["host", "home", "provider", "internet"];
    let Some(recipe) = Recipe::new(&tools, &nodes, || network("provider")) else {
        return;
    };
    open_shop(recipe.machine("internet"));
    speak_dhcpv6(&recipe);
    recipe.follow(PAGE);
}

//! The kernel does not drop translated packets because of their source.

use super::facts::{Facts, key};
use super::{Case, Check, Defect, Depth, Remedy, Unseen};
use crate::config::{Engine, Forward, Routes};

pub(super) const CHECK: Check = Check {
    name: "rp-filter",
    about: "`rp_filter` drops translated IPv4 packets, whose sources are routed to another link",
    depth: Depth::Start,
    look,
};

#[expect(clippy::unnecessary_wraps, reason = "the type of all checks")]
fn look(case: &Case<'_>) -> Result<Vec<Defect>, Unseen> {
    let document = case.document();
    let kernel_forwards = document
        .interfaces
        .iter()
        .filter(|one| one.engine.value != Engine::User && one.forward == Forward::Kernel);
    let mut links: Vec<&str> = kernel_forwards.map(|one| one.name.value.as_str()).collect();
    // The sources of what comes from the TUN link are routed to it, unless the operator makes the routes.
    if document.tun.routes == Routes::None {
        links.push(&document.tun.name.value);
    }
    let defect = |link| defect(case.facts, link);
    Ok(links.into_iter().filter_map(defect).collect())
}

fn defect(facts: &Facts, name: &str) -> Option<Defect> {
    let link = facts.link(name);
    // What a link will have that is not there yet.
    let own = if link.is_some() { name } else { "default" };
    let [all, own] = ["all", own].map(|name| format!("ipv4/conf/{name}/rp_filter"));
    let value = |path: &String| facts.sysctl(path)?.parse::<u8>().ok();
    let strictest = value(&all).max(value(&own))?;
    // In the loose mode a link without an IPv4 address is judged as in the strict one.
    let has_v4 = link.is_some_and(|link| {
        let mut addresses = facts.addresses_of(link);
        addresses.any(|one| one.network.addr().is_ipv4())
    });
    let drops = strictest == 1 || strictest == 2 && !has_v4;
    let [all, own] = [all, own].map(|path| key(&path));
    drops.then(|| {
        Defect::new(
            format!("{all} or {own} is {strictest}"),
            format!("The kernel drops IPv4 packets from {name} if their sources are routed to another link"),
            Remedy::command(format!("sysctl -w {all}=0 {own}=0")),
        )
    })
}

//! The machine hears the routers that it has its address and default route from.

use std::collections::BTreeSet;

use super::facts::{key, set};
use super::{Case, Check, Defect, Depth, Remedy, Unseen};
use crate::link::{Forwarding, Wanted};

pub(super) const CHECK: Check = Check {
    name: "accept-ra",
    about: "`accept_ra` is 1 on an uplink: a machine that forwards ignores router advertisements there",
    depth: Depth::Start,
    look,
};

#[expect(clippy::unnecessary_wraps, reason = "the type of all checks")]
fn look(case: &Case<'_>) -> Result<Vec<Defect>, Unseen> {
    let facts = case.facts;
    let wanted = Wanted::of(case.document());
    let will_forward = wanted.forwarding == Forwarding::Needed;
    let forwards = facts.sysctl("ipv6/conf/all/forwarding").as_deref() == Some("1");
    if !will_forward && !forwards {
        return Ok(Vec::new());
    }
    let defect = |link: &str| {
        let path = format!("ipv6/conf/{link}/accept_ra");
        (facts.sysctl(&path)? == "1").then(|| {
            Defect::new(
                format!("{} is 1", key(&path)),
                format!(
                    "While the machine forwards, which the gateway turns on, the kernel ignores the routers on \
                     {link}: the default route goes at once, and addresses expire"
                ),
                Remedy::command(set(&path, "2")),
            )
        })
    };
    let uplinks = uplinks(case).into_iter();
    // There the gateway sees to it, unless the machine forwarded before.
    let left = uplinks.filter(|link| forwards || !wanted.uplinks.contains(*link));
    Ok(left.filter_map(defect).collect())
}

/// The links on which there is a router that the machine listens to.
fn uplinks<'a>(case: &'a Case<'_>) -> BTreeSet<&'a str> {
    let facts = case.facts;
    let addresses = facts.addresses.iter().filter(|one| one.by_router);
    let routes = facts.routes.iter().filter(|one| one.by_router);
    let discovered = case.document().discoveries();
    let discovered = discovered.filter_map(|(_, discovery)| discovery.interface.as_ref());
    let numbers = addresses
        .map(|one| one.link)
        .chain(routes.filter_map(|one| one.link));
    numbers
        .map(|number| facts.name_of(number))
        .chain(discovered.map(|name| name.value.as_str()))
        .collect()
}

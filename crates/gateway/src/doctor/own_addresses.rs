//! The gateway's addresses are not the machine's own as well.

use ipnet::IpNet;

use super::facts::{Address, Facts};
use super::{Case, Check, Defect, Depth, Remedy, Unseen};
use crate::config::{Engine, Mechanism, Pool};

pub(super) const ADDRESSES: Check = Check {
    name: "own-addresses",
    about: "an address of the machine is one that the gateway translates: in user space the kernel takes its packets",
    depth: Depth::Start,
    look: addresses,
};

#[expect(clippy::unnecessary_wraps, reason = "the type of all checks")]
fn addresses(case: &Case<'_>) -> Result<Vec<Defect>, Unseen> {
    let document = case.document();
    let in_kernel = document
        .interfaces
        .iter()
        .any(|one| one.engine.value != Engine::User);
    if in_kernel {
        return Ok(Vec::new());
    }
    let pools: Vec<IpNet> = pools(case).map(|pool| pool.addresses.into()).collect();
    let mut defects = Vec::new();
    for network in document.routes() {
        // Of everything, the machine's own addresses are no part; and pools have a check of their own.
        if network.prefix_len() == 0 || pools.iter().any(|pool| network.contains(pool)) {
            continue;
        }
        for (address, link) in own(case, network) {
            let address = address.network;
            defects.push(Defect::new(
                format!("{address} of {link} is in {network}, which the gateway translates"),
                "The kernel keeps packets to its own addresses, and the gateway does not get them",
                Remedy::command(format!("ip address del {address} dev {link}")),
            ));
        }
    }
    Ok(defects)
}

/// The machine's addresses in a network, on other links than the gateway's.
fn own<'a>(case: &'a Case<'_>, network: IpNet) -> impl Iterator<Item = (&'a Address, &'a str)> {
    let tun = case.document().tun.name.value.as_str();
    let facts: &Facts = case.facts;
    let named = facts
        .addresses
        .iter()
        .map(|one| (one, facts.name_of(one.link)));
    named.filter(move |(one, link)| *link != tun && network.contains(&one.network.addr()))
}

fn pools<'a>(case: &'a Case<'_>) -> impl Iterator<Item = Pool> + 'a {
    let instances = case.document().instances.iter();
    // A shared address has its ports by a rule, and its pool is no choice of the operator.
    let chosen = instances.filter(|one| !matches!(one.mechanism, Mechanism::Composed(_)));
    let nats = chosen.filter_map(|instance| instance.mechanism.nat());
    nats.flat_map(|nat| nat.pool.iter().map(|pool| pool.value))
}

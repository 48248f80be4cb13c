//! The gateway's addresses and ports are not the machine's own as well.

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

pub(super) const PORTS: Check = Check {
    name: "own-ports",
    about: "ports of a pool on an address of the machine, which the kernel gives to its own sockets too",
    depth: Depth::Start,
    look: ports,
};

/// Ports that the kernel gives to no socket that does not ask for them.
const RESERVED: &str = "ipv4/ip_local_reserved_ports";

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

#[expect(clippy::unnecessary_wraps, reason = "the type of all checks")]
fn ports(case: &Case<'_>) -> Result<Vec<Defect>, Unseen> {
    let facts = case.facts;
    let local = facts.sysctl("ipv4/ip_local_port_range").unwrap_or_default();
    let mut local = local
        .split_whitespace()
        .filter_map(|port| port.parse::<u16>().ok());
    let (Some(first), Some(last)) = (local.next(), local.next()) else {
        return Ok(Vec::new());
    };
    let reserved = facts.sysctl(RESERVED).unwrap_or_default();
    let is_reserved = |port: u16| ranges(&reserved).any(|(low, high)| (low..=high).contains(&port));
    let mut defects = Vec::new();
    for pool in pools(case) {
        let Some((address, link)) = own(case, pool.addresses.into()).next() else {
            continue;
        };
        let (low, high) = (pool.ports.0.max(first), pool.ports.1.min(last));
        if (low..=high).all(is_reserved) {
            continue;
        }
        let all = match reserved.as_str() {
            "" => format!("{low}-{high}"),
            some => format!("{some},{low}-{high}"),
        };
        let path = RESERVED.replace('/', ".");
        defects.push(Defect::new(
            format!("the pool has ports {low} to {high} of {}, an address of {link}", address.network.addr()),
            "The kernel may give the same port to a socket of this machine, whose answers then go to a host",
            Remedy::command(format!("sysctl -w net.{path}={all}")),
        ));
    }
    Ok(defects)
}

/// The ranges of a list such as `8080,1024-2047`.
fn ranges(list: &str) -> impl Iterator<Item = (u16, u16)> {
    list.split(',').filter_map(|range| {
        let (low, high) = range.split_once('-').unwrap_or((range, range));
        Some((low.trim().parse().ok()?, high.trim().parse().ok()?))
    })
}

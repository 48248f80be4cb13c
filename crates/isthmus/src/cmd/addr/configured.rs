//! The meaning of an address to the instances of a configuration.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use isthmus_core::address::eam::Mapping;
use isthmus_core::address::{V4, V6};
use isthmus_core::config as core;
use isthmus_gateway::config::{Document, Mechanism, Nat, Prefix, Siit};

use super::softwire;

/// Returns a sentence for each instance that uses the address, and for the port where ports are shared.
pub(super) fn explain(address: IpAddr, port: Option<u16>, document: &Document) -> Vec<String> {
    let mut found = Vec::new();
    for instance in &document.instances {
        let lines = match (&instance.mechanism, address) {
            (Mechanism::Siit(siit), IpAddr::V4(address)) => siit_v4(siit, address),
            (Mechanism::Siit(siit), IpAddr::V6(address)) => siit_v6(siit, address),
            (Mechanism::Nat64(nat64), IpAddr::V6(address)) => {
                let prefix = nat64.prefix.value;
                match prefix.extract(address.into()) {
                    Some(v4) => vec![format!("stands for the IPv4 host {v4} under {prefix}")],
                    None => Vec::new(),
                }
            }
            (Mechanism::Nat64(nat64), IpAddr::V4(address)) => {
                let embedded = nat64.prefix.embed(address.into());
                let mut lines = pool(&nat64.nat, address);
                if lines.is_empty() {
                    lines.push(format!("IPv6 hosts reach it at {embedded}"));
                }
                lines
            }
            (Mechanism::Nat44(nat44), IpAddr::V4(address)) => {
                let mut lines = pool(&nat44.nat, address);
                if nat44.inside.iter().any(|net| net.contains(&address)) {
                    lines.push("is an inside host".to_owned());
                }
                lines
            }
            (Mechanism::Composed(composed), address) => {
                let claims = composed.claims.iter();
                let claims = claims.filter(|claim| claim.network.contains(&address));
                let mut lines: Vec<_> = claims
                    .map(|claim| format!("is one of the {} {}", claim.what, claim.network))
                    .collect();
                if let core::AnyMechanism::LwAftr(aftr) = &composed.core {
                    lines.extend(softwire::explain(aftr, &composed.softwires, address, port));
                }
                lines
            }
            (Mechanism::Nat44(_), IpAddr::V6(_)) => Vec::new(),
        };
        let name = &instance.name.value;
        found.extend(lines.into_iter().map(|line| format!("\"{name}\": {line}")));
    }
    if found.is_empty() {
        found.push("no instance of the configuration translates it".to_owned());
    }
    found
}

fn pool(nat: &Nat, address: Ipv4Addr) -> Vec<String> {
    let entry = nat
        .pool
        .iter()
        .find(|pool| pool.addresses.contains(&address));
    entry
        .map(|pool| {
            let (low, high) = pool.ports;
            format!("is in the pool, with the ports {low} to {high}")
        })
        .into_iter()
        .collect()
}

fn siit_v4(siit: &Siit, address: Ipv4Addr) -> Vec<String> {
    let v4 = V4::from(address);
    let counterpart = |mapping: &Mapping| Some((mapping.v4().1, mapping.counterpart_of_v4(v4)?));
    if let Some((v6, by)) = explicit(siit, counterpart) {
        return vec![format!(
            "stands for the IPv6 host {v6}, by the mapping {by}"
        )];
    }
    let Some(prefix) = &siit.prefix else {
        return Vec::new();
    };
    let (v6, prefix) = match prefix.value {
        Prefix::Rfc6052(prefix) => (prefix.embed(v4), prefix.to_string()),
        Prefix::Ivi(prefix) => (prefix.embed(v4), prefix.to_string()),
    };
    vec![if siit.hosts.iter().any(|net| net.contains(&address)) {
        format!("stands for the IPv6 host {v6}, under {prefix}")
    } else {
        format!("IPv6 hosts reach it at {v6}")
    }]
}

fn siit_v6(siit: &Siit, address: Ipv6Addr) -> Vec<String> {
    let v6 = V6::from(address);
    let counterpart = |mapping: &Mapping| Some((mapping.v6().1, mapping.counterpart_of_v6(v6)?));
    if let Some((v4, by)) = explicit(siit, counterpart) {
        return vec![format!("is {v4} to the IPv4 side, by the mapping {by}")];
    }
    let found = siit.prefix.as_ref().and_then(|prefix| match prefix.value {
        Prefix::Rfc6052(prefix) => Some((prefix.extract(v6)?, prefix.to_string())),
        Prefix::Ivi(prefix) => Some((prefix.extract(v6)?, prefix.to_string())),
    });
    found
        .map(|(v4, prefix)| format!("stands for the IPv4 address {v4}, under {prefix}"))
        .into_iter()
        .collect()
}

/// Returns the counterpart of an address by the explicit mapping with the longest prefix, and that mapping in words.
/// `counterpart` gives that length and the counterpart of a mapping.
fn explicit<A>(
    siit: &Siit,
    counterpart: impl Fn(&Mapping) -> Option<(u8, A)>,
) -> Option<(A, String)> {
    let known = siit.eam.iter();
    let known = known.filter_map(|mapping| Some((mapping, counterpart(mapping)?)));
    let (mapping, (_, other)) = known.max_by_key(|(_, (length, _))| *length)?;
    let ((v4, v4_length), (v6, v6_length)) = (mapping.v4(), mapping.v6());
    Some((other, format!("{v4}/{v4_length} = {v6}/{v6_length}")))
}

//! The meaning of an address to the instances of a configuration.

mod softwire;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use isthmus_core::address::eam::Mapping;
use isthmus_core::address::{V4, V6};
use isthmus_core::config as core;

use crate::config::{Document, Instance, Mechanism, Nat, PortPolicy, Prefix, Siit};

/// Returns a sentence for each instance that uses the address, and for the port where ports are shared.
#[must_use]
pub fn explain(address: IpAddr, port: Option<u16>, document: &Document) -> Vec<String> {
    let mut found = Vec::new();
    for instance in &document.instances {
        let lines = to(instance, address, port);
        let name = &instance.name.value;
        found.extend(lines.into_iter().map(|line| format!("\"{name}\": {line}")));
    }
    if found.is_empty() {
        found.push("no instance of the configuration translates it".to_owned());
    }
    found
}

/// The same for one instance.
pub(crate) fn to(instance: &Instance, address: IpAddr, port: Option<u16>) -> Vec<String> {
    match (&instance.mechanism, address) {
        (Mechanism::Siit(siit), IpAddr::V4(address)) => siit_v4(siit, address),
        (Mechanism::Siit(siit), IpAddr::V6(address)) => siit_v6(siit, address),
        (Mechanism::Nat64(nat64), IpAddr::V6(address)) => {
            let prefix = nat64.prefix.value;
            match prefix.extract(address.into()) {
                Some(v4) => vec![format!("stands for the IPv4 host {v4} under {prefix}")],
                None => calculated(&nat64.nat, address.into()),
            }
        }
        (Mechanism::Nat64(nat64), IpAddr::V4(address)) => {
            let embedded = nat64.prefix.embed(address.into());
            let mut lines = pool(&nat64.nat, address, port);
            if lines.is_empty() {
                lines.push(format!("IPv6 hosts reach it at {embedded}"));
            }
            lines
        }
        (Mechanism::Nat44(nat44), IpAddr::V4(address)) => {
            let mut lines = pool(&nat44.nat, address, port);
            if nat44.inside.iter().any(|net| net.contains(&address)) {
                lines.push("is an inside host".to_owned());
                lines.extend(calculated(&nat44.nat, address.into()));
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
    }
}

/// The ports of an inside host by calculation.
fn calculated(nat: &Nat, host: IpAddr) -> Vec<String> {
    let ports = nat.ports_of(host).into_iter();
    let lines = ports.map(|(address, first, last)| {
        format!("has the ports {first} to {last} of {address}, by calculation (RFC 7422)")
    });
    lines.collect()
}

/// The pool that an address is in, and who has its ports by calculation.
fn pool(nat: &Nat, address: Ipv4Addr, port: Option<u16>) -> Vec<String> {
    let mut lines = in_pool(nat, address);
    let PortPolicy::Deterministic { inside, size } = nat.ports.value else {
        return lines;
    };
    if lines.is_empty() {
        return lines;
    }
    lines.push(
        match port.map(|port| (port, nat.subscriber_of(address, port))) {
            None => format!(
                "its ports are subscribers' in {inside}, {size} each, by calculation (RFC 7422)"
            ),
            Some((port, Some(subscriber))) => {
                format!("its port {port} is that of {subscriber}, by calculation (RFC 7422)")
            }
            Some((port, None)) => format!("its port {port} is nobody's, by calculation (RFC 7422)"),
        },
    );
    lines
}

fn in_pool(nat: &Nat, address: Ipv4Addr) -> Vec<String> {
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

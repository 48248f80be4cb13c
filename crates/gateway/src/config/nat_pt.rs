//! `nat-pt` (RFC 2766), which RFC 4966 has moved to history: it is here to be measured.

use ipnet::{IpNet, Ipv6Net};
use isthmus_core::address::eam::Mapping;
use isthmus_core::config as core;
use isthmus_core::mechanism::nat_pt::ADDRESS_PORT;
use isthmus_core::nat::{Endpoint4, Inside, Pooling, Protocol, StaticBinding, Subscriber};

use super::alg::{self, Application};
use super::composed::{self, Composed, fit_v6, no_nat};
use super::diagnose::Diagnostic;
use super::document::{Nat, Pool};
use super::source::At;
use super::table::{Reader, Value};
use super::{instance, nat, overlap, prefix, section};

/// Keys of a NAT that shares addresses by ports, which Basic NAT-PT does not.
const OF_PORTS: [&str; 6] = [
    "static",
    "port-blocks",
    "deterministic",
    "pooling",
    "pcp",
    "count-traffic",
];

/// What is translated.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Variant {
    /// Addresses: Basic NAT-PT (RFC 2766 section 3.1).
    Basic,
    /// Ports as well: NAPT-PT (section 3.2).
    Napt,
}

impl Variant {
    /// What the data plane takes.
    fn mechanism(self, translator: core::Nat64) -> (&'static str, core::AnyMechanism) {
        match self {
            Self::Basic => {
                let of_addresses = translator;
                let basic = core::NatPt { of_addresses };
                ("nat-pt basic", core::AnyMechanism::NatPt(basic))
            }
            Self::Napt => ("nat-pt napt", core::AnyMechanism::Nat64(translator)),
        }
    }
}

/// Either variant.
pub(super) fn nat_pt(reader: &Reader<'_>) -> Option<Composed> {
    let variants = [("basic", Variant::Basic), ("napt", Variant::Napt)];
    let variant = reader.needs("variant", "\"basic\"", |v| v.word(&variants));
    let prefix = reader.needs("prefix", "\"2001:db8:64::/96\"", |v| {
        Some(v.at(prefix::rfc6052(&v)?))
    });
    let inside: Vec<At<Ipv6Net>> = composed::listed(reader, "inside");
    if inside.is_empty() {
        reader.missing("inside", "[\"2001:db8:1::/48\"]");
    }
    let refused = variant == Some(Variant::Basic) && refuse_ports(reader);
    let mapped = reader.get("eam");
    let mappings = section::each(reader, "eam", "a list of mappings", host);
    let alg = alg::read(
        reader,
        &[("dns", Application::Dns), ("ftp", Application::Ftp)],
    );
    let nat = nat::nat(reader, nat::Side::V6);
    let (variant, prefix, mut nat) = (variant?, prefix?, nat?);
    match (variant, mapped) {
        (Variant::Basic, _) => of_addresses(reader, &mut nat, &mappings),
        (Variant::Napt, Some(value)) => {
            value.refuse("maps addresses", "only with `variant = \"basic\"`");
        }
        (Variant::Napt, None) => {}
    }
    warn_of_history(reader);
    if refused {
        return None;
    }
    let (name, core) = variant.mechanism(core::Nat64 {
        prefix: prefix.value,
        inside: fit_v6(&inside),
        nat: no_nat(),
    });
    let mut composed = Composed::new(name, core);
    composed.claim(overlap::of_rfc6052(&prefix), "prefix", prefix.span);
    for pool in &nat.pool {
        composed.claim(pool.addresses, "pool", pool.span);
    }
    composed.plan.push(format!(
        "IPv6 packets from {} to {} go to the IPv4 host that the address embeds",
        composed::list(&inside),
        prefix.value
    ));
    if variant == Variant::Basic {
        let line = "each host has an outside address of its own, and keeps its ports";
        composed.plan.push(line.to_owned());
    }
    composed.plan.extend(alg::plan(alg));
    composed.alg = alg;
    let subscriber = Subscriber::v6_prefix(nat.subscriber_prefix);
    composed.nat = Some((nat, subscriber));
    Some(composed)
}

/// Refuses the keys of a NAT that shares addresses. Returns whether there are any.
fn refuse_ports(reader: &Reader<'_>) -> bool {
    let given = OF_PORTS.iter().filter_map(|key| reader.get(key));
    let refused = given.map(|value| {
        let problem = "is about ports, which this variant leaves alone";
        value.refuse(problem, "only with `variant = \"napt\"`");
    });
    refused.count() != 0
}

/// Makes the NAT one of addresses.
fn of_addresses(reader: &Reader<'_>, nat: &mut Nat, mappings: &[At<StaticBinding>]) {
    for pool in &mut nat.pool {
        if pool.ports != Pool::DEFAULT_PORTS {
            let message = "`ports` in the pool of addresses that are not shared";
            let label = "expected `addresses` alone with `variant = \"basic\"`";
            reader
                .sink
                .push(Diagnostic::error(pool.span, message, label));
        }
        pool.value.ports = (ADDRESS_PORT, ADDRESS_PORT);
    }
    nat.pooling = Pooling::Arbitrary;
    nat.static_bindings = mappings.to_vec();
}

/// `{ v4 = "…", v6 = "…" }`: the address that a host always has.
fn host(value: Value<'_>) -> Option<At<StaticBinding>> {
    let expected = "expected one address on each side, such as \
                    { v4 = \"203.0.113.1\", v6 = \"2001:db8:1::1\" }";
    let at = instance::mapping(value)?;
    let mapping: &Mapping = &at.value;
    let (v4, v6) = overlap::of_mapping(mapping);
    if (IpNet::V4(v4).prefix_len(), IpNet::V6(v6).prefix_len()) != (32, 128) {
        value.refuse(format_args!("maps {v4} to {v6}"), expected);
        return None;
    }
    Some(value.at(StaticBinding {
        protocol: Protocol::Tcp,
        inside: Inside {
            address: v6.addr().into(),
            ..Inside::default()
        },
        outside: Endpoint4 {
            address: v4.addr().into(),
            port: ADDRESS_PORT,
        },
    }))
}

/// RFC 4966 says why.
fn warn_of_history(reader: &Reader<'_>) {
    let Some(mechanism) = reader.get("mechanism") else {
        return;
    };
    let message =
        "NAT-PT is history (RFC 4966): it breaks DNSSEC, and keeps hosts from IPv6 that they have";
    let label = "expected `mechanism = \"nat64\"` with [dns64], unless you measure it";
    reader
        .sink
        .push(Diagnostic::warning(mechanism.span, message, label));
}

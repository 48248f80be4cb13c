//! Shared IPv4 addresses over an IPv6 network: `ds-lite` at the concentrator, `map-e`, `map-t`,
//! `lw4o6` and `clat`.

use std::net::Ipv4Addr;

use ipnet::{Ipv4Net, Ipv6Net};
use isthmus_core::address::map::{Customer, MapRule, MapRules, Ports};
use isthmus_core::address::port_set::{PortSet, Sharing};
use isthmus_core::config as core;
use isthmus_core::nat;

use super::composed::{self, Composed, fit_v4, fit_v6, list, no_nat};
use super::document::{Nat, Pcp, Pool};
use super::pcp::{self, Asking};
use super::source::At;
use super::table::{Reader, Value};
use super::tunnel::Role;
use super::{discovery, instance, overlap, prefix, section};

/// The concentrator of DS-Lite (RFC 6333 section 6).
pub(super) fn aftr(reader: &Reader<'_>) -> Option<Composed> {
    let local = composed::v6(reader, "local", "\"2001:db8::1\"");
    let softwires = composed::v6_networks(reader, "softwires", Some("::/0"), "[\"2001:db8::/32\"]");
    for key in ["static", "deterministic"] {
        if let Some(value) = reader.get(key) {
            let expected = "expected it in a `nat44` instance only";
            value.refuse("does not say behind which softwire the host is", expected);
        }
    }
    let nat = super::nat::of_softwires(reader);
    let (local, nat) = (local?, nat?);
    let core = core::AnyMechanism::Aftr(core::Aftr {
        local: local.value.into(),
        softwires: fit_v6(&softwires),
        nat: no_nat(),
    });
    let mut composed = Composed::new("ds-lite aftr", core);
    for pool in &nat.pool {
        composed.claim(pool.addresses, "pool", pool.span);
    }
    composed.claim(
        Ipv6Net::from(local.value),
        "end of the softwires",
        local.span,
    );
    composed.own.1 = Some(local.value);
    composed.plan.push(format!(
        "IPv4 packets in IPv6 packets from {} to {} come out",
        list(&softwires),
        local.value
    ));
    // A subscriber is a softwire.
    composed.nat = Some((nat, nat::Subscriber::v6_prefix(128)));
    Some(composed)
}

/// What a customer of a domain has to know of it.
struct Site {
    customer: Customer,
    inside: Vec<At<Ipv4Net>>,
    mesh: MapRules,
}

/// MAP-E (RFC 7597).
pub(super) fn map_e(reader: &Reader<'_>) -> Option<Composed> {
    let role = role(reader);
    let rules = rules(reader);
    match role? {
        Role::Border => {
            let local = composed::v6(reader, "local", "\"2001:db8::1\"");
            let (rules, local) = (rules?, local?);
            let shared = shared(&rules);
            let core = core::AnyMechanism::MapEBr(core::MapEBr {
                local: local.value.into(),
                destinations: fit_v4(&shared),
                rules: table(&rules),
            });
            let mut composed = Composed::new("map-e br", core);
            composed.claim(
                Ipv6Net::from(local.value),
                "end of the softwires",
                local.span,
            );
            composed.own.1 = Some(local.value);
            border_plan(&mut composed, &rules, &shared);
            Some(composed)
        }
        Role::Edge => {
            let border = composed::v6(reader, "br", "\"2001:db8::1\"");
            let site = site(reader, rules.as_deref());
            let (border, site) = (border?, site?);
            let customer = &site.customer;
            let core = core::AnyMechanism::MapECe(core::MapECe {
                local: customer.address,
                br: border.value.into(),
                inside: fit_v4(&site.inside),
                rules: site.mesh,
                nat: no_nat(),
            });
            let pcp = pcp::of_ports(reader, Asking::V4);
            edge("map-e ce", core, reader, customer, &site.inside, pcp)
        }
    }
}

/// MAP-T (RFC 7599).
pub(super) fn map_t(reader: &Reader<'_>) -> Option<Composed> {
    let role = role(reader);
    let rules = rules(reader);
    let default = reader.require("prefix", "\"64:ff9b::/96\"");
    let default = default.and_then(|v| Some(v.at(prefix::rfc6052(&v)?)));
    match role? {
        Role::Border => {
            let (rules, default) = (rules?, default?);
            let shared = shared(&rules);
            let core = core::AnyMechanism::MapTBr(core::MapTBr {
                prefix: default.value,
                destinations: fit_v4(&shared),
                rules: table(&rules),
            });
            let mut composed = Composed::new("map-t br", core);
            composed.claim(overlap::of_rfc6052(&default), "prefix", default.span);
            border_plan(&mut composed, &rules, &shared);
            Some(composed)
        }
        Role::Edge => {
            let site = site(reader, rules.as_deref());
            let (default, site) = (default?, site?);
            let customer = &site.customer;
            let core = core::AnyMechanism::MapTCe(core::MapTCe {
                prefix: default.value,
                local: customer.address,
                address: customer.v4,
                inside: fit_v4(&site.inside),
                rules: site.mesh,
                nat: no_nat(),
            });
            let pcp = pcp::of_ports(reader, Asking::V4);
            edge("map-t ce", core, reader, customer, &site.inside, pcp)
        }
    }
}

/// The customer side of 464XLAT for hosts that share one address (RFC 6877 section 6.3, RFC 7335).
pub(super) fn clat(reader: &Reader<'_>) -> Option<Composed> {
    let plat = discovery::prefix(reader);
    let proxy = reader.get("pcp").map(|v| pcp::of_clat(&v));
    let local = composed::v6(reader, "local", "\"2001:db8:1::464\"");
    let inside = composed::v4_networks(reader, "inside", None, "[\"192.168.0.0/16\"]");
    let address = match reader.get("address") {
        // The IPv4 service continuity prefix (RFC 7335).
        None => Some(Ipv4Addr::new(192, 0, 0, 1)),
        Some(value) => value.ipv4(),
    };
    let ((prefix, discovery), local, address) = (plat?, local?, address?);
    let proxy = match proxy {
        None => None,
        Some(proxy) => Some(proxy?.at(local.value, &prefix)?),
    };
    let core = core::AnyMechanism::MapTCe(core::MapTCe {
        prefix,
        local: local.value.into(),
        address: address.into(),
        inside: fit_v4(&inside),
        rules: MapRules::NONE,
        nat: no_nat(),
    });
    let customer = Customer {
        v4: address.into(),
        v4_length: 32,
        ports: PortSet::WHOLE,
        address: local.value.into(),
    };
    let mut composed = edge("clat", core, reader, &customer, &inside, None)?;
    composed.plan.push(match &discovery {
        None => format!("the IPv4 internet is behind {prefix}"),
        Some(discovery) => format!(
            "the IPv4 internet is behind a prefix that is learned from {}",
            discovery.places()
        ),
    });
    composed.discovery = discovery;
    if let Some(proxy) = proxy {
        composed.plan.push(proxy.to_string());
        composed.pcp_proxy = Some(proxy);
    }
    Some(composed)
}

/// The customer side of lw4o6 (RFC 7596 section 5): its address and ports are given.
pub(super) fn lwb4(reader: &Reader<'_>) -> Option<Composed> {
    let border = composed::v6(reader, "aftr", "\"2001:db8::1\"");
    let local = composed::v6(reader, "local", "\"2001:db8:1::1\"");
    let address = composed::v4(reader, "address", "\"203.0.113.18\"");
    let inside = composed::v4_networks(reader, "inside", None, "[\"192.168.0.0/16\"]");
    let ports = port_set(reader);
    let (border, local, address, ports) = (border?, local?, address?, ports?);
    let core = core::AnyMechanism::MapECe(core::MapECe {
        local: local.value.into(),
        br: border.value.into(),
        inside: fit_v4(&inside),
        rules: MapRules::NONE,
        nat: no_nat(),
    });
    let customer = Customer {
        v4: address.value.into(),
        v4_length: 32,
        ports,
        address: local.value.into(),
    };
    let pcp = pcp::of_ports(reader, Asking::V4);
    edge("lw4o6 b4", core, reader, &customer, &inside, pcp)
}

fn role(reader: &Reader<'_>) -> Option<Role> {
    let roles = [("ce", Role::Edge), ("br", Role::Border)];
    instance::role(reader, "\"ce\"", &roles)
}

/// What all edges with a NAT have.
fn edge(
    name: &'static str,
    core: core::AnyMechanism,
    reader: &Reader<'_>,
    customer: &Customer,
    inside: &[At<Ipv4Net>],
    pcp: Option<Pcp>,
) -> Option<Composed> {
    let address = Ipv4Addr::from(customer.v4);
    for key in ["port-blocks", "deterministic"] {
        if let Some(value) = reader.get(key) {
            let expected = "expected it where a pool is shared: an edge gives its ports one by one";
            value.refuse("is for pools", expected);
        }
    }
    if customer.v4_length < 32 {
        let value = reader.get("end-user-prefix")?;
        let expected = "expected a customer with an address, whole or shared: edges translate their \
                        hosts to one address";
        value.refuse(
            format_args!("makes a customer with {address}/{}", customer.v4_length),
            expected,
        );
        return None;
    }
    let pool = At {
        value: Pool {
            addresses: Ipv4Net::from(address),
            ports: (1, u16::MAX),
        },
        span: reader.span,
    };
    let nat = Nat {
        set: customer.ports,
        pcp,
        ..super::nat::of_edge(reader, pool)
    };
    let mut composed = Composed::new(name, core);
    composed.nat = Some((nat, nat::Subscriber::v4_host()));
    composed.sources = inside.iter().map(|net| net.value).collect();
    composed.claim(
        Ipv6Net::from(std::net::Ipv6Addr::from(customer.address)),
        "address of the edge",
        reader.span,
    );
    composed.own = (Some(address), Some(customer.address.into()));
    let ports = customer.ports;
    composed.plan.push(format!(
        "IPv4 packets from {} leave as {address} from {}",
        list(inside),
        customer.address
    ));
    composed.plan.push(if ports.sharing().is_whole() {
        "with all ports of the address".to_owned()
    } else {
        format!(
            "with the {} ports of PSID {:#x} ({} bits behind {})",
            ports.count(),
            ports.psid(),
            ports.sharing().length(),
            ports.sharing().offset()
        )
    });
    Some(composed)
}

fn border_plan(composed: &mut Composed, rules: &[At<MapRule>], shared: &[At<Ipv4Net>]) {
    for network in shared {
        composed.claim(network.value, "addresses that are shared", network.span);
    }
    for rule in rules {
        let ((v6, v6_length), (v4, v4_length)) = (rule.v6(), rule.v4());
        composed.plan.push(format!(
            "customers under {v6}/{v6_length} have {v4}/{v4_length}, by {} EA bits, {} to an address",
            rule.ea_bits(),
            rule.sharing().ratio()
        ));
    }
}

/// The customer that this edge is, from its delegated prefix and the rule that covers it.
fn site(reader: &Reader<'_>, rules: Option<&[At<MapRule>]>) -> Option<Site> {
    let inside = composed::v4_networks(reader, "inside", None, "[\"192.168.0.0/16\"]");
    let value = reader.require("end-user-prefix", "\"2001:db8:12:3400::/56\"");
    let mesh = reader.get("mesh").map_or(Some(false), |v| v.boolean());
    let value = value?;
    let delegated = value.ipv6_net()?;
    let rules = rules?;
    let basic = rules
        .iter()
        .filter(|rule| rule.covers_v6(delegated.network().into()))
        .max_by_key(|rule| rule.v6().1);
    let Some(basic) = basic else {
        let expected = "expected a prefix under the IPv6 prefix of one of `rules`";
        value.refuse(format_args!("is \"{delegated}\""), expected);
        return None;
    };
    let prefix = (delegated.network().into(), delegated.prefix_len());
    let customer = match basic.customer(prefix) {
        Ok(customer) => customer,
        Err(error) => {
            let expected = "expected the prefix that the customer was delegated";
            value.refuse(format_args!("is \"{delegated}\": {error}"), expected);
            return None;
        }
    };
    Some(Site {
        customer,
        inside,
        mesh: if mesh? { table(rules) } else { MapRules::NONE },
    })
}

/// `rules`: at least one.
fn rules(reader: &Reader<'_>) -> Option<Vec<At<MapRule>>> {
    let example = "[{ v6 = \"2001:db8::/40\", v4 = \"192.0.2.0/24\", ea-bits = 16 }]";
    if reader.get("rules").is_none() {
        reader.missing("rules", example);
        return None;
    }
    let rules = section::each(reader, "rules", "a list of mapping rules", rule);
    let mut fitting = MapRules::NONE;
    for rule in &rules {
        if let (Err(error), Some(value)) = (fitting.push(rule.value), reader.get("rules")) {
            Value {
                span: rule.span,
                ..value
            }
            .refuse(
                format_args!("contradict each other: {error}"),
                "expected rules that tell customers apart",
            );
            return None;
        }
    }
    (!rules.is_empty()).then_some(rules)
}

/// `{ v6 = "…", v4 = "…", ea-bits = … }`
fn rule(value: Value<'_>) -> Option<At<MapRule>> {
    let example = "a mapping rule such as { v6 = \"2001:db8::/40\", v4 = \"192.0.2.0/24\", \
                   ea-bits = 16 }";
    let reader = value.table("a mapping rule", example)?;
    let v6 = reader.require("v6", "\"2001:db8::/40\"");
    let v4 = reader.require("v4", "\"192.0.2.0/24\"");
    let ea_bits = reader.require("ea-bits", "16");
    let (v6, v4) = (v6.and_then(|v| v.ipv6_net()), v4.and_then(|v| v.ipv4_net()));
    let ea_bits = ea_bits.and_then(|v| v.integer(0..=48));
    let ports = match (reader.get("psid"), reader.get("psid-length")) {
        (None, None) => offset(&reader).map(|offset| Ports::Embedded { offset }),
        _ => port_set(&reader).map(Ports::Given),
    };
    reader.finish(|_| None);
    let (v6, v4) = (v6?, v4?);
    let rule = MapRule::new(
        (v6.network().into(), v6.prefix_len()),
        (v4.network().into(), v4.prefix_len()),
        ea_bits?,
        ports?,
    );
    match rule {
        Ok(rule) => Some(value.at(rule)),
        Err(error) => {
            value.refuse(format_args!("has a rule that can not be: {error}"), example);
            None
        }
    }
}

/// `psid-offset`
pub(super) fn offset(reader: &Reader<'_>) -> Option<u8> {
    match reader.get("psid-offset") {
        None => Some(Sharing::DEFAULT_OFFSET),
        Some(value) => value.integer(0..=15),
    }
}

/// `psid-offset`, `psid-length` and `psid`; without them, all ports.
fn port_set(reader: &Reader<'_>) -> Option<PortSet> {
    let offset = offset(reader);
    let length = reader.get("psid-length").map(|v| v.integer(0..=16));
    let psid = reader.get("psid").map(|v| v.integer(0..=u16::MAX));
    let (length, psid) = match (length, psid) {
        (None, None) => return Some(PortSet::WHOLE),
        (Some(length), Some(psid)) => (length?, psid?),
        (None, Some(_)) => {
            reader.missing("psid-length", "8");
            return None;
        }
        (Some(_), None) => {
            reader.missing("psid", "52");
            return None;
        }
    };
    match PortSet::new(offset?, length, psid) {
        Ok(set) => Some(set),
        Err(error) => {
            let value = reader.get("psid")?;
            value.refuse(
                format_args!("is {psid}: {error}"),
                "expected `psid` and `psid-length` that fit each other",
            );
            None
        }
    }
}

/// The rules as the packet path takes them. More than fit were refused when they were read.
fn table(rules: &[At<MapRule>]) -> MapRules {
    let mut table = MapRules::NONE;
    for rule in rules {
        let _ = table.push(rule.value);
    }
    table
}

/// The IPv4 addresses of customers.
fn shared(rules: &[At<MapRule>]) -> Vec<At<Ipv4Net>> {
    rules
        .iter()
        .map(|rule| {
            let (address, length) = rule.v4();
            At {
                value: Ipv4Net::new_assert(address.into(), length),
                span: rule.span,
            }
        })
        .collect()
}

//! Shared IPv4 addresses over an IPv6 network: `ds-lite` at the AFTR, `map-e`, `map-t`,
//! `lw4o6` and `clat`.

use std::net::Ipv4Addr;

use ipnet::{Ipv4Net, Ipv6Net};
use isthmus_core::address::map::{Ce, MapRule, MapRules};
use isthmus_core::address::port_set::PortSet;
use isthmus_core::config as core;
use isthmus_core::datagrams::BorderDatagrams;
use isthmus_core::nat;

use super::composed::{self, Composed, fit_v4, fit_v6, list, no_nat};
use super::document::{Nat, Pcp, Pool};
use super::map_rules::{port_set, rules, shared, site, table};
use super::pcp::{self, Asking};
use super::source::At;
use super::table::Reader;
use super::tunnel::Role;
use super::{discovery, host, instance, overlap, prefix};

/// The AFTR of DS-Lite (RFC 6333 section 6).
pub(super) fn aftr(reader: &Reader<'_>) -> Option<Composed> {
    let local = composed::v6(reader, "local", "\"2001:db8::1\"");
    let softwires = composed::networks(reader, "softwires", Some("::/0"), "[\"2001:db8::/32\"]");
    for key in ["static", "deterministic"] {
        if let Some(value) = reader.get(key) {
            let expected = "expected it in a `nat44` instance only";
            value.refuse("does not name the softwire of the host", expected);
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
        "IPv4 packets in IPv6 packets from {} to {} are decapsulated",
        list(&softwires),
        local.value
    ));
    // A subscriber is a softwire.
    composed.nat = Some((nat, nat::Subscriber::v6_prefix(128)));
    Some(composed)
}

/// MAP-E (RFC 7597).
pub(super) fn map_e(reader: &Reader<'_>) -> Option<Composed> {
    let role = role(reader);
    let rules = rules(reader);
    match role? {
        Role::Br => {
            let local = composed::v6(reader, "local", "\"2001:db8::1\"");
            let (rules, local) = (rules?, local?);
            let shared = shared(&rules);
            let core = core::AnyMechanism::MapEBr(core::MapEBr {
                local: local.value.into(),
                destinations: fit_v4(&shared),
                rules: table(&rules),
                datagrams: BorderDatagrams::default(),
            });
            let mut composed = Composed::new("map-e br", core);
            composed.claim(
                Ipv6Net::from(local.value),
                "end of the softwires",
                local.span,
            );
            composed.own.1 = Some(local.value);
            br_plan(&mut composed, &rules, &shared);
            Some(composed)
        }
        Role::Ce => {
            let br = composed::v6(reader, "br", "\"2001:db8::1\"");
            let site = site(reader, rules.as_deref());
            let (br, site) = (br?, site?);
            let customer = &site.customer;
            let core = core::AnyMechanism::MapECe(core::MapECe {
                local: customer.address,
                br: br.value.into(),
                inside: fit_v4(&site.inside),
                rules: site.mesh,
                nat: no_nat(),
            });
            let pcp = pcp::of_ports(reader, Asking::V4);
            ce("map-e ce", core, reader, customer, &site.inside, pcp)
        }
    }
}

/// MAP-T (RFC 7599).
pub(super) fn map_t(reader: &Reader<'_>) -> Option<Composed> {
    let role = role(reader);
    let rules = rules(reader);
    let default = reader.needs("prefix", "\"64:ff9b::/96\"", |v| {
        Some(v.at(prefix::rfc6052(&v)?))
    });
    match role? {
        Role::Br => {
            let (rules, default) = (rules?, default?);
            let shared = shared(&rules);
            let core = core::AnyMechanism::MapTBr(core::MapTBr {
                prefix: default.value,
                destinations: fit_v4(&shared),
                rules: table(&rules),
                datagrams: BorderDatagrams::default(),
            });
            let mut composed = Composed::new("map-t br", core);
            composed.claim(overlap::of_rfc6052(&default), "prefix", default.span);
            br_plan(&mut composed, &rules, &shared);
            Some(composed)
        }
        Role::Ce => {
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
            ce("map-t ce", core, reader, customer, &site.inside, pcp)
        }
    }
}

/// The CLAT of 464XLAT for hosts that share one address (RFC 6877 section 6.3, RFC 7335).
pub(super) fn clat(reader: &Reader<'_>) -> Option<Composed> {
    if reader.get("uplink").is_some() {
        return host::host(reader);
    }
    let plat = discovery::prefix(reader);
    let proxy = reader.get("pcp").map(|v| pcp::of_clat(&v));
    let local = composed::v6(reader, "local", "\"2001:db8:1::464\"");
    let inside = composed::networks(reader, "inside", None, "[\"192.168.0.0/16\"]");
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
    let customer = Ce {
        v4: address.into(),
        v4_length: 32,
        ports: PortSet::WHOLE,
        address: local.value.into(),
    };
    let mut composed = ce("clat", core, reader, &customer, &inside, None)?;
    composed.plan.push(match &discovery {
        None => format!("the IPv4 internet is behind {prefix}"),
        Some(discovery) => format!(
            "the IPv4 internet is behind a prefix from {}",
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

/// The lwB4 of lw4o6 (RFC 7596 section 5): its address and ports are given.
pub(super) fn lw_b4(reader: &Reader<'_>) -> Option<Composed> {
    let br = composed::v6(reader, "aftr", "\"2001:db8::1\"");
    let local = composed::v6(reader, "local", "\"2001:db8:1::1\"");
    let address = composed::v4(reader, "address", "\"203.0.113.18\"");
    let inside = composed::networks(reader, "inside", None, "[\"192.168.0.0/16\"]");
    let ports = port_set(reader);
    let (br, local, address, ports) = (br?, local?, address?, ports?);
    let core = core::AnyMechanism::MapECe(core::MapECe {
        local: local.value.into(),
        br: br.value.into(),
        inside: fit_v4(&inside),
        rules: MapRules::NONE,
        nat: no_nat(),
    });
    let customer = Ce {
        v4: address.value.into(),
        v4_length: 32,
        ports,
        address: local.value.into(),
    };
    let pcp = pcp::of_ports(reader, Asking::V4);
    ce("lw4o6 b4", core, reader, &customer, &inside, pcp)
}

fn role(reader: &Reader<'_>) -> Option<Role> {
    let roles = [("ce", Role::Ce), ("br", Role::Br)];
    instance::role(reader, "\"ce\"", &roles)
}

/// The part that all CEs with a NAT have in common.
fn ce(
    name: &'static str,
    core: core::AnyMechanism,
    reader: &Reader<'_>,
    customer: &Ce,
    inside: &[At<Ipv4Net>],
    pcp: Option<Pcp>,
) -> Option<Composed> {
    let address = Ipv4Addr::from(customer.v4);
    let nat = ce_nat(reader, address, customer, pcp)?;
    let mut composed = Composed::new(name, core);
    composed.nat = Some((nat, nat::Subscriber::v4_host()));
    composed.sources = inside.iter().map(|net| net.value).collect();
    composed.claim(
        Ipv6Net::from(std::net::Ipv6Addr::from(customer.address)),
        "address of the CE",
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

/// The NAT of a CE, whose pool is its one address.
fn ce_nat(reader: &Reader<'_>, address: Ipv4Addr, customer: &Ce, pcp: Option<Pcp>) -> Option<Nat> {
    for key in ["port-blocks", "deterministic"] {
        if let Some(value) = reader.get(key) {
            let expected = "expected it where a pool is shared: a CE assigns its ports one by one";
            value.refuse("is for pools", expected);
        }
    }
    if customer.v4_length < 32 {
        let value = reader.get("end-user-prefix")?;
        let expected = "expected a CE with an address, whole or shared: a CE translates its hosts to \
                        one address";
        value.refuse(
            format_args!("makes a CE with {address}/{}", customer.v4_length),
            expected,
        );
        return None;
    }
    let pool = reader.at(Pool {
        addresses: Ipv4Net::from(address),
        ports: (1, u16::MAX),
    });
    Some(Nat {
        set: customer.ports,
        pcp,
        ..super::nat::of_ce(reader, pool)
    })
}

fn br_plan(composed: &mut Composed, rules: &[At<MapRule>], shared: &[At<Ipv4Net>]) {
    for network in shared {
        composed.claim(network.value, "shared addresses", network.span);
    }
    for rule in rules {
        let ((v6, v6_length), (v4, v4_length)) = (rule.v6(), rule.v4());
        composed.plan.push(format!(
            "CEs under {v6}/{v6_length} have {v4}/{v4_length}, by {} EA bits, {} to an address",
            rule.ea_bits(),
            rule.sharing().ratio()
        ));
    }
}

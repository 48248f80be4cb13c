//! The mapping rules of `map-e` and `map-t`, and port sets.

use ipnet::Ipv4Net;
use isthmus_core::address::map::{Ce, MapRule, MapRules, Ports};
use isthmus_core::address::port_set::{PortSet, Sharing};

use super::source::At;
use super::table::{Reader, Value};
use super::{composed, section};

/// A CE of a domain.
pub(super) struct Site {
    pub(super) customer: Ce,
    pub(super) inside: Vec<At<Ipv4Net>>,
    pub(super) mesh: MapRules,
}

/// The CE that this is, from its delegated prefix and the rule that covers it.
pub(super) fn site(reader: &Reader<'_>, rules: Option<&[At<MapRule>]>) -> Option<Site> {
    let inside = composed::networks(reader, "inside", None, "[\"192.168.0.0/16\"]");
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
    let customer = match basic.ce(prefix) {
        Ok(customer) => customer,
        Err(error) => {
            let expected = "expected the prefix that was delegated to the CE";
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
pub(super) fn rules(reader: &Reader<'_>) -> Option<Vec<At<MapRule>>> {
    let example = "[{ v6 = \"2001:db8::/40\", v4 = \"192.0.2.0/24\", ea-bits = 16 }]";
    if reader.get("rules").is_none() {
        reader.missing("rules", example);
        return None;
    }
    let rules = section::each(reader, "rules", "a list of mapping rules", rule);
    let mut fitting = MapRules::NONE;
    for rule in &rules {
        if let (Err(error), Some(value)) = (fitting.push(rule.value), reader.get("rules")) {
            value.spanning(rule.span).refuse(
                format_args!("contradict each other: {error}"),
                "expected rules that give each CE its own addresses and ports",
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
    let v6 = reader.needs("v6", "\"2001:db8::/40\"", |v| v.routable_ipv6_net());
    let v4 = reader.needs("v4", "\"192.0.2.0/24\"", |v| v.ipv4_net());
    let ea_bits = reader.needs("ea-bits", "16", |v| v.integer(0..=48));
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
            value.refuse(
                format_args!("has a rule that is not possible: {error}"),
                example,
            );
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
pub(super) fn port_set(reader: &Reader<'_>) -> Option<PortSet> {
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
                "expected a `psid` of `psid-length` bits",
            );
            None
        }
    }
}

/// The rules as the packet path takes them. More than fit were refused when they were read.
pub(super) fn table(rules: &[At<MapRule>]) -> MapRules {
    let mut table = MapRules::NONE;
    for rule in rules {
        let _ = table.push(rule.value);
    }
    table
}

/// The IPv4 addresses of CEs.
pub(super) fn shared(rules: &[At<MapRule>]) -> Vec<At<Ipv4Net>> {
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

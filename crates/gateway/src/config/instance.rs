//! One `[[instance]]`: the keys that every mechanism has, and those of SIIT.

use ipnet::Ipv4Net;
use isthmus_core::address::eam::Mapping;
use isthmus_core::address::{V4, V6};
use isthmus_core::config::{Hairpin, ServiceClass, ZeroUdpChecksum};

use super::alg::{self, Application};
use super::choice::PrefixFormat;
use super::diagnose::Diagnostic;
use super::document::{Composed, Instance, Mechanism, Nat44, Nat64, NonGlobal, Policy, Siit};
use super::rows::Files;
use super::source::At;
use super::table::{Reader, Value};
use super::tunnel::Role;
use super::{composed, isatap, lwaftr, mapping, nat, nat_pt, prefix, section, sharing, tunnel};

const STATEFUL: &str = "nat64, nat44, ds-lite, map-e, map-t, lw4o6, clat or nat-pt";

/// Keys that only some mechanisms have, and which.
const OF_MECHANISM: &[(&str, &str)] = &[
    ("eam", "siit or nat-pt"),
    ("eam-file", "siit"),
    ("hosts", "siit"),
    ("hairpin", "siit or lw4o6"),
    ("prefix", "siit, nat64, 6rd, isatap, map-t, clat or nat-pt"),
    ("prefix-format", "siit"),
    ("discovery", "clat"),
    (
        "inside",
        "nat64, nat44, map-e, map-t, lw4o6, clat or nat-pt",
    ),
    ("exempt", "nat44 or ds-lite"),
    ("pool", "nat64, nat44, ds-lite or nat-pt"),
    ("subscriber-prefix", "nat64 or nat-pt"),
    ("filtering", STATEFUL),
    ("unsolicited-syn", STATEFUL),
    ("pooling", STATEFUL),
    ("max-bindings", STATEFUL),
    ("max-sessions", STATEFUL),
    ("max-subscribers", STATEFUL),
    ("max-fragments", STATEFUL),
    ("count-traffic", "nat64, nat44, ds-lite or nat-pt"),
    ("subscriber-sessions", STATEFUL),
    ("subscriber-bindings", STATEFUL),
    ("subscriber-session-rate", STATEFUL),
    ("subscriber-limits", STATEFUL),
    ("port-blocks", "nat64, nat44, ds-lite or nat-pt"),
    ("deterministic", "nat64, nat44 or nat-pt"),
    ("static", STATEFUL),
    ("timers", STATEFUL),
    ("allow-short-timers", STATEFUL),
    (
        "pcp",
        "nat64, nat44, ds-lite, map-e, map-t, lw4o6, clat or nat-pt",
    ),
    (
        "local",
        "6in4, 4in6, 6to4, 6rd, isatap, ds-lite, map-e, lw4o6 or clat",
    ),
    ("remote", "6in4 or 4in6"),
    ("networks", "6in4, 4in6, isatap or ds-lite"),
    ("relay", "6to4"),
    ("role", "6to4, 6rd, isatap, ds-lite, map-e, map-t or lw4o6"),
    ("routers", "isatap"),
    ("router-lifetime", "isatap"),
    ("router-name", "isatap"),
    ("br", "6rd or map-e"),
    ("v4-prefix", "6rd"),
    ("aftr", "ds-lite or lw4o6"),
    ("softwires", "ds-lite or lw4o6"),
    ("softwire-file", "lw4o6"),
    ("sharing", "lw4o6"),
    ("incoming-icmp", "lw4o6"),
    ("unbound-v4", "lw4o6"),
    ("unbound-v6", "lw4o6"),
    ("rules", "map-e or map-t"),
    ("end-user-prefix", "map-e or map-t"),
    ("mesh", "map-e or map-t"),
    ("address", "lw4o6 or clat"),
    ("uplink", "clat"),
    ("psid", "lw4o6"),
    ("psid-length", "lw4o6"),
    ("psid-offset", "lw4o6"),
    ("variant", "nat-pt"),
    ("alg", "nat64 or nat-pt"),
];

/// The keys that a mechanism shares with some others, or has alone, with the names of all that have them.
pub(super) fn of_mechanism(
    name: &str,
) -> impl Iterator<Item = &'static (&'static str, &'static str)> {
    OF_MECHANISM
        .iter()
        .filter(move |(_, mechanisms)| words(mechanisms).any(|word| word == name))
}

/// Every key that not all mechanisms have, with the names of those that have it.
pub fn keys_of_mechanisms() -> impl Iterator<Item = (&'static str, Vec<&'static str>)> {
    let keys = OF_MECHANISM.iter();
    keys.map(|(key, mechanisms)| (*key, words(mechanisms).collect()))
}

/// The names in a list of mechanisms.
fn words(mechanisms: &'static str) -> impl Iterator<Item = &'static str> {
    let words = mechanisms.split([',', ' ']);
    words.filter(|word| !word.is_empty() && *word != "or")
}

#[derive(Clone, Copy)]
enum Kind {
    Siit,
    Nat64,
    Nat44,
    Composed(fn(&Reader<'_>) -> Option<Composed>),
    Lw4o6,
}

/// Reads an instance. `None` if something without which it makes no sense is missing or wrong.
pub(super) fn instance(reader: Reader<'_>, files: &mut Files<'_>) -> Option<Instance> {
    let kinds = [
        ("siit", Kind::Siit),
        ("nat64", Kind::Nat64),
        ("nat44", Kind::Nat44),
        ("6in4", Kind::Composed(tunnel::six_in_four)),
        ("4in6", Kind::Composed(tunnel::four_in_six)),
        ("6to4", Kind::Composed(tunnel::six_to_four)),
        ("6rd", Kind::Composed(tunnel::six_rd)),
        ("isatap", Kind::Composed(isatap::isatap)),
        ("ds-lite", Kind::Composed(ds_lite)),
        ("map-e", Kind::Composed(sharing::map_e)),
        ("map-t", Kind::Composed(sharing::map_t)),
        ("lw4o6", Kind::Lw4o6),
        ("clat", Kind::Composed(sharing::clat)),
        ("nat-pt", Kind::Composed(nat_pt::nat_pt)),
    ];
    let name = reader.needs("name", "\"plat\"", |v| Some(v.at(v.name()?)));
    let kinds = kinds.map(|(word, kind)| (word, (word, kind)));
    let kind = reader.needs("mechanism", "\"nat64\"", |v| v.word(&kinds));
    let (word, kind) = kind.unzip();
    let policy = policy(&reader);
    let mechanism = match kind {
        Some(Kind::Siit) => siit(&reader, files).map(Mechanism::Siit),
        Some(Kind::Nat64) => nat64(&reader).map(Mechanism::Nat64),
        Some(Kind::Nat44) => nat44(&reader).map(Mechanism::Nat44),
        Some(Kind::Composed(read)) => read(&reader).map(Box::new).map(Mechanism::Composed),
        Some(Kind::Lw4o6) => lw4o6(&reader, files).map(Box::new).map(Mechanism::Composed),
        None => {
            accept_keys(&reader);
            None
        }
    };
    reader.finish(|key| {
        let (_, mechanisms) = OF_MECHANISM.iter().find(|(k, _)| *k == key)?;
        let is_of = |word| words(mechanisms).any(|one| one == word);
        Some(match word.is_some_and(is_of) {
            true => "only with the other `role`".into(),
            false => format!("only with `mechanism` {mechanisms}"),
        })
    });
    Some(Instance {
        name: name?,
        policy,
        mechanism: mechanism?,
    })
}

/// The role of an instance.
pub(super) fn role<T: Copy>(
    reader: &Reader<'_>,
    example: &str,
    roles: &[(&'static str, T)],
) -> Option<T> {
    let role = reader.require("role", example);
    let role = role.and_then(|value| value.word(roles));
    if role.is_none() {
        accept_keys(reader);
    }
    role
}

/// Lets the keys of all mechanisms pass: which are right depends on a mechanism or a role that is not known.
fn accept_keys(reader: &Reader<'_>) {
    for (key, _) in OF_MECHANISM {
        reader.get(key);
    }
}

fn ds_lite(reader: &Reader<'_>) -> Option<Composed> {
    let roles: [(_, fn(&Reader<'_>) -> _); 2] = [("b4", tunnel::b4), ("aftr", sharing::aftr)];
    role(reader, "\"aftr\"", &roles)?(reader)
}

fn lw4o6(reader: &Reader<'_>, files: &mut Files<'_>) -> Option<Composed> {
    let roles = [("b4", Role::Ce), ("aftr", Role::Br)];
    match role(reader, "\"b4\"", &roles)? {
        Role::Ce => sharing::lw_b4(reader),
        Role::Br => lwaftr::lwaftr(reader, files),
    }
}

fn policy(reader: &Reader<'_>) -> Policy {
    let class = |key| reader.read(key, |v| service_class(&v));
    let lowest = reader.read("lowest-ipv6-mtu", |v| v.integer(1280..=u16::MAX));
    let errors = reader.read("icmp-errors", |v| v.integer(0..=10_000_000));
    let zero_udp_checksum = reader.choice("zero-udp-checksum");
    let clamp = reader.read("mss-clamp", |v| v.word(&[("off", false), ("auto", true)]));
    let allowed = reader.read("allow-non-global", |v| v.boolean());
    Policy {
        traffic_class: class("traffic-class").unwrap_or(ServiceClass::Copy),
        tos: class("tos").unwrap_or(ServiceClass::Copy),
        lowest_ipv6_mtu: lowest.unwrap_or(1280),
        zero_udp_checksum: zero_udp_checksum.unwrap_or(ZeroUdpChecksum::Compute),
        icmp_errors: errors.unwrap_or(1000),
        icmp_source_v4: icmp_source_v4(reader),
        icmp_source_v6: reader.read("icmp-source-v6", |v| Some(v.at(v.ipv6()?))),
        own_v4: reader.read("own-v4", |v| Some(v.at(v.ipv4()?))),
        mss_clamp: clamp.unwrap_or(false),
        non_global: match allowed {
            Some(true) => NonGlobal::Allow,
            Some(false) | None => NonGlobal::Refuse,
        },
    }
}

/// `"copy"`, or the octet to write instead.
fn service_class(value: &Value<'_>) -> Option<ServiceClass> {
    if value.value.as_integer().is_some() {
        return value.integer(0..=u8::MAX).map(ServiceClass::Set);
    }
    let text = value.string("\"copy\" or a number from 0 to 255")?;
    if text != "copy" {
        let expected = "expected \"copy\" or a number from 0 to 255";
        value.refuse(format_args!("is {text:?}"), expected);
        return None;
    }
    Some(ServiceClass::Copy)
}

/// RFC 6791 asks for a pool of "one or more" addresses: one network of them.
fn icmp_source_v4(reader: &Reader<'_>) -> Option<At<Ipv4Net>> {
    let value = reader.get("icmp-source-v4")?;
    let expected = "a list with one IPv4 network such as [\"198.51.100.0/29\"]";
    let list = value.list(expected);
    if value.value.as_array().is_some() && list.len() != 1 {
        let problem = format!("is a list of {}", list.len());
        value.refuse(problem, format!("expected {expected}"));
        return None;
    }
    let value = list.into_iter().next()?;
    Some(value.at(value.ipv4_net()?))
}

fn siit(reader: &Reader<'_>, files: &mut Files<'_>) -> Option<Siit> {
    let format = reader.choice("prefix-format");
    let format = format.unwrap_or(PrefixFormat::Rfc6052);
    let prefix = reader.get("prefix");
    let given = prefix.is_some();
    let prefix = prefix.and_then(|v| Some(v.at(format.prefix(&v)?)));
    let mut hosts = composed::listed(reader, "hosts");
    let mut eam = section::each(reader, "eam", "a list of mappings", mapping);
    let file = reader.get("eam-file");
    let mapped = reader.get("eam").is_some() || file.is_some();
    if let Some(value) = file {
        eam.extend(mapping::file(&value, files));
    }
    let hairpin = reader.choice("hairpin");
    if let (Some(prefix), true) = (&prefix, eam.is_empty() && !mapped && hosts.is_empty()) {
        let message = "no `hosts` and no mappings: every IPv4 address is translated";
        let label = "as if `hosts = [\"0.0.0.0/0\"]` were there";
        let help = "list the IPv4 addresses that represent IPv6 hosts under this prefix";
        reader
            .sink
            .push(Diagnostic::warning(prefix.span, message, label).help(help));
        hosts.push(At {
            value: Ipv4Net::default(),
            span: prefix.span,
        });
    }
    if given && prefix.is_none() {
        // The prefix was refused already; its absence needs no second message.
        return None;
    }
    Some(Siit {
        prefix,
        hosts,
        eam: eam.into(),
        // RFC 7757 section 4.2 leaves the choice. Simple hairpinning takes every source for one of a hairpin, so that a
        // CLAT (RFC 6877), whose own host has a mapping, would send from an address under the prefix.
        hairpin: hairpin.unwrap_or(Hairpin::Intrinsic),
    })
}

/// `{ v4 = "…", v6 = "…" }`
pub(super) fn mapping(value: Value<'_>) -> Option<At<Mapping>> {
    let example = "a mapping such as { v4 = \"192.0.2.1\", v6 = \"2001:db8::1\" }";
    let reader = value.table("a mapping", example)?;
    let v4 = reader.needs("v4", "\"192.0.2.1\"", |v| v.ipv4_net());
    let v6 = reader.needs("v6", "\"2001:db8::1\"", |v| v.ipv6_net());
    reader.finish(|_| None);
    let (v4, v6) = (v4?, v6?);
    let mapping = Mapping::new(
        V4::from(v4.addr()),
        v4.prefix_len(),
        V6::from(v6.addr()),
        v6.prefix_len(),
    );
    match mapping {
        Ok(mapping) => Some(value.at(mapping)),
        Err(error) => {
            value.refuse(format_args!("maps {v4} to {v6}: {error}"), mapping::ADVICE);
            None
        }
    }
}

fn nat64(reader: &Reader<'_>) -> Option<Nat64> {
    let prefix = reader.require("prefix", "\"64:ff9b::/96\"");
    if let Some(format) = reader.get("prefix-format")
        && format.choice() == Some(PrefixFormat::Ivi)
    {
        let expected = "IVI is stateless: `mechanism = \"siit\"` (RFC 6219)";
        format.refuse("is \"ivi\" in a stateful instance", expected);
    }
    let prefix = prefix.and_then(|v| Some(v.at(prefix::rfc6052(&v)?)));
    let inside = match reader.get("inside") {
        None => Vec::new(),
        Some(_) => composed::networks(reader, "inside", None, "[\"2001:db8:1::/48\"]"),
    };
    let nat = nat::nat(reader, nat::Side::V6);
    let alg = alg::read(reader, &[("ftp", Application::Ftp)]);
    Some(Nat64 {
        prefix: prefix?,
        inside,
        nat: nat?,
        alg,
    })
}

fn nat44(reader: &Reader<'_>) -> Option<Nat44> {
    if reader.get("inside").is_none() {
        reader.missing("inside", "[\"10.0.0.0/8\"]");
    }
    let inside = composed::listed(reader, "inside");
    let exempt = composed::listed(reader, "exempt");
    let nat = nat::nat(reader, nat::Side::V4);
    Some(Nat44 {
        inside,
        exempt,
        nat: nat?,
    })
}

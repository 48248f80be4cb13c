//! An instance of `jool_siit`: stateless translation.

use ipnet::{Ipv4Net, Ipv6Net};

use super::super::draft::{Draft, quoted};
use super::super::json::Object;
use super::{common, v4_net, v6_net};

/// Keys of `global` that only `jool_siit` has.
pub(super) const KEYS: &[&str] = &[
    "amend-udp-checksum-zero",
    "eam-hairpin-mode",
    "randomize-rfc6791-addresses",
    "rfc6791v4-prefix",
    "rfc6791v6-prefix",
];

/// Writes the keys of the instance.
pub(super) fn write(top: &Object<'_>, global: &Object<'_>, draft: &mut Draft) {
    draft.quote("mechanism", "siit");
    let prefix = common::pool6(global, draft);
    let mappings = mappings(top);
    if prefix.is_some() {
        hosts(top, mappings.is_empty(), draft);
    }
    if !mappings.is_empty() {
        let line = |(v4, v6): (Ipv4Net, Ipv6Net)| {
            format!("{{ v4 = {}, v6 = {} }}", quoted(v4), quoted(v6))
        };
        draft.list("eam", mappings.into_iter().map(line));
    }
    denied(top, prefix);
    hairpin(global, draft);
    let amends = global.flag("amend-udp-checksum-zero", false);
    draft.quote("zero-udp-checksum", if amends { "compute" } else { "drop" });
    error_sources(global, draft);
    common::headers(global, draft);
}

fn mappings(top: &Object<'_>) -> Vec<(Ipv4Net, Ipv6Net)> {
    let Some(member) = top.take("eamt") else {
        return Vec::new();
    };
    let read = |entry: super::Member<'_>| {
        let object = entry.object()?;
        let v4 = object.require("ipv4 prefix").and_then(|m| v4_net(&m));
        let v6 = object.require("ipv6 prefix").and_then(|m| v6_net(&m));
        object.finish();
        v4.zip(v6)
    };
    member.array().into_iter().filter_map(read).collect()
}

/// Jool translates every IPv4 destination by the prefix. Routes into the gateway for all of them would take the packets
/// that it has translated, too.
fn hosts(top: &Object<'_>, alone: bool, draft: &mut Draft) {
    let instead = "Jool translates packets to every other IPv4 address by pool6, wherever they come from; if IPv6 \
        hosts have addresses under the prefix, list their IPv4 networks in `hosts`, so that they are routed to the \
        gateway";
    if alone {
        draft.comment("All of them: name the IPv4 networks of the IPv6 hosts instead.");
        draft.list("hosts", [quoted("0.0.0.0/0")]);
    }
    top.left_out("pool6 without a list of hosts", instead);
}

/// Reports the addresses that pool6 does not translate.
fn denied(top: &Object<'_>, prefix: Option<Ipv6Net>) {
    for key in ["denylist4", "blacklist4"] {
        let Some(member) = top.take(key) else {
            continue;
        };
        for entry in member.array() {
            let Some(net) = v4_net(&entry) else { continue };
            if prefix.is_none() {
                continue;
            }
            let embedded = prefix.and_then(|prefix| embedded(prefix, net));
            let towards = embedded.map_or("its addresses under the prefix".to_owned(), |net| {
                format!("`ip6 daddr {net} drop`")
            });
            entry.left_out(&format!(
                "leave {net} out of `hosts`, and have nftables drop {towards} and `ip saddr {net} drop` in a chain \
                 of the hook prerouting, if such packets come"
            ));
        }
    }
}

/// Returns the addresses of a network under a prefix of 96 bits.
fn embedded(prefix: Ipv6Net, net: Ipv4Net) -> Option<Ipv6Net> {
    if prefix.prefix_len() != 96 {
        return None;
    }
    let bits = u128::from(prefix.network()) | u128::from(u32::from(net.network()));
    Ipv6Net::new(bits.into(), 96 + net.prefix_len()).ok()
}

fn hairpin(global: &Object<'_>, draft: &mut Draft) {
    const EXPECTED: &str = "\"off\", \"simple\" or \"intrinsic\"";
    let mode = match global.take("eam-hairpin-mode") {
        None => "intrinsic",
        Some(member) => match member.string(EXPECTED) {
            Some("off" | "none") => "off",
            Some("simple") => "simple",
            Some("intrinsic") => "intrinsic",
            Some(_) => {
                member.wrong(EXPECTED);
                return;
            }
            None => return,
        },
    };
    draft.quote("hairpin", mode);
}

/// The sources of ICMP errors of routers that have no address in the other family (RFC 6791).
fn error_sources(global: &Object<'_>, draft: &mut Draft) {
    let v4 = global.take("rfc6791v4-prefix");
    match v4.filter(|member| !member.is_null()) {
        Some(member) => {
            if let Some(net) = v4_net(&member) {
                draft.list("icmp-source-v4", [quoted(net)]);
            }
        }
        None => {
            draft.comment("IPv6 routers without an IPv4 address: Jool has one of the machine for them, and here");
            draft.comment("they have 192.0.0.8 (RFC 7600). For instance:");
            draft.comment("icmp-source-v4 = [\"192.0.2.1/32\"]");
        }
    }
    let instead =
        "an address of the pool is chosen at random (RFC 6791 section 5); there is nothing to do";
    global.leave_if("randomize-rfc6791-addresses", false, instead);
    if let Some(member) = global.take("rfc6791v6-prefix").filter(|m| !m.is_null())
        && v6_net(&member).is_some()
    {
        member.left_out(
            "errors of IPv4 routers need a translation: have the prefix or a mapping contain the routers; \
             `icmp-source-v6` is for the gateway's own errors",
        );
    }
}

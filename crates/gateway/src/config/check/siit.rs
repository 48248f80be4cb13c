//! Whether a stateless instance makes sense.

use ipnet::{IpNet, Ipv4Net};
use isthmus_core::address::special;

use super::Seen;
use crate::config::diagnose::{Diagnostic, Sink};
use crate::config::document::{Instance, NonGlobal, Prefix, Siit};
use crate::config::overlap;
use crate::config::source::At;

pub(super) fn check(instance: &Instance, siit: &Siit, sink: &Sink) {
    if siit.hosts.is_empty() && siit.eam.is_empty() {
        let name = &instance.name;
        let message = format!("\"{}\" has no addresses for IPv6 hosts", name.value);
        let label = "needs `hosts`, `eam` or `eam-file`";
        sink.push(Diagnostic::error(name.span, message, label).help(
            "`hosts` are the IPv4 addresses that represent IPv6 hosts under `prefix`; \
             `eam` maps IPv4 to IPv6 addresses one by one (RFC 7757)",
        ));
    }
    if let (None, Some(hosts)) = (&siit.prefix, siit.hosts.first()) {
        let message = "`hosts` needs a prefix for the IPv6 hosts";
        let label = "needs `prefix = \"2001:db8:64::/96\"`";
        sink.push(Diagnostic::error(hosts.span, message, label));
    }
    if let Some(prefix) = &siit.prefix {
        well_known(instance, prefix, &siit.hosts, sink);
    }
    let (v4, v6): (Vec<_>, Vec<_>) = siit
        .eam
        .iter()
        .map(|mapping| overlap::of_mapping(mapping))
        .map(|(v4, v6)| (IpNet::from(v4), IpNet::from(v6)))
        .unzip();
    duplicates(siit, &v4, sink);
    duplicates(siit, &v6, sink);
    if !sink.has_errors() {
        asymmetry(siit, &v4, &v6, sink);
    }
}

/// RFC 6052 section 3.1: the well-known prefix is for global addresses only.
fn well_known(instance: &Instance, prefix: &At<Prefix>, hosts: &[At<Ipv4Net>], sink: &Sink) {
    let Prefix::Rfc6052(rfc6052) = prefix.value else {
        return;
    };
    if !rfc6052.is_well_known() || instance.policy.non_global == NonGlobal::Allow {
        return;
    }
    for network in hosts {
        let ends = [network.network(), network.broadcast()];
        let special = |address: std::net::Ipv4Addr| special::is_non_global_v4(address.into());
        // A shorter prefix than /8 is none of the special blocks, though its ends may be in some.
        if network.prefix_len() < 8 || !ends.into_iter().all(special) {
            continue;
        }
        let message = format!(
            "{} is not global: its packets will be dropped under 64:ff9b::/96",
            network.value
        );
        sink.push(
            Diagnostic::warning(
                network.span,
                message,
                "RFC 6052 section 3.1 forbids it there",
            )
            .also(prefix.span, "the well-known prefix")
            .help(
                "take a prefix of your own, such as a part of 64:ff9b:1::/48 (RFC 8215), or \
                     set `allow-non-global = true` if no packet leaves your network",
            ),
        );
    }
}

/// RFC 7757 section 5: identical prefixes make one direction undefined.
fn duplicates(siit: &Siit, networks: &[IpNet], sink: &Sink) {
    let mut seen = Seen::new();
    for (mapping, network) in siit.eam.iter().zip(networks) {
        if let Some(first) = seen.before(network, mapping.span) {
            let message = format!("{network} is mapped twice");
            sink.push(
                Diagnostic::error(mapping.span, message, "again here (RFC 7757 section 5)")
                    .also(first, "first here"),
            );
        }
    }
}

/// RFC 7757 section 5: with overlapping prefixes, an address may come back as another.
fn asymmetry(siit: &Siit, v4: &[IpNet], v6: &[IpNet], sink: &Sink) {
    let (parents_v4, parents_v6) = (overlap::parents(v4), overlap::parents(v6));
    let mut found = 0;
    for (index, mapping) in siit.eam.iter().enumerate() {
        let (in_v4, in_v6) = (parents_v4[index], parents_v6[index]);
        let Some(outer) = in_v4.or(in_v6).filter(|_| in_v4 != in_v6) else {
            continue;
        };
        // A large table with a mistake in it has the same mistake many times.
        found += 1;
        if found > 5 {
            return;
        }
        let (side, other) = if in_v4.is_some() {
            (v4[index], v4[outer])
        } else {
            (v6[index], v6[outer])
        };
        let message = format!("{side} lies in {other}, which another mapping has");
        sink.push(
            Diagnostic::warning(mapping.span, message, "the longer prefix counts")
                .also(siit.eam[outer].span, "the shorter one is here")
                .help(
                    "some addresses will not be translated back to themselves \
                     (RFC 7757 section 5)",
                ),
        );
    }
}

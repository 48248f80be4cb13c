//! Whether each address belongs to one instance only.

use std::collections::HashSet;

use ipnet::IpNet;

use crate::config::diagnose::{Diagnostic, Sink};
use crate::config::document::{Document, Mechanism};
use crate::config::overlap;
use crate::config::source::Span;

/// Addresses that packets are sent to in order to be translated.
struct Claim {
    network: IpNet,
    instance: usize,
    what: What,
    span: Span,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum What {
    Prefix,
    Hosts,
    Mapping,
    Pool,
    Other(&'static str),
}

impl What {
    const fn name(self) -> &'static str {
        match self {
            Self::Prefix => "prefix",
            Self::Hosts => "hosts",
            Self::Mapping => "explicit mappings",
            Self::Pool => "pool",
            Self::Other(what) => what,
        }
    }
}

pub(super) fn check(document: &Document, sink: &Sink) {
    let claims = claims(document);
    between_instances(document, &claims, sink);
    own_addresses(document, &claims, sink);
}

fn claims(document: &Document) -> Vec<Claim> {
    let mut claims = Vec::new();
    for (instance, configured) in document.instances.iter().enumerate() {
        let mut claim = |network: IpNet, what, span| {
            claims.push(Claim {
                network,
                instance,
                what,
                span,
            });
        };
        let nat = match &configured.mechanism {
            Mechanism::Siit(siit) => {
                if let Some(prefix) = &siit.prefix {
                    claim(overlap::of_prefix(prefix).into(), What::Prefix, prefix.span);
                }
                for hosts in &siit.hosts {
                    claim(hosts.value.into(), What::Hosts, hosts.span);
                }
                for mapping in siit.eam.iter() {
                    let (v4, _) = overlap::of_mapping(mapping);
                    claim(v4.into(), What::Mapping, mapping.span);
                }
                continue;
            }
            Mechanism::Nat64(nat64) => {
                let prefix = overlap::of_rfc6052(&nat64.prefix);
                claim(prefix.into(), What::Prefix, nat64.prefix.span);
                &nat64.nat
            }
            Mechanism::Nat44(nat44) => &nat44.nat,
            Mechanism::Composed(composed) => {
                for part in &composed.claims {
                    claim(part.network, What::Other(part.what), part.span);
                }
                continue;
            }
        };
        for pool in &nat.pool {
            claim(pool.addresses.into(), What::Pool, pool.span);
        }
    }
    claims
}

fn between_instances(document: &Document, claims: &[Claim], sink: &Sink) {
    let networks: Vec<_> = claims.iter().map(|claim| claim.network).collect();
    let mut reported = HashSet::new();
    for (index, parent) in overlap::parents(&networks).into_iter().enumerate() {
        let Some(outer) = parent.map(|parent| &claims[parent]) else {
            continue;
        };
        let inner = &claims[index];
        let pair = (inner.instance, inner.what, outer.instance, outer.what);
        // Tables of mappings overlap in many rows or in none: one message is enough.
        if inner.instance == outer.instance || !reported.insert(pair) {
            continue;
        }
        let name = |claim: &Claim| document.instances[claim.instance].name.value.as_str();
        let message = format!(
            "{} of \"{}\" overlaps {} of \"{}\"",
            inner.network,
            name(inner),
            outer.network,
            name(outer),
        );
        let label = format!("{} of \"{}\"", inner.what.name(), name(inner));
        let other = format!("{} of \"{}\"", outer.what.name(), name(outer));
        sink.push(
            Diagnostic::error(inner.span, message, label)
                .also(outer.span, other)
                .help("a packet belongs to one instance, chosen by its destination"),
        );
    }
}

/// The kernel itself receives packets to its own addresses; they are never translated.
fn own_addresses(document: &Document, claims: &[Claim], sink: &Sink) {
    for address in &document.tun.addresses {
        // An explicit mapping may well stand for this very machine: a CLAT does.
        let hit = claims.iter().find(|claim| {
            matches!(claim.what, What::Prefix | What::Pool)
                && claim.network.contains(&address.addr())
        });
        if let Some(claim) = hit {
            let message = format!(
                "{} is an address of the gateway itself and in the {} of \"{}\"",
                address.addr(),
                claim.what.name(),
                document.instances[claim.instance].name.value,
            );
            let label =
                "the kernel receives packets to this address itself: choose another address";
            sink.push(
                Diagnostic::error(address.span, message, label)
                    .also(claim.span, format!("the {}", claim.what.name())),
            );
        }
    }
}

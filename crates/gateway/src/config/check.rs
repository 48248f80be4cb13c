//! Whether the parts of a configuration fit together, which single values do not show.

mod announce;
mod dns64;
mod nat;
mod proxy;
mod siit;
mod territory;

use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;

use isthmus_core::address::special;
use isthmus_core::mechanism::instances::MOST_INSTANCES;

use super::diagnose::{Diagnostic, Sink};
use super::document::{Document, Instance, Mechanism};
use super::source::{At, Span};

/// Reports everything that does not fit to the sink.
pub(super) fn check(document: &Document, sink: &Sink) {
    interfaces(document, sink);
    instances(document, sink);
    for instance in &document.instances {
        policy(document, instance, sink);
        match &instance.mechanism {
            Mechanism::Siit(siit) => siit::check(instance, siit, sink),
            Mechanism::Nat64(nat64) => nat::check_nat64(nat64, sink),
            Mechanism::Nat44(nat44) => nat::check_nat44(nat44, sink),
            Mechanism::Composed(composed) => {
                if let Some((nat, _)) = &composed.nat {
                    nat::check(nat, nat.subscriber_prefix, sink);
                }
            }
        }
    }
    hosts(document, sink);
    nat::check_exempt(document, sink);
    territory::check(document, sink);
    dns64::check(document, sink);
    proxy::check(document, sink);
    announce::check(document, sink);
}

/// The first value that was there before, and its place.
struct Seen<K>(HashMap<K, Span>);

impl<K: Hash + Eq> Seen<K> {
    fn new() -> Self {
        Self(HashMap::new())
    }

    /// Where the same was before, if it was.
    fn before(&mut self, key: K, span: Span) -> Option<Span> {
        match self.0.entry(key) {
            std::collections::hash_map::Entry::Occupied(entry) => Some(*entry.get()),
            std::collections::hash_map::Entry::Vacant(entry) => {
                entry.insert(span);
                None
            }
        }
    }
}

impl<K: Hash + Eq> Seen<K> {
    /// Complains if the same was there before.
    fn once(&mut self, key: K, span: Span, sink: &Sink, message: impl FnOnce() -> String) {
        if let Some(first) = self.before(key, span) {
            let again = Diagnostic::error(span, message(), "again here");
            sink.push(again.also(first, "first here"));
        }
    }
}

fn interfaces(document: &Document, sink: &Sink) {
    let mut seen = Seen::new();
    for interface in &document.interfaces {
        let name = &interface.name;
        seen.once(name.value.as_str(), name.span, sink, || {
            format!("the interface \"{}\" is given twice", name.value)
        });
        if name.value == document.tun.name.value {
            let message = format!("\"{}\" is the gateway's own TUN link", name.value);
            let label = "name a link of the machine here, or rename the other in [tun]";
            sink.push(Diagnostic::error(name.span, message, label));
        }
    }
    let mut addresses = Seen::new();
    for address in &document.tun.addresses {
        addresses.once(address.addr(), address.span, sink, || {
            format!("the address {} is given twice", address.addr())
        });
        let illegal = match address.addr() {
            IpAddr::V4(address) => special::is_illegal_source_v4(address.into()),
            IpAddr::V6(address) => special::is_illegal_source_v6(address.into()),
        };
        if illegal {
            let message = format!("{} is not the address of a host", address.addr());
            let label = "expected a unicast address that is neither loopback nor link-local";
            sink.push(Diagnostic::error(address.span, message, label));
        }
    }
}

fn instances(document: &Document, sink: &Sink) {
    let mut seen = Seen::new();
    for instance in &document.instances {
        let name = &instance.name;
        seen.once(name.value.as_str(), name.span, sink, || {
            format!("two instances are called \"{}\"", name.value)
        });
    }
    if let Some(instance) = document.instances.get(MOST_INSTANCES as usize) {
        let message = format!("a gateway has at most {MOST_INSTANCES} instances");
        let label = format!("this is number {}", MOST_INSTANCES + 1);
        sink.push(Diagnostic::error(instance.name.span, message, label));
    }
    if document.instances.is_empty() && document.dns64.is_none() && document.proxy.is_none() {
        let message = "there is nothing to do: no [[instance]], no [dns64] and no [proxy]";
        let label = "a translator needs at least one `[[instance]]`";
        sink.push(Diagnostic::error(Span::new(0, 0..0), message, label));
    }
}

/// Two default routes with one source would be one too many.
fn hosts(document: &Document, sink: &Sink) {
    let mut hosts = document.hosts();
    if let (Some((_, first)), Some((_, second))) = (hosts.next(), hosts.next()) {
        let message = "this machine has two CLATs of its own";
        let label = "one is enough: another gateway, or `local` and `inside` for other hosts";
        let diagnostic = Diagnostic::error(second.uplink.span, message, label);
        sink.push(diagnostic.also(first.uplink.span, "the first"));
    }
}

fn policy(document: &Document, instance: &Instance, sink: &Sink) {
    let policy = &instance.policy;
    let source = |span, address: IpAddr, illegal: bool| {
        if illegal {
            let message = format!("{address} cannot be the source of a packet");
            let label = "expected a unicast address that is neither loopback nor link-local";
            sink.push(Diagnostic::error(span, message, label));
        }
    };
    if let Some(At { value, span }) = policy.own_v4 {
        source(
            span,
            value.into(),
            special::is_illegal_source_v4(value.into()),
        );
    }
    if let Some(At { value, span }) = policy.icmp_source_v6 {
        source(
            span,
            value.into(),
            special::is_illegal_source_v6(value.into()),
        );
    }
    if let Some(At { value, span }) = policy.icmp_source_v4 {
        let first = value.network();
        source(
            span,
            first.into(),
            special::is_illegal_source_v4(first.into()),
        );
    }
    if policy.lowest_ipv6_mtu > document.link.ipv6_mtu {
        let message = format!(
            "lowest-ipv6-mtu is {}, above the MTU of the IPv6 side, which is {}",
            policy.lowest_ipv6_mtu, document.link.ipv6_mtu
        );
        let label = "packets of this instance are fragmented to more than the MTU of their link";
        sink.push(
            Diagnostic::warning(instance.name.span, message, label)
                .help("lower `lowest-ipv6-mtu`, or raise `ipv6-mtu` in [link]"),
        );
    }
}

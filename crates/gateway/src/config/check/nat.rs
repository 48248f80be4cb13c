//! Whether a stateful instance makes sense.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use ipnet::{IpNet, Ipv4Net};
use isthmus_core::address::special;
use isthmus_core::nat::{POOL_RANGES, StaticBinding};

use super::Seen;
use crate::config::diagnose::{Diagnostic, Sink};
use crate::config::document::{Document, Mechanism, Nat, Nat44, Nat64, Pool, PortPolicy};
use crate::config::overlap;
use crate::config::source::At;

/// Addresses that a pool has at most.
const POOL_ADDRESSES: u64 = 65_536;

pub(super) fn check_nat64(nat64: &Nat64, sink: &Sink) {
    let prefix = IpNet::V6(overlap::of_rfc6052(&nat64.prefix));
    check(&nat64.nat, nat64.nat.subscriber_prefix, sink);
    warn_of_open_relay(nat64, sink);
    let inside = |host| nat64.inside.is_empty() || in_networks(&nat64.inside, host);
    for binding in &nat64.nat.static_bindings {
        if !inside(binding.inside.host()) {
            refuse_outsider(binding, sink);
        }
        if prefix.contains(&binding.inside.host()) {
            let message = format!("{} represents an IPv4 host", binding.inside.host());
            let label = "expected the address of an IPv6 host";
            sink.push(
                Diagnostic::error(binding.span, message, label)
                    .also(nat64.prefix.span, "it lies under the translation prefix"),
            );
        }
    }
    if let PortPolicy::Deterministic { inside, .. } = nat64.nat.ports.value
        && overlap::overlap(prefix, inside)
    {
        let message = format!("{inside} overlaps the translation prefix {prefix}");
        let label = "expected the network of the subscribers";
        sink.push(
            Diagnostic::error(nat64.nat.ports.span, message, label)
                .also(nat64.prefix.span, "the prefix"),
        );
    }
}

pub(super) fn check_nat44(nat44: &Nat44, sink: &Sink) {
    check(&nat44.nat, 32, sink);
    for binding in &nat44.nat.static_bindings {
        if !in_networks(&nat44.inside, binding.inside.host()) {
            refuse_outsider(binding, sink);
        }
    }
    for (network, pool) in in_pool(&nat44.exempt, &nat44.nat) {
        let message = format!("{} is exempt, and in the pool", network.value);
        let label = "expected destinations that inside hosts reach without translation";
        sink.push(
            Diagnostic::error(network.span, message, label)
                .also(pool.span, "packets to the pool are always translated"),
        );
    }
    for (network, pool) in in_pool(&nat44.inside, &nat44.nat) {
        let message = format!("{} is inside and outside", pool.addresses);
        let label = "expected outside addresses only";
        sink.push(
            Diagnostic::error(pool.span, message, label).also(network.span, "these are inside"),
        );
    }
}

/// Warns of a NAT64 that everybody may use who reaches it.
fn warn_of_open_relay(nat64: &Nat64, sink: &Sink) {
    if nat64.inside.is_empty() {
        let message = format!(
            "whoever can send to {} is translated: this is an open relay",
            nat64.prefix.value
        );
        let label = "expected `inside` with the networks of the hosts that it is for";
        sink.push(
            Diagnostic::warning(nat64.prefix.span, message, label)
                .help("write `inside = [\"2001:db8:1::/48\"]` with your networks, or [\"::/0\"] for everybody"),
        );
    }
}

fn in_networks<N: Copy + Into<IpNet>>(networks: &[At<N>], host: IpAddr) -> bool {
    let contains = |network: &At<N>| network.value.into().contains(&host);
    networks.iter().any(contains)
}

fn refuse_outsider(binding: &At<StaticBinding>, sink: &Sink) {
    let message = format!("{} is not inside", binding.inside.host());
    let label = "expected an address in one of the networks of `inside`";
    sink.push(Diagnostic::error(binding.span, message, label));
}

/// The networks that overlap an entry of the pool, each with the entry.
fn in_pool<'n>(
    networks: &'n [At<Ipv4Net>],
    nat: &'n Nat,
) -> impl Iterator<Item = (&'n At<Ipv4Net>, &'n At<Pool>)> {
    networks.iter().flat_map(|network| {
        let pool = nat.pool.iter();
        let overlapping =
            pool.filter(|pool| overlap::overlap(network.value.into(), pool.addresses.into()));
        overlapping.map(move |pool| (network, pool))
    })
}

/// Checks that the exempt networks are valid, and the same for all instances: their routes belong to one link.
pub(super) fn check_exempt(document: &Document, sink: &Sink) {
    let instances = document.instances.iter();
    let mut all = instances.filter_map(|instance| match &instance.mechanism {
        Mechanism::Nat44(nat44) => Some((instance, nat44)),
        _ => None,
    });
    let networks = |nat44: &Nat44| -> BTreeSet<Ipv4Net> {
        nat44.exempt.iter().map(|network| network.value).collect()
    };
    let Some((first, model)) = all.next() else {
        return;
    };
    for (instance, nat44) in all {
        if networks(nat44) != networks(model) {
            let message = format!(
                "\"{}\" and \"{}\" do not have the same `exempt`",
                first.name.value, instance.name.value
            );
            let label = "expected the same networks as in the first `nat44`, in any order";
            let place = nat44.exempt.first().map_or(instance.name.span, |n| n.span);
            let other = model.exempt.first().map_or(first.name.span, |n| n.span);
            sink.push(Diagnostic::error(place, message, label).also(other, "here they differ"));
        }
    }
}

/// The checks that every NAT has in common.
pub(super) fn check(nat: &Nat, subscriber_prefix: u8, sink: &Sink) {
    pool(nat, sink);
    static_bindings(nat, sink);
    match nat.ports.value {
        PortPolicy::Single => {}
        PortPolicy::Blocks { size, .. } => blocks(nat, size, sink),
        PortPolicy::Deterministic { inside, size } => {
            blocks(nat, size, sink);
            deterministic(nat, inside, size, subscriber_prefix, sink);
        }
    }
    if nat.max_sessions < nat.max_bindings {
        let message = format!(
            "there is room for {} bindings but for {} sessions only",
            nat.max_bindings, nat.max_sessions
        );
        let label = "expected `max-sessions` to be no less than `max-bindings`: each binding needs a session";
        let place = nat.pool.first().map_or(nat.ports.span, |pool| pool.span);
        sink.push(Diagnostic::warning(place, message, label));
    }
}

fn addresses(net: Ipv4Net) -> u64 {
    1 << (32 - net.prefix_len())
}

fn pool(nat: &Nat, sink: &Sink) {
    for pool in &nat.pool {
        let ends = [pool.addresses.network(), pool.addresses.broadcast()];
        let illegal =
            |address: &std::net::Ipv4Addr| special::is_illegal_source_v4((*address).into());
        if let Some(address) = ends.iter().find(|address| illegal(address)) {
            let message = format!("the pool has {address}, which is reserved");
            let label = "expected addresses that can be the source of a packet";
            sink.push(Diagnostic::error(pool.span, message, label));
        }
    }
    let networks: Vec<_> = nat.pool.iter().map(|p| IpNet::V4(p.addresses)).collect();
    for (index, parent) in overlap::parents(&networks).into_iter().enumerate() {
        if let Some(parent) = parent {
            let message = format!("the pool has {} twice", networks[index]);
            sink.push(
                Diagnostic::error(nat.pool[index].span, message, "again here")
                    .also(nat.pool[parent].span, "first here")
                    .help("an address has one range of ports"),
            );
        }
    }
    if let Some(pool) = nat.pool.get(POOL_RANGES) {
        let message = format!("a pool has at most {POOL_RANGES} entries");
        let label = "this is one more; put neighbours together into one network";
        sink.push(Diagnostic::error(pool.span, message, label));
    }
    let mut total = 0;
    for pool in &nat.pool {
        total += addresses(pool.addresses);
        if total > POOL_ADDRESSES {
            let message = format!("a pool has at most {POOL_ADDRESSES} addresses");
            let label = format!("with this entry it has {total}");
            sink.push(Diagnostic::error(pool.span, message, label));
            return;
        }
    }
}

/// Whole blocks in a range of ports; a block begins at a multiple of its size.
fn blocks_in((low, high): (u16, u16), size: u16) -> u64 {
    let size = u64::from(size);
    let (low, end) = (u64::from(low).div_ceil(size), (u64::from(high) + 1) / size);
    end.saturating_sub(low)
}

fn blocks(nat: &Nat, size: u16, sink: &Sink) {
    for pool in &nat.pool {
        if blocks_in(pool.ports, size) == 0 {
            let (low, high) = pool.ports;
            let message = format!("the ports {low}-{high} have no whole block of {size}");
            let label = format!("blocks begin at multiples of {size}");
            sink.push(
                Diagnostic::error(pool.span, message, label).also(nat.ports.span, "the blocks"),
            );
        }
    }
}

/// RFC 7422 section 2: every subscriber has a block, whether it is there or not.
fn deterministic(nat: &Nat, inside: IpNet, size: u16, subscriber_prefix: u8, sink: &Sink) {
    let Some(bits) = subscriber_prefix.checked_sub(inside.prefix_len()) else {
        let message =
            format!("{inside} is a part of a single subscriber, who has {subscriber_prefix} bits");
        let label = "expected the network of all subscribers";
        let help = "see `subscriber-prefix`";
        sink.push(Diagnostic::error(nat.ports.span, message, label).help(help));
        return;
    };
    let subscribers = 1_u128.checked_shl(bits.into()).unwrap_or(u128::MAX);
    let room: u64 = nat
        .pool
        .iter()
        .map(|pool| addresses(pool.addresses) * blocks_in(pool.ports, size))
        .sum();
    if subscribers > u128::from(room) {
        let message =
            format!("{inside} has {subscribers} subscribers, and the pool has blocks for {room}");
        let label = format!("each takes {size} ports, whether it is active or not");
        let mut diagnostic = Diagnostic::error(nat.ports.span, message, label);
        if let Some(pool) = nat.pool.first() {
            diagnostic = diagnostic.also(pool.span, "the pool");
        }
        sink.push(diagnostic.help(
            "enlarge the pool, make the blocks smaller, or narrow `inside` (RFC 7422 section 2)",
        ));
    }
}

fn static_bindings(nat: &Nat, sink: &Sink) {
    let (mut insides, mut outsides) = (Seen::new(), Seen::new());
    for binding in &nat.static_bindings {
        let At { value, span } = *binding;
        let outside = Ipv4Addr::from(value.outside.address);
        let twice = |seen: &mut Seen<_>, socket: SocketAddr| {
            seen.once((value.protocol, socket), span, sink, || {
                format!("{socket} has two static bindings")
            });
        };
        twice(
            &mut insides,
            (value.inside.host(), value.inside.port).into(),
        );
        twice(&mut outsides, (outside, value.outside.port).into());
        let host = value.inside.host();
        let illegal = match host {
            IpAddr::V4(address) => special::is_illegal_destination_v4(address.into()),
            IpAddr::V6(address) => special::is_illegal_destination_v6(address.into()),
        };
        if illegal {
            let what = match host.is_unspecified() {
                true => "unspecified".to_owned(),
                false => host.to_string(),
            };
            let message = format!("`inside` is {what}, which is not the address of a host");
            let label = "expected a unicast address that is neither loopback nor link-local";
            sink.push(Diagnostic::error(span, message, label));
        }
        if !nat.pool.iter().any(|p| p.addresses.contains(&outside)) {
            let message = format!("{outside} is not in the pool");
            let label = "expected an address of the pool; any port of it will do";
            let mut diagnostic = Diagnostic::error(span, message, label);
            if let Some(pool) = nat.pool.first() {
                diagnostic = diagnostic.also(pool.span, "the pool");
            }
            sink.push(diagnostic);
        }
    }
}

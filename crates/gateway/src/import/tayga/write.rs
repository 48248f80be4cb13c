//! The configuration.

use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;

use ipnet::{IpNet, Ipv4Net, Ipv4Subnets, Ipv6Net};

use super::super::draft::{Draft, quoted};
use super::super::sink::Sink;
use super::{At, Checksum, Directives};

/// The mechanism that takes the place of TAYGA's.
#[derive(Clone, Copy)]
enum Mechanism {
    /// Hosts share the addresses of the pool.
    Nat64 { prefix: Ipv6Net, pool: Ipv4Net },
    /// The prefix and the maps.
    Siit,
}

/// Writes the configuration. Returns nothing if the directives are not enough for one.
pub(super) fn write(path: &Path, directives: &Directives, sink: &Sink) -> Option<Draft> {
    let Some(own) = directives.own_v4.as_ref().map(|at| at.value) else {
        sink.mistake(sink.path(""), "there is no `ipv4-addr`");
        return None;
    };
    let Some(mechanism) = mechanism(directives) else {
        sink.mistake(sink.path(""), "there is neither `prefix` nor `map`");
        return None;
    };
    let mut draft = Draft::default();
    draft.comment(&format!(
        "Written by `isthmus import tayga {}`.",
        path.display()
    ));
    draft.comment("The gateway makes the routes into its link itself: take yours away. XDP and tc are faster: see");
    draft.comment("`[[interface]]`.");
    link(directives, own, &mut draft);
    draft.heading("[[instance]]");
    draft.quote("name", "tayga");
    match mechanism {
        Mechanism::Nat64 { prefix, pool } => {
            draft.quote("mechanism", "nat64");
            write_prefix(prefix, directives, &mut draft);
            shared(own, pool, directives, &mut draft, sink);
        }
        Mechanism::Siit => {
            draft.quote("mechanism", "siit");
            if let Some(prefix) = &directives.prefix {
                write_prefix(prefix.value, directives, &mut draft);
                hosts(prefix, directives, &mut draft, sink);
            }
            mappings(directives, &mut draft, sink);
            checksum(directives, &mut draft);
        }
    }
    draft.quote("own-v4", own);
    if let Some(own) = &directives.own_v6 {
        draft.quote("icmp-source-v6", own.value);
    }
    if let Some(mtu) = &directives.mtu {
        draft.set("lowest-ipv6-mtu", mtu.value);
    }
    leave(directives, mechanism, sink);
    Some(draft)
}

fn mechanism(directives: &Directives) -> Option<Mechanism> {
    let alone = directives
        .pool
        .as_ref()
        .filter(|_| directives.maps.is_empty());
    match (&directives.prefix, alone) {
        (Some(prefix), Some(pool)) => Some(Mechanism::Nat64 {
            prefix: prefix.value,
            pool: pool.value,
        }),
        (Some(_), None) => Some(Mechanism::Siit),
        (None, _) => (!directives.maps.is_empty()).then_some(Mechanism::Siit),
    }
}

/// TAYGA answers pings to its own addresses; here the kernel does, so that the link has them.
fn link(directives: &Directives, own: Ipv4Addr, draft: &mut Draft) {
    draft.heading("[tun]");
    if let Some(device) = &directives.device {
        draft.quote("name", &device.value);
    }
    if let Some(workers) = &directives.workers {
        draft.set("queues", workers.value.clamp(1, 64));
    }
    let mut addresses: Vec<IpNet> = directives.addresses.iter().map(|at| at.value).collect();
    let own_v6 = directives.own_v6.as_ref().map(|at| IpAddr::V6(at.value));
    for own in [Some(IpAddr::V4(own)), own_v6].into_iter().flatten() {
        if !addresses.iter().any(|net| net.addr() == own) {
            addresses.push(own.into());
        }
    }
    draft.list("addresses", addresses.into_iter().map(quoted));
}

fn write_prefix(prefix: Ipv6Net, directives: &Directives, draft: &mut Draft) {
    draft.quote("prefix", prefix);
    let strict = directives.strict.as_ref().is_none_or(|at| at.value);
    draft.set("allow-non-global", !strict);
}

/// The pool, whose lowest address TAYGA does not use.
fn shared(own: Ipv4Addr, pool: Ipv4Net, directives: &Directives, draft: &mut Draft, sink: &Sink) {
    draft.comment("TAYGA serves everybody who reaches it. Name your networks here.");
    draft.list("inside", [quoted("::/0")]);
    let line = |net: Ipv4Net| format!("{{ addresses = {} }}", quoted(net));
    draft.list(
        "pool",
        without(pool, &[pool.network(), own]).into_iter().map(line),
    );
    draft.set("subscriber-prefix", 128);
    draft.set("subscriber-session-rate", 0);
    if let Some(at) = &directives.pool {
        sink.left_out(
            at.place.clone(),
            format_args!("dynamic-pool {pool}"),
            "hosts share these addresses by TCP and UDP ports and by ICMP identifiers, and have none of their own: \
             nothing else is translated, and connections from outside need `static`. A public address in `pool` \
             makes a NAT44 behind it needless",
        );
    }
}

/// Returns a network without some addresses.
fn without(net: Ipv4Net, addresses: &[Ipv4Addr]) -> Vec<Ipv4Net> {
    let mut taken: Vec<u32> = addresses
        .iter()
        .filter(|address| net.contains(*address))
        .map(|address| u32::from(*address))
        .collect();
    taken.sort_unstable();
    taken.dedup();
    let mut rest = Vec::new();
    let mut first = u64::from(u32::from(net.network()));
    let end = u64::from(u32::from(net.broadcast())) + 1;
    for next in taken.into_iter().map(u64::from).chain([end]) {
        let run = (u32::try_from(first), u32::try_from(next.saturating_sub(1)));
        if let (true, (Ok(first), Ok(last))) = (first < next, run) {
            rest.extend(Ipv4Subnets::new(first.into(), last.into(), 0));
        }
        first = next + 1;
    }
    rest
}

/// The IPv4 networks of the IPv6 hosts under the prefix: those that are routed to TAYGA, and have no maps.
fn hosts(prefix: &At<Ipv6Net>, directives: &Directives, draft: &mut Draft, sink: &Sink) {
    let routed: Vec<Ipv4Net> = hosts_of_routes(directives).collect();
    if !routed.is_empty() {
        return draft.list("hosts", routed.into_iter().map(quoted));
    }
    if directives.maps.is_empty() {
        draft.comment("All of them: name the IPv4 networks of the IPv6 hosts instead.");
        draft.list("hosts", [quoted("0.0.0.0/0")]);
    }
    sink.left_out(
        prefix.place.clone(),
        format_args!("prefix {} without a list of hosts", prefix.value),
        "TAYGA translates every IPv4 address that is routed to it by the prefix; if IPv6 hosts have addresses under \
         it, list their IPv4 networks in `hosts`, so that they are routed to the gateway",
    );
}

fn hosts_of_routes(directives: &Directives) -> impl Iterator<Item = Ipv4Net> {
    let routes = directives.routes.iter().map(|at| at.value);
    routes.filter_map(|route| match route {
        IpNet::V4(net) if !is_made(route, directives) => Some(net),
        _ => None,
    })
}

/// Whether the gateway makes this route because of something else.
fn is_made(route: IpNet, directives: &Directives) -> bool {
    let own = directives.own_v4.iter().map(|at| Ipv4Net::from(at.value));
    let maps = directives.maps.iter().map(|at| at.value);
    match route {
        IpNet::V4(net) => own
            .chain(maps.map(|(v4, _)| v4))
            .any(|made| made.contains(&net)),
        IpNet::V6(net) => {
            let prefix = directives.prefix.iter().map(|at| at.value);
            let own = directives.own_v6.iter().map(|at| Ipv6Net::from(at.value));
            prefix.chain(own).any(|made| made.contains(&net))
        }
    }
}

fn mappings(directives: &Directives, draft: &mut Draft, sink: &Sink) {
    if directives.maps.is_empty() {
        return;
    }
    let line = |at: &At<(Ipv4Net, Ipv6Net)>| {
        let (v4, v6) = at.value;
        format!("{{ v4 = {}, v6 = {} }}", quoted(v4), quoted(v6))
    };
    draft.list("eam", directives.maps.iter().map(line));
    if let Some(pool) = &directives.pool {
        sink.left_out(
            pool.place.clone(),
            format_args!("dynamic-pool {}", pool.value),
            "hosts without a map get no address. Map them, or give them an `[[instance]]` with `mechanism = \
             \"nat64\"` and a prefix of its own",
        );
    }
}

fn checksum(directives: &Directives, draft: &mut Draft) {
    let mode = directives.checksum.as_ref().map(|at| at.value);
    let mode = match mode.unwrap_or(Checksum::Drop) {
        Checksum::Drop => "drop",
        Checksum::Calculate | Checksum::Forward => "compute",
    };
    draft.quote("zero-udp-checksum", mode);
}

fn leave(directives: &Directives, mechanism: Mechanism, sink: &Sink) {
    if let Some(at) = directives
        .checksum
        .as_ref()
        .filter(|at| at.value == Checksum::Forward)
    {
        let instead = "UDP over IPv6 has a checksum (RFC 8200 section 8.1): it is computed";
        sink.left_out(at.place.clone(), "udp-cksum-mode fwd", instead);
    }
    if let Some(at) = directives.workers.as_ref().filter(|at| at.value > 64) {
        let instead = "a link has at most 64 queues: it has 64";
        sink.left_out(
            at.place.clone(),
            format_args!("workers {}", at.value),
            instead,
        );
    }
    if let (Some(at), Some(_)) = (&directives.data_folder, &directives.pool) {
        let instead = "addresses that TAYGA gave to hosts (dynamic.map) are not read; write `map` for those that \
         must stay";
        sink.left_out(
            at.place.clone(),
            format_args!("data-dir {}", at.value),
            instead,
        );
    }
    for at in &directives.routes {
        let made = is_made(at.value, directives);
        let carried = match (mechanism, at.value) {
            (Mechanism::Nat64 { pool, .. }, IpNet::V4(net)) => made || pool.contains(&net),
            (Mechanism::Siit, IpNet::V4(_)) => made || directives.prefix.is_some(),
            // All of IPv4 goes to the prefix: what comes back is for the map (RFC 6877).
            (Mechanism::Siit, IpNet::V6(net)) => {
                made || directives.maps.iter().any(|map| map.value.1.contains(&net))
            }
            (Mechanism::Nat64 { .. }, IpNet::V6(_)) => made,
        };
        if !carried {
            let instead =
                "nothing there is translated; make the route by hand if something else needs it";
            sink.left_out(
                at.place.clone(),
                format_args!("tun-route {}", at.value),
                instead,
            );
        }
    }
}

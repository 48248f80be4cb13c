//! The behaviour of a NAT in plain words.

use isthmus_core::mechanism::aftr;
use isthmus_core::nat::{Filtering, Pooling, UnsolicitedSyn};

use super::list;
use crate::config::document::{Nat, Pcp, PortPolicy};

/// A few sentences about a NAT; `hosts` is what those on its inside are called.
pub(super) fn of_nat(nat: &Nat, hosts: &str) -> Vec<String> {
    let pool = list(nat.pool.iter().map(|pool| {
        let (low, high) = pool.ports;
        format!("{} ports {low}-{high}", pool.addresses)
    }));
    let mut lines = vec![
        format!("there {hosts} appear as {pool}"),
        of_subscribers(nat),
        match nat.filtering {
            Filtering::EndpointIndependent => "anyone may send to a binding (endpoint-independent)",
            Filtering::AddressDependent => {
                "only hosts that were sent to may answer (address-dependent)"
            }
        }
        .to_owned(),
        match nat.unsolicited_syn {
            UnsolicitedSyn::Drop => "unsolicited TCP connections are dropped silently",
            UnsolicitedSyn::Answer => "unsolicited TCP connections are answered after 6 seconds",
        }
        .to_owned(),
        format!(
            "at most {} bindings, {} sessions, {} fragmented datagrams",
            nat.max_bindings, nat.max_sessions, nat.max_fragments
        ),
    ];
    lines.extend(of_limits(nat));
    if nat.count_traffic {
        lines.push("packets and bytes of each session are counted".to_owned());
    }
    match nat.static_bindings.len() {
        0 => {}
        1 => lines.push("one static binding".to_owned()),
        n => lines.push(format!("{n} static bindings")),
    }
    lines.extend(nat.pcp.as_ref().map(of_pcp));
    lines
}

fn of_subscribers(nat: &Nat) -> String {
    let subscriber = match nat.subscriber_prefix {
        128 | 32 => "an address".to_owned(),
        bits => format!("a /{bits}"),
    };
    let ports = match nat.ports.value {
        PortPolicy::Single => "ports one by one".to_owned(),
        PortPolicy::Blocks {
            size,
            per_subscriber,
        } => {
            format!("ports in up to {per_subscriber} blocks of {size}")
        }
        PortPolicy::Deterministic { inside, size } => {
            format!("{size} ports by calculation, for subscribers in {inside}")
        }
    };
    let pooling = match nat.pooling {
        Pooling::Strict => "always has the same outside address",
        Pooling::Arbitrary => "has any outside addresses",
        Pooling::Soft => "keeps its outside address while that has ports",
    };
    format!("a subscriber is {subscriber}; it has {ports} and {pooling}")
}

fn of_limits(nat: &Nat) -> Option<String> {
    let limit = |n: u32, what: &str| (n != 0).then(|| format!("{n} {what}"));
    let bindings = limit(nat.subscriber_bindings, "bindings");
    let sessions = limit(nat.subscriber_sessions, "sessions");
    let rate = limit(nat.subscriber_session_rate, "new sessions a second");
    let limits = list(bindings.into_iter().chain(sessions).chain(rate));
    let limits = (!limits.is_empty()).then(|| format!("a subscriber has at most {limits}"));
    let own = match nat.subscriber_limits.len() {
        0 => None,
        1 => Some("one has limits of its own".to_owned()),
        number => Some(format!("{number} have limits of their own")),
    };
    match (limits, own) {
        (Some(limits), Some(own)) => Some(format!("{limits}; {own}")),
        (limits, own) => limits.or(own),
    }
}

fn of_pcp(pcp: &Pcp) -> String {
    let in_softwires = pcp
        .in_softwires
        .then(|| format!("{} in softwires", aftr::OWN));
    let listen = pcp.listen.iter().map(|at| at.value.to_string());
    let listen = list(in_softwires.into_iter().chain(listen));
    let clients = match pcp.clients.as_slice() {
        [] => "all of them".to_owned(),
        nets => list(nets.iter().map(|net| net.value.to_string())),
    };
    format!(
        "hosts may ask for ports by PCP and NAT-PMP at {listen}: {clients}, up to {} each",
        pcp.per_host
    )
}

//! Rows of small packets, and of pings.

use super::{
    Figure, Measurement,
    profile::{Busy, Cores},
    turns::{Effort, interleave},
};
use crate::{
    LabError, Result,
    figures::statistics::median,
    network::{
        cores::{GATEWAY_CPU, TESTER_CPU},
        device::{Device, Started},
        plan,
        sweep::ConntrackLimit,
        topology::{Neighbours, Network, Offloads, Topology},
    },
    subjects::{
        isthmus::{Engine, Instance, Isthmus, Mechanism},
        peers::{Forwarding, Nftables, Tayga},
    },
    traffic::{
        generator::{FIRST_PORT, Order, PORT, Pace},
        packet::{Ends, Packet},
        path::{Load, Path},
        tools,
    },
};

pub(super) const PACKETS: &str = "packets/s";
const SESSIONS: &str = "sessions/s";

/// Returns the path of SIIT in XDP from IPv4 to IPv6, 1000 flows.
pub(super) fn siit_four_to_six(last: Option<Path>) -> Result<Path> {
    after(last, &siit(), &Load::four_to_six(1000))
}

/// Returns the path of SIIT in XDP from IPv6 to IPv4, 1000 flows.
pub(super) fn siit_six_to_four(last: Option<Path>) -> Result<Path> {
    after(last, &siit(), &Load::six_to_four(1000))
}

fn siit() -> Isthmus {
    Isthmus::new(Engine::Xdp, Mechanism::Siit)
}

/// Returns the path of a load through a gateway: that of the path before it, if it has the same name. Names do not tell
/// the sizes of tables.
pub(super) fn after(last: Option<Path>, gateway: &Isthmus, load: &Load) -> Result<Path> {
    match last {
        Some(last) if last.name() == gateway.name() => last.turn(load),
        other => {
            drop(other);
            Path::build(gateway, load)
        }
    }
}

/// Returns the path of NAT64 in XDP, 1000 sessions in turn. Its tables are those of [`opening`].
pub(super) fn established(last: Option<Path>) -> Result<Path> {
    drop(last);
    Path::build(&nat64_of(OPENED), &Load::six_to_four(1000))
}

/// Returns the path of NAT64 in XDP, where each of the first frames beyond those of the check opens a session, [`OPENED`]
/// of them.
pub(super) fn opening() -> Result<Path> {
    Path::build(&nat64_of(OPENED), &subscribers(OPENED))
}

/// As [`opening`], where subscribers have limits, and blocks of ports. User space gives each its block during the check,
/// and the block has room for all of its sessions.
pub(super) fn opening_in_blocks() -> Result<Path> {
    let nat64 = Isthmus::new(Engine::Xdp, Mechanism::Other(WITH_BLOCKS));
    let in_turn = (0..OPENED).map(|n| session(n % IN_BLOCKS, n / IN_BLOCKS));
    let load = Load {
        packets: in_turn.collect(),
        ..Load::six_to_four(1)
    };
    Path::build(&nat64, &load)
}

/// Returns the path of NAT64 in XDP, a million sessions at random.
pub(super) fn established_million(last: Option<Path>) -> Result<Path> {
    drop(last);
    let mut path = Path::build(&nat64_of(MILLION), &subscribers(MILLION))?;
    let (arrived, _) = path.burst(MILLION)?;
    complete(path.name(), MILLION, arrived)?;
    path.set_order(Order::Random)?;
    Ok(path)
}

/// Turns a path into work at full rate.
pub(super) fn at_full_rate(mut path: Path, effort: &Effort) -> Busy {
    let Effort {
        warm_up, window, ..
    } = *effort;
    Busy {
        cores: Cores::One(TESTER_CPU),
        work: Box::new(move || path.rate(warm_up, window, Pace::Full).map(drop)),
    }
}

/// Measures a path at full rate, in turn with the kernel's forwarding.
pub(super) fn against_kernel(path: Path, effort: &Effort) -> Result<Measurement> {
    let kernel = Path::build(&Forwarding, &Load::routed6(1000))?;
    let measured = compare(path, kernel, effort)?;
    Ok(Measurement {
        baseline: Figure {
            name: "kernel forwarding, IPv6".into(),
            ..measured.baseline
        },
        ..measured
    })
}

/// Measures two paths at full rate, in turn.
pub(super) fn compare(mut path: Path, mut other: Path, effort: &Effort) -> Result<Measurement> {
    let Effort {
        warm_up, window, ..
    } = *effort;
    let names = [path.name().to_owned(), other.name().to_owned()];
    Measurement::in_turn(
        effort,
        (&names[0], || {
            Ok(path.rate(warm_up, window, Pace::Full)?.received)
        }),
        (&names[1], || {
            Ok(other.rate(warm_up, window, Pace::Full)?.received)
        }),
        PACKETS,
    )
}

/// Sessions that a row of their openings has: as many as four counts open. An emulated machine takes as long to load their
/// frames and to clear tables for them as to count.
pub(super) const OPENED: u32 = 100_000;
/// Sessions of the large runs.
const MILLION: u32 = 1_000_000;
/// Sessions that the new-session row counts.
const FIRST: u32 = 300_000;

/// Flows that masquerading to one address has ports for.
const MASQUERADED: u32 = 60_000;

/// Returns the load of many subscribers with a /64 and 250 sessions each: a million sessions need 4000 of them.
pub(super) fn subscribers(sessions: u32) -> Load {
    Load {
        packets: (0..sessions).map(|n| session(n / 250, n % 250)).collect(),
        ..Load::six_to_four(1)
    }
}

/// Returns a packet of a session of a subscriber, by their numbers.
fn session(subscriber: u32, number: u32) -> Packet {
    let ends = Ends::V6(plan::subscriber(subscriber), plan::embed(plan::HOST4));
    Packet::new(ends, (FIRST_PORT + number as u16, PORT))
}

/// Subscribers that have a block of ports: fewer than a check has packets.
const IN_BLOCKS: u32 = 800;

/// Returns a NAT64 whose tables hold so many sessions with room to spare.
fn nat64_of(sessions: u32) -> Isthmus {
    Isthmus {
        sessions: 2 * sessions,
        ..Isthmus::new(Engine::Xdp, Mechanism::Nat64)
    }
}

/// A NAT64 of an ISP: each /64 has a block of 2048 ports, and no more of a table than its limits.
const WITH_BLOCKS: Instance = Instance::new(
    "NAT64 with port blocks",
    &[r#"mechanism = "nat64"
prefix = "2001:db8:64::/96"
pool = [{ addresses = "203.0.113.0/24", ports = "1024-65535" }]
port-blocks = { size = 2048, per-subscriber = 2 }
subscriber-bindings = 4096
subscriber-sessions = 16384
subscriber-session-rate = 1000000000
max-bindings = 200000
max-sessions = 200000"#],
);

/// Checks that all of a burst arrived.
///
/// # Errors
/// Not all of a burst arrived.
pub(super) fn complete(name: &str, sent: u32, received: u64) -> Result<()> {
    if received == u64::from(sent) {
        return Ok(());
    }
    Err(LabError::SelfCheck {
        what: format!("{name}, a burst"),
        sent: u64::from(sent),
        received,
        invalid: 0,
    })
}

pub(super) fn new_sessions(effort: &Effort) -> Result<Measurement> {
    let _limit = ConntrackLimit::raise(2 * u64::from(MILLION))?;
    let mut kernel = Path::build(&Forwarding, &Load::routed6(1000))?;
    let isthmus = nat64_of(MILLION);
    let mut rest = Vec::new();
    let compared = interleave(
        effort.repetitions,
        || {
            let mut path = Path::build(&isthmus, &subscribers(MILLION))?;
            let (arrived, took) = path.burst(FIRST)?;
            complete(path.name(), FIRST, arrived)?;
            let (more, longer) = path.burst(MILLION - FIRST)?;
            rest.push(more as f64 / longer.as_secs_f64());
            Ok(arrived as f64 / took.as_secs_f64())
        },
        || {
            Ok(kernel
                .rate(effort.warm_up, effort.window, Pace::Full)?
                .received)
        },
    )?;
    let masquerade = new_flows(effort, Nftables::Masquerade, MASQUERADED)?;
    let pool = new_flows(effort, Nftables::Pool, FIRST)?;
    let mut measured = Measurement::new(
        compared,
        &isthmus.name(),
        "kernel forwarding, IPv6",
        SESSIONS,
    );
    measured.baseline.unit = PACKETS;
    measured.beside = vec![
        Figure::new("from 300,000 to 1,000,000", median(&mut rest), SESSIONS),
        masquerade,
        pool,
    ];
    Ok(measured)
}

/// Opens a million sessions.
pub(super) fn many_new_sessions(_: &Effort) -> Result<Busy> {
    let mut path = Path::build(&nat64_of(MILLION), &subscribers(MILLION))?;
    Ok(Busy {
        cores: Cores::One(TESTER_CPU),
        work: Box::new(move || path.burst(MILLION).map(drop)),
    })
}

/// Measures new flows per second through nftables. The figure's name has the share that arrived.
fn new_flows(effort: &Effort, nftables: Nftables, flows: u32) -> Result<Figure> {
    let mut rates = Vec::new();
    let mut shares = Vec::new();
    for _ in 0..effort.repetitions {
        let mut path = Path::build(&nftables, &Load::routed4(flows))?;
        let (arrived, took) = path.burst(flows)?;
        rates.push(arrived as f64 / took.as_secs_f64());
        shares.push(arrived as f64 / f64::from(flows) * 100.0);
    }
    let name = format!(
        "{}, {:.0} % of {flows} new flows:",
        nftables.name(),
        median(&mut shares)
    );
    Ok(Figure::new(&name, median(&mut rates), "flows/s"))
}

/// Returns the path of SIIT in user space, one thread.
pub(super) fn siit_user() -> Result<Path> {
    let isthmus = Isthmus::new(Engine::User, Mechanism::Siit);
    Path::build(&isthmus, &Load::six_to_four(1000))
}

pub(super) fn pps_user(effort: &Effort) -> Result<Measurement> {
    let mut ours = siit_user()?;
    let mut theirs = Path::build(&Tayga, &Load::six_to_four(1000))?;
    let compared = interleave(
        effort.repetitions.min(3),
        || ours.best_delivery(effort.window / 4),
        || theirs.best_delivery(effort.window / 4),
    )?;
    Ok(Measurement::new(
        compared,
        ours.name(),
        theirs.name(),
        PACKETS,
    ))
}

pub(super) fn user_at_best(effort: &Effort) -> Result<Busy> {
    let mut path = siit_user()?;
    let window = effort.window / 4;
    Ok(Busy {
        cores: Cores::One(GATEWAY_CPU),
        work: Box::new(move || path.best_delivery(window).map(drop)),
    })
}

/// Starts NAT64 in XDP between two hosts.
fn pinged() -> Result<(Started, Network)> {
    let network = Topology::dual_stack(Neighbours::Static, Offloads::Off).build()?;
    let isthmus = Isthmus::new(Engine::Xdp, Mechanism::Nat64);
    Ok((isthmus.start(&network, GATEWAY_CPU)?, network))
}

fn translated_ping(network: &Network) -> Result<f64> {
    tools::median_round_trip(network.host6()?, &plan::embed(plan::HOST4).to_string())
}

pub(super) fn round_trip(effort: &Effort) -> Result<Measurement> {
    let (_running, ours) = pinged()?;
    let theirs = Topology::dual_stack(Neighbours::Static, Offloads::Off).build()?;
    let routed = plan::HOST4_AS_IPV6.to_string();
    Measurement::in_turn(
        effort,
        ("Isthmus NAT64, engine xdp", || translated_ping(&ours)),
        ("kernel forwarding, IPv6", || {
            tools::median_round_trip(theirs.host6()?, &routed)
        }),
        "us",
    )
}

pub(super) fn many_round_trips(_: &Effort) -> Result<Busy> {
    let (running, network) = pinged()?;
    Ok(Busy {
        cores: Cores::All,
        work: Box::new(move || {
            let _ = &running;
            translated_ping(&network).map(drop)
        }),
    })
}

//! Rows of small packets, and of pings.

use super::{Figure, Measurement};
use crate::{
    LabError, Result,
    generator::{Addresses, Order, Pace, Vary},
    isthmus::{Engine, Isthmus, Mechanism},
    leftovers::ConntrackLimit,
    measure::{Effort, GATEWAY_CPU, Load, Path, interleave, median},
    peers::{Forwarding, Nftables, Tayga},
    plan,
    subject::Subject,
    tools,
    topology::{Neighbours, Offloads, Topology},
};

const PACKETS: &str = "packets/s";
const SESSIONS: &str = "sessions/s";

pub(super) fn siit_four_to_six(effort: &Effort) -> Result<Measurement> {
    let isthmus = Isthmus::new(Engine::Xdp, Mechanism::Siit);
    against_kernel(effort, &isthmus, &Load::four_to_six(1000))
}

pub(super) fn siit_six_to_four(effort: &Effort) -> Result<Measurement> {
    let isthmus = Isthmus::new(Engine::Xdp, Mechanism::Siit);
    against_kernel(effort, &isthmus, &Load::six_to_four(1000))
}

pub(super) fn established(effort: &Effort) -> Result<Measurement> {
    let isthmus = Isthmus::new(Engine::Xdp, Mechanism::Nat64);
    against_kernel(effort, &isthmus, &Load::six_to_four(1000))
}

fn against_kernel(effort: &Effort, subject: &dyn Subject, load: &Load) -> Result<Measurement> {
    let path = Path::build(subject, load)?;
    path_against_kernel(effort, path)
}

fn path_against_kernel(effort: &Effort, mut path: Path) -> Result<Measurement> {
    let mut kernel = Path::build(&Forwarding, &Load::routed6(1000))?;
    let Effort {
        repetitions,
        warm_up,
        window,
    } = *effort;
    let compared = interleave(
        repetitions,
        || Ok(path.rate(warm_up, window, Pace::Full)?.received),
        || Ok(kernel.rate(warm_up, window, Pace::Full)?.received),
    )?;
    Ok(Measurement::new(
        compared,
        path.name(),
        "kernel forwarding, IPv6",
        PACKETS,
    ))
}

/// Sessions of the large runs.
const MILLION: u32 = 1_000_000;
/// Sessions that the new-session row counts.
const FIRST: u32 = 300_000;

/// Flows that masquerading to one address has ports for.
const MASQUERADED: u32 = 60_000;

/// Many subscribers with a /64 and 250 sessions each, so a million needs 4000 of them.
fn subscribers(sessions: u32) -> Load {
    Load {
        addresses: Addresses::V6 {
            source: plan::SUBSCRIBERS,
            destination: plan::embed(plan::HOST4),
            vary: Vary::Subnet,
        },
        flows_per_host: 250,
        ..Load::six_to_four(sessions)
    }
}

/// NAT64 whose tables hold a million sessions without coming near their bound.
fn large_nat64() -> Isthmus {
    Isthmus {
        sessions: 2 * MILLION,
        ..Isthmus::new(Engine::Xdp, Mechanism::Nat64)
    }
}

pub(super) fn established_million(effort: &Effort) -> Result<Measurement> {
    let mut path = Path::build(&large_nat64(), &subscribers(MILLION))?;
    let (arrived, _) = path.burst(MILLION)?;
    complete(path.name(), MILLION, arrived)?;
    path.set_order(Order::Random)?;
    path_against_kernel(effort, path)
}

/// An error unless all of a burst arrived.
fn complete(name: &str, sent: u32, received: u64) -> Result<()> {
    if received == u64::from(sent) {
        return Ok(());
    }
    Err(LabError::SelfCheck {
        what: format!("{name}, all sessions"),
        sent: u64::from(sent),
        received,
        invalid: 0,
    })
}

pub(super) fn new_sessions(effort: &Effort) -> Result<Measurement> {
    let _limit = ConntrackLimit::raise(2 * u64::from(MILLION))?;
    let mut kernel = Path::build(&Forwarding, &Load::routed6(1000))?;
    let isthmus = large_nat64();
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

/// New flows per second through nftables. Its name says what share arrived.
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

pub(super) fn pps_user(effort: &Effort) -> Result<Measurement> {
    let isthmus = Isthmus::new(Engine::User, Mechanism::Siit);
    let mut ours = Path::build(&isthmus, &Load::six_to_four(1000))?;
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

pub(super) fn round_trip(effort: &Effort) -> Result<Measurement> {
    let topology = Topology::dual_stack(Neighbours::Static, Offloads::Off);
    let (ours, theirs) = (topology.build()?, topology.build()?);
    let isthmus = Isthmus::new(Engine::Xdp, Mechanism::Nat64);
    let _running = isthmus.start(&ours, GATEWAY_CPU)?;
    let through = plan::embed(plan::HOST4).to_string();
    let routed = plan::HOST4_AS_IPV6.to_string();
    let compared = interleave(
        effort.repetitions,
        || tools::median_round_trip(ours.host6()?, &through),
        || tools::median_round_trip(theirs.host6()?, &routed),
    )?;
    Ok(Measurement::new(
        compared,
        &isthmus.name(),
        "kernel forwarding, IPv6",
        "us",
    ))
}

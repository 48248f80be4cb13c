//! The rows of the benchmark and how each is measured.

use std::{fmt, net::SocketAddr, time::Duration};

use serde::Serialize;

use super::{Figure, Measurement};
use crate::{
    LabError, Result,
    generator::{Addresses, Order, Pace, Vary},
    isthmus::{Engine, Isthmus, Mechanism},
    leftovers::ConntrackLimit,
    measure::{Compared, Effort, GATEWAY_CPU, Load, Path, TESTER_CPU, interleave, median},
    peers::{Forwarding, Nftables, Tayga, Unbound},
    plan,
    services::{self, Dns},
    subject::{Started, Subject},
    tools::{self, Direction, DnsLoad, Traffic},
    topology::{Neighbours, Network, Offloads, Topology},
};

/// What a ratio should be.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// More is better.
    AtLeast(f64),
    /// Less is better.
    AtMost(f64),
}

impl Target {
    /// Whether `ratio` is good enough.
    pub fn is_met(self, ratio: f64) -> bool {
        match self {
            Self::AtLeast(bound) => ratio >= bound,
            Self::AtMost(bound) => ratio <= bound,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtLeast(bound) => write!(f, ">= {bound}"),
            Self::AtMost(bound) => write!(f, "<= {bound}"),
        }
    }
}

/// One row: what it is called, what is asked of it, and how it is measured.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// Its name in reports.
    pub name: &'static str,
    /// The ratio asked for.
    pub target: Target,
    /// Why the comparison is fair.
    pub method: &'static str,
    measure: fn(&Effort) -> Result<Measurement>,
}

const SAME_CORE: &str = "Generator, path and sink share one core in both runs; 18 octets of UDP \
    payload; medians of alternating repetitions against the kernel's IPv6 forwarding.";
const SAME_PROCESS_CORE: &str = "Both gateways are one thread on the core that the tester does \
    not use; the load rises until they lose packets, and the best delivery counts.";
const SAME_BULK: &str = "One TCP connection by iperf3, client and server on one core, the \
    gateway's process (if it has one) on the other; offloads as the kernel sets them.";

impl Row {
    /// All rows, in the order of the report.
    pub fn all() -> [Self; 10] {
        let row = |name, target, method, measure| Self {
            name,
            target,
            method,
            measure,
        };
        use Target::{AtLeast, AtMost};
        [
            row("siit-4to6-xdp", AtLeast(3.0), SAME_CORE, siit_four_to_six),
            row("siit-6to4-xdp", AtLeast(3.0), SAME_CORE, siit_six_to_four),
            row(
                "nat64-established-xdp",
                AtLeast(2.5),
                SAME_CORE,
                established,
            ),
            row(
                "nat64-established-xdp-1m",
                AtLeast(1.4),
                SAME_CORE,
                established_million,
            ),
            row(
                "nat64-new-sessions-xdp",
                AtLeast(0.6),
                "Every frame opens a session in an empty table, against the kernel's IPv6 \
                 forwarding in packets/s; all on one core. Repetitions start anew.",
                new_sessions,
            ),
            row("nat64-tcp-tc", AtLeast(0.9), SAME_BULK, tcp_tc),
            row("siit-tcp-user", AtLeast(8.0), SAME_BULK, tcp_user),
            row("siit-pps-user", AtLeast(2.0), SAME_PROCESS_CORE, pps_user),
            row(
                "nat64-rtt-xdp",
                AtMost(1.1),
                "Median of 1000 pings every 2 ms, hosts alike, against the kernel's IPv6 \
                 forwarding.",
                round_trip,
            ),
            row(
                "dns64-qps",
                AtLeast(1.0),
                "1000 names in the cache, 64 queries outstanding, one thread of each server on \
                 the core that the client does not use, the same upstream.",
                dns64,
            ),
        ]
    }

    /// Measures it.
    pub fn measure(&self, effort: &Effort) -> Result<Measurement> {
        (self.measure)(effort)
    }
}

/// The baseline of DNS64.
pub(super) const UNBOUND: Unbound = Unbound {
    listen: plan::GATEWAY6,
};

const PACKETS: &str = "packets/s";
const SESSIONS: &str = "sessions/s";

fn siit_four_to_six(effort: &Effort) -> Result<Measurement> {
    let isthmus = Isthmus::new(Engine::Xdp, Mechanism::Siit);
    against_kernel(effort, &isthmus, &Load::four_to_six(1000))
}

fn siit_six_to_four(effort: &Effort) -> Result<Measurement> {
    let isthmus = Isthmus::new(Engine::Xdp, Mechanism::Siit);
    against_kernel(effort, &isthmus, &Load::six_to_four(1000))
}

fn established(effort: &Effort) -> Result<Measurement> {
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
    Ok(measurement(
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

fn established_million(effort: &Effort) -> Result<Measurement> {
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

fn new_sessions(effort: &Effort) -> Result<Measurement> {
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
    let mut measured = measurement(
        compared,
        &isthmus.name(),
        "kernel forwarding, IPv6",
        SESSIONS,
    );
    measured.baseline.unit = PACKETS;
    measured.beside = vec![
        figure("from 300,000 to 1,000,000", median(&mut rest), SESSIONS),
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
    Ok(figure(&name, median(&mut rates), "flows/s"))
}

/// Starts a subject in a network of its own for bulk TCP, with an iperf3 server on host4.
pub(super) struct Bulk {
    _server: crate::process::Process,
    _started: Started,
    network: Network,
    destination: String,
}

impl Bulk {
    pub(super) fn start(subject: &dyn Subject, destination: String) -> Result<Self> {
        let network = Topology::dual_stack(Neighbours::Resolved, Offloads::On).build()?;
        let started = subject.start(&network, GATEWAY_CPU)?;
        let server = services::start_iperf(network.host4()?, TESTER_CPU)?;
        Ok(Self {
            _server: server,
            _started: started,
            network,
            destination,
        })
    }

    pub(super) fn measure(&self, effort: &Effort) -> Result<f64> {
        let seconds = effort.window.as_secs().max(1) as u32 + 1;
        let client = self.network.host6()?;
        let transfer = tools::iperf(
            client,
            TESTER_CPU,
            &self.destination,
            Traffic::Tcp,
            Direction::Upload,
            seconds,
        )?;
        Ok(transfer.bits_per_second)
    }
}

fn bulk(
    effort: &Effort,
    subject: &dyn Subject,
    baseline: &dyn Subject,
    baseline_destination: String,
) -> Result<Measurement> {
    let ours = Bulk::start(subject, plan::embed(plan::HOST4).to_string())?;
    let theirs = Bulk::start(baseline, baseline_destination)?;
    let compared = interleave(
        effort.repetitions,
        || ours.measure(effort),
        || theirs.measure(effort),
    )?;
    Ok(measurement(
        compared,
        &subject.name(),
        &baseline.name(),
        "bit/s",
    ))
}

fn tcp_tc(effort: &Effort) -> Result<Measurement> {
    let isthmus = Isthmus::new(Engine::Tc, Mechanism::Nat64);
    bulk(
        effort,
        &isthmus,
        &Forwarding,
        plan::HOST4_AS_IPV6.to_string(),
    )
}

fn tcp_user(effort: &Effort) -> Result<Measurement> {
    let isthmus = Isthmus::new(Engine::User, Mechanism::Siit);
    let destination = plan::embed(plan::HOST4).to_string();
    bulk(effort, &isthmus, &Tayga, destination)
}

fn pps_user(effort: &Effort) -> Result<Measurement> {
    let isthmus = Isthmus::new(Engine::User, Mechanism::Siit);
    let mut ours = Path::build(&isthmus, &Load::six_to_four(1000))?;
    let mut theirs = Path::build(&Tayga, &Load::six_to_four(1000))?;
    let compared = interleave(
        effort.repetitions.min(3),
        || ours.best_delivery(effort.window / 4),
        || theirs.best_delivery(effort.window / 4),
    )?;
    Ok(measurement(compared, ours.name(), theirs.name(), PACKETS))
}

fn round_trip(effort: &Effort) -> Result<Measurement> {
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
    Ok(measurement(
        compared,
        &isthmus.name(),
        "kernel forwarding, IPv6",
        "us",
    ))
}

/// A DNS64 server under test on the gateway and its upstream on host4.
pub(super) struct DnsPair {
    _started: Started,
    _upstream: Dns,
    network: Network,
}

impl DnsPair {
    /// Starts both and asks for every name, so that the cache has them.
    pub(super) fn start(subject: &dyn Subject) -> Result<Self> {
        let network = Topology::dual_stack(Neighbours::Resolved, Offloads::On).build()?;
        let upstream = Dns::start(&network)?;
        let started = subject.start(&network, GATEWAY_CPU)?;
        let pair = Self {
            _started: started,
            _upstream: upstream,
            network,
        };
        pair.measure(Duration::from_secs(1))?;
        Ok(pair)
    }

    /// Answers per second.
    pub(super) fn measure(&self, duration: Duration) -> Result<f64> {
        let load = DnsLoad {
            server: SocketAddr::new(plan::GATEWAY6.into(), 53),
            window: 64,
        };
        load.run(self.network.host6()?, TESTER_CPU, duration)
    }
}

fn dns64(effort: &Effort) -> Result<Measurement> {
    let isthmus = Isthmus::new(Engine::User, Mechanism::Nat64).with_dns64(plan::GATEWAY6);
    let ours = DnsPair::start(&isthmus)?;
    let theirs = DnsPair::start(&UNBOUND)?;
    let compared = interleave(
        effort.repetitions,
        || ours.measure(effort.window),
        || theirs.measure(effort.window),
    )?;
    Ok(measurement(
        compared,
        "Isthmus DNS64",
        &UNBOUND.name(),
        "queries/s",
    ))
}

fn measurement(
    compared: Compared,
    subject: &str,
    baseline: &str,
    unit: &'static str,
) -> Measurement {
    Measurement {
        subject: figure(subject, compared.value, unit),
        baseline: figure(baseline, compared.baseline, unit),
        beside: Vec::new(),
    }
}

pub(super) fn figure(name: &str, value: f64, unit: &'static str) -> Figure {
    Figure {
        name: name.into(),
        value,
        unit,
    }
}

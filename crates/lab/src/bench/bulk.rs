//! Rows of bulk TCP.

use super::Measurement;
use crate::{
    Result,
    isthmus::{Engine, Isthmus, Mechanism},
    measure::{Effort, GATEWAY_CPU, TESTER_CPU, interleave},
    peers::{Forwarding, Tayga},
    plan, services,
    subject::{Started, Subject},
    tools::{self, Direction, Traffic},
    topology::{Neighbours, Network, Offloads, Topology},
};

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
    Ok(Measurement::new(
        compared,
        &subject.name(),
        &baseline.name(),
        "bit/s",
    ))
}

pub(super) fn tcp_tc(effort: &Effort) -> Result<Measurement> {
    let isthmus = Isthmus::new(Engine::Tc, Mechanism::Nat64);
    bulk(
        effort,
        &isthmus,
        &Forwarding,
        plan::HOST4_AS_IPV6.to_string(),
    )
}

pub(super) fn tcp_user(effort: &Effort) -> Result<Measurement> {
    let isthmus = Isthmus::new(Engine::User, Mechanism::Siit);
    let destination = plan::embed(plan::HOST4).to_string();
    bulk(effort, &isthmus, &Tayga, destination)
}

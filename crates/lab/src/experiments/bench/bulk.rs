//! Rows of bulk TCP.

use std::net::Ipv6Addr;

use super::{
    Measurement,
    profile::{Busy, Cores},
    turns::Effort,
};
use crate::{
    Result,
    network::{
        cores::{GATEWAY_CPU, TESTER_CPU},
        device::{Device, Started},
        plan,
        process::Process,
        topology::{Neighbours, Network, Offloads, Topology},
    },
    subjects::{
        isthmus::{Engine, Isthmus, Mechanism},
        peers::{Forwarding, Tayga},
    },
    traffic::{
        services,
        tools::{self, Direction, Traffic, Until},
    },
};

/// Devices in a network of their own, with an iperf3 server on host4.
pub(super) struct Bulk {
    _server: Process,
    _started: Vec<Started>,
    network: Network,
    destination: String,
}

impl Bulk {
    pub(super) fn start(device: &dyn Device, destination: String) -> Result<Self> {
        let network = Topology::dual_stack(Neighbours::Resolved, Offloads::On).build()?;
        let started = device.start(&network, GATEWAY_CPU)?;
        Self::on(network, vec![started], destination)
    }

    /// Starts the server in a network with running devices.
    pub(super) fn on(network: Network, started: Vec<Started>, destination: String) -> Result<Self> {
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
            Traffic::BULK,
            Direction::Upload,
            Until::Seconds(seconds),
        )?;
        Ok(transfer.bits_per_second)
    }

    /// Turns it into work for a profile of a core.
    pub(super) fn busy(self, effort: &Effort, cpu: usize) -> Busy {
        let effort = *effort;
        Busy {
            cores: Cores::One(cpu),
            work: Box::new(move || self.measure(&effort).map(drop)),
        }
    }
}

/// The device of a row and the destination of its client.
struct Side<'a> {
    device: &'a dyn Device,
    destination: Ipv6Addr,
}

fn bulk(effort: &Effort, device: &dyn Device, baseline: Side<'_>) -> Result<Measurement> {
    let ours = Bulk::start(device, plan::embed(plan::HOST4).to_string())?;
    let theirs = Bulk::start(baseline.device, baseline.destination.to_string())?;
    compare(
        effort,
        (&ours, &device.name()),
        (&theirs, &baseline.device.name()),
    )
}

/// Measures a device in turn with a baseline, each with its name.
pub(super) fn compare(
    effort: &Effort,
    (ours, subject): (&Bulk, &str),
    (theirs, baseline): (&Bulk, &str),
) -> Result<Measurement> {
    Measurement::in_turn(
        effort,
        (subject, || ours.measure(effort)),
        (baseline, || theirs.measure(effort)),
        "bit/s",
    )
}

fn busy(effort: &Effort, device: &dyn Device, cpu: usize) -> Result<Busy> {
    let bulk = Bulk::start(device, plan::embed(plan::HOST4).to_string())?;
    Ok(bulk.busy(effort, cpu))
}

fn nat64_tc() -> Isthmus {
    Isthmus::new(Engine::Tc, Mechanism::Nat64)
}

fn siit_user() -> Isthmus {
    Isthmus::new(Engine::User, Mechanism::Siit)
}

pub(super) fn tcp_tc(effort: &Effort) -> Result<Measurement> {
    let kernel = Side {
        device: &Forwarding,
        destination: plan::HOST4_AS_IPV6,
    };
    bulk(effort, &nat64_tc(), kernel)
}

pub(super) fn busy_tc(effort: &Effort) -> Result<Busy> {
    busy(effort, &nat64_tc(), TESTER_CPU)
}

pub(super) fn tcp_user(effort: &Effort) -> Result<Measurement> {
    let tayga = Side {
        device: &Tayga,
        destination: plan::embed(plan::HOST4),
    };
    bulk(effort, &siit_user(), tayga)
}

pub(super) fn busy_user(effort: &Effort) -> Result<Busy> {
    busy(effort, &siit_user(), GATEWAY_CPU)
}

//! The row of DNS64.

use std::{net::SocketAddr, time::Duration};

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
        topology::{Neighbours, Network, Offloads, Topology},
    },
    subjects::{
        isthmus::{Engine, Isthmus, Mechanism},
        peers::Unbound,
    },
    traffic::{services::Dns, tools::DnsLoad},
};

/// The baseline of DNS64.
pub(super) const UNBOUND: Unbound = Unbound {
    listen: plan::GATEWAY6,
};

/// A DNS64 server under test on the gateway and its upstream on host4.
pub(super) struct DnsPair {
    _started: Started,
    _upstream: Dns,
    network: Network,
}

impl DnsPair {
    /// Starts both and queries every name, so that the cache has them.
    pub(super) fn start(device: &dyn Device) -> Result<Self> {
        let network = Topology::dual_stack(Neighbours::Resolved, Offloads::On).build()?;
        let upstream = Dns::start(network.host4()?, plan::HOST4.into())?;
        let started = device.start(&network, GATEWAY_CPU)?;
        let pair = Self {
            _started: started,
            _upstream: upstream,
            network,
        };
        pair.measure(Duration::from_secs(1))?;
        Ok(pair)
    }

    /// Returns the answers per second.
    pub(super) fn measure(&self, duration: Duration) -> Result<f64> {
        let load = DnsLoad {
            server: SocketAddr::new(plan::GATEWAY6.into(), 53),
            window: 64,
        };
        load.run(self.network.host6()?, TESTER_CPU, duration)
    }
}

fn isthmus() -> Result<DnsPair> {
    let gateway = Isthmus::new(Engine::User, Mechanism::Nat64).with_dns64(plan::GATEWAY6);
    DnsPair::start(&gateway)
}

pub(super) fn dns64(effort: &Effort) -> Result<Measurement> {
    let ours = isthmus()?;
    let theirs = DnsPair::start(&UNBOUND)?;
    Measurement::in_turn(
        effort,
        ("Isthmus DNS64", || ours.measure(effort.window)),
        (&UNBOUND.name(), || theirs.measure(effort.window)),
        "queries/s",
    )
}

pub(super) fn busy_dns64(effort: &Effort) -> Result<Busy> {
    let ours = isthmus()?;
    let window = effort.window;
    Ok(Busy {
        cores: Cores::One(GATEWAY_CPU),
        work: Box::new(move || ours.measure(window).map(drop)),
    })
}

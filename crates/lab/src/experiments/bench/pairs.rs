//! Rows of bulk TCP through a CE and a BR, or the two ends of a tunnel, both ours, in tc.

use super::{
    Measurement,
    bulk::{Bulk, compare},
    crossings::instances::{
        AFTR_OF_ONE, B4, FAR_END, MAP_E_BR_OF_ONE, MAP_E_CE, MAP_T_BR_OF_ONE, MAP_T_CE, NEAR_END,
    },
    profile::Busy,
    turns::Effort,
};
use crate::{
    Result,
    network::{
        cores::{GATEWAY_CPU, TESTER_CPU},
        plan,
        topology::{BR, GATEWAY, Offloads, Topology},
    },
    subjects::isthmus::{Engine, Instance, Isthmus, Mechanism},
};

/// A CE and its BR, or two ends of a tunnel.
#[derive(Debug)]
pub(super) struct Pair {
    /// The row's name.
    pub(super) row: &'static str,
    ce: &'static Instance,
    br: &'static Instance,
}

/// All pairs.
pub(super) static PAIRS: [Pair; 4] = [
    pair("4in6-tcp-tc", &NEAR_END, &FAR_END),
    pair("map-e-tcp-tc", &MAP_E_CE, &MAP_E_BR_OF_ONE),
    pair("map-t-tcp-tc", &MAP_T_CE, &MAP_T_BR_OF_ONE),
    pair("ds-lite-tcp-tc", &B4, &AFTR_OF_ONE),
];

const fn pair(row: &'static str, ce: &'static Instance, br: &'static Instance) -> Pair {
    Pair { row, ce, br }
}

impl Pair {
    /// Measures the pair in turn with the kernel's routers in the same places.
    pub(super) fn measure(&'static self, effort: &Effort) -> Result<Measurement> {
        let name = format!("Isthmus {}, engine tc", self.br.name);
        compare(
            effort,
            (&self.bulk()?, &name),
            (&routed()?, "kernel forwarding, IPv4, two routers"),
        )
    }

    /// Returns the pair alone, as work for a profile.
    pub(super) fn busy(&'static self, effort: &Effort) -> Result<Busy> {
        Ok(self.bulk()?.busy(effort, TESTER_CPU))
    }

    fn bulk(&'static self) -> Result<Bulk> {
        let network = Topology::pair(Offloads::On).build()?;
        let mut started = Vec::new();
        for (node, instance) in [(GATEWAY, self.ce), (BR, self.br)] {
            let isthmus = Isthmus::new(Engine::Tc, Mechanism::Other(*instance));
            let gateway = isthmus.up(network.node(node)?, Some(GATEWAY_CPU))?;
            started.push(gateway.into_started());
        }
        Bulk::on(network, started, plan::HOST4.to_string())
    }
}

/// Returns the same network with both gateways forwarding IPv4.
fn routed() -> Result<Bulk> {
    let network = Topology::pair(Offloads::On).build()?;
    let (gateway, br) = (network.node(GATEWAY)?, network.node(BR)?);
    let route = |to: &str, via| vec![format!("route add {to} via inet6 {via}")];
    gateway.ip(&route("198.51.100.0/24", plan::ROUTER6))?;
    br.ip(&route("192.0.2.0/24", plan::EDGE6))?;
    Bulk::on(network, Vec::new(), plan::HOST4.to_string())
}

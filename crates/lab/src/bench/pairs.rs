//! Rows of bulk TCP through a CE and a BR, both ours, in tc.

use super::{
    Measurement,
    bulk::{Bulk, compare},
    crossings::{B4, MAP_E_CE, MAP_T_CE},
    profile::Busy,
};
use crate::{
    Result,
    isthmus::{Engine, Instance, Isthmus, Mechanism},
    measure::{Effort, GATEWAY_CPU, TESTER_CPU},
    plan,
    topology::{BR, GATEWAY, Offloads, Topology},
};

/// A CE and its BR.
#[derive(Debug)]
pub(super) struct Pair {
    /// The row's name.
    pub(super) row: &'static str,
    ce: &'static Instance,
    br: Instance,
}

/// All pairs.
pub(super) static PAIRS: [Pair; 3] = [
    Pair {
        row: "map-e-tcp-tc",
        ce: &MAP_E_CE,
        br: Instance::new(
            "MAP-E CE and BR",
            r#"mechanism = "map-e"
role = "br"
local = "2001:db8:7::1"
rules = [{ v6 = "2001:db8:5::/48", v4 = "203.0.113.0/24", ea-bits = 12 }]
own-v4 = "198.51.100.1""#,
        ),
    },
    Pair {
        row: "map-t-tcp-tc",
        ce: &MAP_T_CE,
        br: Instance::new(
            "MAP-T CE and BR",
            r#"mechanism = "map-t"
role = "br"
prefix = "2001:db8:7::/96"
rules = [{ v6 = "2001:db8:5::/48", v4 = "203.0.113.0/24", ea-bits = 12 }]
own-v4 = "198.51.100.1"
icmp-source-v6 = "2001:db8:1::2""#,
        ),
    },
    Pair {
        row: "ds-lite-tcp-tc",
        ce: &B4,
        br: Instance::new(
            "DS-Lite B4 and AFTR",
            r#"mechanism = "ds-lite"
role = "aftr"
local = "2001:db8:7::1"
softwires = ["2001:db8:5::/48"]
pool = [{ addresses = "203.0.113.0/24", ports = "1024-65535" }]
own-v4 = "198.51.100.1"
max-bindings = 65536
max-sessions = 65536"#,
        ),
    },
];

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
        for (node, instance) in [(GATEWAY, self.ce), (BR, &self.br)] {
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

//! A whole network: hosts, routers, servers and a running Isthmus between them.
//!
//! ```text
//! host6 ──── router6 ──── gateway ──── router4 ──── host4
//! IPv6 only  IPv6 only    isthmus up   IPv4 only    IPv4 only: nginx, DNS, iperf3
//! ```

use crate::{
    Result,
    network::{
        device::{Device, Started},
        plan,
        process::{self, Process},
        programs::{self, Attached},
        topology::{
            FOUR, GATEWAY, HOST_INTERFACE, HOST4, HOST6, INNER, Network, Offloads, ROUTER4,
            ROUTER6, Topology,
        },
    },
    subjects::{
        isthmus::{Engine, Gateway, Isthmus, Mechanism},
        peers::{Tayga, Unbound},
    },
    traffic::services::{self, Dns, Web},
};

/// The CPU of servers that are bound to one.
const SERVER_CPU: usize = 0;

/// The place of a link that is narrower than 1500 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Narrow {
    /// No link is narrow.
    Nowhere,
    /// Between the gateway and router4: the gateway itself sends the error.
    AtTheGateway(u32),
    /// Between router4 and host4: an IPv4 router sends the error, which the gateway translates.
    BehindTheGateway(u32),
    /// Between host6 and router6: an IPv6 router sends the error to host4.
    BeforeTheGateway(u32),
}

/// The network with its servers, and no gateway yet.
#[derive(Debug)]
pub struct World {
    /// The web server on host4.
    pub web: Web,
    /// The mechanism. Under SIIT, host4 can open connections to host6.
    pub mechanism: Mechanism,
    _dns: Dns,
    _iperf: [Process; 2],
    _polling: Vec<Attached>,
    /// The nodes.
    pub network: Network,
}

/// A world with a running Isthmus; dropping it ends and removes all.
#[derive(Debug)]
pub struct Live {
    /// The gateway under test.
    pub gateway: Gateway,
    engine: Engine,
    /// The network and its servers.
    pub world: World,
}

/// A world with TAYGA and unbound on the gateway, by which the checks themselves are checked.
#[derive(Debug)]
pub struct Reference {
    _gateway: [Started; 2],
    /// The network and its servers.
    pub world: World,
}

impl Live {
    /// Builds a world, starts the gateway and waits until everything is ready.
    pub fn build(engine: Engine, mechanism: Mechanism, narrow: Narrow) -> Result<Self> {
        let mut isthmus = Isthmus::new(engine, mechanism).with_dns64(plan::EDGE6);
        if let Narrow::AtTheGateway(mtu) = narrow {
            isthmus.ipv4_mtu = mtu;
        }
        crate::subjects::isthmus::program()?;
        let offloads = match engine {
            Engine::Xdp => Offloads::Off,
            Engine::Tc | Engine::User => Offloads::On,
        };
        let world = World::build(mechanism, offloads, narrow)?;
        let gateway = isthmus.up(world.network.gateway()?, None)?;
        Ok(Self {
            gateway,
            engine,
            world,
        })
    }

    /// Starts the gateway again after it has ended.
    pub fn restart(&mut self) -> Result<()> {
        let node = self.world.network.gateway()?;
        self.gateway.restart(self.engine, node, None)
    }
}

impl Reference {
    /// Builds a world with TAYGA as the gateway.
    pub fn build(narrow: Narrow) -> Result<Self> {
        process::require("tayga", "tayga")?;
        let world = World::build(Mechanism::Siit, Offloads::On, narrow)?;
        let unbound = Unbound {
            listen: plan::EDGE6,
        };
        Ok(Self {
            _gateway: [
                Tayga.start(&world.network, SERVER_CPU)?,
                unbound.start(&world.network, SERVER_CPU)?,
            ],
            world,
        })
    }
}

impl World {
    /// Builds the network and starts its servers.
    fn build(mechanism: Mechanism, offloads: Offloads, narrow: Narrow) -> Result<Self> {
        let topology = Topology::long(offloads);
        let network = match narrow {
            Narrow::Nowhere => topology,
            Narrow::AtTheGateway(mtu) => topology.with_mtu(GATEWAY, FOUR, mtu),
            Narrow::BehindTheGateway(mtu) => topology.with_mtu(HOST4, HOST_INTERFACE, mtu),
            Narrow::BeforeTheGateway(mtu) => topology.with_mtu(HOST6, HOST_INTERFACE, mtu),
        }
        .build()?;
        let dns = Dns::start(network.host4()?, plan::HOST4.into())?;
        let web = Web::start(&network)?;
        let iperf = [
            services::start_iperf(network.host4()?, SERVER_CPU)?,
            services::start_iperf(network.host6()?, SERVER_CPU)?,
        ];
        let mut polling = Vec::new();
        if offloads == Offloads::Off {
            for router in [ROUTER6, ROUTER4] {
                polling.push(programs::poll(network.node(router)?, INNER)?);
            }
        }
        network.host6()?.set_resolver(&plan::EDGE6.to_string())?;
        Ok(Self {
            web,
            mechanism,
            _dns: dns,
            _iperf: iperf,
            _polling: polling,
            network,
        })
    }

    /// Returns the state of the gateway's namespace: links, addresses, routes, rules, filters. It must be the same
    /// before `isthmus up` and after.
    pub fn footprint(&self) -> Result<String> {
        let gateway = self.network.gateway()?;
        let mut print = String::new();
        for command in [
            "ip -o link",
            "ip -o addr",
            "ip -4 route show table all",
            "ip -6 route show table all",
            "ip -4 rule",
            "ip -6 rule",
            "tc qdisc",
        ] {
            let output = gateway.run(command)?;
            let lines = output.lines().filter(|line| !line.contains("fe80"));
            for line in lines {
                print.push_str(line.split(" expires ").next().unwrap_or(line));
                print.push('\n');
            }
        }
        Ok(print)
    }
}

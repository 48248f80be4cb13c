//! The network of an attack: an attacker and a victim, a server and a stranger, each with a link of its own to one
//! gateway.
//!
//! ```text
//! attacker ──┐           ┌── server
//!            ├── gateway ┤
//! victim ────┘           └── stranger
//! ```

use std::{
    net::{Ipv4Addr, Ipv6Addr, SocketAddrV4},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use serde_json::Value;

use super::{
    echo,
    flows::{self, Flows},
    names,
    outcome::Refusals,
    responder::Responder,
};
use crate::{
    LabError, Result,
    network::{
        cores::GATEWAY_CPU,
        netns::Namespace,
        plan,
        topology::{
            End, FOUR, GATEWAY, HOST_INTERFACE, Link, Neighbours, Network, Node, Offloads, Role,
            SIX, Topology,
        },
    },
    subjects::isthmus::{Gateway, Isthmus},
};

/// The nodes.
const ATTACKER: &str = "attacker";
const VICTIM: &str = "victim";
const SERVER: &str = "server";
const STRANGER: &str = "stranger";
/// The gateway's interface on the victim's link.
const BESIDE: &str = "beside";
/// The gateway's interface on the stranger's link.
pub(super) const UPLINK: &str = "uplink";
/// The gateway's interfaces.
const INTERFACES: &[&str] = &[SIX, BESIDE, FOUR, UPLINK];

/// The port of the gateway's metrics.
pub(super) const METRICS: u16 = 9464;

/// The gateway on the victim's link.
pub(super) const GATEWAY_BESIDE: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 7, 0, 0, 0, 0, 1);
/// The victim on its link.
const VICTIM6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 7, 0, 0, 0, 0, 6);
/// The networks of a customer each, a /64, that the victim may speak for.
const CUSTOMERS: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 9, 0, 0, 0, 0, 0);
/// The addresses of the victim among which one is looked for that shares no outside address with the attacker.
const CANDIDATES: u16 = 16;
/// The longest that a gateway takes to hand a first packet on.
const START: Duration = Duration::from_secs(10);

/// A gateway between an attacker, a victim and a server; dropping it ends and removes all.
#[derive(Debug)]
pub(super) struct Arena {
    /// The gateway under attack.
    pub(super) gateway: Gateway,
    /// The victim's address.
    pub(super) victim: Ipv6Addr,
    /// The victim's flows.
    pub(super) flows: Flows,
    opened: Mutex<Vec<SocketAddrV4>>,
    _services: [Responder; 2],
    network: Network,
}

impl Arena {
    /// Builds the network, starts the gateway, and waits until the victim gets an answer.
    pub(super) fn build(isthmus: Isthmus) -> Result<Self> {
        let network = topology().build()?;
        let victim = network.node(VICTIM)?;
        // The victim may speak for any customer of its networks.
        victim.sysctl(&[("net.ipv6.ip_nonlocal_bind", "1")])?;
        victim.ip(&[format!("route add local {CUSTOMERS}/48 dev lo")])?;
        let server = network.node(SERVER)?;
        let services = [
            Responder::start(server, echo::PORT, echo::answer)?,
            Responder::start(server, names::PORT, names::answer)?,
        ];
        let isthmus = Isthmus {
            metrics: Some(METRICS),
            ..isthmus.on(INTERFACES)
        };
        let gateway = isthmus.up(network.gateway()?, Some(GATEWAY_CPU))?;
        let attackers = await_answer(network.node(ATTACKER)?, &gateway)?;
        let victim = network.node(VICTIM)?;
        let address = choose_victim(victim, attackers)?;
        Ok(Self {
            victim: address,
            flows: Flows::open(victim, address)?,
            opened: Mutex::default(),
            gateway,
            _services: services,
            network,
        })
    }

    /// The attacker's namespace.
    pub(super) fn attacker(&self) -> Result<&Arc<Namespace>> {
        self.network.node(ATTACKER)
    }

    /// The victim's namespace.
    pub(super) fn victim(&self) -> Result<&Arc<Namespace>> {
        self.network.node(VICTIM)
    }

    /// The stranger's namespace.
    pub(super) fn stranger(&self) -> Result<&Arc<Namespace>> {
        self.network.node(STRANGER)
    }

    /// Returns the outside endpoints of the sessions that the victim opened, and forgets them.
    pub(super) fn take_opened(&self) -> Vec<SocketAddrV4> {
        std::mem::take(&mut *self.opened.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Remembers the outside endpoint of a session that the victim opened.
    pub(super) fn note_opened(&self, outside: SocketAddrV4) {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        opened.push(outside);
    }

    /// Returns the packets that came in at an interface of the gateway since it was made.
    pub(super) fn arrived(&self, interface: &str) -> Result<u64> {
        let path = format!("/sys/class/net/{interface}/statistics/rx_packets");
        let output = self.network.gateway()?.run(&format!("cat {path}"))?;
        output.trim().parse().map_err(|_| LabError::Output {
            tool: "rx_packets",
            output,
        })
    }

    /// Returns the gateway's counters of packets that it did not forward, by their names.
    pub(super) fn refusals(&self) -> Result<Refusals> {
        let output = self.gateway.ask(&["counters", "--json"])?;
        let rows: Vec<Value> = serde_json::from_str(&output).map_err(|_| LabError::Output {
            tool: "isthmus counters",
            output,
        })?;
        let mut refusals = Refusals::new();
        for row in &rows {
            let refused = !matches!(
                row["kind"].as_str(),
                Some("forwarded" | "passed" | "event" | "query" | "answered")
            );
            if let (true, Some(name), Some(value)) =
                (refused, row["counter"].as_str(), row["value"].as_u64())
            {
                *refusals.entry(name.to_owned()).or_default() += value;
            }
        }
        Ok(refusals)
    }
}

/// Waits until the attacker gets an answer, and returns its outside endpoint.
fn await_answer(attacker: &Namespace, gateway: &Gateway) -> Result<SocketAddrV4> {
    let begun = Instant::now();
    loop {
        let outside = attacker.enter(|| Ok(flows::outside(plan::HOST6)))?;
        match outside {
            Some(outside) => return Ok(outside),
            None if begun.elapsed() < START => {}
            None => {
                return Err(LabError::Output {
                    tool: "the path before the attack",
                    output: gateway.ask(&["counters"])?,
                });
            }
        }
    }
}

/// Returns an address of the victim that does not share the attacker's outside address, if there is one.
fn choose_victim(victim: &Namespace, attackers: SocketAddrV4) -> Result<Ipv6Addr> {
    let other = |address: &Ipv6Addr| {
        let outside = flows::outside(*address);
        outside.is_some_and(|outside| outside.ip() != attackers.ip())
    };
    let found = victim.enter(|| Ok((0..CANDIDATES).map(customer).find(other)))?;
    Ok(found.unwrap_or(customer(0)))
}

/// Returns the address of a customer of the victim's network.
pub(super) fn customer(number: u16) -> Ipv6Addr {
    let network = u128::from(number) << 64;
    Ipv6Addr::from_bits(CUSTOMERS.to_bits() | network | 6)
}

fn topology() -> Topology {
    let node = |name, role, routes: &[&str]| Node::new(name, role, routes);
    let host = |name, gateway: &str| node(name, Role::Host, &[&format!("default via {gateway}")]);
    let mut stranger = host(STRANGER, &plan::EDGE4.to_string());
    let to_gateway = format!("default via {}", plan::GATEWAY4_AS_IPV6);
    stranger.routes.push(to_gateway);
    let to = |network: &str, via: &dyn std::fmt::Display| format!("{network} via {via}");
    let gateway = [
        to("2001:db8:a::/47", &plan::HOST6),
        to("2001:db8:9::/48", &VICTIM6),
        to("198.18.0.0/15", &plan::HOST4),
    ];
    let end = |node, interface, addresses: &[String]| {
        let addresses: Vec<&str> = addresses.iter().map(String::as_str).collect();
        End::new(node, interface, &addresses)
    };
    let six = |address: Ipv6Addr| [format!("{address}/64")];
    let four = |address: Ipv4Addr| [format!("{address}/24")];
    let both = |four, six| [format!("{four}/24"), format!("{six}/64")];
    Topology {
        nodes: vec![
            host(ATTACKER, &plan::GATEWAY6.to_string()),
            host(VICTIM, &GATEWAY_BESIDE.to_string()),
            node(
                GATEWAY,
                Role::Router,
                &gateway.each_ref().map(String::as_str),
            ),
            host(SERVER, &plan::GATEWAY4.to_string()),
            stranger,
        ],
        links: vec![
            Link::veth(
                end(ATTACKER, HOST_INTERFACE, &six(plan::HOST6)),
                end(GATEWAY, SIX, &six(plan::GATEWAY6)),
            ),
            Link::veth(
                end(VICTIM, HOST_INTERFACE, &six(VICTIM6)),
                end(GATEWAY, BESIDE, &six(GATEWAY_BESIDE)),
            ),
            Link::veth(
                end(GATEWAY, FOUR, &four(plan::GATEWAY4)),
                end(SERVER, HOST_INTERFACE, &four(plan::HOST4)),
            ),
            Link::veth(
                end(GATEWAY, UPLINK, &both(plan::EDGE4, plan::GATEWAY4_AS_IPV6)),
                end(
                    STRANGER,
                    HOST_INTERFACE,
                    &both(plan::ROUTER4, plan::HOST4_AS_IPV6),
                ),
            ),
        ],
        neighbours: Neighbours::Static,
        offloads: Offloads::Off,
    }
}

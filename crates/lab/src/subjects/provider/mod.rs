//! A provider's network, in which a CE and a BR carry one protocol over a core of the other.
//!
//! ```text
//!  client ─── CE ─── core ─── BR ─── server
//!         toc    tok      tok    tos
//! ```

pub mod keys;
pub mod others;
mod rows;

pub use rows::*;

use std::net::IpAddr;

use crate::{
    network::topology::{
        BR, End, HOST_INTERFACE, Link, Neighbours, Node, Offloads, Role, Topology,
    },
    subjects::isthmus::Keys,
};

/// The customer's host.
pub const CLIENT: &str = "client";
/// The CE.
pub const CE: &str = "ce";
/// The router between the gateways.
pub const CORE: &str = "core";
/// The server.
pub const SERVER: &str = "server";
/// The CE's interface on the client's link.
pub const TO_CLIENT: &str = "toc";
/// The BR's interface on the server's link.
pub const TO_SERVER: &str = "tos";
/// A gateway's interface on its link to the core.
pub const TO_CORE: &str = "tok";
/// The core's interfaces on the links to the CE and to the BR.
pub const CORE_LINKS: [&str; 2] = ["toe", "tob"];

/// The protocol of the core. The hosts speak the other one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Core {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

/// The way in which a mechanism carries packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// It encapsulates them. A gateway that knows how narrow the core is fragments the outer packets.
    Tunnel,
    /// It translates them.
    Translation,
}

/// A mechanism: the configurations of CE and BR, and the network around them.
#[derive(Debug, Clone, Copy)]
pub struct Mechanism {
    /// The protocol of the core.
    pub core: Core,
    /// The instance of the CE.
    pub ce: Keys,
    /// The instance of the BR.
    pub br: Keys,
    /// Further keys of both, with which hosts may ask for ports of their own (PCP and NAT-PMP).
    pub asked: [Keys; 2],
    /// The customer's host.
    pub client: Host,
    /// The server.
    pub server: Host,
    /// The network that the core routes to the CE.
    pub to_ce: &'static str,
    /// The network that the core routes to the BR.
    pub to_br: &'static str,
    /// The way in which packets are carried.
    pub transport: Transport,
    /// The MTU that a host sees where the core is [narrow](Core::narrow).
    pub mtu: u32,
}

/// A gateway of such a network: its node, its interfaces, and its instance.
pub type Gateway = (&'static str, &'static [&'static str], Keys);

/// A host and the address of the gateway on its link.
#[derive(Debug, Clone, Copy)]
pub struct Host {
    /// The host's address.
    pub address: &'static str,
    /// The gateway's.
    pub gateway: &'static str,
    /// The length of the link's prefix.
    pub length: u8,
}

impl Host {
    /// Returns its address, parsed.
    ///
    /// # Panics
    /// The text is not an address.
    pub fn address(&self) -> IpAddr {
        self.address.parse().expect("an address")
    }
}

const fn host(address: &'static str, gateway: &'static str, length: u8) -> Host {
    Host {
        address,
        gateway,
        length,
    }
}

impl Core {
    /// Returns the MTU of a narrow core: the least of IPv6, and the one with which IPv4 carries as much.
    pub const fn narrow(self) -> u32 {
        match self {
            Self::V4 => 1300,
            Self::V6 => 1280,
        }
    }

    /// Returns the address of an end of the core's link to the CE (0) or to the BR (1). End 1 is the core, end 2 the
    /// gateway.
    pub fn end_of(self, number: usize, end: u8) -> String {
        match self {
            Self::V4 => format!("100.64.{number}.{end}"),
            Self::V6 => format!("3fff:c{number}::{end}"),
        }
    }

    /// Returns the prefix length of those links.
    fn length(self) -> u8 {
        match self {
            Self::V4 => 24,
            Self::V6 => 64,
        }
    }
}

impl Mechanism {
    /// Returns the gateways: their nodes, interfaces and instances.
    pub fn gateways(&self) -> [Gateway; 2] {
        [
            (CE, &[TO_CLIENT, TO_CORE], self.ce),
            (BR, &[TO_SERVER, TO_CORE], self.br),
        ]
    }

    /// Returns the network. The gateways on the CE and the BR decide what it carries.
    pub fn topology(&self, offloads: Offloads) -> Topology {
        let node = |name, role, routes: &[String]| Node {
            name,
            role,
            routes: routes.to_vec(),
        };
        let to = |network: &str, via: &str| format!("{network} via {via}");
        let host = |name, host: Host| node(name, Role::Host, &[to("default", host.gateway)]);
        let gateway = |name, number| {
            let core = self.core.end_of(number, 1);
            node(name, Role::Router, &[to("default", &core)])
        };
        let between = [
            to(self.to_ce, &self.core.end_of(0, 2)),
            to(self.to_br, &self.core.end_of(1, 2)),
        ];
        Topology {
            nodes: vec![
                host(CLIENT, self.client),
                gateway(CE, 0),
                node(CORE, Role::Router, &between),
                gateway(BR, 1),
                host(SERVER, self.server),
            ],
            links: vec![
                outer(CLIENT, self.client, (CE, TO_CLIENT)),
                self.inner(CE, 0),
                self.inner(BR, 1),
                outer(SERVER, self.server, (BR, TO_SERVER)),
            ],
            neighbours: Neighbours::Resolved,
            offloads,
        }
    }

    /// Returns the link between a gateway and the core.
    fn inner(&self, gateway: &'static str, number: usize) -> Link {
        let end = |node, interface, end| End {
            node,
            interface,
            addresses: vec![format!(
                "{}/{}",
                self.core.end_of(number, end),
                self.core.length()
            )],
        };
        Link::veth(end(gateway, TO_CORE, 2), end(CORE, CORE_LINKS[number], 1))
    }
}

/// Returns the link between a host and its gateway.
fn outer(node: &'static str, host: Host, gateway: (&'static str, &'static str)) -> Link {
    let end = |(node, interface), address| End {
        node,
        interface,
        addresses: vec![format!("{address}/{}", host.length)],
    };
    Link::veth(
        end((node, HOST_INTERFACE), host.address),
        end(gateway, host.gateway),
    )
}

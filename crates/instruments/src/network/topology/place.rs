//! The place of a node that an emulated machine has, seen from both sides.

use std::process::Command;

use super::{End, Link, Network, Role, Topology, mac};
use crate::{
    LabError, Result,
    network::{emulated::Card, netns::Namespace, process, wire::Port},
};

impl Topology {
    /// Gives the place of a node to an emulated machine.
    #[must_use]
    pub fn emulating(mut self, name: &str) -> Self {
        for node in &mut self.nodes {
            if node.name == name {
                node.role = Role::Emulated;
            }
        }
        self
    }

    /// Makes a node of this machine's own network cards, which have the addresses of the node's. The machine is an
    /// emulated one then.
    ///
    /// # Errors
    /// There is no such node, or a card of it is missing.
    pub fn take_place(&self, name: &str) -> Result<Network> {
        let node = self.nodes.iter().find(|node| node.name == name);
        let node = node.ok_or_else(|| LabError::NoNode(name.into()))?;
        let namespace = node.create()?;
        for (index, link) in self.links.iter().enumerate() {
            for (side, end) in link.ends.iter().enumerate() {
                if end.node == name {
                    take_card(&mac(index, side), end.interface, &namespace)?;
                    namespace.ip(&end.up())?;
                }
            }
        }
        node.route(&namespace)?;
        Ok(Network {
            nodes: vec![(node.name, namespace)],
            ..Network::default()
        })
    }

    pub(super) fn is_here(&self, end: &End) -> bool {
        let mut nodes = self.nodes.iter();
        !nodes.any(|node| node.name == end.node && node.is_emulated())
    }
}

/// Makes the end of a link whose other end, this side, is a card of an emulated machine.
pub(super) fn plug(network: &mut Network, index: usize, link: &Link, side: usize) -> Result<()> {
    let End {
        node, interface, ..
    } = link.ends[1 - side];
    let namespace = network.node(node)?;
    let port = Port::open(namespace, interface)?;
    namespace.ip(&[format!(
        "link set {interface} address {} mtu {}",
        mac(index, 1 - side),
        link.mtu
    )])?;
    network.cards.push(Card {
        port,
        address: mac(index, side),
    });
    Ok(())
}

/// Moves the network card of this machine with an Ethernet address to a node.
fn take_card(address: &str, interface: &str, node: &Namespace) -> Result<()> {
    let show = ["-brief", "link", "show"];
    let cards = process::run(Command::new("ip").args(show))?;
    let mut lines = cards.lines().map(str::split_whitespace);
    let name = lines.find_map(|mut words| {
        let name = words.next()?;
        words.any(|word| word == address).then_some(name)
    });
    let name = name.ok_or_else(|| LabError::Output {
        tool: "ip link show",
        output: format!("no card with the address {address} in:\n{cards}"),
    })?;
    let words = ["link", "set", name, "netns", node.name(), "name", interface];
    process::run(Command::new("ip").args(words)).map(drop)
}

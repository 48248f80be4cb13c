//! Networks as data, and their construction in namespaces.
//!
//! * `place`: the place of a node that an emulated machine has

mod place;

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    sync::Arc,
};

use crate::{
    LabError, Result,
    network::{
        emulated::Card,
        netns::Namespace,
        plan,
        wire::{Cable, Ethernet, Medium, Plug, Wires},
    },
};

/// A machine of a topology.
#[derive(Debug, Clone)]
pub struct Node {
    /// Its name within the topology.
    pub name: &'static str,
    /// Whether it forwards packets.
    pub role: Role,
    /// Routes, in the words of `ip route add`.
    pub routes: Vec<String>,
}

/// The treatment of packets for others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Drops them.
    Host,
    /// Forwards them.
    Router,
    /// As the kernel sets it up: it forwards nothing, and hears routers.
    Plain,
    /// Forwards them, and is not of this machine: an [emulated](super::emulated) one has its place, and the other ends of
    /// its links are TAP devices.
    Emulated,
}

impl Role {
    /// Returns the kernel parameters of a node.
    fn settings(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Host => HOST_SETTINGS,
            Self::Router | Self::Emulated => ROUTER_SETTINGS,
            Self::Plain => &[],
        }
    }
}

impl Node {
    /// Returns whether an emulated machine has its place.
    fn is_emulated(&self) -> bool {
        self.role == Role::Emulated
    }

    /// Makes its namespace, without interfaces.
    fn create(&self) -> Result<Arc<Namespace>> {
        let namespace = Namespace::create(self.name)?;
        if !self.role.settings().is_empty() {
            namespace.sysctl(self.role.settings())?;
        }
        Ok(Arc::new(namespace))
    }

    /// Adds its routes.
    fn route(&self, namespace: &Namespace) -> Result<()> {
        let lines = self.routes.iter().map(|route| format!("route add {route}"));
        namespace.ip(&lines.collect::<Vec<_>>())
    }

    /// A machine with these routes.
    pub fn new(name: &'static str, role: Role, routes: &[&str]) -> Self {
        Self {
            name,
            role,
            routes: routes.iter().map(|route| (*route).to_owned()).collect(),
        }
    }
}

/// One end of a link.
#[derive(Debug, Clone)]
pub struct End {
    /// The node's name.
    pub node: &'static str,
    /// The interface's name.
    pub interface: &'static str,
    /// Addresses with prefix length.
    pub addresses: Vec<String>,
}

impl End {
    /// Returns the lines of `ip` that bring it up with its addresses.
    fn up(&self) -> Vec<String> {
        let interface = self.interface;
        let address = |address: &String| {
            let nodad = if address.contains(':') { " nodad" } else { "" };
            format!("addr add {address} dev {interface}{nodad}")
        };
        let up = format!("link set {interface} up");
        [up].into_iter()
            .chain(self.addresses.iter().map(address))
            .collect()
    }

    /// An end with these addresses.
    pub fn new(node: &'static str, interface: &'static str, addresses: &[&str]) -> Self {
        let addresses = addresses.iter().map(|address| (*address).to_owned());
        Self {
            node,
            interface,
            addresses: addresses.collect(),
        }
    }
}

/// A cable.
#[derive(Debug, Clone)]
pub struct Link {
    /// Its two ends.
    pub ends: [End; 2],
    /// Its MTU in bytes, 1280..65535 where IPv6 is used.
    pub mtu: u32,
    /// Its medium.
    pub medium: Medium,
}

impl Link {
    /// A link of 1500 bytes that takes no time.
    pub fn veth(near: End, far: End) -> Self {
        Self {
            ends: [near, far],
            mtu: 1500,
            medium: Medium::Veth,
        }
    }
}

/// How nodes learn link-layer addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Neighbours {
    /// They are configured: a receiver that drops everything cannot answer ARP or ND.
    Static,
    /// By ARP and neighbour discovery.
    Resolved,
}

/// The offloads of veth links. The ends of [Ethernet](Medium::Ethernet) links have none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offloads {
    /// The kernel's defaults: super-packets and unfinished checksums cross the links.
    On,
    /// Checksums are complete and packets no larger than the MTU, as on a wire. XDP needs it.
    Off,
}

/// A network: nodes and links, in namespaces once it is [built](Topology::build).
#[derive(Debug, Clone)]
pub struct Topology {
    /// The machines.
    pub nodes: Vec<Node>,
    /// The cables.
    pub links: Vec<Link>,
    /// How nodes learn link-layer addresses.
    pub neighbours: Neighbours,
    /// The offloads of veth links.
    pub offloads: Offloads,
}

/// The IPv6 end of the standard topologies.
pub const HOST6: &str = "host6";
/// The node in the middle.
pub const GATEWAY: &str = "gateway";
/// The IPv4 end.
pub const HOST4: &str = "host4";
/// In the network of a pair: the second gateway.
pub const BR: &str = "br";
/// In the long network: the router between host6 and the gateway.
pub const ROUTER6: &str = "router6";
/// In the long network: the router between the gateway and host4.
pub const ROUTER4: &str = "router4";
/// A router's interface towards the gateway.
pub const INNER: &str = "inner";
/// A router's interface towards its host.
pub const OUTER: &str = "outer";
/// Every host's interface.
pub const HOST_INTERFACE: &str = "eth0";
/// The gateway's interface on the IPv6-only host's link.
pub const SIX: &str = "six";
/// The gateway's interface on the IPv4-only host's link.
pub const FOUR: &str = "four";

impl Topology {
    /// Returns `host6 — gateway — host4`: an IPv6-only host, the gateway, an IPv4-only host.
    pub fn translator(neighbours: Neighbours, offloads: Offloads) -> Self {
        Self {
            nodes: vec![
                host(HOST6, plan::GATEWAY6),
                router(GATEWAY, &[]),
                host(HOST4, plan::GATEWAY4),
            ],
            links: vec![
                Link::veth(
                    v6(HOST6, HOST_INTERFACE, plan::HOST6),
                    v6(GATEWAY, SIX, plan::GATEWAY6),
                ),
                Link::veth(
                    v4(GATEWAY, FOUR, plan::GATEWAY4),
                    v4(HOST4, HOST_INTERFACE, plan::HOST4),
                ),
            ],
            neighbours,
            offloads,
        }
    }

    /// Returns the same three nodes with both protocols on both links, for gateways that route without translating.
    pub fn dual_stack(neighbours: Neighbours, offloads: Offloads) -> Self {
        let mut topology = Self::translator(neighbours, offloads);
        topology.nodes[0]
            .routes
            .push(default_via(plan::GATEWAY6_AS_IPV4));
        topology.nodes[2]
            .routes
            .push(default_via(plan::GATEWAY4_AS_IPV6));
        let more = [
            [plan::HOST6_AS_IPV4, plan::GATEWAY6_AS_IPV4].map(|address| format!("{address}/24")),
            [plan::GATEWAY4_AS_IPV6, plan::HOST4_AS_IPV6].map(|address| format!("{address}/64")),
        ];
        for (link, addresses) in topology.links.iter_mut().zip(more) {
            for (end, address) in link.ends.iter_mut().zip(addresses) {
                end.addresses.push(address);
            }
        }
        topology
    }

    /// Returns `host6 — host4`: two hosts with both protocols and nothing between them.
    pub fn direct(neighbours: Neighbours, offloads: Offloads) -> Self {
        let host = |name| Node {
            name,
            role: Role::Host,
            routes: vec![],
        };
        let end = |node, v6, v4| {
            let addresses = [format!("{v6}/64"), format!("{v4}/24")];
            end(node, HOST_INTERFACE, &addresses)
        };
        Self {
            nodes: vec![host(HOST6), host(HOST4)],
            links: vec![Link::veth(
                end(HOST6, plan::HOST6, plan::HOST6_AS_IPV4),
                end(HOST4, plan::GATEWAY6, plan::GATEWAY6_AS_IPV4),
            )],
            neighbours,
            offloads,
        }
    }

    /// Returns `host6 — router6 — gateway — router4 — host4`: like [`Topology::translator`], with a router on both
    /// sides, so that errors come from distant routers and both sides have hops to show.
    pub fn long(offloads: Offloads) -> Self {
        let to_router6 = format!("2001:db8:6::/64 via {}", plan::ROUTER6);
        let to_router4 = format!("198.51.100.0/24 via {}", plan::ROUTER4);
        let to_mapped = format!("{} via {}", plan::HOST6_AS_IPV4, plan::EDGE4);
        let to_pool = format!("{} via {}", plan::POOL, plan::EDGE4);
        Self {
            nodes: vec![
                host(HOST6, plan::GATEWAY6),
                router(ROUTER6, &[default_via(plan::EDGE6)]),
                router(GATEWAY, &[to_router6, to_router4]),
                router(ROUTER4, &[to_mapped, to_pool]),
                host(HOST4, plan::GATEWAY4),
            ],
            links: vec![
                Link::veth(
                    v6(HOST6, HOST_INTERFACE, plan::HOST6),
                    v6(ROUTER6, OUTER, plan::GATEWAY6),
                ),
                Link::veth(
                    v6(ROUTER6, INNER, plan::ROUTER6),
                    v6(GATEWAY, SIX, plan::EDGE6),
                ),
                Link::veth(
                    end(GATEWAY, FOUR, &[format!("{}/29", plan::EDGE4)]),
                    end(ROUTER4, INNER, &[format!("{}/29", plan::ROUTER4)]),
                ),
                Link::veth(
                    v4(ROUTER4, OUTER, plan::GATEWAY4),
                    v4(HOST4, HOST_INTERFACE, plan::HOST4),
                ),
            ],
            neighbours: Neighbours::Resolved,
            offloads,
        }
    }

    /// Returns `host6 — gateway — br — host4`: two IPv4 hosts and two gateways. Between the gateways there is only
    /// IPv6.
    pub fn pair(offloads: Offloads) -> Self {
        let to_customers = format!("2001:db8:5::/48 via {}", plan::EDGE6);
        Self {
            nodes: vec![
                host(HOST6, plan::GATEWAY6_AS_IPV4),
                router(GATEWAY, &[default_via(plan::ROUTER6)]),
                router(BR, &[to_customers]),
                host(HOST4, plan::GATEWAY4),
            ],
            links: vec![
                Link::veth(
                    v4(HOST6, HOST_INTERFACE, plan::HOST6_AS_IPV4),
                    v4(GATEWAY, SIX, plan::GATEWAY6_AS_IPV4),
                ),
                Link::veth(v6(GATEWAY, FOUR, plan::EDGE6), v6(BR, SIX, plan::ROUTER6)),
                Link::veth(
                    v4(BR, FOUR, plan::GATEWAY4),
                    v4(HOST4, HOST_INTERFACE, plan::HOST4),
                ),
            ],
            neighbours: Neighbours::Resolved,
            offloads,
        }
    }

    /// Sets the MTU of the link on which `node` has `interface`.
    pub fn with_mtu(mut self, node: &str, interface: &str, mtu: u32) -> Self {
        for link in &mut self.links {
            let on_it = |end: &End| end.node == node && end.interface == interface;
            if link.ends.iter().any(on_it) {
                link.mtu = mtu;
            }
        }
        self
    }

    /// Sets the medium of all links.
    #[must_use]
    pub fn over(mut self, medium: &Medium) -> Self {
        for link in &mut self.links {
            link.medium = medium.clone();
        }
        self
    }

    /// Builds it: namespaces, links, addresses, routes, neighbours.
    pub fn build(&self) -> Result<Network> {
        let mut network = Network::default();
        let mut cables = Vec::new();
        let here = || self.nodes.iter().filter(|node| !node.is_emulated());
        for node in here() {
            network.nodes.push((node.name, node.create()?));
        }
        for (index, link) in self.links.iter().enumerate() {
            cables.extend(self.connect(&mut network, index, link)?);
        }
        if !cables.is_empty() {
            network.wires = Some(Wires::start(cables)?);
        }
        for node in here() {
            node.route(network.node(node.name)?)?;
        }
        Ok(network)
    }

    /// Lays a link. A cable is not at work yet.
    fn connect(&self, network: &mut Network, index: usize, link: &Link) -> Result<Option<Cable>> {
        let emulated = link.ends.iter().position(|end| !self.is_here(end));
        let cable = match (&link.medium, emulated) {
            (_, Some(side)) => {
                place::plug(network, index, link, side)?;
                None
            }
            (Medium::Veth, None) => {
                veth(network, index, link)?;
                None
            }
            (Medium::Ethernet(ethernet), None) => Some(cable(network, index, link, ethernet)?),
        };
        let here = link.ends.iter().enumerate();
        for (side, end) in here.filter(|(_, end)| self.is_here(end)) {
            let other = &link.ends[1 - side];
            let node = network.node(end.node)?;
            let mut lines = end.up();
            if self.neighbours == Neighbours::Static {
                for address in &other.addresses {
                    let address = address.split('/').next().unwrap_or(address);
                    lines.push(format!(
                        "neigh replace {address} lladdr {} dev {} nud permanent",
                        mac(index, 1 - side),
                        end.interface
                    ));
                }
            }
            node.ip(&lines)?;
            if link.medium == Medium::Veth && emulated.is_none() {
                self.offload(node, end.interface)?;
            }
        }
        Ok(cable)
    }

    fn offload(&self, node: &Namespace, interface: &str) -> Result<()> {
        // A veth takes redirected frames only if its other end polls, which GRO makes it do.
        node.offload(interface, &["gro", "on"])?;
        if self.offloads == Offloads::Off {
            node.offload(interface, &["tx", "off", "tso", "off", "gso", "off"])?;
        }
        Ok(())
    }
}

/// Makes a veth link.
fn veth(network: &Network, index: usize, link: &Link) -> Result<()> {
    let [near, far] = &link.ends;
    let [near_options, far_options] =
        [0, 1].map(|side| format!("address {} mtu {}", mac(index, side), link.mtu));
    pair(
        (network.node(near.node)?, near.interface, &near_options),
        (network.node(far.node)?, far.interface, &far_options),
    )
}

/// Makes a link between two machines that are there already: up, without addresses, and ready for redirected
/// packets.
pub fn join(near: (&Namespace, &str), far: (&Namespace, &str)) -> Result<()> {
    pair((near.0, near.1, ""), (far.0, far.1, ""))?;
    for (node, interface) in [near, far] {
        node.ip(&[format!("link set {interface} up")])?;
        node.offload(interface, &["gro", "on"])?;
    }
    Ok(())
}

/// Makes a pair of interfaces, each with a name and options of `ip link add`.
fn pair(near: (&Namespace, &str, &str), far: (&Namespace, &str, &str)) -> Result<()> {
    near.0.ip(&[format!(
        "link add {} {} type veth peer name {} {} netns {}",
        near.1,
        near.2,
        far.1,
        far.2,
        far.0.name(),
    )])
}

/// Makes the ends of a link with a line rate.
fn cable(network: &Network, index: usize, link: &Link, ethernet: &Ethernet) -> Result<Cable> {
    let plug = |side: usize| {
        let End {
            node, interface, ..
        } = link.ends[side];
        let namespace = network.node(node)?;
        let plug = Plug::new(node, interface, namespace)?;
        namespace.ip(&[format!(
            "link set {interface} address {} mtu {}",
            mac(index, side),
            link.mtu
        )])?;
        Ok::<_, LabError>(plug)
    };
    Ok(Cable {
        plugs: [plug(0)?, plug(1)?],
        ethernet: ethernet.clone(),
        mtu: link.mtu,
    })
}

/// The Ethernet address of side 0 or 1 of the link with this index (locally administered).
pub fn mac(link: usize, side: usize) -> String {
    mac_octets(link, side)
        .map(|octet| format!("{octet:02x}"))
        .join(":")
}

/// Returns the same address as octets.
pub fn mac_octets(link: usize, side: usize) -> [u8; 6] {
    [0x02, 0, 0, 0, link as u8, side as u8 + 1]
}

/// Returns a host with a default route.
fn host(name: &'static str, gateway: impl Into<IpAddr>) -> Node {
    Node {
        name,
        role: Role::Host,
        routes: vec![default_via(gateway)],
    }
}

fn router(name: &'static str, routes: &[String]) -> Node {
    Node {
        name,
        role: Role::Router,
        routes: routes.to_vec(),
    }
}

fn default_via(gateway: impl Into<IpAddr>) -> String {
    format!("default via {}", gateway.into())
}

/// Returns an end with an IPv6 address on a link of its own.
fn v6(node: &'static str, interface: &'static str, address: Ipv6Addr) -> End {
    end(node, interface, &[format!("{address}/64")])
}

/// The same with an IPv4 address.
fn v4(node: &'static str, interface: &'static str, address: Ipv4Addr) -> End {
    end(node, interface, &[format!("{address}/24")])
}

fn end(node: &'static str, interface: &'static str, addresses: &[String]) -> End {
    End {
        node,
        interface,
        addresses: addresses.to_vec(),
    }
}

const HOST_SETTINGS: &[(&str, &str)] = &[
    ("net.ipv6.conf.all.accept_dad", "0"),
    ("net.ipv6.conf.default.accept_dad", "0"),
    ("net.ipv6.conf.default.accept_ra", "0"),
    ("net.ipv4.ping_group_range", "0 2147483647"),
    // Fragments may be overtaken by any number of others: by 64 otherwise, or their datagram is dropped.
    ("net.ipv4.ipfrag_max_dist", "0"),
];

const ROUTER_SETTINGS: &[(&str, &str)] = &[
    ("net.ipv6.conf.all.accept_dad", "0"),
    ("net.ipv6.conf.default.accept_dad", "0"),
    ("net.ipv6.conf.default.accept_ra", "0"),
    ("net.ipv4.ip_forward", "1"),
    ("net.ipv6.conf.all.forwarding", "1"),
    ("net.ipv4.conf.all.rp_filter", "0"),
    ("net.ipv4.conf.default.rp_filter", "0"),
];

/// A built topology; dropping it removes everything.
#[derive(Debug, Default)]
pub struct Network {
    // Devices are removed before their namespaces, so the wires are the first field.
    wires: Option<Wires>,
    /// The cards of the emulated node, if there is one.
    cards: Vec<Card>,
    nodes: Vec<(&'static str, Arc<Namespace>)>,
}

impl Network {
    /// The namespace of the node of this name.
    pub fn node(&self, name: &str) -> Result<&Arc<Namespace>> {
        self.nodes
            .iter()
            .find(|(node, _)| *node == name)
            .map(|(_, namespace)| namespace)
            .ok_or_else(|| LabError::NoNode(name.into()))
    }

    /// Returns the nodes with their namespaces, in the order of the topology.
    pub fn nodes(&self) -> impl Iterator<Item = (&'static str, &Arc<Namespace>)> {
        self.nodes
            .iter()
            .map(|(node, namespace)| (*node, namespace))
    }

    /// Takes the cards of the emulated node, which are for its machine.
    pub fn take_cards(&mut self) -> Vec<Card> {
        std::mem::take(&mut self.cards)
    }

    /// The cables that have a line rate, if there are any.
    pub fn wires(&self) -> Option<&Wires> {
        self.wires.as_ref()
    }

    /// The IPv6 end of a standard topology.
    pub fn host6(&self) -> Result<&Arc<Namespace>> {
        self.node(HOST6)
    }

    /// The gateway of a standard topology.
    pub fn gateway(&self) -> Result<&Arc<Namespace>> {
        self.node(GATEWAY)
    }

    /// The IPv4 end of a standard topology.
    pub fn host4(&self) -> Result<&Arc<Namespace>> {
        self.node(HOST4)
    }
}

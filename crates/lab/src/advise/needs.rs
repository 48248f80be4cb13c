//! What a network has and wants.

/// What a network has and wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Needs {
    /// The hosts, and the programs on them.
    pub hosts: Hosts,
    /// What is between the customers and the border.
    pub core: Core,
    /// Who is to be reached.
    pub peers: Peers,
    /// How many customers share one IPv4 address, 1 or more.
    pub customers_per_address: u32,
    /// Connections from outside.
    pub inbound: Inbound,
    /// The customers' routers.
    pub edges: Edges,
    /// The provider's end.
    pub border: Border,
}

/// What hosts and their programs speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hosts {
    /// IPv6, by names: none of them has an IPv4 address in a configuration or in its protocol.
    V6Only,
    /// Both; some programs or devices know IPv4 only.
    Dual,
}

/// What the network between the customers and the border carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Core {
    /// IPv6 only.
    V6,
    /// IPv4 only.
    V4,
}

/// Who is to be reached with help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peers {
    /// The IPv4 internet.
    V4,
    /// The IPv6 internet.
    V6,
}

/// Connections from outside to hosts inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inbound {
    /// Nobody needs them.
    Unneeded,
    /// To some ports, by configuration or PCP.
    SomePorts,
    /// To every port: servers.
    EveryPort,
}

/// The routers at the customers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edges {
    /// There are none that could do something: hosts are on the network itself.
    None,
    /// They run what we choose.
    Ours,
}

/// What the provider's end may keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Border {
    /// A table of sessions, with records of who had which port.
    State,
    /// Nothing per session, so that any of several borders takes any packet.
    Stateless,
}

//! The needs of a network.

/// A network, and what it is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Needs {
    /// The hosts, and the programs on them.
    pub hosts: Hosts,
    /// The network between the customers and the provider's gateway.
    pub core: Core,
    /// The destinations that need help.
    pub peers: Peers,
    /// The number of customers that share one IPv4 address, 1 or more.
    pub customers_per_address: u32,
    /// The connections from outside.
    pub inbound: Inbound,
    /// The customers' routers.
    pub ce: CeRouters,
    /// The state that the provider's gateway may keep.
    pub br: BrState,
}

/// The protocols of hosts and their programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hosts {
    /// IPv6, by names: none of them has an IPv4 address in a configuration or in its protocol.
    V6Only,
    /// Both; some programs or devices know IPv4 only.
    Dual,
}

/// The protocol of the network between the customers and the provider's gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Core {
    /// IPv6 only.
    V6,
    /// IPv4 only.
    V4,
}

/// The destinations that need help.
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
    /// There are none.
    Unneeded,
    /// To some ports, by configuration or PCP.
    SomePorts,
    /// To every port: servers.
    EveryPort,
}

/// The customers' routers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CeRouters {
    /// There are none: hosts are on the provider's network itself.
    None,
    /// The provider chooses them.
    Ours,
}

/// The state that the provider's gateway may keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BrState {
    /// A table of sessions, with records of the ports that each customer had.
    State,
    /// No state per session, so that any of several gateways can forward any packet.
    Stateless,
}

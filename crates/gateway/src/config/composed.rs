//! A mechanism that is put together from parts: the form that the data plane takes, and what the rest of the
//! gateway has to know of it. Everything is decided where its keys are read, so that a new
//! mechanism is one more file like those beside this one.

use std::fmt::Display;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;
use std::sync::Arc;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use isthmus_core::address::softwire::Softwire;
use isthmus_core::address::special;
use isthmus_core::config as core;
use isthmus_core::nat;

use super::diagnose::Diagnostic;
use super::discovery::Discovery;
use super::document::{Document, Mechanism, Nat, PcpProxy};
use super::host::Host;
use super::isatap::PotentialRouters;
use super::section;
use super::source::{At, Span};
use super::table::{Reader, Value};

/// Such a mechanism.
#[derive(Clone, Debug)]
pub struct Composed {
    /// The value of `mechanism`, and the role.
    pub name: &'static str,
    /// The mechanism as the data plane takes it; its NAT, if it has one, is filled in when tables are laid out.
    pub core: core::AnyMechanism,
    /// How its prefix is found out, if it is not configured.
    pub discovery: Option<Discovery>,
    /// The NAT, and how it knows subscribers.
    pub nat: Option<(Nat, nat::Subscriber)>,
    /// Its application level gateways.
    pub alg: core::Alg,
    /// The PCP proxy, if the ports are elsewhere.
    pub pcp_proxy: Option<PcpProxy>,
    /// The softwires of its table, if it has one; it is filled in when tables are laid out.
    pub softwires: Arc<[Softwire]>,
    /// Addresses that no other instance may have.
    pub claims: Vec<Claim>,
    /// Destinations that are routed to the gateway.
    pub routes: Vec<IpNet>,
    /// Sources whose packets are routed to the gateway wherever they go.
    pub sources: Vec<Ipv4Net>,
    /// Its own addresses, which stand in ICMP errors where nothing else is configured.
    pub own: (Option<Ipv4Addr>, Option<Ipv6Addr>),
    /// Addresses that this machine has by it, on the gateway's link.
    pub addresses: Vec<IpNet>,
    /// The routers of a host of ISATAP that are listed.
    pub(super) listed: Vec<Ipv4Addr>,
    /// How they are found, if they are not.
    pub potential: Option<PotentialRouters>,
    /// Whether they are asked for more addresses (RFC 5214 section 8.3).
    pub solicits: bool,
    /// The machine that it is for, if it is a CLAT for that alone.
    pub host: Option<Host>,
    /// Its description in plain words.
    pub plan: Vec<String>,
}

/// Addresses that a packet is sent to because it is for this mechanism.
#[derive(Clone, Debug)]
pub struct Claim {
    /// The addresses.
    pub network: IpNet,
    /// Their use.
    pub what: &'static str,
    /// Where the file says so.
    pub span: Span,
}

impl Composed {
    /// A mechanism without state, of which nothing else is known yet.
    pub(super) fn new(name: &'static str, core: core::AnyMechanism) -> Self {
        Self {
            name,
            core,
            discovery: None,
            nat: None,
            alg: core::Alg::default(),
            pcp_proxy: None,
            softwires: Arc::default(),
            claims: Vec::new(),
            routes: Vec::new(),
            sources: Vec::new(),
            own: (None, None),
            addresses: Vec::new(),
            listed: Vec::new(),
            potential: None,
            solicits: false,
            host: None,
            plan: Vec::new(),
        }
    }

    /// Whether its prefix, its routers or its address are not known yet, so that it owns no packets.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        let (discovery, potential) = (self.discovery.as_ref(), self.potential.as_ref());
        discovery.is_some_and(|discovery| discovery.found.is_none())
            || potential.is_some_and(|potential| potential.found.is_empty())
            || self.host.is_some() && self.clat().is_none()
    }

    /// The routers of a host of ISATAP, as far as they are known.
    #[must_use]
    pub fn routers(&self) -> &[Ipv4Addr] {
        match &self.potential {
            Some(potential) => &potential.found,
            None => &self.listed,
        }
    }

    /// The mechanism as the data plane takes it, with what was found out.
    pub(super) fn mechanism(&self) -> core::AnyMechanism {
        if let Some(of_host) = self.of_host() {
            return of_host;
        }
        match (&self.discovery, &self.potential) {
            (Some(discovery), _) => discovery.complete(self.core),
            (None, Some(potential)) => potential.complete(self.core),
            (None, None) => self.core,
        }
    }

    /// Claims networks and has them routed here, except those that everything lies in: the default
    /// route is shared with others.
    pub(super) fn claim(&mut self, network: impl Into<IpNet>, what: &'static str, span: Span) {
        let network = network.into();
        self.routes.push(network);
        if network.prefix_len() > 0 {
            self.claims.push(Claim {
                network,
                what,
                span,
            });
        }
    }
}

impl Document {
    /// The mechanisms that are put together from parts, with the names of their instances.
    pub(super) fn composed(&self) -> impl Iterator<Item = (&str, &Composed)> {
        self.instances.iter().filter_map(|instance| {
            let Mechanism::Composed(composed) = &instance.mechanism else {
                return None;
            };
            Some((instance.name.value.as_str(), &**composed))
        })
    }

    /// The one of the instance with this name, to be changed.
    pub(super) fn composed_mut(&mut self, name: &str) -> Option<&mut Composed> {
        let mut instances = self.instances.iter_mut();
        let instance = instances.find(|instance| instance.name.value == name)?;
        match &mut instance.mechanism {
            Mechanism::Composed(composed) => Some(composed),
            _ => None,
        }
    }
}

/// A NAT of which nothing is laid out yet.
pub(super) fn no_nat() -> nat::NatConfig {
    nat::NatConfig {
        layout: nat::Layout::default(),
        seed: [0; 6],
        secret: [0; 2],
        filtering: nat::Filtering::EndpointIndependent,
        unsolicited_syn: nat::UnsolicitedSyn::Drop,
        pooling: nat::Pooling::Strict,
        subscriber: nat::Subscriber::v4_host(),
        limits: nat::Limits::default(),
        own_limits: 0,
        blocks: nat::Blocks::None,
        timers: nat::Timers::default(),
        pool: nat::Pool::NONE,
    }
}

/// A required IPv4 address.
pub(super) fn v4(
    reader: &Reader<'_>,
    key: &'static str,
    example: &'static str,
) -> Option<At<Ipv4Addr>> {
    let value = reader.require(key, example)?;
    unicast(&value, value.ipv4()?, |it| {
        special::is_illegal_source_v4(it.into())
    })
}

/// A required IPv6 address.
pub(super) fn v6(
    reader: &Reader<'_>,
    key: &'static str,
    example: &'static str,
) -> Option<At<Ipv6Addr>> {
    let value = reader.require(key, example)?;
    unicast(&value, value.ipv6()?, |it| {
        special::is_illegal_source_v6(it.into())
    })
}

fn unicast<A: Copy + Display>(
    value: &Value<'_>,
    address: A,
    is_illegal: fn(A) -> bool,
) -> Option<At<A>> {
    if is_illegal(address) {
        value.refuse(format_args!("is \"{address}\""), UNICAST);
        return None;
    }
    Some(value.at(address))
}

/// The advice in place of an address that no host can have.
pub(super) const UNICAST: &str =
    "expected a unicast address that is neither loopback nor link-local";

/// A network of one family.
pub(super) trait Network: FromStr {
    /// A list of them, in words.
    const LIST: &str;
    /// As many as the packet path takes.
    const MOST: usize;

    /// Reads one.
    fn read(value: &Value<'_>) -> Option<Self>;
}

impl Network for Ipv4Net {
    const LIST: &str = "a list of IPv4 networks";
    const MOST: usize = core::V4Networks::MOST;

    fn read(value: &Value<'_>) -> Option<Self> {
        value.ipv4_net()
    }
}

impl Network for Ipv6Net {
    const LIST: &str = "a list of IPv6 networks";
    const MOST: usize = core::V6Networks::MOST;

    fn read(value: &Value<'_>) -> Option<Self> {
        value.ipv6_net()
    }
}

/// A list of networks that may be absent. Refuses more than the packet path takes.
pub(super) fn listed<N: Network>(reader: &Reader<'_>, key: &'static str) -> Vec<At<N>> {
    let networks = section::each(reader, key, N::LIST, |v| Some(v.at(N::read(&v)?)));
    excess(reader, key, &networks, N::MOST, "networks");
    networks
}

/// The same, required unless there is a default. Refuses an empty list.
pub(super) fn networks<N: Network>(
    reader: &Reader<'_>,
    key: &'static str,
    default: Option<&str>,
    example: &'static str,
) -> Vec<At<N>> {
    let mut networks = listed(reader, key);
    match (reader.get(key), default.and_then(|net| net.parse().ok())) {
        (None, None) => reader.missing(key, example),
        (None, Some(value)) => networks.push(reader.at(value)),
        (Some(value), _) if networks.is_empty() => {
            value.refuse("is empty", format!("expected networks such as {example}"));
        }
        (Some(_), _) => {}
    }
    networks
}

/// Refuses more elements of a list than fit; `what` is what they are called.
pub(super) fn excess<N>(
    reader: &Reader<'_>,
    key: &'static str,
    list: &[At<N>],
    most: usize,
    what: &str,
) {
    if let (Some(excess), Some(value)) = (list.get(most), reader.get(key)) {
        value.spanning(excess.span).refuse(
            format_args!("has too many {what}"),
            format!("at most {most} {what}"),
        );
    }
}

/// Networks as the packet path takes them. More than fit were refused when they were read.
pub(super) fn fit_v4(networks: &[At<Ipv4Net>]) -> core::V4Networks {
    let mut fitting = core::V4Networks::default();
    for network in networks {
        let network = core::V4Network::new(network.network().into(), network.prefix_len());
        let _ = fitting.push(network);
    }
    fitting
}

/// The same for IPv6.
pub(super) fn fit_v6(networks: &[At<Ipv6Net>]) -> core::V6Networks {
    let mut fitting = core::V6Networks::default();
    for network in networks {
        let network = core::V6Network::new(network.network().into(), network.prefix_len());
        let _ = fitting.push(network);
    }
    fitting
}

/// Complains if both ends of a tunnel have the same address.
pub(super) fn different<A: PartialEq + Display>(
    reader: &Reader<'_>,
    local: &At<A>,
    remote: &At<A>,
) {
    if local.value == remote.value {
        let message = format!("both ends of the tunnel are {}", local.value);
        let label = "expected the address of the other machine";
        reader
            .sink
            .push(Diagnostic::error(remote.span, message, label).also(local.span, "this end"));
    }
}

/// Things in a list, for people.
pub(super) fn list<T: Display>(items: &[At<T>]) -> String {
    let items: Vec<_> = items.iter().map(|item| item.value.to_string()).collect();
    items.join(", ")
}

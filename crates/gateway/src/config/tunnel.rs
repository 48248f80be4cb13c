//! Tunnels: `mechanism = "6in4"` and `mechanism = "4in6"`, from their keys to what the data plane
//! takes.

use std::net::{Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use isthmus_core::address::special;
use isthmus_core::config as core;

use super::diagnose::{Diagnostic, Sink};
use super::document::Instance;
use super::section;
use super::source::At;
use super::table::{Reader, Value};

/// `mechanism = "6in4"`: IPv6 packets in IPv4 packets (RFC 4213).
#[derive(Clone, Debug)]
pub struct SixInFour {
    /// Address of this end.
    pub local: At<Ipv4Addr>,
    /// Address of the other end.
    pub remote: At<Ipv4Addr>,
    /// What is behind the other end, at least one network.
    pub networks: Vec<At<Ipv6Net>>,
}

/// `mechanism = "4in6"`: IPv4 packets in IPv6 packets (RFC 2473).
#[derive(Clone, Debug)]
pub struct FourInSix {
    /// Address of this end.
    pub local: At<Ipv6Addr>,
    /// Address of the other end.
    pub remote: At<Ipv6Addr>,
    /// What is behind the other end, at least one network.
    pub networks: Vec<At<Ipv4Net>>,
}

impl SixInFour {
    /// Reads the keys. `None` if something without which it makes no sense is missing or wrong.
    pub(super) fn read(reader: &Reader<'_>) -> Option<Self> {
        let end = |key, example| {
            let value = reader.require(key, example);
            value.and_then(|v| Some(v.at(v.ipv4()?)))
        };
        let local = end("local", "\"192.0.2.1\"");
        let remote = end("remote", "\"198.51.100.1\"");
        if reader.get("networks").is_none() {
            reader.missing("networks", "[\"2001:db8:1::/48\"]");
        }
        let networks = section::each(reader, "networks", "a list of IPv6 networks", |v| {
            Some(v.at(v.ipv6_net()?))
        });
        too_many(reader, &networks, core::V6Networks::MOST);
        Some(Self {
            local: local?,
            remote: remote?,
            networks,
        })
    }

    pub(super) fn check(&self, instance: &Instance, sink: &Sink) {
        for end in [&self.local, &self.remote] {
            if special::is_illegal_source_v4(end.value.into()) {
                not_an_end(end, sink);
            }
        }
        different(&self.local, &self.remote, sink);
        nothing_behind(instance, self.networks.is_empty(), sink);
    }

    pub(super) fn compile(&self) -> core::SixInFour {
        core::SixInFour {
            local: self.local.value.into(),
            peer: core::PeerV4::Fixed(self.remote.value.into()),
            destinations: v6_networks(&self.networks),
        }
    }

    /// What is routed to the gateway: what goes into the tunnel, and what comes out of it.
    pub(super) fn routes(&self) -> impl Iterator<Item = IpNet> {
        let networks = self.networks.iter().map(|net| IpNet::V6(net.value));
        networks.chain([IpNet::V4(Ipv4Net::from(self.local.value))])
    }

    pub(super) fn plan(&self) -> Vec<String> {
        plan(
            "IPv6",
            &self.networks,
            "IPv4",
            &self.local,
            &self.remote.value,
        )
    }
}

impl FourInSix {
    /// Reads the keys. `None` if something without which it makes no sense is missing or wrong.
    pub(super) fn read(reader: &Reader<'_>) -> Option<Self> {
        let end = |key, example| {
            let value = reader.require(key, example);
            value.and_then(|v| Some(v.at(v.ipv6()?)))
        };
        let local = end("local", "\"2001:db8::1\"");
        let remote = end("remote", "\"2001:db8::2\"");
        if reader.get("networks").is_none() {
            reader.missing("networks", "[\"198.51.100.0/24\"]");
        }
        let networks = section::each(reader, "networks", "a list of IPv4 networks", |v| {
            Some(v.at(v.ipv4_net()?))
        });
        too_many(reader, &networks, core::V4Networks::MOST);
        Some(Self {
            local: local?,
            remote: remote?,
            networks,
        })
    }

    pub(super) fn check(&self, instance: &Instance, sink: &Sink) {
        for end in [&self.local, &self.remote] {
            if special::is_illegal_source_v6(end.value.into()) {
                not_an_end(end, sink);
            }
        }
        different(&self.local, &self.remote, sink);
        nothing_behind(instance, self.networks.is_empty(), sink);
    }

    pub(super) fn compile(&self) -> core::FourInSix {
        core::FourInSix {
            local: self.local.value.into(),
            peer: core::PeerV6::Fixed(self.remote.value.into()),
            destinations: v4_networks(&self.networks),
        }
    }

    /// What is routed to the gateway: what goes into the tunnel, and what comes out of it.
    pub(super) fn routes(&self) -> impl Iterator<Item = IpNet> {
        let networks = self.networks.iter().map(|net| IpNet::V4(net.value));
        networks.chain([IpNet::V6(Ipv6Net::from(self.local.value))])
    }

    pub(super) fn plan(&self) -> Vec<String> {
        plan(
            "IPv4",
            &self.networks,
            "IPv6",
            &self.local,
            &self.remote.value,
        )
    }
}

/// Networks as the packet path takes them. More than fit are refused when they are read.
pub(super) fn v4_networks(networks: &[At<Ipv4Net>]) -> core::V4Networks {
    let mut fitting = core::V4Networks::default();
    for network in networks {
        let network = core::V4Network::new(network.network().into(), network.prefix_len());
        let _ = fitting.push(network);
    }
    fitting
}

/// The same for IPv6.
pub(super) fn v6_networks(networks: &[At<Ipv6Net>]) -> core::V6Networks {
    let mut fitting = core::V6Networks::default();
    for network in networks {
        let network = core::V6Network::new(network.network().into(), network.prefix_len());
        let _ = fitting.push(network);
    }
    fitting
}

fn too_many<T>(reader: &Reader<'_>, networks: &[At<T>], most: usize) {
    if let (Some(excess), Some(value)) = (networks.get(most), reader.get("networks")) {
        let expected = format!("at most {most} networks");
        Value {
            span: excess.span,
            ..value
        }
        .refuse("has too many networks", expected);
    }
}

fn not_an_end<A: std::fmt::Display>(end: &At<A>, sink: &Sink) {
    let message = format!("{} can not be the end of a tunnel", end.value);
    let label = "expected a unicast address that is neither loopback nor link-local";
    sink.push(Diagnostic::error(end.span, message, label));
}

fn different<A: PartialEq + std::fmt::Display>(local: &At<A>, remote: &At<A>, sink: &Sink) {
    if local.value == remote.value {
        let message = format!("both ends of the tunnel are {}", local.value);
        let label = "expected the address of the other machine";
        sink.push(Diagnostic::error(remote.span, message, label).also(local.span, "this end"));
    }
}

fn nothing_behind(instance: &Instance, nothing: bool, sink: &Sink) {
    if nothing {
        let name = &instance.name;
        let message = format!("nothing is behind the tunnel \"{}\"", name.value);
        let label = "needs `networks`, which are reached through the other end";
        sink.push(Diagnostic::error(name.span, message, label));
    }
}

fn plan<N: std::fmt::Display, A: std::fmt::Display>(
    inside: &str,
    networks: &[At<N>],
    outside: &str,
    local: &At<A>,
    remote: &A,
) -> Vec<String> {
    let networks: Vec<_> = networks.iter().map(|net| net.value.to_string()).collect();
    vec![
        format!(
            "{inside} packets to {} go to {remote} in {outside} packets from {}",
            networks.join(", "),
            local.value
        ),
        format!("{inside} packets that {remote} sends in such packets come out"),
    ]
}

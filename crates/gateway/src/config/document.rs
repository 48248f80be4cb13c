//! A configuration as plain Rust: every value checked, every default filled in.
//!
//! The names are those of the keys in `docs/configuration.md`, which also has units, ranges and
//! defaults.

mod nat;

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use isthmus_core::address::eam::Mapping;
use isthmus_core::address::softwire::Softwire;
use isthmus_core::address::{ivi, rfc6052};
use isthmus_core::config::{Alg, Hairpin, ServiceClass, ZeroUdpChecksum};
use isthmus_core::mechanism::Mechanism as _;

use super::source::{At, Span};

pub use nat::{Nat, Pcp, PcpPath, PcpProxy, Pool, PortPolicy};

pub use super::announce::Announce;
pub use super::card::{Card, StaticRoute};
pub use super::composed::{Claim, Composed};
pub use super::discovery::{Discovery, Resolvers};
pub use super::proxy::Proxy;
pub use isthmus_dns64::NonGlobal;

/// One gateway.
#[derive(Clone, Debug)]
pub struct Document {
    /// `[gateway]`
    pub gateway: Gateway,
    /// `[log]`
    pub log: Log,
    /// `[link]`
    pub link: Link,
    /// `[[interface]]`, in the order of the file.
    pub interfaces: Vec<Interface>,
    /// `[[card]]`, in the order of the file.
    pub cards: Vec<Card>,
    /// `[tun]`
    pub tun: Tun,
    /// `[[instance]]`, in the order of the file: the first one that is responsible for a packet
    /// has it.
    pub instances: Vec<Instance>,
    /// `[records]`; nothing goes anywhere if it is absent.
    pub records: Records,
    /// `[dns64]`; `None` if there is no DNS64 service.
    pub dns64: Option<Dns64>,
    /// `[proxy]`; `None` if there is no proxy.
    pub proxy: Option<Proxy>,
    /// `[[announce]]`, in the order of the file.
    pub announcements: Vec<Announce>,
}

/// `[gateway]`
#[derive(Clone, Debug)]
pub struct Gateway {
    /// Its name in logs and records.
    pub name: String,
    /// UNIX socket for `isthmus status` and friends.
    pub control: PathBuf,
    /// The group that may read beside it.
    pub view_group: Option<String>,
    /// Where OpenMetrics are served over HTTP, if anywhere.
    pub metrics: Option<SocketAddr>,
}

/// `[log]`
#[derive(Clone, Copy, Debug)]
pub struct Log {
    /// The least important messages that are written.
    pub level: tracing::Level,
    /// How they are written.
    pub format: LogFormat,
}

/// `format` of `[log]`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// `[link]`: MTUs in bytes for destinations whose route has none.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// Of the IPv4 side, 68 to 65535.
    pub ipv4_mtu: u16,
    /// Of the IPv6 side, 1280 to 65535.
    pub ipv6_mtu: u16,
}

/// `[[interface]]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Name of a link of the machine.
    pub name: At<String>,
    /// The engine for packets that come in there.
    pub engine: At<Engine>,
    /// Why the gateway has chosen it; `None` if the file names it.
    pub chosen: Option<String>,
    /// How an XDP program is attached.
    pub mode: XdpMode,
    /// How a translated packet leaves.
    pub forward: Forward,
    /// Who is there.
    pub side: Side,
}

/// `side` of an `[[interface]]`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Inside hosts and others.
    Any,
    /// Others only: who sends like an inside host is refused.
    Outside,
}

/// `engine` of an `[[interface]]`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// The one that suits the link, before this machine has been asked.
    Auto,
    /// A program in the network driver.
    Xdp,
    /// A program in the traffic control layer.
    Tc,
    /// This process, over its TUN link.
    User,
}

/// `mode` of an `[[interface]]` with XDP
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum XdpMode {
    /// In the driver if it can, else generic.
    Auto,
    /// In the driver.
    Native,
    /// In the kernel's stack, with any driver.
    Generic,
}

/// `forward` of an `[[interface]]`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forward {
    /// Straight out of the link of the route.
    Redirect,
    /// Up into the kernel, which filters and routes it.
    Kernel,
}

/// `[tun]`: the link of the user-space engine.
#[derive(Clone, Debug)]
pub struct Tun {
    /// Name of the link.
    pub name: At<String>,
    /// Queues, 1 to 64; one thread each.
    pub queues: u16,
    /// MTU in bytes, 1280 to 65535.
    pub mtu: u16,
    /// Addresses to put on it.
    pub addresses: Vec<At<IpNet>>,
    /// Whether routes are made.
    pub routes: Routes,
}

/// `routes` of `[tun]`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Routes {
    /// Routes into the link are made for everything that the instances translate.
    Auto,
    /// Routing is left alone.
    None,
}

/// `[[instance]]`: one mechanism.
#[derive(Clone, Debug)]
pub struct Instance {
    /// Its name, unique in the gateway.
    pub name: At<String>,
    /// How headers are treated.
    pub policy: Policy,
    /// Its mechanism and the keys of that.
    pub mechanism: Mechanism,
}

/// Keys that every mechanism has.
#[derive(Clone, Debug)]
pub struct Policy {
    /// The traffic class of translated packets.
    pub traffic_class: ServiceClass,
    /// The type of service of translated packets.
    pub tos: ServiceClass,
    /// Bytes to which packets without DF are split, 1280 to 65535 (RFC 7915 section 4.1).
    pub lowest_ipv6_mtu: u16,
    /// UDP over IPv4 without a checksum (RFC 7915 section 4.5).
    pub zero_udp_checksum: ZeroUdpChecksum,
    /// ICMP errors per second that the gateway itself may send; 0: none.
    pub icmp_errors: u32,
    /// IPv4 sources for ICMP errors of hops that only have IPv6 addresses (RFC 6791).
    pub icmp_source_v4: Option<At<Ipv4Net>>,
    /// Source of the gateway's own ICMPv6 errors.
    pub icmp_source_v6: Option<At<Ipv6Addr>>,
    /// Source of the gateway's own ICMPv4 errors.
    pub own_v4: Option<At<Ipv4Addr>>,
    /// Whether the MSS option of TCP SYN segments follows the MTU of the egress.
    pub mss_clamp: bool,
    /// Whether non-global IPv4 addresses may appear under the well-known prefix (RFC 6052 section 3.1).
    pub non_global: NonGlobal,
}

/// `mechanism` and its keys.
#[derive(Clone, Debug)]
pub enum Mechanism {
    /// Stateless translation (RFC 7915).
    Siit(Siit),
    /// Stateful translation between the families (RFC 6146).
    Nat64(Nat64),
    /// Stateful translation within IPv4 (RFC 3022).
    Nat44(Nat44),
    /// Tunnels, and what shares IPv4 addresses over IPv6.
    Composed(Box<Composed>),
}

impl Mechanism {
    /// The value of the key `mechanism`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Siit(_) => "siit",
            Self::Nat64(_) => "nat64",
            Self::Nat44(_) => "nat44",
            Self::Composed(composed) => composed.name,
        }
    }

    /// Its NAT, if it is stateful.
    #[must_use]
    pub fn nat(&self) -> Option<&Nat> {
        match self {
            Self::Nat64(nat64) => Some(&nat64.nat),
            Self::Nat44(nat44) => Some(&nat44.nat),
            Self::Siit(_) => None,
            Self::Composed(composed) => match &composed.nat {
                Some((nat, _)) => Some(nat),
                None => None,
            },
        }
    }

    /// Its application level gateways.
    #[must_use]
    pub fn alg(&self) -> Alg {
        match self {
            Self::Nat64(nat64) => nat64.alg,
            Self::Composed(composed) => composed.alg,
            Self::Siit(_) | Self::Nat44(_) => Alg::default(),
        }
    }

    /// Its PCP proxy, if it has one.
    #[must_use]
    pub fn pcp_proxy(&self) -> Option<&PcpProxy> {
        match self {
            Self::Composed(composed) => composed.pcp_proxy.as_ref(),
            Self::Siit(_) | Self::Nat64(_) | Self::Nat44(_) => None,
        }
    }

    /// The rows of its tables.
    #[must_use]
    pub fn rows(&self) -> Rows {
        match self {
            Self::Siit(siit) => Rows::Mappings(Arc::clone(&siit.eam)),
            Self::Composed(composed) => Rows::Softwires(Arc::clone(&composed.softwires)),
            Self::Nat64(_) | Self::Nat44(_) => Rows::None,
        }
    }

    /// Its translation prefix, if that is one of RFC 6052.
    #[must_use]
    pub fn rfc6052(&self) -> Option<rfc6052::Prefix> {
        match self {
            Self::Siit(siit) => match siit.prefix.as_ref()?.value {
                Prefix::Rfc6052(prefix) => Some(prefix),
                Prefix::Ivi(_) => None,
            },
            Self::Nat64(nat64) => Some(nat64.prefix.value),
            Self::Nat44(_) => None,
            Self::Composed(composed) if composed.is_waiting() => None,
            Self::Composed(composed) => composed.mechanism().prefix().copied(),
        }
    }
}

/// The rows of the tables of a mechanism.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rows {
    /// It has no tables.
    None,
    /// Explicit address mappings.
    Mappings(Arc<[At<Mapping>]>),
    /// Softwires.
    Softwires(Arc<[Softwire]>),
}

/// `mechanism = "siit"`
#[derive(Clone, Debug)]
pub struct Siit {
    /// Prefix of IPv4-converted addresses, if there is one.
    pub prefix: Option<At<Prefix>>,
    /// IPv4 addresses that stand for IPv6 hosts under the prefix.
    pub hosts: Vec<At<Ipv4Net>>,
    /// Explicit address mappings, from `eam` and `eam-file`.
    pub eam: Arc<[At<Mapping>]>,
    /// Hairpinning between explicit mappings.
    pub hairpin: Hairpin,
}

/// `prefix` together with `prefix-format`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prefix {
    /// RFC 6052
    Rfc6052(rfc6052::Prefix),
    /// RFC 6219
    Ivi(ivi::Prefix),
}

/// `mechanism = "nat64"`
#[derive(Clone, Debug)]
pub struct Nat64 {
    /// Prefix under which IPv6 hosts reach IPv4 hosts.
    pub prefix: At<rfc6052::Prefix>,
    /// Addresses of the hosts that are translated; without any it is everybody.
    pub inside: Vec<At<Ipv6Net>>,
    /// Everything stateful.
    pub nat: Nat,
    /// Application level gateways.
    pub alg: Alg,
}

/// `mechanism = "nat44"`
#[derive(Clone, Debug)]
pub struct Nat44 {
    /// Addresses of the hosts that are translated.
    pub inside: Vec<At<Ipv4Net>>,
    /// Destinations that they reach without translation.
    pub exempt: Vec<At<Ipv4Net>>,
    /// Everything stateful.
    pub nat: Nat,
}

/// `[records]`: sessions and port blocks.
#[derive(Clone, Debug, Default)]
pub struct Records {
    /// Its place, if it is there.
    pub heading: Option<Span>,
    /// File of JSON lines.
    pub json: Option<At<PathBuf>>,
    /// RFC 5424 over UDP.
    pub syslog: Option<SocketAddr>,
    /// RFC 8158.
    pub ipfix: Option<SocketAddr>,
    /// What carries it.
    pub carrier: Carrier,
    /// Most records per second.
    pub rate: u32,
    /// Whether the hosts that subscribers speak to are recorded.
    pub destinations: Destinations,
}

/// `ipfix-transport` of `[records]`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Carrier {
    /// RFC 7011 section 10.3.
    #[default]
    Udp,
    /// RFC 7011 section 10.4.
    Tcp,
}

/// `destinations` of `[records]`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Destinations {
    /// Sessions are recorded, and bindings and port blocks.
    #[default]
    Record,
    /// Bindings and port blocks only, which do not have them (RFC 6888 section 4, REQ-12).
    Omit,
}

/// `[dns64]`
#[derive(Clone, Debug)]
pub struct Dns64 {
    /// Its place.
    pub heading: Span,
    /// Where it answers, over UDP and TCP.
    pub listen: Vec<At<SocketAddr>>,
    /// Resolvers that it asks, in this order.
    pub upstream: Vec<At<SocketAddr>>,
    /// Networks of the clients that may ask; `None` for those of this machine and private ones.
    pub allow: Option<Vec<At<IpNet>>>,
    /// Queries of one client in a second; 0: clients have no limits of their own.
    pub client_rate: u32,
    /// Prefixes that it makes addresses with; those of the instances by default.
    pub prefixes: Vec<At<rfc6052::Prefix>>,
    /// AAAA records under these count as absent (RFC 6147 section 5.1.4).
    pub exclude: Vec<Ipv6Net>,
    /// Most answers remembered.
    pub cache_entries: u32,
}

impl Document {
    /// The prefixes of RFC 6052 that the instances translate: a DNS64 makes addresses with
    /// them by default.
    #[must_use]
    pub fn prefixes(&self) -> Vec<rfc6052::Prefix> {
        let of = |instance: &Instance| instance.mechanism.rfc6052();
        self.instances.iter().filter_map(of).collect()
    }

    /// The resolvers that the proxy asks: its own, or those of the DNS64.
    #[must_use]
    pub fn proxy_resolvers(&self) -> Vec<SocketAddr> {
        let own = self.proxy.iter().flat_map(|proxy| &proxy.resolvers);
        let own: Vec<SocketAddr> = own.map(|at| at.value).collect();
        let upstream = self.dns64.iter().flat_map(|dns64| &dns64.upstream);
        match own.is_empty() {
            true => upstream.map(|at| at.value).collect(),
            false => own,
        }
    }

    /// The prefixes that the DNS64 makes addresses with.
    #[must_use]
    pub fn dns64_prefixes(&self) -> Vec<rfc6052::Prefix> {
        match &self.dns64 {
            Some(dns64) if !dns64.prefixes.is_empty() => {
                dns64.prefixes.iter().map(|at| at.value).collect()
            }
            _ => self.prefixes(),
        }
    }
}

//! What can be measured: a mechanism, who made it, and in which network it stands.

use std::{fmt, net::IpAddr};

use crate::{
    bound,
    device::Device,
    isthmus::{Engine, Instance, Isthmus, Mechanism},
    peers::{self, Bind, Forwarding, Jool, KernelTunnel, Nftables, Proxy, Tayga, Tundra, Unbound},
    provider::{self, others::End},
    results,
};

/// An implementation of a mechanism in its network.
#[derive(Debug, Clone)]
pub struct Subject {
    /// See [`results::SubjectInfo::name`].
    pub name: String,
    /// The mechanism.
    pub mechanism: &'static str,
    /// Who made it.
    pub maker: Maker,
    /// The network, with who stands where.
    pub setup: Setup,
    /// What it takes from one host to the other.
    pub carries: Carries,
    /// Its way there and back among the [bounds](bound::MECHANISMS).
    pub bounds: [&'static str; 2],
}

/// What a subject takes from one host to the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carries {
    /// Packets, whatever they carry.
    Packets,
    /// Requests by HTTP and their answers.
    Http,
    /// Questions to the DNS and their answers.
    Dns,
}

/// Who made an implementation, and where it handles packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Maker {
    /// We, with an engine.
    Isthmus(Engine),
    /// The kernel.
    Kernel,
    /// TAYGA's authors: a process.
    Tayga,
    /// tundra's author: a process.
    Tundra,
    /// NIC Mexico: Jool, a module of the kernel.
    Jool(Jool),
    /// The kernel's packet filter.
    Nftables,
    /// NLnet Labs' resolver.
    Unbound,
    /// ISC's name server.
    Bind,
    /// A web server's authors.
    Proxy(Proxy),
}

/// A network and who stands where in it.
#[derive(Debug, Clone, Copy)]
pub enum Setup {
    /// A host, a gateway, a host, with both protocols everywhere. The first host calls the second one by this
    /// address.
    Middle(Middle, IpAddr),
    /// Two hosts and a cable, of which the first one calls the second one by this address.
    Direct(IpAddr),
    /// The network of a [provider], and who is the customer's edge and the border.
    Provider(&'static provider::Mechanism, [Endpoint; 2]),
    /// A host, a router, a host, of which hosts are ends of tunnels themselves.
    Hosts(HostTunnel),
}

/// A gateway in the network of a provider.
#[derive(Debug, Clone, Copy)]
pub enum Endpoint {
    /// Ours, with an engine.
    Isthmus(Engine),
    /// Somebody else's.
    Other(&'static End),
}

/// A tunnel that ends in hosts, as in paper 000.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostTunnel {
    /// From the first host to the router, which has this engine if it is ours. The second host speaks IPv6.
    Isatap(Ends),
    /// From host to host. The router speaks IPv4 only.
    SixToFour(Ends),
}

/// Whose the ends of such a tunnel are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ends {
    /// Ours, in user space in hosts and with this engine in the router.
    Isthmus(Engine),
    /// The kernel's.
    Kernel,
}

impl Setup {
    /// # Errors
    /// Something that others' gateways need is not here.
    fn require(&self) -> crate::Result<()> {
        match self {
            Self::Provider(_, gateways) => gateways.iter().try_for_each(|gateway| match gateway {
                Endpoint::Isthmus(_) => crate::isthmus::program().map(drop),
                Endpoint::Other(end) => end.require(),
            }),
            Self::Hosts(HostTunnel::Isatap(Ends::Kernel) | HostTunnel::SixToFour(Ends::Kernel)) => {
                KernelTunnel::Sit.require()
            }
            Self::Hosts(_) | Self::Middle(..) | Self::Direct(_) => Ok(()),
        }
    }
}

/// Who is the gateway between two hosts.
#[derive(Debug, Clone, Copy)]
pub enum Middle {
    /// The kernel forwards.
    Forwarding,
    /// Ours.
    Isthmus(Isthmus),
    /// TAYGA.
    Tayga,
    /// tundra.
    Tundra(Tundra),
    /// Jool.
    Jool(Jool),
    /// nftables.
    Nftables(Nftables),
    /// unbound.
    Unbound(Unbound),
    /// BIND.
    Bind(Bind),
    /// A web server.
    Proxy(Proxy),
}

impl Middle {
    /// Returns it as a device under test.
    pub fn device(&self) -> &dyn Device {
        match self {
            Self::Forwarding => &Forwarding,
            Self::Isthmus(isthmus) => isthmus,
            Self::Tayga => &Tayga,
            Self::Tundra(tundra) => tundra,
            Self::Jool(jool) => jool,
            Self::Nftables(nftables) => nftables,
            Self::Unbound(unbound) => unbound,
            Self::Bind(bind) => bind,
            Self::Proxy(proxy) => proxy,
        }
    }
}

impl Maker {
    /// Returns its part of a subject's name.
    fn short(self) -> String {
        match self {
            Self::Isthmus(engine) => format!("isthmus-{}", engine.name()),
            Self::Kernel => "kernel".into(),
            Self::Tayga => "tayga".into(),
            Self::Tundra => "tundra".into(),
            Self::Jool(_) => "jool".into(),
            Self::Nftables => "nftables".into(),
            Self::Unbound => "unbound".into(),
            Self::Bind => "bind".into(),
            Self::Proxy(Proxy::Nginx) => "nginx".into(),
            Self::Proxy(Proxy::Apache) => "apache".into(),
            Self::Proxy(Proxy::Squid) => "squid".into(),
        }
    }

    /// Its name and version in reports.
    fn implementation(self) -> String {
        match self {
            Self::Isthmus(_) => concat!("Isthmus ", env!("CARGO_PKG_VERSION")).into(),
            Self::Kernel => "Linux".into(),
            Self::Tayga => Tayga.name(),
            Self::Tundra => Tundra::SIIT.name(),
            Self::Jool(jool) => format!("Jool{}", jool.version()),
            Self::Nftables => format!("nftables{}", peers::version("nftables")),
            Self::Unbound => format!("unbound{}", peers::version("unbound")),
            Self::Bind => format!("BIND{}", peers::version("bind9")),
            Self::Proxy(proxy) => proxy.implementation(),
        }
    }

    fn engine(self) -> &'static str {
        match self {
            Self::Isthmus(engine) => engine.name(),
            Self::Kernel | Self::Nftables | Self::Jool(_) => "kernel",
            Self::Tayga | Self::Tundra => "user",
            Self::Unbound | Self::Bind | Self::Proxy(_) => "application",
        }
    }

    /// # Errors
    /// It is not here.
    fn require(self) -> crate::Result<()> {
        match self {
            Self::Isthmus(_) => crate::isthmus::program().map(drop),
            Self::Kernel => Ok(()),
            Self::Tayga => crate::process::require("tayga", "tayga"),
            Self::Tundra => peers::tundra::program().map(drop),
            Self::Jool(jool) => jool.require(),
            Self::Nftables => crate::process::require("nft", "nftables"),
            Self::Unbound => crate::process::require("unbound", "unbound"),
            Self::Bind => crate::process::require("named", "bind9"),
            Self::Proxy(proxy) => proxy.require(),
        }
    }
}

impl Subject {
    pub(super) fn new(
        mechanism: &'static str,
        maker: Maker,
        setup: Setup,
        bounds: [&'static str; 2],
    ) -> Self {
        let short = mechanism.to_lowercase().replace(' ', "-");
        Self {
            name: format!("{short}-{}", maker.short()),
            mechanism,
            maker,
            setup,
            carries: Carries::Packets,
            bounds,
        }
    }

    /// As a run's file has it.
    pub fn describe(&self) -> results::SubjectInfo {
        results::SubjectInfo {
            name: self.name.clone(),
            mechanism: self.mechanism.into(),
            implementation: self.maker.implementation(),
            engine: self.maker.engine().into(),
            missing: self.missing(),
        }
    }

    /// Why it can not be measured here, if so.
    fn missing(&self) -> Option<String> {
        let required = self.maker.require().and_then(|()| self.setup.require());
        required.err().map(|error| error.to_string())
    }

    /// The protocol that its client speaks.
    pub fn family(&self) -> bound::Family {
        match self.setup {
            Setup::Direct(IpAddr::V4(_)) | Setup::Middle(_, IpAddr::V4(_)) => bound::Family::V4,
            Setup::Direct(IpAddr::V6(_)) | Setup::Middle(_, IpAddr::V6(_)) | Setup::Hosts(_) => {
                bound::Family::V6
            }
            Setup::Provider(mechanism, _) => match mechanism.core {
                provider::Core::V4 => bound::Family::V6,
                provider::Core::V6 => bound::Family::V4,
            },
        }
    }

    /// The paths there and back on links of a rate.
    ///
    /// # Panics
    /// The names of its bounds are wrong, which a test looks at.
    pub fn paths(&self, rate: bound::Rate) -> [bound::Path; 2] {
        self.bounds.map(|name| {
            let mechanism = bound::Mechanism::named(name).expect("a bound of this name");
            mechanism.path(rate, bound::Mtu::ETHERNET)
        })
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// Returns our gateway with these keys of configuration, at a provider's network.
pub(super) fn ours(name: &'static str, keys: &'static str, engine: Engine) -> Isthmus {
    Isthmus::new(engine, Mechanism::Other(Instance::new(name, keys)))
}

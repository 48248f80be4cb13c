//! A subject: a mechanism, its implementation, and the network in which it stands.

use std::{fmt, net::IpAddr};

use crate::{
    figures::{bound, results},
    network::device::Device,
    subjects::{
        isthmus::{Engine, Instance, Isthmus, Keys, Mechanism},
        peers::{
            self, Bind, Forwarding, Jool, KernelTunnel, Nftables, Proxy, Tayga, Tundra, Unbound,
        },
        provider::{self, others::End},
    },
};

/// An implementation of a mechanism in its network.
#[derive(Debug, Clone)]
pub struct Subject {
    /// See [`results::SubjectInfo::name`].
    pub name: String,
    /// The mechanism.
    pub mechanism: &'static str,
    /// The implementation.
    pub maker: Maker,
    /// The network.
    pub setup: Setup,
    /// The traffic that it carries.
    pub carries: Carries,
    /// Its paths there and back among the [bounds](bound::MECHANISMS).
    pub bounds: [&'static str; 2],
}

/// The traffic that a subject carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carries {
    /// Packets of any kind.
    Packets,
    /// HTTP requests and responses.
    Http,
    /// DNS queries and responses.
    Dns,
}

/// An implementation, and its engine where it has several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Maker {
    /// Isthmus, with an engine.
    Isthmus(Engine),
    /// The kernel.
    Kernel,
    /// TAYGA, a process.
    Tayga,
    /// tundra, a process.
    Tundra,
    /// Jool, a kernel module.
    Jool(Jool),
    /// The kernel's packet filter.
    Nftables,
    /// NLnet Labs' unbound.
    Unbound,
    /// ISC's BIND.
    Bind,
    /// A web server, or Isthmus as one.
    Proxy(Proxy),
}

/// A network and the roles in it.
#[derive(Debug, Clone, Copy)]
pub enum Setup {
    /// Two hosts with a gateway between them, with both protocols everywhere. The first host calls the second one by
    /// this address.
    Middle(Middle, IpAddr),
    /// Two hosts and a cable. The first host calls the second one by this address.
    Direct(IpAddr),
    /// The network of a [provider], with the CE and the BR.
    Provider(&'static provider::Mechanism, [Endpoint; 2]),
    /// Two hosts with a router between them. The hosts are ends of tunnels themselves.
    Hosts(HostTunnel),
}

/// A gateway in the network of a provider: the CE or the BR.
#[derive(Debug, Clone, Copy)]
pub enum Endpoint {
    /// Isthmus, with an engine.
    Isthmus(Engine),
    /// Another implementation.
    Other(&'static End),
}

/// A tunnel that ends in hosts, as in paper 000.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostTunnel {
    /// From the first host to the router, which has this engine if it is ours. The second host speaks IPv6 natively.
    Isatap(Ends),
    /// From host to host. The router speaks IPv4 only.
    SixToFour(Ends),
}

/// The implementation of the ends of such a tunnel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ends {
    /// Isthmus, in user space in hosts and with this engine in the router.
    Isthmus(Engine),
    /// The kernel's.
    Kernel,
}

impl Setup {
    /// Checks that the requirements of other implementations are met.
    ///
    /// # Errors
    /// A requirement of another implementation is not met.
    fn require(&self) -> crate::Result<()> {
        match self {
            Self::Provider(_, gateways) => gateways.iter().try_for_each(|gateway| match gateway {
                Endpoint::Isthmus(_) => crate::subjects::isthmus::program().map(drop),
                Endpoint::Other(end) => end.require(),
            }),
            Self::Hosts(HostTunnel::Isatap(Ends::Kernel) | HostTunnel::SixToFour(Ends::Kernel)) => {
                KernelTunnel::Sit.require()
            }
            Self::Hosts(_) | Self::Middle(..) | Self::Direct(_) => Ok(()),
        }
    }
}

/// The gateway between two hosts.
#[derive(Debug, Clone, Copy)]
pub enum Middle {
    /// The kernel's forwarding.
    Forwarding,
    /// Isthmus.
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
            Self::Proxy(Proxy::Isthmus) => "isthmus".into(),
            Self::Proxy(Proxy::Nginx) => "nginx".into(),
            Self::Proxy(Proxy::Apache) => "apache".into(),
            Self::Proxy(Proxy::Squid) => "squid".into(),
        }
    }

    /// Returns its name and version in reports.
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

    /// Checks that it is installed.
    ///
    /// # Errors
    /// It is not installed.
    fn require(self) -> crate::Result<()> {
        match self {
            Self::Isthmus(_) => crate::subjects::isthmus::program().map(drop),
            Self::Kernel => Ok(()),
            Self::Tayga => crate::network::process::require("tayga", "tayga"),
            Self::Tundra => peers::tundra::program().map(drop),
            Self::Jool(jool) => jool.require(),
            Self::Nftables => crate::network::process::require("nft", "nftables"),
            Self::Unbound => crate::network::process::require("unbound", "unbound"),
            Self::Bind => crate::network::process::require("named", "bind9"),
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

    /// Returns its description in `run.json`.
    pub fn describe(&self) -> results::SubjectInfo {
        results::SubjectInfo {
            name: self.name.clone(),
            mechanism: self.mechanism.into(),
            implementation: self.maker.implementation(),
            engine: self.maker.engine().into(),
            missing: self.missing(),
        }
    }

    /// Returns why it cannot be measured here, if so.
    fn missing(&self) -> Option<String> {
        let required = self.maker.require().and_then(|()| self.setup.require());
        required.err().map(|error| error.to_string())
    }

    /// Returns the protocol of its client.
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

    /// Returns the paths there and back on links of a rate.
    ///
    /// # Panics
    /// A name of its bounds is wrong. A test checks them.
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
pub(super) fn ours(name: &'static str, keys: Keys, engine: Engine) -> Isthmus {
    of(Instance::new(name, keys), engine)
}

/// Returns our gateway with this instance.
pub(super) fn of(instance: Instance, engine: Engine) -> Isthmus {
    Isthmus::new(engine, Mechanism::Other(instance))
}

//! What can be measured: a mechanism, who made it, and in which network it stands.

use std::{fmt, net::IpAddr};

use crate::{
    bound,
    isthmus::{Engine, Instance, Isthmus, Mechanism},
    peers::{self, Bind, Forwarding, Jool, KernelTunnel, Nftables, Proxy, Tayga, Tundra, Unbound},
    plan,
    provider::{
        self,
        others::{self, End},
    },
    results,
    subject::Subject,
};

/// An implementation of a mechanism in its network.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// See [`results::Subject::name`].
    pub name: String,
    /// The mechanism.
    pub mechanism: &'static str,
    /// Who made it.
    pub maker: Maker,
    /// The network, with who stands where.
    pub site: Site,
    /// What it takes from one host to the other.
    pub carries: Carries,
    /// Its way there and back among the [bounds](bound::MECHANISMS).
    pub bounds: [&'static str; 2],
}

/// What a candidate takes from one host to the other.
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
pub enum Site {
    /// A host, a gateway, a host, with both protocols everywhere. The first host calls the second one by this
    /// address.
    Middle(Middle, IpAddr),
    /// Two hosts and a cable, of which the first one calls the second one by this address.
    Direct(IpAddr),
    /// The network of a [provider], and who is the customer's edge and the border.
    Provider(&'static provider::Mechanism, [Gateway; 2]),
    /// A host, a router, a host, of which hosts are ends of tunnels themselves.
    Hosts(HostTunnel),
}

/// A gateway in the network of a provider.
#[derive(Debug, Clone, Copy)]
pub enum Gateway {
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

impl Site {
    /// # Errors
    /// Something that others' gateways need is not here.
    fn require(&self) -> crate::Result<()> {
        match self {
            Self::Provider(_, gateways) => gateways.iter().try_for_each(|gateway| match gateway {
                Gateway::Isthmus(_) => crate::isthmus::program().map(drop),
                Gateway::Other(end) => end.require(),
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
    /// The same as a subject.
    pub fn subject(&self) -> &dyn Subject {
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
    /// How it is called in names of candidates.
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

impl Candidate {
    fn new(mechanism: &'static str, maker: Maker, site: Site, bounds: [&'static str; 2]) -> Self {
        let short = mechanism.to_lowercase().replace(' ', "-");
        Self {
            name: format!("{short}-{}", maker.short()),
            mechanism,
            maker,
            site,
            carries: Carries::Packets,
            bounds,
        }
    }

    /// As a run's file has it.
    pub fn describe(&self) -> results::Subject {
        results::Subject {
            name: self.name.clone(),
            mechanism: self.mechanism.into(),
            implementation: self.maker.implementation(),
            engine: self.maker.engine().into(),
            missing: self.missing(),
        }
    }

    /// Why it can not be measured here, if so.
    fn missing(&self) -> Option<String> {
        let required = self.maker.require().and_then(|()| self.site.require());
        required.err().map(|error| error.to_string())
    }

    /// The protocol that its client speaks.
    pub fn family(&self) -> bound::Family {
        match self.site {
            Site::Direct(IpAddr::V4(_)) | Site::Middle(_, IpAddr::V4(_)) => bound::Family::V4,
            Site::Direct(IpAddr::V6(_)) | Site::Middle(_, IpAddr::V6(_)) | Site::Hosts(_) => {
                bound::Family::V6
            }
            Site::Provider(mechanism, _) => match mechanism.core {
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

impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// All that the laboratory knows, whether it runs here or not.
pub fn candidates() -> Vec<Candidate> {
    let (four, six) = (IpAddr::V4(plan::HOST4), IpAddr::V6(plan::HOST4_AS_IPV6));
    let embedded = IpAddr::V6(plan::embed(plan::HOST4));
    let translated = ["nat64-6to4", "nat64-4to6"];
    let middle = |mechanism, maker, middle, address, bounds| {
        Candidate::new(mechanism, maker, Site::Middle(middle, address), bounds)
    };
    let native = |mechanism: &'static str, address, bound: &'static str| Candidate {
        name: bound.into(),
        ..middle(
            mechanism,
            Maker::Kernel,
            Middle::Forwarding,
            address,
            [bound; 2],
        )
    };
    let direct = |mechanism, address, bound: &'static str| Candidate {
        name: bound.into(),
        ..Candidate::new(mechanism, Maker::Kernel, Site::Direct(address), [bound; 2])
    };
    let mut all = vec![
        direct(
            "one link, IPv4",
            plan::GATEWAY6_AS_IPV4.into(),
            "direct-ipv4",
        ),
        direct("one link, IPv6", plan::GATEWAY6.into(), "direct-ipv6"),
        native("native IPv4", four, "native-ipv4"),
        native("native IPv6", six, "native-ipv6"),
    ];
    for engine in Engine::ALL {
        let ours = |mechanism| Middle::Isthmus(Isthmus::new(engine, mechanism));
        let maker = Maker::Isthmus(engine);
        all.push(middle(
            "NAT64",
            maker,
            ours(Mechanism::Nat64),
            embedded,
            translated,
        ));
        all.push(middle(
            "SIIT",
            maker,
            ours(Mechanism::Siit),
            embedded,
            translated,
        ));
    }
    let (nat64, siit, tundra) = (Jool::Nat64, Jool::Siit, Tundra::SIIT);
    for (mechanism, maker, gateway) in [
        ("NAT64", Maker::Jool(nat64), Middle::Jool(nat64)),
        ("SIIT", Maker::Jool(siit), Middle::Jool(siit)),
        ("SIIT", Maker::Tayga, Middle::Tayga),
        ("SIIT", Maker::Tundra, Middle::Tundra(tundra)),
    ] {
        all.push(middle(mechanism, maker, gateway, embedded, translated));
    }
    all.push(middle(
        "NAT44",
        Maker::Nftables,
        Middle::Nftables(Nftables::Masquerade),
        four,
        ["native-ipv4"; 2],
    ));
    let gateway = IpAddr::V6(plan::GATEWAY6);
    let service = |mechanism, maker, server, carries| Candidate {
        carries,
        ..middle(mechanism, maker, server, gateway, translated)
    };
    let (listen, dns, user) = (plan::GATEWAY6, Carries::Dns, Engine::User);
    let dns64 = Isthmus::new(user, Mechanism::Nat64).with_dns64(listen);
    all.extend([
        service("DNS64", Maker::Isthmus(user), Middle::Isthmus(dns64), dns),
        service(
            "DNS64",
            Maker::Unbound,
            Middle::Unbound(Unbound { listen }),
            dns,
        ),
        service("DNS64", Maker::Bind, Middle::Bind(Bind { listen }), dns),
    ]);
    for proxy in [Proxy::Nginx, Proxy::Apache, Proxy::Squid] {
        let (maker, server) = (Maker::Proxy(proxy), Middle::Proxy(proxy));
        all.push(service("HTTP proxy", maker, server, Carries::Http));
    }
    let hosts = |mechanism, maker, tunnel, bound| {
        Candidate::new(mechanism, maker, Site::Hosts(tunnel), [bound; 2])
    };
    let by = |engine| (Maker::Isthmus(engine), Ends::Isthmus(engine));
    let kernel = (Maker::Kernel, Ends::Kernel);
    for (maker, ends) in Engine::ALL.map(by).into_iter().chain([kernel]) {
        all.push(hosts("ISATAP", maker, HostTunnel::Isatap(ends), "isatap"));
    }
    // Our hosts are in user space.
    for (maker, ends) in [by(user), kernel] {
        let tunnel = HostTunnel::SixToFour(ends);
        all.push(hosts("6to4 hosts", maker, tunnel, "6to4"));
    }
    for (mechanism, provider, bound) in PROVIDERS {
        let others = OTHERS.iter().filter(|(name, ..)| *name == mechanism);
        let others = others.map(|(_, maker, gateways)| (*maker, *gateways));
        let ours =
            Engine::ALL.map(|engine| (Maker::Isthmus(engine), [Gateway::Isthmus(engine); 2]));
        for (maker, gateways) in ours.into_iter().chain(others) {
            let site = Site::Provider(provider, gateways);
            all.push(Candidate::new(mechanism, maker, site, [bound; 2]));
        }
    }
    all
}

/// Others' gateways for some of the mechanisms below. Where theirs is the customer's edge alone, the border is ours in
/// XDP, so that what is seen is theirs.
static OTHERS: [(&str, Maker, [Gateway; 2]); 7] = [
    ("6in4", Maker::Kernel, both(&others::SIX_IN_FOUR)),
    ("6to4", Maker::Kernel, both(&others::SIX_TO_FOUR)),
    ("6rd", Maker::Kernel, both(&others::SIX_RD)),
    ("4in6", Maker::Kernel, both(&others::FOUR_IN_SIX)),
    ("DS-Lite", Maker::Kernel, both(&others::DS_LITE)),
    ("464XLAT", Maker::Tayga, edge(&others::TAYGA_CLAT)),
    ("464XLAT", Maker::Tundra, edge(&others::TUNDRA_CLAT)),
];

const fn both(ends: &'static [End; 2]) -> [Gateway; 2] {
    let [edge, border] = ends;
    [Gateway::Other(edge), Gateway::Other(border)]
}

const fn edge(end: &'static End) -> [Gateway; 2] {
    [Gateway::Other(end), Gateway::Isthmus(Engine::Xdp)]
}

/// Mechanisms with a customer's edge and a border, and their bounds.
static PROVIDERS: [(&str, &provider::Mechanism, &str); 9] = [
    ("6in4", &provider::SIX_IN_FOUR, "6rd"),
    ("6to4", &provider::SIX_TO_FOUR, "6rd"),
    ("6rd", &provider::SIX_RD, "6rd"),
    ("4in6", &provider::FOUR_IN_SIX, "4in6-outer"),
    ("DS-Lite", &provider::DS_LITE, "4in6-outer"),
    ("lw4o6", &provider::LW4O6, "4in6-outer"),
    ("MAP-E", &provider::MAP_E, "4in6-outer"),
    ("MAP-T", &provider::MAP_T, "xlat-1280"),
    ("464XLAT", &provider::CLAT, "xlat-1280"),
];

/// Ours on a gateway of a provider's network.
pub(super) fn ours(name: &'static str, keys: &'static str, engine: Engine) -> Isthmus {
    Isthmus::new(engine, Mechanism::Other(Instance::new(name, keys)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn candidates_have_names_of_their_own_and_bounds() {
        let all = candidates();
        let names: BTreeSet<_> = all.iter().map(|candidate| &candidate.name).collect();
        assert_eq!(names.len(), all.len());
        for candidate in &all {
            let [there, back] = candidate.paths("10M".parse().unwrap());
            assert_eq!(there.source(), candidate.family(), "{candidate}");
            assert_eq!(there.links().count(), back.links().count(), "{candidate}");
        }
    }
}

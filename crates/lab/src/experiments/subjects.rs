//! The list of subjects: all that the laboratory knows, whether it runs here or not.

use std::net::IpAddr;

use super::subject::{Carries, Endpoint, Ends, HostTunnel, Maker, Middle, Setup, Subject};
use crate::{
    network::plan,
    subjects::{
        isthmus::{Engine, Isthmus, Mechanism},
        peers::{Bind, Jool, Nftables, Proxy, Tundra, Unbound},
        provider::{
            self,
            others::{self, End},
        },
    },
};

/// The bounds of a translator between an IPv6 client and an IPv4 server.
const TRANSLATED: [&str; 2] = ["nat64-6to4", "nat64-4to6"];

/// Returns all subjects, in the order of a run.
pub fn subjects() -> Vec<Subject> {
    let mut all = natives().to_vec();
    all.extend(translators());
    all.extend(servers());
    all.extend(host_tunnels());
    all.extend(provider_mechanisms());
    all
}

/// Returns the cables and the kernel's forwarding, which other subjects are compared with.
fn natives() -> [Subject; 4] {
    let direct = |mechanism, address, bound: &'static str| Subject {
        name: bound.into(),
        ..Subject::new(mechanism, Maker::Kernel, Setup::Direct(address), [bound; 2])
    };
    let native = |mechanism, address, bound: &'static str| Subject {
        name: bound.into(),
        ..between(
            mechanism,
            Maker::Kernel,
            Middle::Forwarding,
            address,
            [bound; 2],
        )
    };
    let (gateway4, gateway6) = (plan::GATEWAY6_AS_IPV4.into(), plan::GATEWAY6.into());
    let (host4, host6) = (plan::HOST4.into(), plan::HOST4_AS_IPV6.into());
    [
        direct("one link, IPv4", gateway4, "direct-ipv4"),
        direct("one link, IPv6", gateway6, "direct-ipv6"),
        native("native IPv4", host4, "native-ipv4"),
        native("native IPv6", host6, "native-ipv6"),
    ]
}

/// Returns the subject with one gateway between two hosts, of which the first calls the second by this address.
fn between(
    mechanism: &'static str,
    maker: Maker,
    middle: Middle,
    address: IpAddr,
    bounds: [&'static str; 2],
) -> Subject {
    Subject::new(mechanism, maker, Setup::Middle(middle, address), bounds)
}

/// Returns the translators and the NATs.
fn translators() -> Vec<Subject> {
    let host4 = IpAddr::V6(plan::embed(plan::HOST4));
    let translator =
        |mechanism, maker, middle| between(mechanism, maker, middle, host4, TRANSLATED);
    let address = IpAddr::V4(plan::HOST4);
    let nat44 = |maker, middle| between("NAT44", maker, middle, address, ["native-ipv4"; 2]);
    let ours = Engine::ALL.into_iter().flat_map(|engine| {
        let ours = |mechanism| Middle::Isthmus(Isthmus::new(engine, mechanism));
        let maker = Maker::Isthmus(engine);
        [
            translator("NAT64", maker, ours(Mechanism::Nat64)),
            translator("SIIT", maker, ours(Mechanism::Siit)),
            translator("NAT-PT", maker, ours(Mechanism::NatPt)),
            nat44(maker, ours(Mechanism::Nat44)),
        ]
    });
    let (nat64, siit) = (Jool::Nat64, Jool::Siit);
    let others = [
        translator("NAT64", Maker::Jool(nat64), Middle::Jool(nat64)),
        translator("SIIT", Maker::Jool(siit), Middle::Jool(siit)),
        translator("SIIT", Maker::Tayga, Middle::Tayga),
        translator("SIIT", Maker::Tundra, Middle::Tundra(Tundra::SIIT)),
        nat44(Maker::Nftables, Middle::Nftables(Nftables::Masquerade)),
    ];
    ours.chain(others).collect()
}

/// Returns the DNS64 servers and the HTTP proxies, which the client calls themselves.
fn servers() -> Vec<Subject> {
    let listen = plan::GATEWAY6;
    let server = |mechanism, maker, middle, carries| Subject {
        carries,
        ..between(mechanism, maker, middle, listen.into(), TRANSLATED)
    };
    let dns64 = |maker, middle| server("DNS64", maker, middle, Carries::Dns);
    let ours = Isthmus::new(Engine::User, Mechanism::Nat64).with_dns64(listen);
    let dns64 = [
        dns64(Maker::Isthmus(Engine::User), Middle::Isthmus(ours)),
        dns64(Maker::Unbound, Middle::Unbound(Unbound { listen })),
        dns64(Maker::Bind, Middle::Bind(Bind { listen })),
    ];
    let proxies = [Proxy::Isthmus, Proxy::Nginx, Proxy::Apache, Proxy::Squid].map(|proxy| {
        let (maker, middle) = (Maker::Proxy(proxy), Middle::Proxy(proxy));
        server("HTTP proxy", maker, middle, Carries::Http)
    });
    dns64.into_iter().chain(proxies).collect()
}

/// Returns the tunnels that end in hosts.
fn host_tunnels() -> Vec<Subject> {
    let hosts = |mechanism, maker, tunnel, bounds| {
        Subject::new(mechanism, maker, Setup::Hosts(tunnel), bounds)
    };
    let by = |engine| (Maker::Isthmus(engine), Ends::Isthmus(engine));
    let kernel = (Maker::Kernel, Ends::Kernel);
    let isatap = Engine::ALL.map(by).into_iter().chain([kernel]);
    // The answers are in the tunnel on the other link.
    let isatap = isatap.map(|(maker, ends)| {
        let bounds = ["isatap", "isatap-back"];
        hosts("ISATAP", maker, HostTunnel::Isatap(ends), bounds)
    });
    // Our hosts are in user space.
    let six_to_four = [by(Engine::User), kernel].map(|(maker, ends)| {
        let tunnel = HostTunnel::SixToFour(ends);
        hosts("6to4 hosts", maker, tunnel, ["6to4"; 2])
    });
    isatap.chain(six_to_four).collect()
}

/// Returns the mechanisms with a CE and a BR: by ours with each engine, then by others.
fn provider_mechanisms() -> Vec<Subject> {
    let mut all = Vec::new();
    for (mechanism, provider, bound) in PROVIDERS {
        let others = OTHERS.iter().filter(|(name, ..)| *name == mechanism);
        let others = others.map(|(_, maker, endpoints)| (*maker, *endpoints));
        let ours =
            Engine::ALL.map(|engine| (Maker::Isthmus(engine), [Endpoint::Isthmus(engine); 2]));
        for (maker, endpoints) in ours.into_iter().chain(others) {
            let setup = Setup::Provider(provider, endpoints);
            all.push(Subject::new(mechanism, maker, setup, [bound; 2]));
        }
    }
    all
}

/// Other implementations of some of the mechanisms below. Where only the CE is another's, the BR is ours in XDP: the
/// difference that is measured is then the CE's.
static OTHERS: [(&str, Maker, [Endpoint; 2]); 7] = [
    ("6in4", Maker::Kernel, both(&others::SIX_IN_FOUR)),
    ("6to4", Maker::Kernel, both(&others::SIX_TO_FOUR)),
    ("6rd", Maker::Kernel, both(&others::SIX_RD)),
    ("4in6", Maker::Kernel, both(&others::FOUR_IN_SIX)),
    ("DS-Lite", Maker::Kernel, both(&others::DS_LITE)),
    ("464XLAT", Maker::Tayga, ce(&others::TAYGA_CLAT)),
    ("464XLAT", Maker::Tundra, ce(&others::TUNDRA_CLAT)),
];

const fn both(ends: &'static [End; 2]) -> [Endpoint; 2] {
    let [ce, br] = ends;
    [Endpoint::Other(ce), Endpoint::Other(br)]
}

const fn ce(end: &'static End) -> [Endpoint; 2] {
    [Endpoint::Other(end), Endpoint::Isthmus(Engine::Xdp)]
}

/// The mechanisms with a CE and a BR, and their bounds.
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_subject_has_a_unique_name_and_bounds() {
        let all = subjects();
        let names: BTreeSet<_> = all.iter().map(|subject| &subject.name).collect();
        assert_eq!(names.len(), all.len());
        for subject in &all {
            let [there, back] = subject.paths("10M".parse().unwrap());
            assert_eq!(there.source(), subject.family(), "{subject}");
            assert_eq!(there.links().count(), back.links().count(), "{subject}");
        }
    }
}

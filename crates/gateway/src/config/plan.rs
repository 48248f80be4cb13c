//! A description of a configuration in plain words.

mod nat;

use std::fmt;

use ipnet::{IpNet, Ipv6Net};
use isthmus_core::table::Line;
use serde::Serialize;

use super::alg;
use super::choice::Choice;
use super::compile::Compiled;
use super::document::{
    Announce, Destinations, Dns64, Document, Engine, Forward, Instance, Interface, Mechanism,
    NonGlobal, Prefix, Proxy, Routes, Side, Siit, XdpMode,
};
use super::overlap;
use super::source::At;
use nat::of_nat;

/// A description of a configuration: sections with a heading and a few sentences each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Plan {
    /// Name of the gateway.
    pub gateway: String,
    /// Its parts, in order.
    pub sections: Vec<Section>,
    /// Bytes that the tables take, once full.
    pub memory: u64,
}

/// One part of a [`Plan`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Section {
    /// Its heading.
    pub heading: String,
    /// Sentences.
    pub lines: Vec<String>,
}

impl Plan {
    /// Describes a document and its compiled form.
    #[must_use]
    pub fn new(document: &Document, compiled: &Compiled) -> Self {
        let mut sections = Vec::new();
        for instance in &document.instances {
            sections.push(Section {
                heading: format!("{} ({})", instance.name.value, instance.mechanism.name()),
                lines: of_instance(instance),
            });
        }
        sections.push(Section {
            heading: "links and routes".to_owned(),
            lines: links(document),
        });
        if let Some(dns64) = &document.dns64 {
            sections.push(Section {
                heading: "dns64".to_owned(),
                lines: of_dns64(document, dns64),
            });
        }
        if let Some(proxy) = &document.proxy {
            sections.push(Section {
                heading: "proxy".to_owned(),
                lines: of_proxy(document, proxy),
            });
        }
        for announce in &document.announcements {
            sections.push(Section {
                heading: format!("announcement on {}", announce.interface.value),
                lines: of_announce(document, announce),
            });
        }
        let lines = services(document);
        sections.push(Section {
            heading: "services".to_owned(),
            lines,
        });
        let rules = compiled.rules.len() as u64;
        let lines = rules + u64::from(compiled.state_lines);
        Self {
            gateway: document.gateway.name.clone(),
            sections,
            memory: lines * size_of::<Line>() as u64,
        }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "gateway \"{}\"", self.gateway)?;
        for section in &self.sections {
            writeln!(f, "\n{}", section.heading)?;
            for line in &section.lines {
                writeln!(f, "  {line}")?;
            }
        }
        write!(f, "\nmemory for tables: {}", bytes(self.memory))
    }
}

/// Who is translated by a NAT64.
fn of_inside(inside: &[At<Ipv6Net>]) -> Option<String> {
    let networks = list(inside.iter().map(|network| network.value.to_string()));
    (!inside.is_empty()).then(|| format!("if they come from {networks}; others get no session"))
}

fn of_instance(instance: &Instance) -> Vec<String> {
    let translates = matches!(instance.mechanism, Mechanism::Siit(_) | Mechanism::Nat64(_));
    let mut lines = match &instance.mechanism {
        Mechanism::Siit(siit) => of_siit(siit),
        Mechanism::Nat64(nat64) => {
            let mut lines = vec![format!(
                "IPv6 packets to {} go to the IPv4 host that the address embeds",
                nat64.prefix.value
            )];
            lines.extend(of_inside(&nat64.inside));
            lines.extend(of_nat(&nat64.nat, "IPv6 hosts"));
            lines.extend(alg::plan(nat64.alg));
            lines
        }
        Mechanism::Nat44(nat44) => {
            let inside = list(nat44.inside.iter().map(|net| net.value.to_string()));
            let mut lines = vec![format!("IPv4 packets from {inside} go out")];
            if !nat44.exempt.is_empty() {
                let exempt = list(nat44.exempt.iter().map(|net| net.value.to_string()));
                lines.push(format!(
                    "but not those to {exempt}, which are not translated"
                ));
            }
            lines.extend(of_nat(&nat44.nat, "they"));
            lines
        }
        Mechanism::Composed(composed) => {
            let mut lines = composed.plan.clone();
            if let Some((nat, _)) = &composed.nat {
                lines.extend(of_nat(nat, "they"));
            }
            lines
        }
    };
    let policy = &instance.policy;
    lines.extend(translates.then(|| {
        format!(
            "packets without DF are fragmented to {} bytes of IPv6",
            policy.lowest_ipv6_mtu
        )
    }));
    lines.push(match policy.icmp_errors {
        0 => "no ICMP errors of its own".to_owned(),
        n => format!("up to {n} ICMP errors of its own per second"),
    });
    if policy.non_global == NonGlobal::Allow {
        lines.push("non-global IPv4 addresses may pass under 64:ff9b::/96".to_owned());
    }
    lines
}

fn of_siit(siit: &Siit) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(prefix) = &siit.prefix {
        let (network, format) = match &prefix.value {
            Prefix::Rfc6052(_) => (overlap::of_prefix(prefix), "RFC 6052"),
            Prefix::Ivi(_) => (overlap::of_prefix(prefix), "IVI, RFC 6219"),
        };
        lines.push(format!(
            "IPv6 packets to {network} go to the IPv4 host that the address embeds ({format})"
        ));
        if !siit.hosts.is_empty() {
            let hosts = list(siit.hosts.iter().map(|net| net.value.to_string()));
            lines.push(format!(
                "IPv4 packets to {hosts} go to the IPv6 host under the prefix"
            ));
        }
    }
    const MOST: usize = 8;
    for mapping in siit.eam.iter().take(MOST) {
        let (v4, v6) = overlap::of_mapping(mapping);
        lines.push(format!("{v4} and {v6} represent each other"));
    }
    if siit.eam.len() > MOST {
        let left = siit.eam.len() - MOST;
        lines.push(format!("and {left} more explicit address mappings"));
    }
    lines
}

fn links(document: &Document) -> Vec<String> {
    let mut lines: Vec<_> = document.interfaces.iter().map(of_interface).collect();
    let tun = &document.tun;
    lines.push(format!(
        "{}: TUN link with {} queue{}, MTU {}, {}",
        tun.name.value,
        tun.queues,
        if tun.queues == 1 { "" } else { "s" },
        tun.mtu,
        if document
            .interfaces
            .iter()
            .any(|i| i.engine.value != Engine::User)
        {
            "for packets that BPF programs cannot process"
        } else {
            "where everything is translated"
        },
    ));
    if !tun.addresses.is_empty() {
        let addresses = list(tun.addresses.iter().map(|net| net.value.to_string()));
        lines.push(format!("{}: has the addresses {addresses}", tun.name.value));
    }
    match tun.routes {
        Routes::None => lines.push("no routes are made".to_owned()),
        Routes::Auto => {
            const MOST: usize = 12;
            let routes = document.routes();
            let shown = routes.iter().take(MOST).map(ToString::to_string);
            let mut text = list(shown);
            if routes.len() > MOST {
                text.push_str(&format!(" and {} more", routes.len() - MOST));
            }
            if !routes.is_empty() {
                lines.push(format!("{}: routes to {text}", tun.name.value));
            }
            let sources = document.routed_sources();
            if !sources.is_empty() {
                let sources = list(sources.iter().map(ToString::to_string));
                lines.push(format!("{}: routes from {sources}", tun.name.value));
            }
        }
    }
    lines
}

fn of_interface(interface: &Interface) -> String {
    let name = &interface.name.value;
    let engine = match (interface.engine.value, interface.mode) {
        (Engine::Auto, _) => "the engine that suits it",
        (Engine::Xdp, XdpMode::Auto) => "XDP in the driver, or tc if the driver cannot",
        (Engine::Xdp, XdpMode::Native) => "XDP in the driver",
        (Engine::Xdp, XdpMode::Generic) => "XDP in the kernel's stack",
        (Engine::Tc, _) => "tc",
        (Engine::User, _) => {
            let why = because(interface);
            return format!("{name}: through the TUN link{why}{}", of_side(interface));
        }
    };
    let forward = match interface.forward {
        Forward::Redirect => "packets leave by the routing table",
        Forward::Kernel => "translated packets go to the kernel",
    };
    let why = because(interface);
    format!("{name}: {engine}{why}; {forward}{}", of_side(interface))
}

/// Why the gateway has chosen the engine, if it has.
fn because(interface: &Interface) -> String {
    let why = interface.chosen.as_ref();
    why.map_or_else(String::new, |why| format!(", because {why}"))
}

fn of_side(interface: &Interface) -> &'static str {
    match interface.side {
        Side::Any => "",
        Side::Outside => "; nobody there is an inside host",
    }
}

fn of_dns64(document: &Document, dns64: &Dns64) -> Vec<String> {
    let listen = list(dns64.listen.iter().map(|at| at.value.to_string()));
    let upstream = list(dns64.upstream.iter().map(|at| at.value.to_string()));
    let prefixes = list(document.dns64_prefixes().iter().map(ToString::to_string));
    let clients = match &dns64.allow {
        None => "private and local addresses, and those of this machine's own networks".to_owned(),
        Some(networks) => list(networks.iter().map(|at| at.value.to_string())),
    };
    let rate = match dns64.client_rate {
        0 => "as often as they like".to_owned(),
        rate => format!("each {rate} times a second"),
    };
    vec![
        format!("answers at {listen}, asks {upstream}"),
        format!("clients are {clients}; they may ask {rate}"),
        format!("makes addresses under {prefixes}"),
        format!("caches up to {} answers", dns64.cache_entries),
    ]
}

fn of_proxy(document: &Document, proxy: &Proxy) -> Vec<String> {
    let networks = |networks: &[At<IpNet>]| list(networks.iter().map(|at| at.value.to_string()));
    let listen = list(proxy.listening().map(|at| at.value.to_string()));
    let ports = proxy.ports.iter().map(|(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    });
    let destinations = match proxy.destinations.is_empty() {
        true => "everything but this machine and its links".to_owned(),
        false => networks(&proxy.destinations),
    };
    let resolvers = list(document.proxy_resolvers().iter().map(ToString::to_string));
    let users = match proxy.users {
        Some(_) => "; they need a password, but not for sites",
        None => "",
    };
    vec![
        format!("answers at {listen}, asks {resolvers}"),
        format!("clients are {}{users}", networks(&proxy.allow)),
        format!("they reach {destinations} at ports {}", list(ports)),
        format!(
            "holds {} connections, {} of each client",
            proxy.connections, proxy.client_connections
        ),
    ]
}

fn of_announce(document: &Document, announce: &Announce) -> Vec<String> {
    let prefixes = list(document.announced(announce).iter().map(ToString::to_string));
    vec![
        format!(
            "announces {prefixes} to hosts, for {} s, at least every {} s",
            announce.lifetime.value, announce.interval
        ),
        match announce.router_lifetime.value {
            0 => "does not make this machine a default router".to_owned(),
            seconds => format!("makes this machine a default router for {seconds} s"),
        },
    ]
}

fn services(document: &Document) -> Vec<String> {
    let gateway = &document.gateway;
    let mut lines = vec![format!("control socket {}", gateway.control.display())];
    lines.push(match gateway.metrics {
        Some(address) => format!("OpenMetrics at http://{address}/metrics"),
        None => "no metrics over HTTP".to_owned(),
    });
    let records = &document.records;
    let json = records.json.as_ref();
    let sinks: Vec<_> = [
        json.map(|path| format!("JSON lines in {}", path.display())),
        records.syslog.map(|address| format!("syslog to {address}")),
        records.ipfix.map(|address| {
            let carrier = records.carrier.name();
            format!("IPFIX to {address} over {}", carrier.to_uppercase())
        }),
    ]
    .into_iter()
    .flatten()
    .collect();
    lines.push(if sinks.is_empty() {
        "no records of sessions or port blocks".to_owned()
    } else {
        format!(
            "up to {} records per second{} as {}",
            records.rate,
            match records.destinations {
                Destinations::Record => "",
                Destinations::Omit => ", without destinations,",
            },
            list(sinks.into_iter())
        )
    });
    lines
}

fn list(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join(", ")
}

/// A number of bytes for people.
fn bytes(count: u64) -> String {
    let units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let mut value = count as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 {
        format!("{count} bytes")
    } else {
        format!("{value:.1} {}", units[unit])
    }
}

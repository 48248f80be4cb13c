//! `mechanism = "isatap"`: a node of a site whose IPv4 is a link of IPv6 (RFC 5214).

use std::net::{Ipv4Addr, Ipv6Addr};

use ipnet::Ipv6Net;
use isthmus_core::address::V4;
use isthmus_core::address::isatap::{self, Unique};
use isthmus_core::config as core;
use isthmus_core::mechanism::isatap::link_local;

use super::composed::{self, Composed, list};
use super::document::Document;
use super::source::At;
use super::table::{Reader, Value};
use super::{instance, section, tunnel};

/// The least that a router announces of itself, and the most (RFC 4861 section 6.2.1).
const ROUTER_LIFETIME: std::ops::RangeInclusive<u16> = 4..=9000;

/// Reads an instance.
pub(super) fn isatap(reader: &Reader<'_>) -> Option<Composed> {
    let roles: [(_, fn(&Reader<'_>) -> _); 2] = [("host", host), ("router", router)];
    instance::role(reader, "\"host\"", &roles)?(reader)
}

/// A router: it announces the prefix, and is the next hop of the site's nodes to everywhere else.
fn router(reader: &Reader<'_>) -> Option<Composed> {
    let local = composed::v4(reader, "local", "\"192.0.2.1\"");
    let prefix = prefix(reader.require("prefix", "\"2001:db8:1:2::/64\""));
    let routers = routers(reader);
    let lifetime = reader
        .get("router-lifetime")
        .map(|v| v.integer(ROUTER_LIFETIME));
    let (local, prefix) = (local?, prefix?);
    let networks = [prefix];
    let link = core::Isatap {
        routers: fit(&routers),
        role: core::IsatapRole::Router,
        prefix: prefix.value.network().into(),
        lifetimes: core::Lifetimes {
            router: lifetime.flatten().unwrap_or(1800),
            ..LIFETIMES
        },
    };
    let mut composed = tunnel::over_v4(
        "isatap router",
        &local,
        core::PeerV4::Isatap(link),
        &networks,
    );
    composed.plan.push(format!(
        "IPv6 packets to {} go to the IPv4 address that their destination embeds, from {}",
        prefix.value, local.value
    ));
    composed.plan.push(format!(
        "{} announces this prefix to hosts that solicit it, and itself as their router",
        Ipv6Addr::from(link_local(local.value.into()))
    ));
    Some(composed)
}

/// A host: this machine.
fn host(reader: &Reader<'_>) -> Option<Composed> {
    let local = composed::v4(reader, "local", "\"192.0.2.10\"");
    let listed = routers(reader);
    let given = reader.get("prefix");
    let prefix = given.map(|value| prefix(Some(value)));
    let networks = composed::networks(reader, "networks", Some("::/0"), "[\"::/0\"]");
    let potential = potential(reader)?;
    let local = local?;
    let routers = match &potential {
        Some(PotentialRouters { name, .. }) => format!("the routers that \"{name}\" names"),
        None => list(&listed),
    };
    let link = core::Isatap {
        routers: fit(&listed),
        role: core::IsatapRole::Host,
        prefix: Ipv6Addr::UNSPECIFIED.into(),
        lifetimes: LIFETIMES,
    };
    let mut composed =
        tunnel::over_v4("isatap host", &local, core::PeerV4::Isatap(link), &networks);
    composed.plan.push(format!(
        "IPv6 packets to {} go to {} in IPv4 packets from {}; those to the own prefix go to the IPv4 \
         address that theirs embeds",
        list(&networks),
        listed.first().map_or_else(|| routers.clone(), |first| first.value.to_string()),
        local.value
    ));
    let own = link_local(local.value.into());
    // Errors go to this machine.
    composed.own.1 = Some(own.into());
    composed
        .addresses
        .push(Ipv6Net::new_assert(own.into(), 64).into());
    match prefix {
        Some(prefix) => {
            let unique = Unique::of(local.value.into());
            let own = isatap::embed(prefix?.value.network().into(), local.value.into(), unique);
            composed
                .addresses
                .push(Ipv6Net::new_assert(own.into(), 64).into());
            composed.plan.push(format!(
                "the address of this machine is {}",
                Ipv6Addr::from(own)
            ));
        }
        None => {
            composed.solicits = true;
            composed.plan.push(format!(
                "the address of this machine is made from the prefixes that {routers} announce"
            ));
        }
    }
    composed.listed = listed.iter().map(|at| at.value).collect();
    composed.potential = potential;
    Some(composed)
}

/// Routers that are not listed, but have a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PotentialRouters {
    /// The name that the machine's resolver is asked for.
    pub name: String,
    /// The routers that were found; none yet in a configuration that was just read.
    pub found: Vec<Ipv4Addr>,
}

impl PotentialRouters {
    /// The host, with the routers that were found: before, it has no packets.
    pub(super) fn complete(&self, mechanism: core::AnyMechanism) -> core::AnyMechanism {
        let core::AnyMechanism::SixInFour(mut tunnel) = mechanism else {
            return mechanism;
        };
        if let core::PeerV4::Isatap(link) = &mut tunnel.peer {
            for router in self.found.iter().take(core::Routers::MOST) {
                let _ = link.routers.push((*router).into());
            }
        }
        if self.found.is_empty() {
            tunnel.local = V4::default();
            tunnel.destinations = core::V6Networks::default();
            tunnel.everything = false;
        }
        core::AnyMechanism::SixInFour(tunnel)
    }
}

impl Document {
    /// Every instance that looks for its routers, and what it knows of them.
    pub fn potential_routers(&self) -> impl Iterator<Item = (&str, &PotentialRouters)> {
        let all = self.composed();
        all.filter_map(|(name, composed)| Some((name, composed.potential.as_ref()?)))
    }

    /// Gives an instance the routers that were found for it, or takes them away.
    pub fn set_routers(&mut self, instance: &str, found: Vec<Ipv4Addr>) {
        let composed = self.composed_mut(instance);
        if let Some(potential) = composed.and_then(|composed| composed.potential.as_mut()) {
            potential.found = found;
        }
    }
}

/// `routers`, or `router-name`: "isatap" if there is neither (RFC 5214 section 8.3.2). `None` if both or an
/// empty list were given, which is said.
fn potential(reader: &Reader<'_>) -> Option<Option<PotentialRouters>> {
    let name = reader.get("router-name").map(|value| (value, value.name()));
    let listed = reader.get("routers");
    if let Some(listed) = &listed
        && listed.value.as_array().is_some_and(|list| list.is_empty())
    {
        listed.refuse(
            "is empty",
            "expected addresses such as [\"192.0.2.1\"], or nothing: the gateway then asks the resolver",
        );
        return None;
    }
    let name = match name {
        Some((value, _)) if listed.is_some() => {
            value.refuse(
                "is for routers that are not listed",
                "only without `routers`",
            );
            return None;
        }
        Some((_, name)) => name?,
        None if listed.is_some() => return Some(None),
        None => "isatap".to_owned(),
    };
    Some(Some(PotentialRouters {
        name,
        found: Vec::new(),
    }))
}

/// RFC 4861 section 6.2.1.
const LIFETIMES: core::Lifetimes = core::Lifetimes {
    router: 1800,
    valid: 2_592_000,
    preferred: 604_800,
};

/// A prefix whose interface identifiers have 64 bits.
fn prefix(value: Option<Value<'_>>) -> Option<At<Ipv6Net>> {
    let value = value?;
    let net = value.ipv6_net()?;
    if net.prefix_len() == 64 {
        return Some(value.at(net));
    }
    value.refuse(
        format_args!("is \"{net}\""),
        "expected a prefix of 64 bits, such as \"2001:db8:1:2::/64\"",
    );
    None
}

/// The Potential Router List.
fn routers(reader: &Reader<'_>) -> Vec<At<Ipv4Addr>> {
    let read = |v: Value<'_>| Some(v.at(v.ipv4()?));
    let routers = section::each(reader, "routers", "a list of IPv4 addresses", read);
    composed::excess(reader, "routers", &routers, core::Routers::MOST, "routers");
    for router in &routers {
        if isthmus_core::address::special::is_illegal_source_v4(router.value.into())
            && let Some(value) = reader.get("routers")
        {
            value.spanning(router.span).refuse(
                format_args!("has \"{}\"", router.value),
                "expected unicast addresses",
            );
        }
    }
    routers
}

/// Routers as the packet path takes them. More than fit were refused when they were read.
fn fit(routers: &[At<Ipv4Addr>]) -> core::Routers {
    let mut fitting = core::Routers::default();
    for router in routers {
        let _ = fitting.push(router.value.into());
    }
    fitting
}

//! Tunnels without state: `6in4`, `4in6`, `6to4`, `6rd`, and `ds-lite` at a B4.

use std::net::{IpAddr, Ipv4Addr};

use ipnet::{Ipv4Net, Ipv6Net};
use isthmus_core::address::sixrd::Domain;
use isthmus_core::address::special;
use isthmus_core::config as core;

use super::composed::{self, Composed, different, fit_v4, fit_v6, list};
use super::source::At;
use super::table::{Reader, Value};
use super::{pcp, section};

/// IPv6 packets in IPv4 packets between two ends (RFC 4213).
pub(super) fn six_in_four(reader: &Reader<'_>) -> Option<Composed> {
    let local = composed::v4(reader, "local", "\"192.0.2.1\"");
    let remote = composed::v4(reader, "remote", "\"198.51.100.1\"");
    let networks = composed::networks(reader, "networks", None, "[\"2001:db8:1::/48\"]");
    let (local, remote) = (local?, remote?);
    different(reader, &local, &remote);
    let peer = core::PeerV4::Fixed(remote.value.into());
    let mut composed = over_v4("6in4", &local, peer, &networks);
    composed.plan.push(format!(
        "IPv6 packets to {} go to {} in IPv4 packets from {}",
        list(&networks),
        remote.value,
        local.value
    ));
    composed.plan.push(format!(
        "IPv6 packets from {} are decapsulated",
        remote.value
    ));
    Some(composed)
}

/// A tunnel over IPv4, which leads to these networks.
pub(super) fn over_v4(
    name: &'static str,
    local: &At<Ipv4Addr>,
    peer: core::PeerV4,
    networks: &[At<Ipv6Net>],
) -> Composed {
    let core = core::AnyMechanism::SixInFour(core::SixInFour {
        local: local.value.into(),
        peer,
        destinations: fit_v6(networks),
        everything: networks.iter().any(|net| net.prefix_len() == 0),
    });
    let mut composed = Composed::new(name, core);
    for network in networks {
        composed.claim(network.value, "networks behind the tunnel", network.span);
    }
    // Packets of other protocols to the same address are left to the machine.
    composed.routes.push(Ipv4Net::from(local.value).into());
    composed.own.0 = Some(local.value);
    composed
}

/// 6to4 (RFC 3056): a site's router, or with `role = "relay"` the next hop to the rest of the IPv6
/// internet.
pub(super) fn six_to_four(reader: &Reader<'_>) -> Option<Composed> {
    let roles = [("router", Role::Ce), ("relay", Role::Br)];
    let role = reader.get("role").map(|v| v.word(&roles));
    let local = composed::v4(reader, "local", "\"198.51.100.1\"")
        .and_then(|it| global(reader, "local", it));
    let relay = reader
        .get("relay")
        .map(|v| global(reader, "relay", v.at(v.ipv4()?)));
    let role = match role {
        None => Role::Ce,
        Some(role) => role?,
    };
    if let (Role::Br, Some(value)) = (role, reader.get("relay")) {
        value.refuse("is for routers of sites", "a relay needs none");
    }
    let local = local?;
    let domain = Domain::SIX_TO_FOUR;
    let (outside, networks) = match (role, relay) {
        (Role::Ce, Some(relay)) => (
            core::Outside::AnyRelay(relay?.value.into()),
            everything(reader),
        ),
        (Role::Ce, None) => (
            // Without a relay there are other sites only; what comes back comes from any relay.
            core::Outside::AnyRelay(local.value.into()),
            of_domain(reader, &domain),
        ),
        (Role::Br, _) => (core::Outside::Here, of_domain(reader, &domain)),
    };
    let peer = core::PeerV4::Embedded(core::Embedded {
        domain,
        outside,
        scope: core::Scope::Internet,
    });
    let name = match role {
        Role::Ce => "6to4 router",
        Role::Br => "6to4 relay",
    };
    let mut composed = over_v4(name, &local, peer, &networks);
    embedded_plan(&mut composed, &local, &domain, role, relay.flatten());
    Some(composed)
}

/// The value of a key, if 6to4 may have it as an address (RFC 3964 section 5.3.1).
fn global(reader: &Reader<'_>, key: &'static str, address: At<Ipv4Addr>) -> Option<At<Ipv4Addr>> {
    if special::is_global_unicast_v4(address.value.into()) {
        return Some(address);
    }
    let expected =
        "expected a global unicast address: no others are taken in 6to4 (RFC 3964 section 5.3.1)";
    reader
        .get(key)?
        .refuse(format_args!("is \"{}\"", address.value), expected);
    None
}

/// 6rd (RFC 5969): a CE, or the BR.
pub(super) fn six_rd(reader: &Reader<'_>) -> Option<Composed> {
    let roles = [("ce", Role::Ce), ("br", Role::Br)];
    let role = reader.needs("role", "\"ce\"", |v| v.word(&roles));
    let local = composed::v4(reader, "local", "\"10.1.2.3\"");
    let prefix = reader.needs("prefix", "\"2001:db8::/32\"", |v| {
        Some(v.at(v.routable_ipv6_net()?))
    });
    let common = match reader.get("v4-prefix") {
        None => Some(Ipv4Net::default()),
        Some(value) => value.ipv4_net(),
    };
    let br = match role {
        Some(Role::Ce) => composed::v4(reader, "br", "\"10.0.0.1\"").map(Some),
        _ => Some(None),
    };
    if let (Some(Role::Br), Some(value)) = (role, reader.get("br")) {
        value.refuse("is for CEs", "the BR is this gateway");
    }
    let (role, local, prefix, common) = (role?, local?, prefix?, common?);
    let v6 = (prefix.network().into(), prefix.prefix_len());
    let domain = match Domain::new(v6, (common.network().into(), common.prefix_len())) {
        Ok(domain) => domain,
        Err(error) => {
            if let Some(value) = reader.get("prefix") {
                let expected = "expected a 6rd prefix such as \"2001:db8::/32\", with `v4-prefix` \
                                what all IPv4 addresses have in common";
                value.refuse(format_args!("is \"{}\": {error}", prefix.value), expected);
            }
            return None;
        }
    };
    if domain.delegated(local.value.into()).is_none()
        && let Some(value) = reader.get("local")
    {
        let expected = format!("expected an address in {common}, `v4-prefix`");
        value.refuse(format_args!("is \"{}\"", local.value), expected);
        return None;
    }
    let (outside, networks, name) = match (role, br?) {
        (Role::Ce, Some(br)) => {
            different(reader, &local, &br);
            let outside = core::Outside::Relay(br.value.into());
            (outside, everything(reader), "6rd ce")
        }
        (_, _) => (core::Outside::Here, of_domain(reader, &domain), "6rd br"),
    };
    let peer = core::PeerV4::Embedded(core::Embedded {
        domain,
        outside,
        scope: core::Scope::Provider,
    });
    let mut composed = over_v4(name, &local, peer, &networks);
    let br = match outside {
        core::Outside::Relay(address) => Some(At {
            value: address.into(),
            span: local.span,
        }),
        _ => None,
    };
    embedded_plan(&mut composed, &local, &domain, role, br);
    Some(composed)
}

/// Which end of a domain this is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// The CE or the B4, or a site's router.
    Ce,
    /// The provider's end: a BR or an AFTR, or a relay.
    Br,
}

fn everything(reader: &Reader<'_>) -> Vec<At<Ipv6Net>> {
    vec![reader.at(Ipv6Net::default())]
}

fn of_domain(reader: &Reader<'_>, domain: &Domain) -> Vec<At<Ipv6Net>> {
    let (prefix, length) = domain.v6();
    vec![reader.at(Ipv6Net::new_assert(prefix.into(), length))]
}

fn embedded_plan(
    composed: &mut Composed,
    local: &At<Ipv4Addr>,
    domain: &Domain,
    role: Role,
    relay: Option<At<Ipv4Addr>>,
) {
    let (prefix, length) = domain.v6();
    composed.plan.push(format!(
        "IPv6 packets to {prefix}/{length} go to the IPv4 address that their destination embeds, from {}",
        local.value
    ));
    if let (Role::Ce, Some(delegated)) = (role, domain.delegated(local.value.into())) {
        composed.plan.push(format!(
            "the prefix of this site is {delegated}/{}",
            domain.delegated_length()
        ));
    }
    if let Some(relay) = relay {
        composed
            .plan
            .push(format!("all other IPv6 packets go to {}", relay.value));
    }
}

/// IPv4 packets in IPv6 packets between two ends (RFC 2473).
pub(super) fn four_in_six(reader: &Reader<'_>) -> Option<Composed> {
    let remote = composed::v6(reader, "remote", "\"2001:db8::2\"");
    let networks = composed::networks(reader, "networks", None, "[\"198.51.100.0/24\"]");
    over_v6("4in6", reader, remote, networks, &[])
}

/// The B4 of DS-Lite (RFC 6333 section 5): a tunnel to the AFTR for all of IPv4.
pub(super) fn b4(reader: &Reader<'_>) -> Option<Composed> {
    let remote = composed::v6(reader, "aftr", "\"2001:db8::2\"");
    let networks = composed::networks(reader, "networks", Some("0.0.0.0/0"), "[\"0.0.0.0/0\"]");
    let read = |v: Value<'_>| Some(v.at(v.ipv4_net()?));
    let mut exempt = section::each(reader, "exempt", "a list of IPv4 networks", read);
    let proxy = reader.get("pcp").map(|v| v.at(pcp::of_b4(&v, &networks)));
    // Requests of hosts to this machine are not for the AFTR.
    for listen in proxy
        .iter()
        .filter_map(|at| at.value.as_ref())
        .flat_map(|p| &p.listen)
    {
        if let IpAddr::V4(value) = listen.value {
            let value = Ipv4Net::from(value);
            exempt.push(At {
                value,
                span: listen.span,
            });
        }
    }
    let key = reader.get("exempt").map_or("pcp", |_| "exempt");
    composed::excess(reader, key, &exempt, core::V4Networks::MOST, "networks");
    let mut composed = over_v6("ds-lite b4", reader, remote, networks, &exempt)?;
    let Some(proxy) = proxy else {
        return Some(composed);
    };
    let (span, proxy) = (proxy.span, proxy.value?);
    // Only one B4 of a machine can have this address: it would receive the packets for all.
    composed.addresses.push(proxy.own.into());
    composed.claims.push(composed::Claim {
        network: proxy.own.into(),
        what: "address in the softwire",
        span,
    });
    composed.plan.push(proxy.to_string());
    composed.pcp_proxy = Some(proxy);
    Some(composed)
}

fn over_v6(
    name: &'static str,
    reader: &Reader<'_>,
    remote: Option<At<std::net::Ipv6Addr>>,
    networks: Vec<At<Ipv4Net>>,
    exempt: &[At<Ipv4Net>],
) -> Option<Composed> {
    let local = composed::v6(reader, "local", "\"2001:db8::1\"");
    let (local, remote) = (local?, remote?);
    different(reader, &local, &remote);
    let core = core::AnyMechanism::FourInSix(core::FourInSix {
        local: local.value.into(),
        remote: remote.value.into(),
        destinations: fit_v4(&networks),
        exempt: fit_v4(exempt),
        everything: networks.iter().any(|net| net.prefix_len() == 0),
    });
    let mut composed = Composed::new(name, core);
    for network in &networks {
        composed.claim(network.value, "networks behind the tunnel", network.span);
    }
    composed.claim(Ipv6Net::from(local.value), "end of the tunnel", local.span);
    composed.own.1 = Some(local.value);
    composed.plan.push(format!(
        "IPv4 packets to {} go to {} in IPv6 packets from {}",
        list(&networks),
        remote.value,
        local.value
    ));
    if !exempt.is_empty() {
        composed
            .plan
            .push(format!("but not those to {}", list(exempt)));
    }
    composed.plan.push(format!(
        "IPv4 packets from {} are decapsulated",
        remote.value
    ));
    Some(composed)
}

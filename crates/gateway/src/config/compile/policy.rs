//! How an instance treats headers, and from which addresses it sends ICMP errors.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::Ipv4Net;
use isthmus_core::address::{V4, V6};
use isthmus_core::config as core;
use isthmus_core::mechanism::Mechanism as _;

use crate::config::document::{Instance, Link, Mechanism, NonGlobal, Prefix, Tun};

/// The dummy address that stands for nodes without an IPv4 address (RFC 7600 section 4.8).
const DUMMY: Ipv4Addr = Ipv4Addr::new(192, 0, 0, 8);

/// The policy of an instance as the core takes it.
pub(super) fn policy(instance: &Instance, link: &Link, tun: &Tun) -> core::Policy {
    let policy = &instance.policy;
    let own_v4 = own_v4(instance, tun);
    let dummy = Ipv4Net::new_assert(DUMMY, 32);
    let icmp_pool = policy
        .icmp_source_v4
        .as_ref()
        .map_or(dummy, |pool| pool.value);
    core::Policy {
        traffic_class: policy.traffic_class,
        tos: policy.tos,
        lowest_ipv6_mtu: policy.lowest_ipv6_mtu,
        ipv4_mtu: link.ipv4_mtu,
        ipv6_mtu: link.ipv6_mtu,
        zero_udp_checksum: policy.zero_udp_checksum,
        allow_non_global: policy.non_global == NonGlobal::Allow,
        mss_clamp: policy.mss_clamp,
        icmp_pool: (
            icmp_pool.network().into(),
            1 << (32 - icmp_pool.prefix_len()),
        ),
        own_v4,
        own_v6: own_v6(instance, tun, own_v4),
        icmp_errors: policy.icmp_errors,
        customer_prefix: customer_prefix(&instance.mechanism),
        alg: instance.mechanism.alg(),
    }
}

/// A customer is a subscriber, where there are any, a host of SIIT, or else a household.
fn customer_prefix(mechanism: &Mechanism) -> u8 {
    match mechanism {
        Mechanism::Siit(_) => 128,
        other => other.nat().map_or(64, |nat| nat.subscriber_prefix),
    }
}

/// The IPv4 address that is configured, else the end of the tunnel, else an address of the gateway's link,
/// else the dummy address.
fn own_v4(instance: &Instance, tun: &Tun) -> V4 {
    let configured = instance.policy.own_v4.as_ref().map(|at| at.value);
    let end = match &instance.mechanism {
        Mechanism::Composed(composed) => composed.own.0,
        _ => None,
    };
    let of_link = tun.addresses.iter().find_map(|net| match net.addr() {
        IpAddr::V4(address) => Some(address),
        IpAddr::V6(_) => None,
    });
    configured.or(end).or(of_link).unwrap_or(DUMMY).into()
}

/// The IPv6 address that is configured, else an address of the gateway's link, else the one that represents
/// the IPv4 address of the gateway.
fn own_v6(instance: &Instance, tun: &Tun, own_v4: V4) -> V6 {
    let configured = instance.policy.icmp_source_v6.as_ref().map(|at| at.value);
    let of_link = tun.addresses.iter().find_map(|net| match net.addr() {
        IpAddr::V4(_) => None,
        IpAddr::V6(address) => Some(address),
    });
    let embedded = || match &instance.mechanism {
        Mechanism::Siit(siit) => match siit.prefix.as_ref()?.value {
            Prefix::Rfc6052(prefix) => Some(prefix.embed(own_v4)),
            Prefix::Ivi(prefix) => Some(prefix.embed(own_v4)),
        },
        Mechanism::Nat64(nat64) => Some(nat64.prefix.embed(own_v4)),
        Mechanism::Composed(composed) => match (composed.own.1, composed.clat()) {
            (Some(address), _) => Some(address.into()),
            (None, Some(clat)) => Some(clat.local.into()),
            (None, None) => Some(composed.core.prefix()?.embed(own_v4)),
        },
        // There is no IPv6 side.
        Mechanism::Nat44(_) => None,
    };
    configured
        .or(of_link)
        .map(V6::from)
        .or_else(embedded)
        .unwrap_or_else(|| Ipv6Addr::UNSPECIFIED.into())
}

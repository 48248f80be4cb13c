//! A stateless translator for tests: 2001:db8:64::/96 stands for all of IPv4, and the IPv4
//! addresses 198.51.100.0/24 stand for IPv6 hosts.
#![allow(dead_code, reason = "two test programs use a part each")]

use std::net::{Ipv4Addr, Ipv6Addr};

use isthmus_core::address::rfc6052::Prefix;
use isthmus_core::config::{
    AnyMechanism, EamTable, Hairpin, Instance, Overlap, Policy, ServiceClass, Siit, V4Network,
    V4Networks, ZeroUdpChecksum,
};
use isthmus_engine::memory::Region;
use isthmus_engine::ruleset::Ruleset;

/// Source of the gateway's own ICMPv4 errors.
pub(crate) const OWN_V4: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 254);
/// Source of the gateway's own ICMPv6 errors.
pub(crate) const OWN_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0xff, 0, 0, 0, 0, 1);
/// An IPv4 host.
pub(crate) const HOST_V4: [u8; 4] = [192, 0, 2, 1];
/// The IPv4 address of the IPv6 host.
pub(crate) const OTHER_V4: [u8; 4] = [198, 51, 100, 9];

/// Returns the IPv6 form of an IPv4 address.
pub(crate) fn v6(address: [u8; 4]) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..6].copy_from_slice(&[0x20, 0x01, 0x0d, 0xb8, 0x00, 0x64]);
    bytes[12..].copy_from_slice(&address);
    bytes
}

pub(crate) fn policy() -> Policy {
    Policy {
        traffic_class: ServiceClass::Copy,
        tos: ServiceClass::Copy,
        lowest_ipv6_mtu: 1280,
        ipv4_mtu: 1500,
        ipv6_mtu: 1500,
        zero_udp_checksum: ZeroUdpChecksum::Compute,
        allow_non_global: false,
        mss_clamp: false,
        icmp_pool: (Ipv4Addr::new(192, 0, 0, 8).into(), 1),
        own_v4: OWN_V4.into(),
        own_v6: OWN_V6.into(),
        icmp_errors: 1000,
        customer_prefix: 64,
        alg: isthmus_core::config::Alg::default(),
    }
}

pub(crate) fn siit(policy: Policy) -> Instance {
    let mut hosts = V4Networks::default();
    let network = V4Network::new(Ipv4Addr::new(198, 51, 100, 0).into(), 24);
    hosts.push(network).expect("room for one network");
    Instance {
        mechanism: AnyMechanism::Siit(Siit {
            prefix: Prefix::new("2001:db8:64::".parse().unwrap(), 96)
                .unwrap()
                .into(),
            hosts,
            eam: EamTable::default(),
            overlap: Overlap::Apart,
            hairpin: Hairpin::Off,
        }),
        policy,
    }
}

/// Returns a configuration of this one instance.
pub(crate) fn ruleset(policy: Policy, icmp_errors: u32) -> Ruleset {
    let instance = siit(Policy {
        icmp_errors,
        ..policy
    });
    Ruleset::new(&[instance], Region::anonymous(0).unwrap()).unwrap()
}

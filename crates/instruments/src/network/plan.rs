//! The addresses that all topologies share. All are for documentation (RFC 3849, RFC 5737).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The IPv6-only host.
pub const HOST6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 6, 0, 0, 0, 0, 6);
/// The gateway, on the IPv6-only host's link.
pub const GATEWAY6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 6, 0, 0, 0, 0, 1);
/// The IPv4-only host.
pub const HOST4: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 4);
/// The gateway, on the IPv4-only host's link.
pub const GATEWAY4: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 1);

/// In dual-stack networks: the first host's IPv4 address, and its mapped address under SIIT.
pub const HOST6_AS_IPV4: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 6);
/// In dual-stack networks: the gateway's IPv4 address on the first link.
pub const GATEWAY6_AS_IPV4: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
/// In dual-stack networks: the second host's IPv6 address.
pub const HOST4_AS_IPV6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 4, 0, 0, 0, 0, 4);
/// In dual-stack networks: the gateway's IPv6 address on the second link.
pub const GATEWAY4_AS_IPV6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 4, 0, 0, 0, 0, 1);

/// In the long network: the gateway's address on its IPv6 link. In the network of a pair: the first gateway's address
/// between both gateways.
pub const EDGE6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 1, 0, 0, 0, 0, 1);
/// The IPv6-only router's address on that link.
pub const ROUTER6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 1, 0, 0, 0, 0, 2);
/// In the long network: the gateway's address on its IPv4 link.
pub const EDGE4: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 129);
/// The IPv4-only router's address on that link.
pub const ROUTER4: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 130);

/// The translation prefix, of length 96 (RFC 6052).
pub const PREFIX: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0x64, 0, 0, 0, 0, 0);
/// The network of NAT64's outside addresses.
pub const POOL: &str = "203.0.113.0/24";
/// The network of subscribers in runs with many sessions: one /64 each under this /48.
const SUBSCRIBERS: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0x5, 0, 0, 0, 0, 0x10);

/// In dual-stack networks: networks that the gateway reaches by the first host.
const NEAR: [&str; 4] = [
    "2001:db8:5::/48",
    "2001:db8:50::/44",
    "3fff:100:c8::/48",
    "2002:c612:c8::/48",
];
/// In dual-stack networks: networks that the gateway reaches by the second host.
const FAR: [(&str, IpAddr); 2] = [
    ("198.18.0.0/15", IpAddr::V4(HOST4)),
    ("2001:db8:7::/48", IpAddr::V6(HOST4_AS_IPV6)),
];

/// In dual-stack networks: the network behind a tunnel between the gateway and the second host, over IPv4.
pub const BEHIND_V4: &str = "3fff:200::/32";
/// The same over IPv6.
pub const BEHIND_V6: &str = "198.19.0.0/16";

/// Returns the routes of the gateway of a dual-stack network to the networks behind its hosts, in the words of `ip`.
pub fn routes() -> Vec<String> {
    let near = NEAR.map(|network| (network, IpAddr::V6(HOST6)));
    let all = near.into_iter().chain(FAR);
    all.map(|(network, via)| format!("route add {network} via {via}"))
        .collect()
}

/// Returns the address of the subscriber with this number, below 65,536.
pub fn subscriber(number: u32) -> Ipv6Addr {
    Ipv6Addr::from_bits(SUBSCRIBERS.to_bits() + (u128::from(number) << 64))
}

/// Returns an IPv4 address under the translation prefix (RFC 6052 section 2.2, length 96).
pub fn embed(address: Ipv4Addr) -> Ipv6Addr {
    Ipv6Addr::from_bits(PREFIX.to_bits() | u128::from(address.to_bits()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn embedding_fills_the_last_32_bits() {
        // The /96 row of RFC 6052 section 2.4, with this lab's prefix.
        assert_eq!(
            embed(Ipv4Addr::new(192, 0, 2, 33)),
            "2001:db8:64::192.0.2.33".parse::<Ipv6Addr>().unwrap()
        );
    }
}

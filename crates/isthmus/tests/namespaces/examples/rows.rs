//! The network of each example: its neighbours, and what must pass.

use isthmus_lab::network::topology::Role::{self, Plain, Router};

/// One or two examples that belong together, and their network. Offloads and names are those of the files.
pub(super) struct Example {
    /// Its name, which is that of its test.
    pub(super) name: &'static str,
    /// The nodes with a gateway, and its file without `.toml`.
    pub(super) gateways: &'static [(&'static str, &'static str)],
    /// The node of another gateway and its configuration, if no example is the opposite end.
    pub(super) opposite: Option<(&'static str, &'static str)>,
    /// All nodes with their routes.
    pub(super) nodes: &'static [(&'static str, Role, &'static [&'static str])],
    /// Links, with both ends.
    pub(super) links: &'static [[End; 2]],
    /// Lines of a shell on a node, before gateways start.
    pub(super) setup: &'static [(&'static str, &'static str)],
    /// The packets that must pass, one kind after the other.
    pub(super) exchanges: &'static [Exchange],
}

/// A node, the name of its interface, and addresses.
pub(super) type End = (&'static str, &'static str, &'static [&'static str]);

/// Packets of a client and a server.
#[derive(Debug)]
pub(super) enum Exchange {
    /// Pings, a TCP connection, and datagrams of all sizes.
    Everything {
        from: &'static str,
        /// The server's address for the client.
        to: &'static str,
        server: &'static str,
        /// The server's address for itself.
        at: &'static str,
    },
    /// Octets through a tunnel that a proxy opens.
    Tunnel {
        from: &'static str,
        /// The proxy.
        by: &'static str,
        server: &'static str,
        at: &'static str,
    },
    /// A TCP connection to a port that is always open.
    Connection {
        from: &'static str,
        to: &'static str,
        server: &'static str,
        at: &'static str,
    },
}

const fn everything([from, to]: [&'static str; 2], [server, at]: [&'static str; 2]) -> Exchange {
    Exchange::Everything {
        from,
        to,
        server,
        at,
    }
}

const fn connection([from, to]: [&'static str; 2], [server, at]: [&'static str; 2]) -> Exchange {
    Exchange::Connection {
        from,
        to,
        server,
        at,
    }
}

const fn tunnel([from, by]: [&'static str; 2], [server, at]: [&'static str; 2]) -> Exchange {
    Exchange::Tunnel {
        from,
        by,
        server,
        at,
    }
}

/// A server in the IPv4 internet: an address that may appear under the well-known prefix.
const V4: &str = "9.9.9.9";
const WITH_V4: &str = "ip addr add 9.9.9.9/32 dev lo";
/// A server in the IPv6 internet.
const V6: &str = "3fff::9";
const WITH_V6: &str = "ip addr add 3fff::9/128 dev lo nodad";
/// The DNS64's address on a router.
const WITH_DNS: &str = "ip addr add 2001:db8::53/128 dev lo nodad";
const BY_NAT64: &str = "64:ff9b::9.9.9.9";
const BY_NAT_PT: &str = "2001:db8:64::9.9.9.9";

/// The customer's network of CEs, whose provider is at `br`.
const CUSTOMER: [End; 2] = [
    ("ce", "eth0", &["192.168.1.1/24"]),
    ("host", "eth0", &["192.168.1.2/24"]),
];
/// The provider's network of IPv6 only.
const ACCESS: [End; 2] = [
    ("ce", "eth1", &["fd00:a::2/64"]),
    ("br", "eth0", &["fd00:a::1/64"]),
];
/// The provider's way to the internet.
const UPLINK: [End; 2] = [
    ("br", "eth1", &["198.51.100.1/24"]),
    ("internet", "eth0", &["198.51.100.2/24"]),
];
const ACROSS: &[[End; 2]] = &[CUSTOMER, ACCESS, UPLINK];
/// From an IPv4 host of a customer to the IPv4 internet.
const OUT: &[Exchange] = &[everything(["host", V4], ["internet", V4])];

pub(super) const EXAMPLES: &[Example] = &[
    Example {
        name: "nat64_basic",
        gateways: &[("gateway", "nat64-basic")],
        opposite: None,
        nodes: &[
            ("host", Plain, &["default via 2001:db8:1::1"]),
            ("gateway", Plain, &["default via 198.51.100.1"]),
            ("internet", Plain, &["203.0.113.1 via 198.51.100.2"]),
        ],
        links: &[
            [
                ("gateway", "eth0", &["2001:db8:1::1/64"]),
                ("host", "eth0", &["2001:db8:1::2/64"]),
            ],
            [
                ("gateway", "eth1", &["198.51.100.2/24"]),
                ("internet", "eth0", &["198.51.100.1/24"]),
            ],
        ],
        setup: &[("gateway", WITH_DNS), ("internet", WITH_V4)],
        exchanges: &[everything(["host", BY_NAT64], ["internet", V4])],
    },
    Example {
        name: "nat_pt",
        gateways: &[("gateway", "nat-pt")],
        opposite: None,
        nodes: &[
            ("host", Plain, &["default via 2001:db8:1::1"]),
            ("gateway", Plain, &["default via 198.51.100.1"]),
            (
                "internet",
                Plain,
                &[
                    "203.0.113.0/28 via 198.51.100.2",
                    "203.0.113.53 via 198.51.100.2",
                ],
            ),
        ],
        links: &[
            [
                ("gateway", "eth0", &["2001:db8:1::1/64"]),
                ("host", "eth0", &["2001:db8:1::2/64"]),
            ],
            [
                ("gateway", "eth1", &["198.51.100.2/24"]),
                ("internet", "eth0", &["198.51.100.1/24"]),
            ],
        ],
        setup: &[("internet", WITH_V4)],
        exchanges: &[everything(["host", BY_NAT_PT], ["internet", V4])],
    },
    Example {
        name: "proxy",
        gateways: &[("router", "proxy")],
        opposite: None,
        nodes: &[
            ("six", Plain, &[]),
            ("four", Plain, &[]),
            (
                "router",
                Plain,
                &["default via 198.51.100.1", "default via 2001:db8:2::1"],
            ),
            ("internet", Plain, &[]),
        ],
        links: &[
            [
                ("router", "eth0", &["2001:db8:1::1/64"]),
                ("six", "eth0", &["2001:db8:1::2/64"]),
            ],
            [
                ("router", "eth1", &["192.168.0.1/16"]),
                ("four", "eth0", &["192.168.0.2/16"]),
            ],
            [
                ("router", "eth2", &["198.51.100.2/24", "2001:db8:2::2/64"]),
                ("internet", "eth0", &["198.51.100.1/24", "2001:db8:2::1/64"]),
            ],
        ],
        setup: &[("internet", WITH_V4), ("internet", WITH_V6)],
        exchanges: &[
            tunnel(["six", "[2001:db8:1::1]:3128"], ["internet", "9.9.9.9:443"]),
            tunnel(
                ["six", "[2001:db8:1::1]:3128"],
                ["internet", "[3fff::9]:443"],
            ),
            tunnel(["four", "192.168.0.1:3128"], ["internet", "[3fff::9]:80"]),
            tunnel(["four", "192.168.0.1:3128"], ["internet", "9.9.9.9:80"]),
        ],
    },
    Example {
        name: "nat64_isp",
        gateways: &[("gateway", "nat64-isp")],
        opposite: None,
        nodes: &[
            ("host", Plain, &["default via 2001:db8:80::1"]),
            ("gateway", Plain, &["default via 198.51.100.2"]),
            (
                "internet",
                Plain,
                &[
                    "203.0.113.0/25 via 198.51.100.1",
                    "198.51.100.128/26 via 198.51.100.1",
                ],
            ),
        ],
        links: &[
            [
                ("gateway", "eth0", &["2001:db8:80::1/64"]),
                ("host", "eth0", &["2001:db8:80::80/64"]),
            ],
            [
                ("gateway", "eth1", &["198.51.100.1/25"]),
                ("internet", "eth0", &["198.51.100.2/25"]),
            ],
        ],
        setup: &[(
            "internet",
            // An address that may appear under the well-known prefix.
            "ip addr add 9.9.9.9/32 dev lo
             ip route replace 203.0.113.0/25 via 198.51.100.1 src 9.9.9.9",
        )],
        exchanges: &[
            everything(["host", BY_NAT64], ["internet", V4]),
            connection(
                ["internet", "203.0.113.1:443"],
                ["host", "[2001:db8:80::80]:443"],
            ),
        ],
    },
    Example {
        name: "container",
        gateways: &[("container", "container")],
        opposite: None,
        nodes: &[
            ("host", Plain, &["default via 2001:db8:1::1"]),
            (
                "container",
                Plain,
                &["default via fd00:c::1", "default via 198.18.0.1"],
            ),
            (
                "router",
                Router,
                &[
                    "64:ff9b::/96 via fd00:c::2",
                    "192.0.2.64/29 via 198.18.0.2",
                    "default via 198.51.100.1",
                ],
            ),
            ("internet", Plain, &["192.0.2.0/24 via 198.51.100.2"]),
        ],
        links: &[
            [
                ("router", "eth0", &["2001:db8:1::1/64"]),
                ("host", "eth0", &["2001:db8:1::2/64"]),
            ],
            [
                ("router", "eth2", &["fd00:c::1/64", "198.18.0.1/24"]),
                ("container", "eth0", &["fd00:c::2/64", "198.18.0.2/24"]),
            ],
            [
                ("router", "eth1", &["198.51.100.2/24"]),
                ("internet", "eth0", &["198.51.100.1/24"]),
            ],
        ],
        setup: &[("internet", WITH_V4)],
        exchanges: &[everything(["host", BY_NAT64], ["internet", V4])],
    },
    Example {
        name: "laptop",
        gateways: &[("laptop", "laptop")],
        opposite: None,
        nodes: &[
            ("guest", Plain, &["default via 2001:db8:122::1"]),
            ("laptop", Plain, &["default via 192.168.100.1"]),
            // The pool is in the network of wlan0, and the laptop answers for it.
            ("internet", Plain, &[]),
        ],
        links: &[
            [
                ("laptop", "vnet0", &[]),
                ("guest", "eth0", &["2001:db8:122::2/64"]),
            ],
            [
                ("laptop", "wlan0", &["192.168.100.2/24"]),
                ("internet", "eth0", &["192.168.100.1/24"]),
            ],
        ],
        setup: &[
            (
                "laptop",
                "ip link add virbr0 type bridge
                 ip link set vnet0 master virbr0
                 ip link set virbr0 up
                 ip addr add 2001:db8:122::1/64 dev virbr0 nodad",
            ),
            ("internet", WITH_V4),
        ],
        exchanges: &[everything(["guest", BY_NAT64], ["internet", V4])],
    },
    Example {
        name: "nat44",
        gateways: &[("gateway", "nat44")],
        opposite: None,
        nodes: &[
            (
                "host",
                Plain,
                &["default via 192.168.0.1", "default via 2001:db8:1::1"],
            ),
            ("gateway", Plain, &["default via 198.51.100.1"]),
            ("internet", Plain, &["203.0.113.0/30 via 198.51.100.2"]),
        ],
        links: &[
            [
                ("gateway", "eth0", &["192.168.0.1/16", "2001:db8:1::1/64"]),
                ("host", "eth0", &["192.168.0.80/16", "2001:db8:1::2/64"]),
            ],
            [
                ("gateway", "eth1", &["198.51.100.2/24"]),
                ("internet", "eth0", &["198.51.100.1/24"]),
            ],
        ],
        setup: &[("internet", WITH_V4)],
        exchanges: &[
            everything(["host", V4], ["internet", V4]),
            everything(["host", BY_NAT64], ["internet", V4]),
            connection(["internet", "203.0.113.1:80"], ["host", "192.168.0.80:80"]),
        ],
    },
    Example {
        name: "siit_dc",
        gateways: &[("gateway", "siit-dc")],
        opposite: None,
        nodes: &[
            ("service", Plain, &["default via fd00:d::1"]),
            (
                "gateway",
                Plain,
                &[
                    "2001:db8:aaaa::/48 via fd00:d::2",
                    "2001:db8:cccc::/48 via fd00:d::2",
                    "default via 198.18.0.1",
                ],
            ),
            ("internet", Plain, &["203.0.113.0/24 via 198.18.0.2"]),
        ],
        links: &[
            [
                ("gateway", "eth0", &["fd00:d::1/64"]),
                ("service", "eth0", &["fd00:d::2/64"]),
            ],
            [
                ("gateway", "eth1", &["198.18.0.2/24"]),
                ("internet", "eth0", &["198.18.0.1/24"]),
            ],
        ],
        setup: &[
            (
                "service",
                "ip addr add 2001:db8:cccc::5/128 dev lo nodad
                 ip addr add 2001:db8:aaaa::1/128 dev lo nodad
                 ip -6 route replace default via fd00:d::1 src 2001:db8:aaaa::1",
            ),
            ("internet", WITH_V4),
        ],
        exchanges: &[
            everything(["internet", "203.0.113.1"], ["service", "2001:db8:aaaa::1"]),
            connection(
                ["internet", "203.0.113.21:80"],
                ["service", "[2001:db8:cccc::5]:80"],
            ),
            everything(["service", "2001:db8:46::9.9.9.9"], ["internet", V4]),
            // Services reach each other's IPv4 addresses.
            connection(
                ["service", "[2001:db8:46::203.0.113.21]:80"],
                ["service", "[2001:db8:cccc::5]:80"],
            ),
        ],
    },
    Example {
        name: "ivi",
        gateways: &[("gateway", "ivi")],
        opposite: None,
        nodes: &[
            ("host", Plain, &["default via fd00:d::1"]),
            (
                "gateway",
                Plain,
                &[
                    "2001:db8:ffc6:3364::/64 via fd00:d::2",
                    "default via 203.0.113.2",
                ],
            ),
            ("internet", Plain, &["198.51.100.0/24 via 203.0.113.1"]),
        ],
        links: &[
            [
                ("gateway", "eth0", &["fd00:d::1/64"]),
                ("host", "eth0", &["fd00:d::2/64"]),
            ],
            [
                ("gateway", "eth1", &["203.0.113.1/24"]),
                ("internet", "eth0", &["203.0.113.2/24"]),
            ],
        ],
        setup: &[
            (
                "host",
                "ip addr add 2001:db8:ffc6:3364:4000::/128 dev lo nodad
                 ip -6 route replace default via fd00:d::1 src 2001:db8:ffc6:3364:4000::",
            ),
            ("internet", WITH_V4),
        ],
        exchanges: &[
            everything(["host", "2001:db8:ff09:909:900::"], ["internet", V4]),
            everything(
                ["internet", "198.51.100.64"],
                ["host", "2001:db8:ffc6:3364:4000::"],
            ),
        ],
    },
    Example {
        name: "clat_router",
        gateways: &[("br", "464xlat-provider"), ("ce", "clat-router")],
        opposite: None,
        nodes: &[
            ("host", Plain, &["default via 192.168.1.1"]),
            ("ce", Plain, &["default via fd00:a::1"]),
            (
                "br",
                Plain,
                &["2001:db8:a::/48 via fd00:a::2", "default via 198.51.100.2"],
            ),
            ("internet", Plain, &["203.0.113.0/28 via 198.51.100.1"]),
        ],
        links: ACROSS,
        setup: &[("br", WITH_DNS), ("internet", WITH_V4)],
        exchanges: OUT,
    },
    Example {
        name: "clat_host",
        gateways: &[("br", "464xlat-provider"), ("laptop", "clat-host")],
        opposite: None,
        nodes: &[
            ("laptop", Plain, &["default via 2001:db8:1::1"]),
            ("br", Plain, &["default via 198.51.100.2"]),
            ("internet", Plain, &["203.0.113.0/28 via 198.51.100.1"]),
        ],
        links: &[
            [
                ("br", "eth0", &["2001:db8:1::1/64"]),
                ("laptop", "eth0", &["2001:db8:1::2/64"]),
            ],
            UPLINK,
        ],
        setup: &[("br", WITH_DNS), ("internet", WITH_V4)],
        exchanges: &[everything(["laptop", V4], ["internet", V4])],
    },
    Example {
        name: "siit_clat",
        gateways: &[("gateway", "nat64-basic"), ("laptop", "siit-clat")],
        opposite: None,
        nodes: &[
            ("laptop", Plain, &["default via 2001:db8:1:2::1"]),
            // The address of the CLAT is in the network of its host, which answers for it.
            ("gateway", Plain, &["default via 198.51.100.1"]),
            ("internet", Plain, &["203.0.113.1 via 198.51.100.2"]),
        ],
        links: &[
            [
                ("gateway", "eth0", &["2001:db8:1:2::1/64"]),
                ("laptop", "eth0", &["2001:db8:1:2::2/64"]),
            ],
            [
                ("gateway", "eth1", &["198.51.100.2/24"]),
                ("internet", "eth0", &["198.51.100.1/24"]),
            ],
        ],
        setup: &[("gateway", WITH_DNS), ("internet", WITH_V4)],
        exchanges: &[everything(["laptop", V4], ["internet", V4])],
    },
    Example {
        name: "four_in_six",
        gateways: &[("ce", "4in6")],
        opposite: Some((
            "br",
            r#"
[[instance]]
name = "far"
mechanism = "4in6"
local = "2001:db8:b::1"
remote = "2001:db8:a::1"
networks = ["192.168.1.0/24"]
own-v4 = "192.168.2.1"
"#,
        )),
        nodes: &[
            ("host", Plain, &["default via 192.168.1.1"]),
            ("ce", Plain, &["default via fd00:a::1"]),
            ("br", Plain, &["2001:db8:a::1 via fd00:a::2"]),
            ("server", Plain, &["default via 192.168.2.1"]),
        ],
        links: &[
            CUSTOMER,
            ACCESS,
            [
                ("br", "eth1", &["192.168.2.1/24"]),
                ("server", "eth0", &["192.168.2.2/24"]),
            ],
        ],
        setup: &[],
        exchanges: &[
            everything(["host", "192.168.2.2"], ["server", "192.168.2.2"]),
            everything(["server", "192.168.1.2"], ["host", "192.168.1.2"]),
        ],
    },
    Example {
        name: "six_in_four",
        gateways: &[("gateway", "6in4")],
        opposite: Some((
            "far",
            r#"
[[instance]]
name = "far"
mechanism = "6in4"
local = "198.51.100.1"
remote = "203.0.113.1"
networks = ["2001:db8:a::/48"]
icmp-source-v6 = "2001:db8:b::1"
"#,
        )),
        nodes: &[
            ("host", Plain, &["default via 2001:db8:a::1"]),
            ("gateway", Plain, &["default via 198.18.0.1"]),
            ("server", Plain, &["default via 2001:db8:b::1"]),
            ("far", Plain, &["203.0.113.1 via 198.18.0.2"]),
        ],
        links: &[
            [
                ("gateway", "eth0", &["2001:db8:a::1/64"]),
                ("host", "eth0", &["2001:db8:a::2/64"]),
            ],
            [
                ("gateway", "eth1", &["198.18.0.2/24"]),
                ("far", "eth0", &["198.18.0.1/24"]),
            ],
            [
                ("far", "eth1", &["2001:db8:b::1/64"]),
                ("server", "eth0", &["2001:db8:b::2/64"]),
            ],
        ],
        setup: &[],
        exchanges: &[
            everything(["host", "2001:db8:b::2"], ["server", "2001:db8:b::2"]),
            everything(["server", "2001:db8:a::2"], ["host", "2001:db8:a::2"]),
        ],
    },
    Example {
        name: "six_rd",
        gateways: &[("br", "6rd-br"), ("ce", "6rd-ce")],
        opposite: None,
        nodes: &[
            ("host", Plain, &["default via 2001:db8:6464:100::1"]),
            ("ce", Plain, &["default via 172.16.0.1"]),
            (
                "br",
                Plain,
                &["10.100.100.1 via 172.16.0.2", "default via fd00:d::2"],
            ),
            ("internet", Plain, &["2001:db8::/32 via fd00:d::1"]),
        ],
        links: &[
            [
                ("ce", "eth0", &["2001:db8:6464:100::1/64"]),
                ("host", "eth0", &["2001:db8:6464:100::2/64"]),
            ],
            [
                ("ce", "eth1", &["172.16.0.2/24"]),
                ("br", "eth0", &["172.16.0.1/24"]),
            ],
            [
                ("br", "eth1", &["fd00:d::1/64"]),
                ("internet", "eth0", &["fd00:d::2/64"]),
            ],
        ],
        setup: &[("internet", WITH_V6)],
        exchanges: &[
            everything(["host", V6], ["internet", V6]),
            everything(
                ["internet", "2001:db8:6464:100::2"],
                ["host", "2001:db8:6464:100::2"],
            ),
        ],
    },
    Example {
        name: "six_to_four",
        gateways: &[("gateway", "6to4-router")],
        opposite: Some((
            "far",
            r#"
[[instance]]
name = "far"
mechanism = "6to4"
local = "9.9.9.9"
icmp-source-v6 = "2002:909:909::1"
"#,
        )),
        nodes: &[
            ("host", Plain, &["default via 2002:cb00:7101::1"]),
            ("gateway", Plain, &["default via 198.18.0.1"]),
            ("server", Plain, &["default via 2002:909:909::1"]),
            ("far", Plain, &["203.0.113.1 via 198.18.0.2"]),
        ],
        links: &[
            [
                ("gateway", "eth0", &["2002:cb00:7101::1/64"]),
                ("host", "eth0", &["2002:cb00:7101::2/64"]),
            ],
            [
                ("gateway", "eth1", &["198.18.0.2/24"]),
                ("far", "eth0", &["198.18.0.1/24"]),
            ],
            [
                ("far", "eth1", &["2002:909:909::1/64"]),
                ("server", "eth0", &["2002:909:909::2/64"]),
            ],
        ],
        setup: &[],
        exchanges: &[
            everything(["host", "2002:909:909::2"], ["server", "2002:909:909::2"]),
            everything(
                ["server", "2002:cb00:7101::2"],
                ["host", "2002:cb00:7101::2"],
            ),
        ],
    },
    Example {
        name: "ds_lite",
        gateways: &[("br", "ds-lite-aftr"), ("ce", "ds-lite-b4")],
        opposite: None,
        nodes: &[
            ("host", Plain, &["default via 192.168.1.1"]),
            ("ce", Plain, &["default via fd00:a::1"]),
            (
                "br",
                Plain,
                &["2001:db8:a::/48 via fd00:a::2", "default via 198.51.100.2"],
            ),
            ("internet", Plain, &["203.0.113.0/28 via 198.51.100.1"]),
        ],
        links: ACROSS,
        setup: &[("internet", WITH_V4)],
        exchanges: OUT,
    },
    Example {
        name: "lw4o6",
        gateways: &[("br", "lw4o6-aftr"), ("ce", "lw4o6-b4")],
        opposite: None,
        nodes: &[
            ("host", Plain, &["default via 192.168.1.1"]),
            ("ce", Plain, &["default via fd00:a::1"]),
            (
                "br",
                Plain,
                &["2001:db8:a::/48 via fd00:a::2", "default via 198.51.100.2"],
            ),
            ("internet", Plain, &["192.0.2.0/24 via 198.51.100.1"]),
        ],
        links: ACROSS,
        setup: &[("internet", WITH_V4)],
        exchanges: OUT,
    },
    Example {
        name: "map_e",
        gateways: &[("br", "map-e-br"), ("ce", "map-e-ce")],
        opposite: None,
        nodes: MAP,
        links: ACROSS,
        setup: &[("internet", WITH_V4)],
        exchanges: OUT,
    },
    Example {
        name: "map_t",
        gateways: &[("br", "map-t-br"), ("ce", "map-t-ce")],
        opposite: None,
        nodes: MAP,
        links: ACROSS,
        setup: &[("internet", WITH_V4)],
        exchanges: OUT,
    },
    Example {
        name: "isatap",
        gateways: &[("router", "isatap-router"), ("node", "isatap-host")],
        opposite: None,
        nodes: &[
            ("node", Plain, &["default via 198.18.0.1"]),
            (
                "router",
                Plain,
                &["192.0.2.130 via 198.18.0.2", "default via fd00:d::2"],
            ),
            ("internet", Plain, &["2001:db8:1::/48 via fd00:d::1"]),
        ],
        links: &[
            [
                ("router", "eth0", &["198.18.0.1/24"]),
                ("node", "eth0", &["198.18.0.2/24"]),
            ],
            [
                ("router", "eth1", &["fd00:d::1/64"]),
                ("internet", "eth0", &["fd00:d::2/64"]),
            ],
        ],
        setup: &[("internet", WITH_V6)],
        exchanges: &[everything(["node", V6], ["internet", V6])],
    },
];

/// A customer's prefix in a MAP domain.
const MAP: &[(&str, Role, &[&str])] = &[
    ("host", Plain, &["default via 192.168.1.1"]),
    ("ce", Plain, &["default via fd00:a::1"]),
    (
        "br",
        Plain,
        &[
            "2001:db8:12:3400::/56 via fd00:a::2",
            "default via 198.51.100.2",
        ],
    ),
    ("internet", Plain, &["192.0.2.0/24 via 198.51.100.1"]),
];

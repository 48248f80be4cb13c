//! Somebody else's ends of tunnels, for the mechanisms of a [`provider`].

use isthmus_lab::netns::Namespace;
use isthmus_lab::process;
use isthmus_lab::provider::{self, Host, Mechanism};

/// Which end of a mechanism.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Edge,
    Border,
}

impl Side {
    pub(crate) const fn other(self) -> Self {
        match self {
            Self::Edge => Self::Border,
            Self::Border => Self::Edge,
        }
    }

    /// The place of its link to the core.
    pub(crate) const fn number(self) -> usize {
        match self {
            Self::Edge => 0,
            Self::Border => 1,
        }
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Edge => "edge",
            Self::Border => "border",
        }
    }

    /// The host behind it.
    pub(crate) const fn host(self, row: &Mechanism) -> Host {
        match self {
            Self::Edge => row.client,
            Self::Border => row.server,
        }
    }

    /// What the core routes to it.
    pub(crate) const fn routed(self, row: &Mechanism) -> &'static str {
        match self {
            Self::Edge => row.to_edge,
            Self::Border => row.to_border,
        }
    }

    /// Our instance at this end.
    pub(crate) const fn instance(self, row: &Mechanism) -> &'static str {
        match self {
            Self::Edge => row.edge,
            Self::Border => row.border,
        }
    }
}

/// What a machine must have for a pair.
#[derive(Clone, Copy)]
pub(crate) enum Need {
    /// A type of links of the kernel, two ends that one can have, and the option that makes it.
    Link(&'static str, [&'static str; 2], &'static str),
    /// A program and the package that has it.
    Program(&'static str, &'static str),
}

impl Need {
    /// What is said where it is not there; a namespace to try it in.
    pub(crate) fn missing(self, node: &Namespace) -> Option<String> {
        match self {
            Self::Link(kind, [local, remote], option) => {
                let made = node.run(&format!(
                    "ip link add probe type {kind} local {local} remote {remote}"
                ));
                let _there = node.run("ip link del probe");
                made.is_err()
                    .then(|| format!("the kernel has no {kind} (CONFIG_{option})"))
            }
            Self::Program(program, package) => process::require(program, package)
                .err()
                .map(|error| error.to_string()),
        }
    }
}

const SIT: Need = Need::Link("sit", ["192.0.2.1", "192.0.2.2"], "IPV6_SIT");
const IP6TNL: Need = Need::Link("ip6tnl", ["2001:db8::1", "2001:db8::2"], "IPV6_TUNNEL");
const NFT: Need = Need::Program("nft", "nftables");
const TAYGA: Need = Need::Program("tayga", "tayga");

/// How somebody else's end is set up. Its link is called `tunnel`.
#[derive(Clone, Copy)]
pub(crate) struct Theirs {
    /// The configuration of TAYGA, if it is that.
    pub(crate) tayga: Option<&'static str>,
    /// Lines of a shell in its namespace.
    pub(crate) lines: &'static [&'static str],
}

const fn kernel(lines: &'static [&'static str]) -> Theirs {
    Theirs { tayga: None, lines }
}

/// Whether the server can begin.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    Both,
    /// The client is behind a NAT.
    Outward,
}

/// Which pings theirs lets through.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pings {
    OfAnySize,
    /// Those that fit a packet: stateless translators drop the fragments of others (RFC 7915 section 1.2).
    Whole,
}

/// A mechanism with our gateway at one end and theirs at the other.
pub(crate) struct Pair {
    pub(crate) name: &'static str,
    pub(crate) row: &'static Mechanism,
    pub(crate) needs: &'static [Need],
    pub(crate) reach: Reach,
    pub(crate) pings: Pings,
    /// Theirs where it is the customer's edge, and where it is the border.
    pub(crate) edge: Option<Theirs>,
    pub(crate) border: Option<Theirs>,
    /// The MTU that the client sees where the core is narrow, with theirs at the edge.
    pub(crate) mtu: u32,
}

impl Pair {
    /// Ours at one end, theirs at the other, each way round.
    pub(crate) fn ways(&self) -> impl Iterator<Item = (Side, &Theirs)> {
        [(Side::Border, &self.edge), (Side::Edge, &self.border)]
            .into_iter()
            .filter_map(|(ours, theirs)| Some((ours, theirs.as_ref()?)))
    }
}

const SIX_IN_FOUR: Pair = Pair {
    name: "6in4",
    row: &provider::SIX_IN_FOUR,
    needs: &[SIT],
    reach: Reach::Both,
    pings: Pings::OfAnySize,
    edge: Some(kernel(&[
        "ip addr add 203.0.113.1/32 dev lo",
        "ip link add tunnel type sit local 203.0.113.1 remote 203.0.113.129 ttl 64",
        "ip link set tunnel up",
        "ip route add 3fff:b::/48 dev tunnel",
    ])),
    border: Some(kernel(&[
        "ip addr add 203.0.113.129/32 dev lo",
        "ip link add tunnel type sit local 203.0.113.129 remote 203.0.113.1 ttl 64",
        "ip link set tunnel up",
        "ip route add 2001:db8:a::/48 dev tunnel",
    ])),
    mtu: 1280,
};

const SIX_TO_FOUR: Pair = Pair {
    name: "6to4",
    row: &provider::SIX_TO_FOUR,
    edge: Some(kernel(&[
        "ip addr add 203.0.113.1/32 dev lo",
        "ip link add tunnel type sit local 203.0.113.1 ttl 64",
        "ip link set tunnel up",
        "ip addr add 2002:cb00:7101::1/16 dev tunnel nodad",
    ])),
    border: Some(kernel(&[
        "ip addr add 203.0.113.129/32 dev lo",
        "ip link add tunnel type sit local 203.0.113.129 ttl 64",
        "ip link set tunnel up",
        "ip addr add 2002:cb00:7181::1/16 dev tunnel nodad",
    ])),
    ..SIX_IN_FOUR
};

/// A site of 6to4 and the rest of the IPv6 internet (RFC 3056 section 5.2).
const RELAY: Mechanism = Mechanism {
    edge: r#"mechanism = "6to4"
local = "203.0.113.1"
relay = "203.0.113.129"
icmp-source-v6 = "2002:cb00:7101::1""#,
    border: r#"mechanism = "6to4"
role = "relay"
local = "203.0.113.129"
icmp-source-v6 = "2002:cb00:7181::1""#,
    server: provider::SIX_IN_FOUR.server,
    ..provider::SIX_TO_FOUR
};

const SIX_TO_FOUR_RELAY: Pair = Pair {
    name: "6to4-relay",
    row: &RELAY,
    edge: Some(kernel(&[
        "ip addr add 203.0.113.1/32 dev lo",
        "ip link add tunnel type sit local 203.0.113.1 ttl 64",
        "ip link set tunnel up",
        "ip addr add 2002:cb00:7101::1/16 dev tunnel nodad",
        "ip route add default via ::203.0.113.129 dev tunnel",
    ])),
    ..SIX_TO_FOUR
};

const SIX_RD: Pair = Pair {
    name: "6rd",
    row: &provider::SIX_RD,
    edge: Some(kernel(&[
        "ip addr add 10.100.100.1/32 dev lo",
        "ip tunnel add tunnel mode sit local 10.100.100.1 ttl 64",
        "ip tunnel 6rd dev tunnel 6rd-prefix 2001:db8::/32 6rd-relay_prefix 10.0.0.0/8",
        "ip link set tunnel up",
        "ip addr add 2001:db8:6464:100::ffff/32 dev tunnel nodad",
        "ip route add default via ::10.0.0.1 dev tunnel",
    ])),
    border: Some(kernel(&[
        "ip addr add 10.0.0.1/32 dev lo",
        "ip tunnel add tunnel mode sit local 10.0.0.1 ttl 64",
        "ip tunnel 6rd dev tunnel 6rd-prefix 2001:db8::/32 6rd-relay_prefix 10.0.0.0/8",
        "ip link set tunnel up",
        "ip addr add 2001:db8:0:100::1/32 dev tunnel nodad",
    ])),
    ..SIX_IN_FOUR
};

const FOUR_IN_SIX: Pair = Pair {
    name: "4in6",
    row: &provider::FOUR_IN_SIX,
    needs: &[IP6TNL],
    edge: Some(kernel(&[
        "ip addr add 2001:db8:12::1/128 dev lo nodad",
        "ip link add tunnel type ip6tnl mode ipip6 local 2001:db8:12::1 remote 2001:db8:ffff::1 encaplimit none",
        "ip link set tunnel up",
        "ip route add 198.51.100.0/24 dev tunnel",
    ])),
    border: Some(kernel(&[
        "ip addr add 2001:db8:ffff::1/128 dev lo nodad",
        "ip link add tunnel type ip6tnl mode ipip6 local 2001:db8:ffff::1 remote 2001:db8:12::1 encaplimit none",
        "ip link set tunnel up",
        "ip route add 192.168.1.0/24 dev tunnel",
    ])),
    mtu: 1240,
    ..SIX_IN_FOUR
};

/// With RFC 2473's Tunnel Encapsulation Limit, which the kernel sends if it is not told otherwise: eight
/// bytes of a Destination Options header before each packet.
const FOUR_IN_SIX_LIMITED: Pair = Pair {
    name: "4in6-with-limit",
    edge: Some(kernel(&[
        "ip addr add 2001:db8:12::1/128 dev lo nodad",
        "ip link add tunnel type ip6tnl mode ipip6 local 2001:db8:12::1 remote 2001:db8:ffff::1",
        "ip link set tunnel up",
        "ip route add 198.51.100.0/24 dev tunnel",
    ])),
    border: Some(kernel(&[
        "ip addr add 2001:db8:ffff::1/128 dev lo nodad",
        "ip link add tunnel type ip6tnl mode ipip6 local 2001:db8:ffff::1 remote 2001:db8:12::1",
        "ip link set tunnel up",
        "ip route add 192.168.1.0/24 dev tunnel",
    ])),
    mtu: 1232,
    ..FOUR_IN_SIX
};

const DS_LITE: Pair = Pair {
    name: "ds-lite",
    row: &provider::DS_LITE,
    needs: &[IP6TNL, NFT],
    reach: Reach::Outward,
    edge: Some(kernel(&[
        "ip addr add 2001:db8:12::1/128 dev lo nodad",
        "ip link add tunnel type ip6tnl mode ipip6 local 2001:db8:12::1 remote 2001:db8:ffff::1 encaplimit none",
        "ip link set tunnel up",
        "ip route add default dev tunnel",
    ])),
    border: Some(kernel(&[
        "ip addr add 2001:db8:ffff::1/128 dev lo nodad",
        "ip link add tunnel type ip6tnl mode ipip6 local 2001:db8:ffff::1 remote 2001:db8:12::1 encaplimit none",
        "ip link set tunnel up",
        "ip route add 192.168.1.0/24 dev tunnel",
        "nft 'add table ip nat'",
        "nft 'add chain ip nat out { type nat hook postrouting priority 100; }'",
        "nft 'add rule ip nat out oifname toh masquerade'",
    ])),
    ..FOUR_IN_SIX
};

/// A whole IPv4 address: EA bits are the rest of the address, and there is no PSID (RFC 7597 section 5.2).
const WHOLE: Mechanism = Mechanism {
    edge: r#"mechanism = "map-e"
role = "ce"
br = "2001:db8:ffff::1"
rules = [{ v6 = "2001:db8::/40", v4 = "192.0.2.0/24", ea-bits = 8 }]
end-user-prefix = "2001:db8:12::/48"
inside = ["192.168.0.0/16"]
max-sessions = 4096
max-bindings = 4096"#,
    border: r#"mechanism = "map-e"
role = "br"
local = "2001:db8:ffff::1"
rules = [{ v6 = "2001:db8::/40", v4 = "192.0.2.0/24", ea-bits = 8 }]
own-v4 = "203.0.113.253""#,
    ..provider::MAP_E
};

/// The MAP address of the customer has the IPv4 address before its last 16 bits (RFC 7597 section 6).
const MAP_E: Pair = Pair {
    name: "map-e-whole",
    row: &WHOLE,
    edge: Some(kernel(&[
        "ip addr add 2001:db8:12::c000:212:0/128 dev lo nodad",
        "ip link add tunnel type ip6tnl mode ipip6 local 2001:db8:12::c000:212:0 remote 2001:db8:ffff::1 encaplimit none",
        "ip link set tunnel up",
        "ip route add default dev tunnel",
        "nft 'add table ip nat'",
        "nft 'add chain ip nat out { type nat hook postrouting priority 100; }'",
        "nft 'add rule ip nat out oifname tunnel snat to 192.0.2.18'",
    ])),
    border: Some(kernel(&[
        "ip addr add 2001:db8:ffff::1/128 dev lo nodad",
        "ip link add tunnel type ip6tnl mode ipip6 local 2001:db8:ffff::1 remote 2001:db8:12::c000:212:0 encaplimit none",
        "ip link set tunnel up",
        "ip route add 192.0.2.18/32 dev tunnel",
    ])),
    ..DS_LITE
};

/// A shared address. Without an offset the ports of a customer are one range (RFC 7597 section 5.1), which
/// is all that the kernel's NAT can be given: 0x34 of 256 are those from 13312 to 13567.
const SHARED: Mechanism = Mechanism {
    edge: r#"mechanism = "map-e"
role = "ce"
br = "2001:db8:ffff::1"
rules = [{ v6 = "2001:db8::/40", v4 = "192.0.2.0/24", ea-bits = 16, psid-offset = 0 }]
end-user-prefix = "2001:db8:12:3400::/56"
inside = ["192.168.0.0/16"]
max-sessions = 4096
max-bindings = 4096"#,
    border: r#"mechanism = "map-e"
role = "br"
local = "2001:db8:ffff::1"
rules = [{ v6 = "2001:db8::/40", v4 = "192.0.2.0/24", ea-bits = 16, psid-offset = 0 }]
own-v4 = "203.0.113.253""#,
    ..provider::MAP_E
};

const MAP_E_SHARED: Pair = Pair {
    name: "map-e-shared",
    row: &SHARED,
    edge: Some(kernel(&[
        "ip addr add 2001:db8:12:3400::c000:212:34/128 dev lo nodad",
        "ip link add tunnel type ip6tnl mode ipip6 local 2001:db8:12:3400::c000:212:34 remote 2001:db8:ffff::1 encaplimit none",
        "ip link set tunnel up",
        "ip route add default dev tunnel",
        "nft add table ip nat",
        "nft 'add chain ip nat out { type nat hook postrouting priority 100; }'",
        "nft 'add rule ip nat out oifname tunnel meta l4proto { tcp, udp } snat to 192.0.2.18:13312-13567'",
        "nft 'add rule ip nat out oifname tunnel meta l4proto icmp snat to 192.0.2.18:13312-13567'",
    ])),
    border: Some(kernel(&[
        "ip addr add 2001:db8:ffff::1/128 dev lo nodad",
        "ip link add tunnel type ip6tnl mode ipip6 local 2001:db8:ffff::1 remote 2001:db8:12:3400::c000:212:34 encaplimit none",
        "ip link set tunnel up",
        "ip route add 192.0.2.18/32 dev tunnel",
    ])),
    ..DS_LITE
};

/// The same ports, given by a binding table.
const BOUND: Mechanism = Mechanism {
    edge: r#"mechanism = "lw4o6"
role = "b4"
local = "2001:db8:12::1"
aftr = "2001:db8:ffff::1"
address = "192.0.2.18"
psid = 0x34
psid-length = 8
psid-offset = 0
inside = ["192.168.0.0/16"]
max-sessions = 4096
max-bindings = 4096"#,
    border: r#"mechanism = "lw4o6"
role = "aftr"
local = "2001:db8:ffff::1"
sharing = [{ v4 = "192.0.2.0/24", psid-length = 8, psid-offset = 0 }]
softwires = [{ b4 = "2001:db8:12::1", v4 = "192.0.2.18", psid = 0x34 }]
own-v4 = "203.0.113.253""#,
    ..provider::LW4O6
};

const LW4O6: Pair = Pair {
    name: "lw4o6",
    row: &BOUND,
    edge: Some(kernel(&[
        "ip addr add 2001:db8:12::1/128 dev lo nodad",
        "ip link add tunnel type ip6tnl mode ipip6 local 2001:db8:12::1 remote 2001:db8:ffff::1 encaplimit none",
        "ip link set tunnel up",
        "ip route add default dev tunnel",
        "nft add table ip nat",
        "nft 'add chain ip nat out { type nat hook postrouting priority 100; }'",
        "nft 'add rule ip nat out oifname tunnel meta l4proto { tcp, udp } snat to 192.0.2.18:13312-13567'",
        "nft 'add rule ip nat out oifname tunnel meta l4proto icmp snat to 192.0.2.18:13312-13567'",
    ])),
    border: Some(kernel(&[
        "ip addr add 2001:db8:ffff::1/128 dev lo nodad",
        "ip link add tunnel type ip6tnl mode ipip6 local 2001:db8:ffff::1 remote 2001:db8:12::1 encaplimit none",
        "ip link set tunnel up",
        "ip route add 192.0.2.18/32 dev tunnel",
    ])),
    ..MAP_E_SHARED
};

/// Against the kernel's own tunnels.
pub(crate) const KERNEL: [Pair; 10] = [
    SIX_IN_FOUR,
    SIX_TO_FOUR,
    SIX_TO_FOUR_RELAY,
    SIX_RD,
    FOUR_IN_SIX,
    FOUR_IN_SIX_LIMITED,
    DS_LITE,
    MAP_E,
    MAP_E_SHARED,
    LW4O6,
];

/// 464XLAT with a stateless translator on either side. Errors of routers between the translators have
/// mappings of their own: TAYGA drops those whose sources it can not translate.
const CLAT: Pair = Pair {
    name: "464xlat",
    row: &provider::CLAT,
    needs: &[TAYGA],
    reach: Reach::Outward,
    pings: Pings::Whole,
    edge: Some(Theirs {
        tayga: Some(
            "tun-device tunnel\nipv4-addr 192.0.0.2\nipv6-addr 2001:db8:12::2\n\
             prefix 2001:db8:ffff::/96\nmap 192.168.1.10 2001:db8:12::a\n\
             map 198.18.0.1 3fff:c0::2\nmap 198.18.0.2 3fff:c0::1\nmap 198.18.0.3 3fff:c1::2\n",
        ),
        lines: &[
            "ip link set tunnel up",
            "ip route add 2001:db8:12::a/128 dev tunnel",
            "ip route add default dev tunnel",
        ],
    }),
    border: Some(Theirs {
        tayga: Some(
            "tun-device tunnel\nipv4-addr 203.0.113.2\nipv6-addr 2001:db8:fffe::2\n\
             prefix 2001:db8:ffff::/96\nmap 203.0.113.1 2001:db8:12::464\n\
             map 198.18.0.1 3fff:c1::1\n",
        ),
        lines: &[
            "ip link set tunnel up",
            "ip route add 2001:db8:ffff::/96 dev tunnel",
            "ip route add 203.0.113.0/30 dev tunnel",
        ],
    }),
    mtu: 1260,
};

/// Against TAYGA.
pub(crate) const TAYGAS: [Pair; 1] = [CLAT];

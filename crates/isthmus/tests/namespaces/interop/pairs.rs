//! The other implementation's end of tunnels, for the mechanisms of a [`provider`].

use isthmus_lab::subjects::isthmus::Keys;
use isthmus_lab::subjects::provider::others::{self, End, Need};
use isthmus_lab::subjects::provider::{self, Host, Mechanism, keys};

/// The end of a mechanism.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Ce,
    Br,
}

impl Side {
    pub(crate) const fn other(self) -> Self {
        match self {
            Self::Ce => Self::Br,
            Self::Br => Self::Ce,
        }
    }

    /// The index of its link to the core.
    pub(crate) const fn number(self) -> usize {
        match self {
            Self::Ce => 0,
            Self::Br => 1,
        }
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Ce => "ce",
            Self::Br => "br",
        }
    }

    /// The host behind it.
    pub(crate) const fn host(self, row: &Mechanism) -> Host {
        match self {
            Self::Ce => row.client,
            Self::Br => row.server,
        }
    }

    /// The networks that the core routes to it.
    pub(crate) const fn routed(self, row: &Mechanism) -> &'static str {
        match self {
            Self::Ce => row.to_ce,
            Self::Br => row.to_br,
        }
    }

    /// Our instance at this end.
    pub(crate) const fn instance(self, row: &Mechanism) -> Keys {
        match self {
            Self::Ce => row.ce,
            Self::Br => row.br,
        }
    }
}

const fn ip6tnl(lines: &'static [&'static str]) -> End {
    End::kernel(&[Need::IP6TNL], lines)
}

/// The same, behind a NAT of the kernel.
const fn ip6tnl_and_nft(lines: &'static [&'static str]) -> End {
    End::kernel(&[Need::IP6TNL, Need::Nftables], lines)
}

/// Whether the server can begin a connection.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    Both,
    /// The client is behind a NAT.
    Outward,
}

/// The pings that the other implementation passes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pings {
    OfAnySize,
    /// Those that fit a packet: stateless translators drop fragmented ICMP (RFC 7915 section 1.2).
    Whole,
}

/// A mechanism with our gateway at one end and the other implementation at the other.
pub(crate) struct Pair {
    pub(crate) name: &'static str,
    pub(crate) row: &'static Mechanism,
    pub(crate) reach: Reach,
    pub(crate) pings: Pings,
    /// The other implementation as CE and as BR.
    pub(crate) ce: Option<End>,
    pub(crate) br: Option<End>,
    /// The client's MTU when the core's MTU is small and the other implementation is the CE.
    pub(crate) mtu: u32,
}

impl Pair {
    /// Ours at one end, the other implementation at the other, in both directions.
    pub(crate) fn both(&self) -> impl Iterator<Item = (Side, &End)> {
        [(Side::Br, &self.ce), (Side::Ce, &self.br)]
            .into_iter()
            .filter_map(|(ours, theirs)| Some((ours, theirs.as_ref()?)))
    }
}

const SIX_IN_FOUR: Pair = Pair {
    name: "6in4",
    row: &provider::SIX_IN_FOUR,
    reach: Reach::Both,
    pings: Pings::OfAnySize,
    ce: Some(others::SIX_IN_FOUR[0]),
    br: Some(others::SIX_IN_FOUR[1]),
    mtu: 1280,
};

const SIX_TO_FOUR: Pair = Pair {
    name: "6to4",
    row: &provider::SIX_TO_FOUR,
    ce: Some(others::SIX_TO_FOUR[0]),
    br: Some(others::SIX_TO_FOUR[1]),
    ..SIX_IN_FOUR
};

/// A 6to4 site and the rest of the IPv6 internet (RFC 3056 section 5.2).
const RELAY: Mechanism = Mechanism {
    ce: &[r#"mechanism = "6to4"
local = "203.0.113.1"
relay = "203.0.113.129"
icmp-source-v6 = "2002:cb00:7101::1""#],
    br: &[r#"mechanism = "6to4"
role = "relay"
local = "203.0.113.129"
icmp-source-v6 = "2002:cb00:7181::1""#],
    server: provider::SIX_IN_FOUR.server,
    ..provider::SIX_TO_FOUR
};

const SIX_TO_FOUR_RELAY: Pair = Pair {
    name: "6to4-relay",
    row: &RELAY,
    ce: Some(End::kernel(
        &[Need::SIT],
        &[
            "ip addr add 203.0.113.1/32 dev lo",
            "ip link add tunnel type sit local 203.0.113.1 ttl 64",
            "ip link set tunnel up",
            "ip addr add 2002:cb00:7101::1/16 dev tunnel nodad",
            "ip route add default via ::203.0.113.129 dev tunnel",
        ],
    )),
    ..SIX_TO_FOUR
};

const SIX_RD: Pair = Pair {
    name: "6rd",
    row: &provider::SIX_RD,
    ce: Some(others::SIX_RD[0]),
    br: Some(others::SIX_RD[1]),
    ..SIX_IN_FOUR
};

const FOUR_IN_SIX: Pair = Pair {
    name: "4in6",
    row: &provider::FOUR_IN_SIX,
    ce: Some(others::FOUR_IN_SIX[0]),
    br: Some(others::FOUR_IN_SIX[1]),
    mtu: 1240,
    ..SIX_IN_FOUR
};

/// With RFC 2473's Tunnel Encapsulation Limit, which the kernel sends by default: eight bytes of a Destination
/// Options header before each packet.
const FOUR_IN_SIX_LIMITED: Pair = Pair {
    name: "4in6-with-limit",
    ce: Some(ip6tnl(&[
        "ip addr add 2001:db8:12::1/128 dev lo nodad",
        "ip link add tunnel type ip6tnl mode ipip6 local 2001:db8:12::1 remote 2001:db8:ffff::1",
        "ip link set tunnel up",
        "ip route add 198.51.100.0/24 dev tunnel",
    ])),
    br: Some(ip6tnl(&[
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
    reach: Reach::Outward,
    ce: Some(others::DS_LITE[0]),
    br: Some(others::DS_LITE[1]),
    ..FOUR_IN_SIX
};

/// A whole IPv4 address: the EA bits are the rest of the address, and there is no PSID (RFC 7597 section 5.2).
const WHOLE: Mechanism = Mechanism {
    ce: &[
        keys::MAP_E_CE,
        WHOLE_RULE,
        r#"end-user-prefix = "2001:db8:12::/48""#,
        keys::CUSTOMER,
    ],
    br: &[keys::MAP_E_BR, WHOLE_RULE, keys::BR_OWN],
    ..provider::MAP_E
};
const WHOLE_RULE: &str = r#"rules = [{ v6 = "2001:db8::/40", v4 = "192.0.2.0/24", ea-bits = 8 }]"#;

/// The MAP address of the CE has the IPv4 address before its last 16 bits (RFC 7597 section 6).
const MAP_E: Pair = Pair {
    name: "map-e-whole",
    row: &WHOLE,
    ce: Some(ip6tnl_and_nft(&[
        "ip addr add 2001:db8:12::c000:212:0/128 dev lo nodad",
        "ip link add tunnel type ip6tnl mode ipip6 local 2001:db8:12::c000:212:0 remote 2001:db8:ffff::1 encaplimit none",
        "ip link set tunnel up",
        "ip route add default dev tunnel",
        "nft 'add table ip nat'",
        "nft 'add chain ip nat out { type nat hook postrouting priority 100; }'",
        "nft 'add rule ip nat out oifname tunnel snat to 192.0.2.18'",
    ])),
    br: Some(ip6tnl(&[
        "ip addr add 2001:db8:ffff::1/128 dev lo nodad",
        "ip link add tunnel type ip6tnl mode ipip6 local 2001:db8:ffff::1 remote 2001:db8:12::c000:212:0 encaplimit none",
        "ip link set tunnel up",
        "ip route add 192.0.2.18/32 dev tunnel",
    ])),
    ..DS_LITE
};

/// A shared address. Without an offset the ports of a CE are one range (RFC 7597 section 5.1), the only kind that the
/// kernel's NAT takes: 0x34 of 256 are those from 13312 to 13567.
const SHARED: Mechanism = Mechanism {
    ce: &[
        keys::MAP_E_CE,
        SHARED_RULE,
        r#"end-user-prefix = "2001:db8:12:3400::/56""#,
        keys::CUSTOMER,
    ],
    br: &[keys::MAP_E_BR, SHARED_RULE, keys::BR_OWN],
    ..provider::MAP_E
};
const SHARED_RULE: &str =
    r#"rules = [{ v6 = "2001:db8::/40", v4 = "192.0.2.0/24", ea-bits = 16, psid-offset = 0 }]"#;

/// The way out of a CE of the kernel with a shared address.
const SHARED_NAT: &str = "ip link set tunnel up
ip route add default dev tunnel
nft add table ip nat
nft 'add chain ip nat out { type nat hook postrouting priority 100; }'
nft 'add rule ip nat out oifname tunnel meta l4proto { tcp, udp } snat to 192.0.2.18:13312-13567'
nft 'add rule ip nat out oifname tunnel meta l4proto icmp snat to 192.0.2.18:13312-13567'";

const MAP_E_SHARED: Pair = Pair {
    name: "map-e-shared",
    row: &SHARED,
    ce: Some(ip6tnl_and_nft(&[
        "ip addr add 2001:db8:12:3400::c000:212:34/128 dev lo nodad",
        "ip link add tunnel type ip6tnl mode ipip6 local 2001:db8:12:3400::c000:212:34 remote 2001:db8:ffff::1 encaplimit none",
        SHARED_NAT,
    ])),
    br: Some(ip6tnl(&[
        "ip addr add 2001:db8:ffff::1/128 dev lo nodad",
        "ip link add tunnel type ip6tnl mode ipip6 local 2001:db8:ffff::1 remote 2001:db8:12:3400::c000:212:34 encaplimit none",
        "ip link set tunnel up",
        "ip route add 192.0.2.18/32 dev tunnel",
    ])),
    ..DS_LITE
};

/// The same ports from a binding table.
const BOUND: Mechanism = Mechanism {
    ce: &[
        keys::LWB4,
        "psid = 0x34\npsid-length = 8\npsid-offset = 0",
        keys::CUSTOMER,
    ],
    br: &[
        keys::LWAFTR,
        r#"sharing = [{ v4 = "192.0.2.0/24", psid-length = 8, psid-offset = 0 }]
softwires = [{ b4 = "2001:db8:12::1", v4 = "192.0.2.18", psid = 0x34 }]"#,
        keys::BR_OWN,
    ],
    ..provider::LW4O6
};

const LW4O6: Pair = Pair {
    name: "lw4o6",
    row: &BOUND,
    ce: Some(ip6tnl_and_nft(&[
        "ip addr add 2001:db8:12::1/128 dev lo nodad",
        "ip link add tunnel type ip6tnl mode ipip6 local 2001:db8:12::1 remote 2001:db8:ffff::1 encaplimit none",
        SHARED_NAT,
    ])),
    br: Some(ip6tnl(&[
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

/// 464XLAT with a stateless translator on either side.
const CLAT: Pair = Pair {
    name: "464xlat",
    row: &provider::CLAT,
    reach: Reach::Outward,
    pings: Pings::Whole,
    ce: Some(others::TAYGA_CLAT),
    br: Some(others::TAYGA_PLAT),
    mtu: 1260,
};

/// Against TAYGA.
pub(crate) const TAYGAS: [Pair; 1] = [CLAT];

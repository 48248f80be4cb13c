//! The mechanisms.

use super::{
    Core, Host, Mechanism, Transport, host,
    keys::{
        ASK_AFTR, ASK_CE, ASK_PLAT, BR_OWN, CE_OWN, CUSTOMER, END_USER, LWAFTR, LWB4, MAP_E_BR,
        MAP_E_CE, POOL, RULE, SIX_RD_DOMAIN, TABLES,
    },
};

const CLIENT_V4: Host = host("192.168.1.10", "192.168.1.1", 24);
const SERVER_V4: Host = host("198.51.100.2", "198.51.100.1", 24);
const CLIENT_V6: Host = host("2001:db8:a::10", "2001:db8:a::1", 64);
const SERVER_V6: Host = host("3fff:b::20", "3fff:b::1", 64);

/// A configured tunnel (RFC 4213).
pub const SIX_IN_FOUR: Mechanism = Mechanism {
    core: Core::V4,
    ce: &[r#"mechanism = "6in4"
local = "203.0.113.1"
remote = "203.0.113.129"
networks = ["3fff:b::/48"]
icmp-source-v6 = "3fff:e::1""#],
    br: &[r#"mechanism = "6in4"
local = "203.0.113.129"
remote = "203.0.113.1"
networks = ["2001:db8:a::/48"]
icmp-source-v6 = "3fff:e::2""#],
    asked: [&[], &[]],
    client: CLIENT_V6,
    server: SERVER_V6,
    to_ce: "203.0.113.1/32",
    to_br: "203.0.113.129/32",
    transport: Transport::Tunnel,
    mtu: 1280,
};

/// 6rd, RFC 5969 section 7.1.1: 10.100.100.1 was delegated 2001:db8:6464:100::/56.
pub const SIX_RD: Mechanism = Mechanism {
    ce: &[
        r#"mechanism = "6rd"
role = "ce"
local = "10.100.100.1"
br = "10.0.0.1""#,
        SIX_RD_DOMAIN,
        r#"icmp-source-v6 = "3fff:e::1""#,
    ],
    br: &[
        r#"mechanism = "6rd"
role = "br"
local = "10.0.0.1""#,
        SIX_RD_DOMAIN,
        r#"icmp-source-v6 = "3fff:e::2""#,
    ],
    client: host("2001:db8:6464:100::5", "2001:db8:6464:100::1", 64),
    to_ce: "10.100.100.1/32",
    to_br: "10.0.0.1/32",
    ..SIX_IN_FOUR
};

/// 6to4, RFC 3056 section 2: the prefix of a site is its IPv4 address under 2002::/16.
pub const SIX_TO_FOUR: Mechanism = Mechanism {
    ce: &[r#"mechanism = "6to4"
local = "203.0.113.1"
icmp-source-v6 = "2002:cb00:7101::1""#],
    br: &[r#"mechanism = "6to4"
local = "203.0.113.129"
icmp-source-v6 = "2002:cb00:7181::1""#],
    client: host("2002:cb00:7101:1::10", "2002:cb00:7101:1::1", 64),
    server: host("2002:cb00:7181:1::20", "2002:cb00:7181:1::1", 64),
    ..SIX_IN_FOUR
};

/// A configured tunnel (RFC 2473).
pub const FOUR_IN_SIX: Mechanism = Mechanism {
    core: Core::V6,
    ce: &[
        r#"mechanism = "4in6"
local = "2001:db8:12::1"
remote = "2001:db8:ffff::1"
networks = ["198.51.100.0/24"]"#,
        CE_OWN,
    ],
    br: &[
        r#"mechanism = "4in6"
local = "2001:db8:ffff::1"
remote = "2001:db8:12::1"
networks = ["192.168.1.0/24"]"#,
        BR_OWN,
    ],
    asked: [&[], &[]],
    client: CLIENT_V4,
    server: SERVER_V4,
    to_ce: "2001:db8:12::/48",
    to_br: "2001:db8:ffff::/48",
    transport: Transport::Tunnel,
    mtu: 1240,
};

/// DS-Lite (RFC 6333).
pub const DS_LITE: Mechanism = Mechanism {
    ce: &[
        r#"mechanism = "ds-lite"
role = "b4"
local = "2001:db8:12::1"
aftr = "2001:db8:ffff::1""#,
        CE_OWN,
    ],
    br: &[
        r#"mechanism = "ds-lite"
role = "aftr"
local = "2001:db8:ffff::1"
softwires = ["2001:db8:12::/48"]"#,
        POOL,
        BR_OWN,
        TABLES,
    ],
    asked: ASK_AFTR,
    ..FOUR_IN_SIX
};

/// MAP-E with the prefixes of RFC 7597 appendix A, example 1, but with 16 customers for an address and not 256, whose
/// 252 ports are too few for a long measurement. The customer has PSID 3 of 192.0.2.18: 4032 ports.
pub const MAP_E: Mechanism = Mechanism {
    ce: &[MAP_E_CE, RULE, END_USER, CUSTOMER],
    br: &[MAP_E_BR, RULE, BR_OWN],
    asked: ASK_CE,
    ..FOUR_IN_SIX
};

/// lw4o6 (RFC 7596): the same port set, and a neighbour with the next one.
pub const LW4O6: Mechanism = Mechanism {
    ce: &[
        LWB4,
        r#"psid = 3
psid-length = 4"#,
        CUSTOMER,
    ],
    br: &[
        LWAFTR,
        r#"sharing = [{ v4 = "192.0.2.0/24", psid-length = 4 }]
softwires = [
  { b4 = "2001:db8:12::1", v4 = "192.0.2.18", psid = 3 },
  { b4 = "2001:db8:13::1", v4 = "192.0.2.18", psid = 4 },
]"#,
        BR_OWN,
    ],
    asked: ASK_CE,
    ..FOUR_IN_SIX
};

/// MAP-T (RFC 7599): the customer of [`MAP_E`].
pub const MAP_T: Mechanism = Mechanism {
    ce: &[
        r#"mechanism = "map-t"
role = "ce"
prefix = "2001:db8:ffff::/64""#,
        RULE,
        END_USER,
        CUSTOMER,
    ],
    br: &[
        r#"mechanism = "map-t"
role = "br"
prefix = "2001:db8:ffff::/64""#,
        RULE,
        BR_OWN,
        r#"icmp-source-v6 = "3fff:e::2""#,
    ],
    asked: ASK_CE,
    transport: Transport::Translation,
    mtu: 1260,
    ..FOUR_IN_SIX
};

/// 464XLAT (RFC 6877).
pub const CLAT: Mechanism = Mechanism {
    ce: &[
        r#"mechanism = "clat"
prefix = "2001:db8:ffff::/96"
local = "2001:db8:12::464""#,
        CUSTOMER,
    ],
    br: &[
        r#"mechanism = "nat64"
prefix = "2001:db8:ffff::/96""#,
        POOL,
        TABLES,
    ],
    asked: ASK_PLAT,
    transport: Transport::Translation,
    mtu: 1260,
    ..FOUR_IN_SIX
};

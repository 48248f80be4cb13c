//! The instances of the gateways that are measured. Their addresses are explained in [the crossings](super).

use std::{
    fmt::Write,
    net::{Ipv4Addr, Ipv6Addr},
};

use crate::subjects::isthmus::Instance;

/// The gateway's own IPv4 address where it has one on a link.
const OWN_OF_LINK: &str = r#"own-v4 = "198.51.100.1""#;
/// The same where no link has it.
const OWN_APART: &str = r#"own-v4 = "203.0.113.254""#;
/// The source of ICMPv6 errors.
const ICMP_SOURCE: &str = r#"icmp-source-v6 = "2001:db8:6::1""#;
/// The hosts behind a CE with a NAT, and its tables.
const CUSTOMER: &str = r#"inside = ["192.0.2.0/24"]
max-bindings = 65536
max-sessions = 65536"#;

pub(in crate::experiments::bench) static SIX_IN_FOUR: Instance = Instance::new(
    "6in4",
    &[
        r#"mechanism = "6in4"
local = "198.51.100.1"
remote = "198.51.100.4"
networks = ["3fff:200::/32"]"#,
        ICMP_SOURCE,
    ],
);

pub(in crate::experiments::bench) static FOUR_IN_SIX: Instance = Instance::new(
    "4in6",
    &[
        r#"mechanism = "4in6"
local = "2001:db8:4::1"
remote = "2001:db8:4::4"
networks = ["198.19.0.0/16"]"#,
        OWN_APART,
    ],
);

/// An end of a tunnel between two gateways, on the side of a customer.
pub(in crate::experiments::bench) static NEAR_END: Instance = Instance::new(
    "4in6, near end",
    &[
        r#"mechanism = "4in6"
local = "2001:db8:5::1"
remote = "2001:db8:7::1"
networks = ["198.51.100.0/24"]"#,
        OWN_APART,
    ],
);

/// The other end.
pub(in crate::experiments::bench) static FAR_END: Instance = Instance::new(
    "4in6, both ends",
    &[
        r#"mechanism = "4in6"
local = "2001:db8:7::1"
remote = "2001:db8:5::1"
networks = ["192.0.2.0/24"]"#,
        OWN_OF_LINK,
    ],
);

/// The domain of 6rd.
const SIX_RD: &str = r#"prefix = "3fff:100::/32"
v4-prefix = "198.18.0.0/16""#;

pub(in crate::experiments::bench) static SIX_RD_BR: Instance = Instance::new(
    "6rd BR",
    &[
        r#"mechanism = "6rd"
role = "br"
local = "198.18.0.1""#,
        SIX_RD,
        ICMP_SOURCE,
    ],
);

pub(in crate::experiments::bench) static SIX_RD_CE: Instance = Instance::new(
    "6rd CE",
    &[
        r#"mechanism = "6rd"
role = "ce"
local = "198.18.0.200"
br = "198.18.0.1""#,
        SIX_RD,
        ICMP_SOURCE,
    ],
);

pub(in crate::experiments::bench) static SIX_TO_FOUR: Instance = Instance::new(
    "6to4 router",
    &[
        r#"mechanism = "6to4"
local = "198.18.0.200""#,
        ICMP_SOURCE,
    ],
);

/// The B4s of an AFTR and their addresses outside.
const B4S: &str = r#"softwires = ["2001:db8:5::/48"]
pool = [{ addresses = "203.0.113.0/24", ports = "1024-65535" }]
# Looked at for each session, and never reached.
subscriber-session-rate = 1000000000"#;

pub(in crate::experiments::bench) static AFTR: Instance = Instance::new(
    "DS-Lite AFTR",
    &[
        r#"mechanism = "ds-lite"
role = "aftr"
local = "2001:db8:8::1""#,
        B4S,
        OWN_OF_LINK,
        "max-bindings = 524288\nmax-sessions = 524288",
    ],
);

/// The AFTR of [`B4`].
pub(in crate::experiments::bench) static AFTR_OF_ONE: Instance = Instance::new(
    "DS-Lite B4 and AFTR",
    &[
        r#"mechanism = "ds-lite"
role = "aftr"
local = "2001:db8:7::1""#,
        B4S,
        OWN_OF_LINK,
        "max-bindings = 65536\nmax-sessions = 65536",
    ],
);

pub(in crate::experiments::bench) static B4: Instance = Instance::new(
    "DS-Lite B4",
    &[
        r#"mechanism = "ds-lite"
role = "b4"
local = "2001:db8:5:a::1"
aftr = "2001:db8:7::1""#,
        OWN_APART,
    ],
);

/// The rule of a BR: 256 CEs share an address.
const RULE: &str = r#"rules = [{ v6 = "2001:db8:5::/48", v4 = "203.0.113.0/24", ea-bits = 16 }]"#;
/// The rule of a BR through which CEs reach each other. The port of the generator belongs to the first of those with an address.
const HUB_RULE: &str =
    r#"rules = [{ v6 = "2001:db8:5::/48", v4 = "203.0.113.0/24", ea-bits = 16, psid-offset = 0 }]"#;
/// The rule of a CE and its BR: only 16 CEs share an address, so that there are ports for all flows.
const CE_RULE: &str =
    r#"rules = [{ v6 = "2001:db8:5::/48", v4 = "203.0.113.0/24", ea-bits = 12 }]"#;
/// The prefix of the CE with 203.0.113.18 and PSID 3.
const END_USER: &str = r#"end-user-prefix = "2001:db8:5:1230::/60""#;

pub(in crate::experiments::bench) static MAP_E_BR: Instance = Instance::new(
    "MAP-E BR",
    &[
        r#"mechanism = "map-e"
role = "br"
local = "2001:db8:8::1""#,
        RULE,
        OWN_OF_LINK,
    ],
);

pub(in crate::experiments::bench) static MAP_E_HUB: Instance = Instance::new(
    "MAP-E BR between CEs",
    &[
        r#"mechanism = "map-e"
role = "br"
local = "2001:db8:8::1""#,
        HUB_RULE,
        OWN_OF_LINK,
    ],
);

/// The BR of [`MAP_E_CE`].
pub(in crate::experiments::bench) static MAP_E_BR_OF_ONE: Instance = Instance::new(
    "MAP-E CE and BR",
    &[
        r#"mechanism = "map-e"
role = "br"
local = "2001:db8:7::1""#,
        CE_RULE,
        OWN_OF_LINK,
    ],
);

pub(in crate::experiments::bench) static MAP_E_CE: Instance = Instance::new(
    "MAP-E CE",
    &[
        r#"mechanism = "map-e"
role = "ce"
br = "2001:db8:7::1""#,
        CE_RULE,
        END_USER,
        CUSTOMER,
    ],
);

pub(in crate::experiments::bench) static MAP_T_BR: Instance = Instance::new(
    "MAP-T BR",
    &[
        r#"mechanism = "map-t"
role = "br"
prefix = "2001:db8:64::/96""#,
        RULE,
        OWN_OF_LINK,
        ICMP_SOURCE,
    ],
);

pub(in crate::experiments::bench) static MAP_T_HUB: Instance = Instance::new(
    "MAP-T BR between CEs",
    &[
        r#"mechanism = "map-t"
role = "br"
prefix = "2001:db8:64::/96""#,
        HUB_RULE,
        OWN_OF_LINK,
        ICMP_SOURCE,
    ],
);

/// The BR of [`MAP_T_CE`].
pub(in crate::experiments::bench) static MAP_T_BR_OF_ONE: Instance = Instance::new(
    "MAP-T CE and BR",
    &[
        r#"mechanism = "map-t"
role = "br"
prefix = "2001:db8:7::/96""#,
        CE_RULE,
        OWN_OF_LINK,
        r#"icmp-source-v6 = "2001:db8:1::2""#,
    ],
);

pub(in crate::experiments::bench) static MAP_T_CE: Instance = Instance::new(
    "MAP-T CE",
    &[
        r#"mechanism = "map-t"
role = "ce"
prefix = "2001:db8:7::/96""#,
        CE_RULE,
        END_USER,
        CUSTOMER,
    ],
);

pub(in crate::experiments::bench) static NAT44: Instance = Instance::new(
    "NAT44",
    &[
        r#"mechanism = "nat44"
pool = [{ addresses = "203.0.113.0/24", ports = "1024-65535" }]"#,
        CUSTOMER,
        OWN_OF_LINK,
    ],
);

/// The softwires of the lwAFTR.
pub(super) const SOFTWIRES: u32 = 1 << 20;

/// Returns the PSID of a CE by the rules of the BRs: 256 CEs share an IPv4 address.
pub(super) fn psid(number: u32) -> u16 {
    (number & 0xff) as u16
}

/// Returns the softwire with this number: a shared IPv4 address, and the address of the lwB4.
pub(super) fn softwire(number: u32) -> (Ipv4Addr, Ipv6Addr) {
    let shared = Ipv4Addr::new(198, 19, 0, 0).to_bits() + (number >> 8);
    let first = Ipv6Addr::new(0x2001, 0xdb8, 0x50, 0, 0, 0, 0, 1).to_bits();
    let b4 = first + (u128::from(number) << 64);
    (shared.into(), b4.into())
}

/// Returns the binding table of all softwires: lwB4, IPv4 address, PSID.
fn softwires() -> String {
    let mut table = String::new();
    for number in 0..SOFTWIRES {
        let (address, b4) = softwire(number);
        let _ = writeln!(table, "{b4},{address},{}", psid(number));
    }
    table
}

/// Its file is the binding table.
pub(in crate::experiments::bench) static LWAFTR: Instance = Instance::new(
    "lw4o6 lwAFTR",
    &[
        r#"mechanism = "lw4o6"
role = "aftr"
local = "2001:db8:8::1"
sharing = [{ v4 = "198.19.0.0/20", psid-length = 8 }]
softwire-file = "softwires.csv""#,
        OWN_APART,
    ],
)
.with_file("softwires.csv", softwires);

pub(in crate::experiments::bench) static LWB4: Instance = Instance::new(
    "lw4o6 lwB4",
    &[
        r#"mechanism = "lw4o6"
role = "b4"
local = "2001:db8:5:a::1"
aftr = "2001:db8:7::1"
address = "203.0.113.18"
psid = 3
psid-length = 4"#,
        CUSTOMER,
    ],
);

/// A CLAT, without the hosts behind it.
const CLAT_KEYS: &str = r#"mechanism = "clat"
prefix = "2001:db8:7::/96"
local = "2001:db8:5:a::1""#;

pub(in crate::experiments::bench) static CLAT: Instance =
    Instance::new("CLAT", &[CLAT_KEYS, CUSTOMER]);

/// A CLAT with room for every port that its hosts may ask for, as fast as they like.
pub(in crate::experiments::bench) static ROOMY_CLAT: Instance = Instance::new(
    "CLAT with room",
    &[
        CLAT_KEYS,
        r#"inside = ["192.0.2.0/24"]
max-bindings = 262144
max-sessions = 262144
subscriber-session-rate = 0"#,
    ],
);

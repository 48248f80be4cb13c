//! The gateways of the random traffic, small enough that their limits are met, with who is inside and outside.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::packet::{Ends, Flow};

/// A gateway, and the hosts on its sides.
pub(super) struct Scenario {
    pub(super) name: &'static str,
    pub(super) configuration: String,
    pub(super) inside: Side,
    /// What is reached from outside: addresses of the pool, or of the customer.
    pub(super) outside: Side,
    /// Ports that inside hosts send from.
    pub(super) ports: [u16; 6],
}

/// One side of a gateway.
pub(super) struct Side {
    way: Way,
    /// IPv4 addresses of the hosts, and IPv6 addresses of the hosts or their ends of the softwires.
    hosts: Vec<(Ipv4Addr, Ipv6Addr)>,
}

/// How packets between hosts and servers look on a side.
#[derive(Clone, Copy)]
enum Way {
    V4,
    /// Servers have addresses under this prefix, after so many bits.
    V6(Ipv6Addr, u32),
    /// IPv4 packets are in softwires, whose other end is here.
    Softwire(Ipv6Addr),
}

impl Side {
    /// Whether a host has this address.
    pub(super) fn has(&self, address: Ipv4Addr) -> bool {
        self.hosts.iter().any(|(host, _)| *host == address)
    }

    /// The flow from a host to a server.
    pub(super) fn flow(&self, host: u8, server: Ipv4Addr, ports: (u16, u16)) -> Flow {
        let (v4, v6) = self.hosts[usize::from(host) % self.hosts.len()];
        let (softwire, ends) = match self.way {
            Way::V4 => (None, Ends::V4(v4, server)),
            Way::V6(prefix, bits) => (None, Ends::V6(v6, embedded(prefix, bits, server))),
            Way::Softwire(gateway) => (Some((v6, gateway)), Ends::V4(v4, server)),
        };
        Flow {
            softwire,
            ends,
            ports,
        }
    }
}

/// An IPv4 address behind a prefix of 64 or 96 bits (RFC 6052 section 2.2).
fn embedded(prefix: Ipv6Addr, bits: u32, server: Ipv4Addr) -> Ipv6Addr {
    let place = if bits == 64 { 24 } else { 0 };
    (u128::from(prefix) | u128::from(u32::from(server)) << place).into()
}

fn v6(text: &str) -> Ipv6Addr {
    text.parse().expect("an IPv6 address")
}

fn hosts(rows: &[(&str, &str)]) -> Vec<(Ipv4Addr, Ipv6Addr)> {
    let row = |(v4, v6): &(&str, &str)| (v4.parse().expect("an IPv4 address"), self::v6(v6));
    rows.iter().map(row).collect()
}

/// Ports with both parities and ranges.
const ANY_PORTS: [u16; 6] = [40000, 40001, 40002, 123, 1024, 65535];
/// Ports of PSID 0x34 of eight bits behind an offset of six, one of PSID 0x35, and one of nobody.
const SHARED_PORTS: [u16; 6] = [1232, 1233, 2256, 64723, 1236, 80];

const OWN: &str =
    "own-v4 = \"203.0.113.254\"\nicmp-source-v6 = \"2001:db8:eeee::1\"\nicmp-errors = 50\n";
const SMALL: &str =
    "max-bindings = 64\nmax-sessions = 64\nmax-subscribers = 16\nmax-fragments = 16\n";
const PREFIX: &str = "2001:db8:64:ff9b::";
const RULE: &str = "rules = [{ v6 = \"2001:db8::/40\", v4 = \"192.0.2.0/24\", ea-bits = 16 }]\n";
const BR: &str = "2001:db8:ffff::1";
const CE: &str = "2001:db8:12:3400:0:c000:212:34";
const OTHER_CE: &str = "2001:db8:12:3500:0:c000:212:35";

pub(super) fn all() -> Vec<Scenario> {
    [nat64(), nat44(), softwires(), shared()]
        .into_iter()
        .flatten()
        .collect()
}

/// Servers: two on one network, one elsewhere, and one that no rule lets pass.
pub(super) const SERVERS: [&str; 4] = ["198.18.0.1", "198.18.0.2", "8.8.8.8", "127.0.0.1"];
/// Their ports.
pub(super) const SERVICES: [u16; 3] = [53, 443, 54321];

fn nat64_with(name: &'static str, pool: &str, more: &str) -> Scenario {
    Scenario {
        name,
        configuration: format!(
            "[[instance]]\nname = \"nat64\"\nmechanism = \"nat64\"\nprefix = \"{PREFIX}/96\"\n{OWN}{SMALL}\
             inside = [\"2001:db8:1::/48\"]\npool = [{pool}]\n{more}"
        ),
        inside: Side {
            way: Way::V6(v6(PREFIX), 96),
            hosts: hosts(&[
                ("0.0.0.0", "2001:db8:1:a::1"),
                ("0.0.0.0", "2001:db8:1:a::2"),
                ("0.0.0.0", "2001:db8:1:b::1"),
                ("0.0.0.0", "2001:db8:1:c::1"),
                ("0.0.0.0", "2001:db8:1:d::1"),
                ("0.0.0.0", "2001:db8:2::1"),
            ]),
        },
        outside: pool_side(),
        ports: ANY_PORTS,
    }
}

fn pool_side() -> Side {
    Side {
        way: Way::V4,
        hosts: hosts(&[
            ("203.0.113.1", "::"),
            ("203.0.113.2", "::"),
            ("203.0.113.77", "::"),
        ]),
    }
}

const WIDE: &str = "{ addresses = \"203.0.113.1\" }";

fn nat64() -> Vec<Scenario> {
    let few = "{ addresses = \"203.0.113.0/30\", ports = \"40000-40019\" }";
    let tracked = "subscriber-sessions = 6\nsubscriber-bindings = 4\n";
    vec![
        nat64_with("nat64", WIDE, ""),
        nat64_with(
            "nat64-address-dependent",
            WIDE,
            "filtering = \"address-dependent\"\nunsolicited-syn = \"answer\"\n",
        ),
        nat64_with("nat64-few-ports", few, ""),
        nat64_with("nat64-few-ports-soft", few, "pooling = \"soft\"\n"),
        nat64_with("nat64-limits", WIDE, tracked),
        nat64_with("nat64-rate", WIDE, "subscriber-session-rate = 1\n"),
        nat64_with(
            "nat64-blocks",
            WIDE,
            "port-blocks = { size = 8, per-subscriber = 2 }\n",
        ),
        nat64_with(
            "nat64-deterministic",
            WIDE,
            "subscriber-prefix = 64\ndeterministic = { inside = \"2001:db8:1::/60\", size = 16 }\n",
        ),
        nat64_with(
            "nat64-static",
            "{ addresses = \"203.0.113.1\", ports = \"1-65535\" }",
            "mss-clamp = \"auto\"\nfiltering = \"address-dependent\"\nstatic = [\n  { protocol = \"tcp\", \
             inside = \"[2001:db8:1:a::1]:443\", outside = \"203.0.113.1:443\" },\n  { protocol = \"udp\", \
             inside = \"[2001:db8:1:b::1]:40000\", outside = \"203.0.113.1:53\" },\n]\n",
        ),
    ]
}

fn nat44() -> Vec<Scenario> {
    let with = |name, more: &str| Scenario {
        name,
        configuration: format!(
            "[[instance]]\nname = \"nat44\"\nmechanism = \"nat44\"\ninside = [\"192.168.0.0/16\"]\n{OWN}{SMALL}\
             pool = [{WIDE}]\n{more}"
        ),
        inside: Side {
            way: Way::V4,
            hosts: inside_v4(),
        },
        outside: pool_side(),
        ports: ANY_PORTS,
    };
    vec![
        with("nat44", ""),
        with(
            "nat44-address-dependent",
            "filtering = \"address-dependent\"\nsubscriber-bindings = 4\n",
        ),
    ]
}

fn inside_v4() -> Vec<(Ipv4Addr, Ipv6Addr)> {
    hosts(&[
        ("192.168.1.10", CE),
        ("192.168.1.11", CE),
        ("192.168.7.1", CE),
        ("10.0.0.1", CE),
    ])
}

fn softwires() -> Vec<Scenario> {
    let aftr = |name, more: &str| Scenario {
        name,
        configuration: format!(
            "[[instance]]\nname = \"aftr\"\nmechanism = \"ds-lite\"\nrole = \"aftr\"\nlocal = \"{BR}\"\n\
             softwires = [\"2001:db8:1::/48\"]\n{OWN}{SMALL}pool = [{WIDE}]\n{more}"
        ),
        inside: Side {
            way: Way::Softwire(v6(BR)),
            hosts: hosts(&[
                ("192.168.1.10", "2001:db8:1:a::1"),
                ("192.168.1.10", "2001:db8:1:b::1"),
                ("192.168.1.11", "2001:db8:1:b::1"),
                ("192.168.1.10", "2001:db8:2::1"),
            ]),
        },
        outside: pool_side(),
        ports: ANY_PORTS,
    };
    let lwaftr = format!(
        "[[instance]]\nname = \"lwaftr\"\nmechanism = \"lw4o6\"\nrole = \"aftr\"\nlocal = \"{BR}\"\n{OWN}sharing = [\n  \
         {{ v4 = \"192.0.2.0/24\", psid-length = 8, psid-offset = 6 }},\n]\nsoftwires = [\n  {{ b4 = \"{CE}\", \
         v4 = \"192.0.2.18\", psid = 0x34 }},\n  {{ b4 = \"{OTHER_CE}\", v4 = \"192.0.2.18\", psid = 0x35 }},\n]\n"
    );
    vec![
        aftr("aftr", ""),
        aftr(
            "aftr-limits",
            "subscriber-bindings = 4\nfiltering = \"address-dependent\"\n",
        ),
        border("lwaftr", lwaftr, Way::Softwire(v6(BR))),
    ]
}

/// A gateway of the provider without state: customers share an address by port sets.
fn border(name: &'static str, configuration: String, way: Way) -> Scenario {
    Scenario {
        name,
        configuration,
        inside: Side {
            way,
            hosts: hosts(&[
                ("192.0.2.18", CE),
                ("192.0.2.18", OTHER_CE),
                ("192.0.2.19", CE),
            ]),
        },
        outside: Side {
            way: Way::V4,
            hosts: hosts(&[("192.0.2.18", "::"), ("192.0.2.77", "::")]),
        },
        ports: SHARED_PORTS,
    }
}

/// A gateway of a customer, whose hosts share a port set of one address.
fn customer(name: &'static str, configuration: String, way: Way, local: &str) -> Scenario {
    Scenario {
        name,
        configuration,
        inside: Side {
            way: Way::V4,
            hosts: inside_v4(),
        },
        outside: Side {
            way,
            hosts: hosts(&[("192.0.2.18", local), ("192.0.2.18", OTHER_CE)]),
        },
        ports: ANY_PORTS,
    }
}

fn lwb4() -> String {
    format!(
        "[[instance]]\nname = \"it\"\nmechanism = \"lw4o6\"\nrole = \"b4\"\nlocal = \"{CE}\"\naftr = \"{BR}\"\n\
         address = \"192.0.2.18\"\npsid = 52\npsid-length = 8\ninside = [\"192.168.0.0/16\"]\n{OWN}{SMALL}"
    )
}

fn shared() -> Vec<Scenario> {
    let default = "2001:db8:ffff::";
    let site = format!(
        "end-user-prefix = \"2001:db8:12:3400::/56\"\ninside = [\"192.168.0.0/16\"]\n{OWN}{SMALL}"
    );
    let head = |mechanism: &str, role: &str, more: &str| {
        format!(
            "[[instance]]\nname = \"it\"\nmechanism = \"{mechanism}\"\nrole = \"{role}\"\n{more}"
        )
    };
    let translated = Way::V6(v6(default), 64);
    let (prefix, local) = (
        format!("prefix = \"{default}/64\"\n{RULE}"),
        format!("local = \"{BR}\"\n{RULE}"),
    );
    let clat = format!(
        "[[instance]]\nname = \"it\"\nmechanism = \"clat\"\nprefix = \"{PREFIX}/96\"\nlocal = \"2001:db8:1::464\"\n\
         inside = [\"192.168.0.0/16\"]\n{OWN}{SMALL}"
    );
    vec![
        border(
            "map-t-br",
            head("map-t", "br", &format!("{prefix}{OWN}")),
            translated,
        ),
        border(
            "map-e-br",
            head("map-e", "br", &format!("{local}{OWN}")),
            Way::Softwire(v6(BR)),
        ),
        customer(
            "map-t-ce",
            head("map-t", "ce", &format!("{prefix}{site}")),
            translated,
            CE,
        ),
        customer(
            "map-t-ce-mesh",
            head(
                "map-t",
                "ce",
                &format!("{prefix}{site}mesh = true\nfiltering = \"address-dependent\"\n"),
            ),
            translated,
            CE,
        ),
        customer(
            "map-e-ce",
            head("map-e", "ce", &format!("br = \"{BR}\"\n{RULE}{site}")),
            Way::Softwire(v6(BR)),
            CE,
        ),
        customer("lwb4", lwb4(), Way::Softwire(v6(BR)), CE),
        customer("clat", clat, Way::V6(v6(PREFIX), 96), "2001:db8:1::464"),
    ]
}

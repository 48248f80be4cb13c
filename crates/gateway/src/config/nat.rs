//! The keys of the stateful mechanisms.

use std::fmt::Display;
use std::net::{IpAddr, SocketAddr, SocketAddrV4, SocketAddrV6};

use ipnet::IpNet;
use isthmus_core::address::port_set::PortSet;
use isthmus_core::address::special;
use isthmus_core::nat::{
    Endpoint4, Filtering, Inside, Limits, Pooling, StaticBinding, Timers, UnsolicitedSyn,
};
use isthmus_core::time::Span;

use super::diagnose::Diagnostic;
use super::document::{Nat, Pool, PortPolicy};
use super::own_limits;
use super::pcp::{self, Asking};
use super::section;
use super::source::At;
use super::table::{Reader, Value};

/// Family of the inside hosts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// NAT64
    V6,
    /// NAT44
    V4,
}

/// The NAT of a CE, which has one address. The caller reads its PCP.
pub(super) fn of_ce(reader: &Reader<'_>, address: At<Pool>) -> Nat {
    let defaults = Defaults {
        table: 1 << 16,
        subscribers: 1 << 10,
    };
    let mut nat = keys(reader, Side::V4, vec![address], &defaults);
    nat.subscriber_limits = own_limits::of(reader, Asking::V4, &nat);
    nat
}

/// Reads the keys that all mechanisms with a pool have in common.
pub(super) fn nat(reader: &Reader<'_>, side: Side) -> Option<Nat> {
    with_pool(reader, side, side.into())
}

/// The same for hosts behind softwires.
pub(super) fn of_softwires(reader: &Reader<'_>) -> Option<Nat> {
    with_pool(reader, Side::V4, Asking::Softwires)
}

fn with_pool(reader: &Reader<'_>, side: Side, asking: Asking) -> Option<Nat> {
    if reader.get("pool").is_none() {
        let example = "[{ addresses = \"203.0.113.0/28\", ports = \"1024-65535\" }]";
        reader.missing("pool", example);
    }
    let pool = section::each(reader, "pool", "a list of addresses with ports", pool);
    let defaults = Defaults {
        table: 1 << 20,
        subscribers: 1 << 16,
    };
    let mut nat = Nat {
        pcp: pcp::of_ports(reader, asking),
        count_traffic: reader
            .read("count-traffic", |v| v.boolean())
            .unwrap_or(false),
        ..keys(reader, side, pool, &defaults)
    };
    nat.subscriber_limits = own_limits::of(reader, asking, &nat);
    warn_without_limits(reader, &nat);
    (!nat.pool.is_empty()).then_some(nat)
}

/// Warns of a pool of which one subscriber can take all (RFC 6888 section 3, REQ-4 and REQ-5).
fn warn_without_limits(reader: &Reader<'_>, nat: &Nat) {
    let bounded = nat.subscriber_sessions != 0 || nat.subscriber_bindings != 0;
    let Some(pool) = reader.get("pool").filter(|_| !bounded) else {
        return;
    };
    if nat.ports.value == PortPolicy::Single {
        let message = "one subscriber can take all ports of the pool within seconds";
        let label =
            "expected a limit beside it, such as `subscriber-bindings = 2048`, or `port-blocks`";
        reader
            .sink
            .push(Diagnostic::warning(pool.span, message, label));
    }
}

/// New sessions of a subscriber in a second, unless something else is configured: far more than the busiest
/// household makes, and a small part of what the gateway can.
const SESSIONS_PER_SECOND: u32 = 1000;
/// The most that can be configured: one each nanosecond.
pub(super) const MOST_SESSIONS_PER_SECOND: u32 = 1_000_000_000;

/// Nanoseconds from one session to the next at so many a second; 0: no bound.
pub(super) fn interval(per_second: u32) -> u32 {
    MOST_SESSIONS_PER_SECOND
        .checked_div(per_second)
        .unwrap_or(0)
}

impl Nat {
    /// What a subscriber may have.
    #[must_use]
    pub fn limits(&self) -> Limits {
        Limits {
            bindings: self.subscriber_bindings,
            sessions: self.subscriber_sessions,
            session_interval: interval(self.subscriber_session_rate),
        }
    }
}

/// The default sizes of tables.
struct Defaults {
    /// Sessions, and bindings.
    table: u32,
    subscribers: u32,
}

fn keys(reader: &Reader<'_>, side: Side, pool: Vec<At<Pool>>, defaults: &Defaults) -> Nat {
    let most = |key, range| reader.read(key, |v| v.integer::<u32>(range));
    // Bounds that keep the tables within 2^32 lines of memory, and the memory within reason.
    let table = 16..=(1 << 28);
    Nat {
        pool,
        set: PortSet::WHOLE,
        pcp: None,
        subscriber_prefix: subscriber_prefix(reader, side),
        filtering: reader
            .choice("filtering")
            .unwrap_or(Filtering::EndpointIndependent),
        unsolicited_syn: reader
            .choice("unsolicited-syn")
            .unwrap_or(UnsolicitedSyn::Drop),
        pooling: reader.choice("pooling").unwrap_or(Pooling::Strict),
        max_bindings: most("max-bindings", table.clone()).unwrap_or(defaults.table),
        max_sessions: most("max-sessions", table.clone()).unwrap_or(defaults.table),
        max_subscribers: most("max-subscribers", table).unwrap_or(defaults.subscribers),
        max_fragments: most("max-fragments", 16..=(1 << 20)).unwrap_or(4096),
        count_traffic: false,
        subscriber_sessions: most("subscriber-sessions", 0..=u32::MAX).unwrap_or(0),
        subscriber_session_rate: most("subscriber-session-rate", 0..=MOST_SESSIONS_PER_SECOND)
            .unwrap_or(SESSIONS_PER_SECOND),
        subscriber_bindings: most("subscriber-bindings", 0..=u32::MAX).unwrap_or(0),
        subscriber_limits: Vec::new(),
        ports: ports(reader, side),
        static_bindings: section::each(reader, "static", "a list of bindings", |v| {
            static_binding(v, side)
        }),
        timers: timers(reader, side),
    }
}

/// `{ addresses = "…", ports = "…" }`
fn pool(value: Value<'_>) -> Option<At<Pool>> {
    let example = "a table such as { addresses = \"203.0.113.0/28\", ports = \"1024-65535\" }";
    let reader = value.table("an entry of `pool`", example)?;
    let addresses = reader.needs("addresses", "\"203.0.113.0/28\"", |v| v.ipv4_net());
    let ports = match reader.get("ports") {
        None => Some(Pool::DEFAULT_PORTS),
        Some(value) => value.ports(),
    };
    reader.finish(|_| None);
    Some(value.at(Pool {
        addresses: addresses?,
        ports: ports?,
    }))
}

fn subscriber_prefix(reader: &Reader<'_>, side: Side) -> u8 {
    if side == Side::V4 {
        return 32;
    }
    let value = reader.get("subscriber-prefix");
    value.and_then(|v| v.integer(32..=128)).unwrap_or(64)
}

fn ports(reader: &Reader<'_>, side: Side) -> At<PortPolicy> {
    let blocks = reader.get("port-blocks");
    let deterministic = reader.get("deterministic");
    if let (Some(blocks), Some(deterministic)) = (blocks, deterministic) {
        let message = "`port-blocks` and `deterministic` exclude each other";
        let label = "takes its blocks by calculation";
        let help = "keep `deterministic` if no log of ports is wanted (RFC 7422), \
                    `port-blocks` if subscribers may need more ports than one block";
        reader.sink.push(
            Diagnostic::error(deterministic.span, message, label)
                .also(blocks.span, "takes its blocks on demand")
                .help(help),
        );
    }
    let policy = match (blocks, deterministic) {
        (Some(value), _) => port_blocks(&value).map(|policy| value.at(policy)),
        (None, Some(value)) => by_calculation(&value, side).map(|policy| value.at(policy)),
        (None, None) => None,
    };
    policy.unwrap_or(reader.at(PortPolicy::Single))
}

fn port_blocks(value: &Value<'_>) -> Option<PortPolicy> {
    let example = "a table such as { size = 512, per-subscriber = 4 }";
    let reader = value.table("`port-blocks`", example)?;
    let size = reader.needs("size", "512", |v| block_size(&v));
    let most = reader.get("per-subscriber");
    let per_subscriber = most.and_then(|v| v.integer(1..=4)).unwrap_or(4);
    reader.finish(|_| None);
    Some(PortPolicy::Blocks {
        size: size?,
        per_subscriber,
    })
}

/// A power of two, because the data plane numbers the blocks of an address with shifts.
fn block_size(value: &Value<'_>) -> Option<u16> {
    let size: u16 = value.integer(8..=8192)?;
    if !size.is_power_of_two() {
        let below = size.next_power_of_two() / 2;
        let expected = format!(
            "expected a power of two from 8 to 8192, such as {below} or {}",
            2 * below
        );
        value.refuse(format_args!("is {size}"), expected);
        return None;
    }
    Some(size)
}

fn by_calculation(value: &Value<'_>, side: Side) -> Option<PortPolicy> {
    let (example, net) = match side {
        Side::V6 => (
            "{ inside = \"2001:db8::/56\", size = 512 }",
            "\"2001:db8::/56\"",
        ),
        Side::V4 => (
            "{ inside = \"10.0.0.0/22\", size = 512 }",
            "\"10.0.0.0/22\"",
        ),
    };
    let reader = value.table("`deterministic`", &format!("a table such as {example}"))?;
    let inside = reader.needs("inside", net, |v| match side {
        Side::V6 => v.ipv6_net().map(IpNet::V6),
        Side::V4 => v.ipv4_net().map(IpNet::V4),
    });
    let size = reader.needs("size", "512", |v| v.integer(8..=32768));
    reader.finish(|_| None);
    Some(PortPolicy::Deterministic {
        inside: inside?,
        size: size?,
    })
}

/// `{ protocol = "…", inside = "…", outside = "…" }`
fn static_binding(value: Value<'_>, side: Side) -> Option<At<StaticBinding>> {
    let (example, inside) = match side {
        Side::V6 => (
            "{ protocol = \"tcp\", inside = \"[2001:db8::80]:80\", outside = \"203.0.113.1:80\" }",
            "\"[2001:db8::80]:80\"",
        ),
        Side::V4 => (
            "{ protocol = \"tcp\", inside = \"10.0.0.80:80\", outside = \"203.0.113.1:80\" }",
            "\"10.0.0.80:80\"",
        ),
    };
    let reader = value.table(
        "an entry of `static`",
        &format!("a table such as {example}"),
    )?;
    let protocol = reader.needs("protocol", "\"tcp\"", |v| v.choice());
    let inside = reader.needs("inside", inside, |v| match side {
        Side::V6 => host(&v, v6_endpoint(&v)?).map(|end| Inside {
            address: (*end.ip()).into(),
            port: end.port(),
            ..Inside::default()
        }),
        Side::V4 => host(&v, v4_endpoint(&v)?).map(|end| Inside {
            v4: (*end.ip()).into(),
            port: end.port(),
            ..Inside::default()
        }),
    });
    let outside = reader.needs("outside", "\"203.0.113.1:80\"", |v| v4_endpoint(&v));
    reader.finish(|_| None);
    Some(value.at(StaticBinding {
        protocol: protocol?,
        inside: inside?,
        outside: outside.map(|end| Endpoint4 {
            address: (*end.ip()).into(),
            port: end.port(),
        })?,
    }))
}

/// Refuses the address of an inside host that no host can have.
fn host<S: Copy + Into<SocketAddr>>(value: &Value<'_>, end: S) -> Option<S> {
    let address = end.into().ip();
    let illegal = match address {
        IpAddr::V4(address) => special::is_illegal_destination_v4(address.into()),
        IpAddr::V6(address) => special::is_illegal_destination_v6(address.into()),
    };
    if illegal {
        let expected = "expected a unicast address that is neither loopback nor link-local";
        value.refuse(format_args!("has {address}, which no host has"), expected);
    }
    (!illegal).then_some(end)
}

/// An IPv4 address and a port.
fn v4_endpoint(value: &Value<'_>) -> Option<SocketAddrV4> {
    match value.socket()? {
        SocketAddr::V4(socket) => Some(socket),
        SocketAddr::V6(socket) => refuse_family(value, socket, "IPv4"),
    }
}

/// An IPv6 address and a port.
fn v6_endpoint(value: &Value<'_>) -> Option<SocketAddrV6> {
    match value.socket()? {
        SocketAddr::V6(socket) => Some(socket),
        SocketAddr::V4(socket) => refuse_family(value, socket, "IPv6"),
    }
}

fn refuse_family<T>(value: &Value<'_>, socket: impl Display, family: &str) -> Option<T> {
    let expected = format!("expected an {family} address here");
    value.refuse(format_args!("is \"{socket}\""), expected);
    None
}

/// The severity of a timer below its minimum.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Short {
    /// A mistake: an RFC says that it must not be.
    Mistake,
    /// A doubt: it is not what an RFC recommends, or the operator wants it so.
    Doubt,
}

/// `[instance.timers]`, and `allow-short-timers` beside it.
fn timers(reader: &Reader<'_>, side: Side) -> Timers {
    let mut timers = Timers::default();
    let allowed = reader.read("allow-short-timers", |v| v.boolean());
    let Some(value) = reader.get("timers") else {
        return timers;
    };
    let Some(reader) = value.table("[instance.timers]", "a table of seconds") else {
        return timers;
    };
    // What a shorter timer breaks is said by the RFC that sets the minimum.
    let seconds = |key, into: &mut Span, least: u32, short: Short, rfc: &str| {
        let Some(value) = reader.get(key) else { return };
        let Some(number) = value.integer::<u32>(1..=31_536_000) else {
            return;
        };
        *into = Span::from_secs(number.into());
        if number >= least {
            return;
        }
        let message = format!("`{key}` is {number} s, below the minimum of its RFC");
        let label = format!("at least {least} ({rfc})");
        reader
            .sink
            .push(if short == Short::Mistake && allowed != Some(true) {
                Diagnostic::error(value.span, message, label)
                    .help("write `allow-short-timers = true` into the instance to allow it")
            } else {
                Diagnostic::warning(value.span, message, label)
            });
    };
    // RFC 7857 section 2.1 lets operators choose these.
    let transitory = "RFC 6146 section 4, TCP_TRANS";
    let mut both = timers.tcp_opening;
    seconds("tcp-transitory", &mut both, 240, Short::Doubt, transitory);
    (timers.tcp_opening, timers.tcp_closing) = (both, both);
    let udp = "RFC 6146 section 4, UDP_MIN; RFC 4787 section 4.3, REQ-5";
    seconds("udp", &mut timers.udp, 120, Short::Mistake, udp);
    let established = "RFC 6146 section 4, TCP_EST; RFC 5382 section 5, REQ-5";
    let into = &mut timers.tcp_established;
    seconds("tcp-established", into, 7440, Short::Mistake, established);
    let into = &mut timers.tcp_opening;
    seconds("tcp-opening", into, 240, Short::Doubt, transitory);
    let into = &mut timers.tcp_closing;
    seconds("tcp-closing", into, 240, Short::Doubt, transitory);
    let (short, icmp) = match side {
        Side::V6 => (Short::Doubt, "RFC 6146 section 4, ICMP_DEFAULT"),
        Side::V4 => (Short::Mistake, "RFC 5508 section 3.2, REQ-2"),
    };
    seconds("icmp", &mut timers.icmp, 60, short, icmp);
    let fragment = "RFC 6146 section 4, FRAGMENT_MIN";
    seconds(
        "fragment",
        &mut timers.fragment,
        2,
        Short::Mistake,
        fragment,
    );
    reader.finish(|_| None);
    timers
}

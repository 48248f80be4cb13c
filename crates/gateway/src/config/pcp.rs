//! `[instance.pcp]`

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net};
use isthmus_core::address::rfc6052;
use isthmus_core::mechanism::aftr;
use isthmus_pcp::Limits;

use super::document::{Pcp, PcpPath, PcpProxy};
use super::nat::Side;
use super::section;
use super::source::At;
use super::table::{Reader, Value};

/// The address of a B4 in its softwire (RFC 6333 section 5.7).
const B4: Ipv4Addr = Ipv4Addr::new(192, 0, 0, 2);

/// The address at which the nearest server is asked (RFC 7723 section 3).
const ANYCAST: Ipv6Addr = Ipv6Addr::new(0x2001, 1, 0, 0, 0, 0, 0, 1);

/// The hosts that ask for ports.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Asking {
    /// IPv6 hosts.
    V6,
    /// IPv4 hosts.
    V4,
    /// B4s, in their softwires or over IPv6.
    Softwires,
}

impl From<Side> for Asking {
    fn from(side: Side) -> Self {
        match side {
            Side::V6 => Self::V6,
            Side::V4 => Self::V4,
        }
    }
}

impl Asking {
    /// Where they do so, for example.
    const fn listen(self) -> &'static str {
        match self {
            Self::V6 => "[\"2001:db8::1\"]",
            Self::V4 => "[\"192.168.1.1\"]",
            Self::Softwires => "[\"192.0.0.1\"]",
        }
    }

    /// Returns an example of these hosts.
    const fn clients(self) -> &'static str {
        match self {
            Self::V6 | Self::Softwires => "a list of networks such as \"2001:db8::/32\"",
            Self::V4 => "a list of networks such as \"192.168.1.0/24\"",
        }
    }
}

/// Reads the table of an instance that has ports.
pub(super) fn pcp(value: &Value<'_>, asking: Asking) -> Option<Pcp> {
    let reader = table(value, asking)?;
    let (listen, clients) = places(&reader, asking);
    let lifetime = lifetime(&reader);
    let per_host = reader.read("per-host", |v| v.integer(1..=65_535));
    reader.finish(|_| None);
    // No address of the machine, but one that packets in softwires are sent to.
    let softwires = |at: &At<IpAddr>| asking == Asking::Softwires && at.value.is_ipv4();
    let (in_softwires, listen): (Vec<_>, _) = listen?.into_iter().partition(softwires);
    Some(Pcp {
        listen,
        in_softwires: !in_softwires.is_empty(),
        clients,
        lifetime: lifetime?,
        per_host: per_host.unwrap_or(Limits::default().per_host as u32),
    })
}

/// Reads the table of an instance that has ports, if there is one.
pub(super) fn of_ports(reader: &Reader<'_>, asking: Asking) -> Option<Pcp> {
    reader.get("pcp").and_then(|value| pcp(&value, asking))
}

/// The table of a CLAT.
pub(super) struct OfClat<'t> {
    listen: Vec<At<IpAddr>>,
    clients: Vec<At<IpNet>>,
    server: Ipv6Addr,
    /// Where the server is configured.
    place: Value<'t>,
}

/// Reads the table of a CLAT. The ports of its NAT are not known outside, so that requests are passed on to
/// the PLAT.
pub(super) fn of_clat<'t>(value: &Value<'t>) -> Option<OfClat<'t>> {
    let reader = table(value, Asking::V4)?;
    let (listen, clients) = places(&reader, Asking::V4);
    let given = reader.get("server");
    let server = match given {
        None => Some(ANYCAST),
        Some(given) => given.ipv6(),
    };
    reader.finish(of_servers);
    Some(OfClat {
        listen: listen?,
        clients,
        server: server?,
        place: given.unwrap_or(*value),
    })
}

impl OfClat<'_> {
    /// The proxy of a CLAT with this address and prefix.
    pub(super) fn at(self, local: Ipv6Addr, prefix: &rfc6052::Prefix) -> Option<PcpProxy> {
        let server = self.server;
        if prefix.extract(server.into()).is_some() || server == local {
            self.place.refuse(
                format_args!(
                    "passes requests on to {server}, which is `local` or lies under `prefix`"
                ),
                "expected the IPv6 address at which the PLAT serves PCP",
            );
            return None;
        }
        Some(PcpProxy {
            listen: self.listen,
            clients: self.clients,
            server: server.into(),
            own: local.into(),
            path: PcpPath::Nat,
        })
    }
}

/// Advice for keys that only servers have.
fn of_servers(key: &str) -> Option<String> {
    let theirs = ["min-lifetime", "max-lifetime", "per-host"].contains(&key);
    theirs.then(|| "only where the ports are, at the AFTR or the PLAT".to_owned())
}

/// Reads the table of a B4. The ports are at its AFTR, which is its default router and so the default server (RFC 6887 section 8.1, RFC 6333 section 10). Packets to `networks` go there.
pub(super) fn of_b4(value: &Value<'_>, networks: &[At<Ipv4Net>]) -> Option<PcpProxy> {
    let reader = table(value, Asking::V4)?;
    let (listen, clients) = places(&reader, Asking::V4);
    let given = reader.get("server");
    let server = match given {
        None => Some(aftr::OWN.into()),
        Some(given) => given.ipv4(),
    };
    reader.finish(of_servers);
    let (listen, server) = (listen?, server?);
    if !networks.iter().any(|net| net.value.contains(&server)) {
        let at = given.unwrap_or(*value);
        at.refuse(
            format_args!("passes requests on to {server}, which is not among `networks`"),
            "expected an address that is reached through the softwire",
        );
        return None;
    }
    Some(PcpProxy {
        listen,
        clients,
        server: server.into(),
        own: B4.into(),
        path: PcpPath::Softwire,
    })
}

fn table<'t>(value: &Value<'t>, asking: Asking) -> Option<Reader<'t>> {
    let listen = asking.listen();
    value.table(
        "[instance.pcp]",
        &format!("a table such as {{ listen = {listen} }}"),
    )
}

/// `listen` and `clients`.
fn places(reader: &Reader<'_>, asking: Asking) -> (Option<Vec<At<IpAddr>>>, Vec<At<IpNet>>) {
    let example = asking.listen();
    let listen = reader.require("listen", example).map(|value| {
        let addresses = section::each(reader, "listen", "a list of addresses", |v| {
            Some(v.at(address(&v, asking)?))
        });
        if addresses.is_empty() && value.value.as_array().is_some_and(|list| list.is_empty()) {
            value.refuse("is empty", format!("expected addresses such as {example}"));
        }
        addresses
    });
    let clients = section::each(reader, "clients", asking.clients(), |v| {
        Some(v.at(v.network()?))
    });
    (listen.filter(|listen| !listen.is_empty()), clients)
}

fn address(value: &Value<'_>, asking: Asking) -> Option<IpAddr> {
    let address = value.ip()?;
    if asking == Asking::Softwires && address.is_ipv4() && address != IpAddr::V4(aftr::OWN.into()) {
        value.refuse(
            format_args!("is {address}"),
            "expected 192.0.0.1, which is the AFTR in its softwires (RFC 6333 section 6.5), or an \
             IPv6 address of this machine",
        );
        return None;
    }
    if address.is_unspecified() || address.is_multicast() {
        value.refuse(
            format_args!("is {address}"),
            "expected an address of this machine that hosts inside send to, not one of all: \
             hosts outside must not ask (RFC 6887 section 8.2)",
        );
        return None;
    }
    Some(address)
}

/// RFC 6887 section 15 recommends these bounds.
fn lifetime(reader: &Reader<'_>) -> Option<(u32, u32)> {
    let seconds = |key| reader.read(key, |v| v.integer(1..=31_536_000));
    let usual = Limits::default();
    let shortest = seconds("min-lifetime").unwrap_or(usual.shortest.as_secs() as u32);
    let longest = seconds("max-lifetime").unwrap_or(usual.longest.as_secs() as u32);
    if shortest > longest {
        let value = reader.get("max-lifetime").or(reader.get("min-lifetime"))?;
        value.refuse(
            format_args!("makes the longest lifetime {longest} s, the shortest {shortest} s"),
            "expected `max-lifetime` to be no less than `min-lifetime`",
        );
        return None;
    }
    Some((shortest, longest))
}

impl fmt::Display for PcpProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let listen: Vec<_> = self.listen.iter().map(|at| at.value.to_string()).collect();
        write!(
            f,
            "PCP and NAT-PMP requests at {} are passed on to {}, from {}{}",
            listen.join(", "),
            self.server,
            self.own,
            match self.path {
                PcpPath::Softwire => "",
                PcpPath::Nat => ", with ports of the NAT",
            }
        )?;
        if self.clients.is_empty() {
            return Ok(());
        }
        let clients: Vec<_> = self.clients.iter().map(|at| at.value.to_string()).collect();
        write!(f, "; only {} may ask", clients.join(", "))
    }
}

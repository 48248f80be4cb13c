//! A pool on an address of this machine: its ports, and those that the machine's own sockets have or may get there.

use std::collections::BTreeSet;
use std::fs;
use std::net::Ipv4Addr;

use nix::ifaddrs::getifaddrs;

use super::diagnose::Diagnostic;
use super::document::{Document, Pool};
use super::source::At;

/// Ports that the machine needs for connections of its own, at least.
pub(crate) const FEWEST: usize = 1024;
/// The ports of connections that name none.
pub(crate) const RANGE: &str = "ipv4/ip_local_port_range";

/// Warns of ports that pools and the machine's sockets have in common.
pub(super) fn warnings(document: &Document) -> Vec<Diagnostic> {
    let overlaps = overlaps(document);
    overlaps.iter().map(Overlap::diagnostic).collect()
}

/// The ports that a pool has, and the machine needs.
#[derive(Clone, Debug)]
pub(crate) struct Overlap<'a> {
    /// The pool.
    pub(crate) pool: &'a At<Pool>,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    /// Sockets wait there, which hear nothing of what belongs to a session at their port.
    Taken(Vec<String>),
    /// Too few of this range are left for connections of the machine itself to have them apart.
    Few((u16, u16)),
}

impl Overlap<'_> {
    /// The overlap in words.
    pub(crate) fn message(&self) -> String {
        let (low, high) = self.pool.ports;
        match &self.kind {
            Kind::Taken(ports) => {
                let ports = ports.join(", ");
                format!("sockets of this machine have ports of the pool: {ports}")
            }
            Kind::Few((first, last)) => format!(
                "connections of this machine itself have ports {first} to {last}, and the pool has {low} to {high}"
            ),
        }
    }

    /// Its consequence.
    pub(crate) const fn consequence(&self) -> &'static str {
        match self.kind {
            Kind::Taken(_) => {
                "A port goes to a session if one has it, and the service there does not hear of it"
            }
            Kind::Few(_) => "A connection of the machine may get the port of a session, and fail",
        }
    }

    fn diagnostic(&self) -> Diagnostic {
        let label = "these addresses are this machine's own, too";
        let help = match self.kind {
            Kind::Taken(_) => {
                "a port goes to a session if one has it: leave the ports of services out of `ports`"
                    .to_owned()
            }
            Kind::Few(_) => format!(
                "leave at least {FEWEST} of them out of `ports`, or change net.ipv4.ip_local_port_range; otherwise a \
                 connection may get the port of a session, and fail"
            ),
        };
        Diagnostic::warning(self.pool.span, self.message(), label).help(help)
    }
}

/// Finds ports that pools and the machine's sockets have in common.
pub(crate) fn overlaps(document: &Document) -> Vec<Overlap<'_>> {
    let own = addresses();
    let is_shared = |pool: &&At<Pool>| own.iter().any(|own| pool.addresses.contains(own));
    let shared: Vec<_> = document.pools().filter(is_shared).collect();
    if shared.is_empty() {
        return Vec::new();
    }
    let sockets = sockets();
    let range = fs::read_to_string(format!("/proc/sys/net/{RANGE}")).unwrap_or_default();
    let range = ephemeral(&range);
    let mut overlaps = Vec::new();
    for pool in shared {
        let taken = taken(pool, &own, &sockets);
        if !taken.is_empty() {
            let kind = Kind::Taken(taken);
            overlaps.push(Overlap { pool, kind });
        }
        if left(range, [pool.ports]) < FEWEST {
            let kind = Kind::Few(range);
            overlaps.push(Overlap { pool, kind });
        }
    }
    overlaps
}

/// The ports of sockets in a pool.
fn taken(pool: &At<Pool>, own: &[Ipv4Addr], sockets: &BTreeSet<Socket>) -> Vec<String> {
    let (low, high) = pool.ports;
    let is_taken = |socket: &&Socket| {
        let here = socket.address.is_unspecified()
            || (pool.addresses.contains(&socket.address) && own.contains(&socket.address));
        here && (low..=high).contains(&socket.port)
    };
    let taken = sockets.iter().filter(is_taken);
    let ports: BTreeSet<String> = taken
        .map(|socket| format!("{} {}", socket.protocol, socket.port))
        .collect();
    ports.into_iter().collect()
}

/// How many ports of a range are in none of these.
pub(crate) fn left(
    (first, last): (u16, u16),
    taken: impl IntoIterator<Item = (u16, u16)>,
) -> usize {
    let mut left: BTreeSet<u16> = (first..=last).collect();
    for (low, high) in taken {
        left.retain(|port| !(low..=high).contains(port));
    }
    left.len()
}

/// The first and the last port of `ip_local_port_range`.
pub(crate) fn ephemeral(text: &str) -> (u16, u16) {
    let mut numbers = text.split_whitespace().map(str::parse);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(first)), Some(Ok(last))) => (first, last),
        // The kernel's default.
        _ => (32_768, 60_999),
    }
}

/// The IPv4 addresses of this machine.
fn addresses() -> Vec<Ipv4Addr> {
    let Ok(all) = getifaddrs() else {
        return Vec::new();
    };
    all.filter_map(|one| Some(one.address?.as_sockaddr_in()?.ip()))
        .collect()
}

/// A socket that waits for strangers.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Socket {
    protocol: &'static str,
    address: Ipv4Addr,
    port: u16,
}

fn sockets() -> BTreeSet<Socket> {
    let files = [
        ("TCP", "tcp"),
        ("TCP", "tcp6"),
        ("UDP", "udp"),
        ("UDP", "udp6"),
    ];
    let of = |(protocol, file): (&'static str, &str)| {
        let text = fs::read_to_string(format!("/proc/net/{file}")).unwrap_or_default();
        let lines: Vec<_> = text
            .lines()
            .filter_map(|line| socket(protocol, line))
            .collect();
        lines
    };
    files.into_iter().flat_map(of).collect()
}

/// A line of `/proc/net/tcp` and its like: number, local and remote address, state. What is connected, or bound to an
/// IPv6 address, is left out.
fn socket(protocol: &'static str, line: &str) -> Option<Socket> {
    const LISTENING: &str = "0A";
    const UNCONNECTED: &str = "07";
    let mut fields = line.split_whitespace().skip(1);
    let (address, port) = fields.next()?.split_once(':')?;
    let state = fields.nth(1)?;
    if ![LISTENING, UNCONNECTED].contains(&state) {
        return None;
    }
    // Four bytes as a number of this machine; an IPv6 address is longer, and has to be unspecified.
    let address = match address.len() {
        8 => Ipv4Addr::from(u32::from_str_radix(address, 16).ok()?.to_ne_bytes()),
        _ if address.bytes().all(|digit| digit == b'0') => Ipv4Addr::UNSPECIFIED,
        _ => return None,
    };
    Some(Socket {
        protocol,
        address,
        port: u16::from_str_radix(port, 16).ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_that_wait_are_read() {
        let listening =
            "   0: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0";
        let expected = Socket {
            protocol: "TCP",
            address: Ipv4Addr::UNSPECIFIED,
            port: 22,
        };
        assert_eq!(socket("TCP", listening), Some(expected));
        let connected = listening.replace(" 0A ", " 01 ");
        assert_eq!(socket("TCP", &connected), None);
        let title = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt";
        assert_eq!(socket("TCP", title), None);
        let any =
            "  1: 00000000000000000000000000000000:0035 00000000000000000000000000000000:0000 07 0";
        assert_eq!(socket("UDP", any).unwrap().port, 53);
    }

    #[test]
    fn ports_are_counted_once() {
        assert_eq!(left((32_768, 60_999), [(1024, 40_000)]), 20_999);
        assert_eq!(
            left((32_768, 60_999), [(1024, 65_535), (50_000, 50_001)]),
            0
        );
        assert_eq!(left((10, 19), [(1, 12), (12, 13), (19, 30)]), 5);
        assert_eq!(ephemeral("32768\t60999\n"), (32_768, 60_999));
    }
}

//! The octets that a mechanism adds to packets, counted on the cables.

use std::{net::UdpSocket, time::Duration};

use super::super::{profile::Profile, subject::Setup, testbed::Testbed};
use crate::{
    LabError, Result,
    figures::{results::Point, statistics::median},
    network::{
        topology::HOST_INTERFACE,
        wire::{Counts, Tap},
    },
    subjects::provider::{CORE, CORE_LINKS},
};

/// The datagrams of a row, and the number of rows.
const DATAGRAMS: u32 = 40;
const ROWS: usize = 5;
/// The payload in octets: paper 002's smallest.
const PAYLOAD: usize = 100;
/// The frame of such a datagram over IPv6 without a tunnel: headers of 14, 40 and 8 octets.
const PLAIN: f64 = 14.0 + 40.0 + 8.0 + PAYLOAD as f64;
/// The time in which all arrive.
const PATIENCE: Duration = Duration::from_millis(100);

/// Returns the octets that a mechanism adds to a packet from the client: after the first gateway, in the core if there
/// is one, else at the server. Where the client is the end of a tunnel itself, those on the cable that has the most.
pub(crate) fn added(testbed: &mut Testbed, _: Profile) -> Result<Vec<Point>> {
    let [client, server] = testbed.nodes();
    let before = tap(testbed, client, HOST_INTERFACE);
    let behind =
        tap(testbed, CORE, CORE_LINKS[0]).or_else(|_| tap(testbed, server, HOST_INTERFACE));
    let (before, behind) = (before?, behind?);
    // The first row resolves neighbours and opens sessions.
    send(testbed)?;
    let mut added = [0.0; ROWS];
    for added in &mut added {
        let (left, arrived) = (before.left(), behind.arrived());
        send(testbed)?;
        let before = mean(&before.left().since(&left));
        let behind = mean(&behind.arrived().since(&arrived));
        *added = match testbed.subject().setup {
            Setup::Hosts(_) => before.max(behind) - PLAIN,
            _ => behind - before,
        };
    }
    Ok(vec![Point::new("there", 0.0, median(&mut added).round())])
}

fn tap(testbed: &Testbed, node: &str, interface: &str) -> Result<Tap> {
    let wires = testbed.network().wires();
    let tap = wires.and_then(|wires| wires.tap(node, interface));
    tap.ok_or_else(|| LabError::NoNode(format!("{node} with a cable at {interface}")))
}

/// Returns the mean octets of a frame. Some frames are not ours, such as neighbour solicitations, but few rows have
/// any.
fn mean(counts: &Counts) -> f64 {
    counts.bytes as f64 / counts.frames.max(1) as f64
}

fn send(testbed: &Testbed) -> Result<()> {
    let address = (testbed.address(), crate::traffic::generator::PORT);
    testbed.client()?.enter(|| {
        let problem = |source| LabError::Start {
            command: format!("datagrams to {}", address.0),
            source,
        };
        let any = if address.0.is_ipv4() {
            "0.0.0.0:0"
        } else {
            "[::]:0"
        };
        let socket = UdpSocket::bind(any).map_err(problem)?;
        for _ in 0..DATAGRAMS {
            socket.send_to(&[0; PAYLOAD], address).map_err(problem)?;
            std::thread::sleep(Duration::from_micros(200));
        }
        Ok(())
    })?;
    std::thread::sleep(PATIENCE);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::{links::Links, subjects};

    /// RFC 4213 section 3.1: a tunnel adds an IPv4 header, also if it begins in the host. RFC 7915: a translation to
    /// IPv4 takes 20 octets away.
    #[test]
    #[ignore = "builds networks, as root: of the tier namespaces"]
    fn tunnels_of_hosts_add_a_header_too() {
        let expected = [
            ("native-ipv6", 0.0),
            ("isatap-isthmus-user", 20.0),
            ("6to4-hosts-isthmus-user", 20.0),
            ("nat64-isthmus-user", -20.0),
        ];
        for (name, octets) in expected {
            let subjects = subjects();
            let subject = subjects.iter().find(|one| one.name == name).unwrap();
            let mut testbed = Testbed::build(subject, Links::Ethernet(100)).unwrap();
            let points = added(&mut testbed, Profile::Smoke).unwrap();
            assert_eq!(points[0].value, octets, "{name}");
        }
    }
}

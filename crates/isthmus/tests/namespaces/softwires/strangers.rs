//! Strangers who send fragments to the addresses that customers share.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use isthmus_lab::experiments::attack::{Flood, Packets, Rate};
use isthmus_lab::subjects::provider::Mechanism;

use super::net::{Net, ip};
use super::traffic::inside;
use crate::forward::counted;
use crate::gateway::Gateway;

const PORT: u16 = 7007;
/// How long a datagram may take.
const PATIENCE: Duration = Duration::from_millis(500);
/// The time between two datagrams of the victim's.
const INTERVAL: Duration = Duration::from_millis(10);
/// MTUs of the server's link with which a border forwards fragments as they are, and has to cut them.
pub(super) const AS_THEY_ARE: u32 = 1200;
pub(super) const CUT: u32 = 1500;
/// Octets of a datagram of the victim's: three fragments.
const LONG: usize = 3000;
const DATAGRAMS: usize = 200;
/// Datagrams that a busy machine may lose.
const LOST: usize = 6;
/// The fragments of strangers in a second.
const RATE: u32 = 100_000;
/// Where the last fragments of their datagrams begin, in octets.
const END: u16 = 1448;

/// Last fragments of datagrams that never become whole, from sources that are made up, take nothing from the datagrams of a
/// customer, whose fragments come in order: the border knows by the first whose they are. First fragments of strangers would
/// go on to other customers, for whom this network has no CE; a test of the table has these (`core/tests/nat/border.rs`).
pub(super) fn take_nothing(row: &Mechanism, engine: &str, mtu: u32) {
    let Some(net) = Net::new(row) else {
        return;
    };
    ip(&net.server, &format!("link set eth0 mtu {mtu}"));
    net.server
        .sysctl(&[("net.ipv4.ip_no_pmtu_disc", "1")])
        .unwrap();
    let (ce, br) = net.start(row, engine);
    let [client, server] = [(&net.client, "0.0.0.0:0".to_owned()), {
        let at: SocketAddr = (row.server.address(), PORT).into();
        (&net.server, at.to_string())
    }]
    .map(|(node, at)| {
        let socket = inside(node, || UdpSocket::bind(at)).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket
    });
    let victim = seen(&client, row, &server);
    let SocketAddr::V4(shared) = victim else {
        panic!("{victim}");
    };

    let to = *shared.ip();
    let packets: Packets = Arc::new(move |number| last(number, to));
    let rate = Rate::PerSecond(RATE);
    let flood = Flood::start(&net.server, &packets, 0, rate).unwrap();
    let refused = || counted(&br, engine, |row| row["counter"] == "slow-path-share");
    br.wait_until(|_| refused() > 0);
    let arrived = (0..DATAGRAMS).filter(|_| {
        std::thread::sleep(INTERVAL);
        server.send_to(&[7; LONG], victim).unwrap();
        client.recv(&mut [0; LONG]).ok() == Some(LONG)
    });
    let lost = DATAGRAMS - arrived.count();
    let (sent, _) = flood.stop().unwrap();
    let told = format!(
        "{lost} of {DATAGRAMS} lost, {} of {sent} refused\n{}",
        refused(),
        tell(&br)
    );
    println!("{told}");
    assert!(lost <= LOST, "{told}");
    assert!(ce.stop().success() && br.stop().success());
}

/// The address and port of the client as the server sees them. The first packets wait for neighbours.
fn seen(client: &UdpSocket, row: &Mechanism, server: &UdpSocket) -> SocketAddr {
    let asked = (0..5).find_map(|_| {
        client.send_to(b"?", (row.server.address(), PORT)).unwrap();
        server.recv_from(&mut [0; 1]).ok()
    });
    asked.expect("a packet of the client").1
}

/// The last fragment of a datagram of its own.
fn last(number: u64, to: Ipv4Addr) -> Vec<u8> {
    // An odd factor: as many sources as numbers.
    let source = 0x2000_0000 | (number as u32).wrapping_mul(0x9e37_79b1) >> 5;
    let mut packet = vec![0x45, 0, 0, 28];
    packet.extend((number as u16).to_be_bytes());
    packet.extend((END / 8).to_be_bytes());
    // The kernel fills in the checksum.
    packet.extend([64, 17, 0, 0]);
    packet.extend(source.to_be_bytes());
    packet.extend(to.octets());
    packet.extend([0; 8]);
    packet
}

fn tell(gateway: &Gateway) -> String {
    gateway.json("counters --engines").to_string()
}

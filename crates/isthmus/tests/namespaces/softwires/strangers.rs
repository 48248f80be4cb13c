//! Strangers who send to the addresses that customers share what only their first packets, or what they quote, say the customer
//! of.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use isthmus_lab::experiments::attack::{Flood, Packets, Rate, forged_error, lonely_fragment};
use isthmus_lab::subjects::provider::Mechanism;

use super::net::{Net, ip};
use super::traffic::inside;
use crate::forward::counted;
use crate::gateway::Gateway;

const PORT: u16 = 7007;
/// A port of the server where nobody is.
const CLOSED: u16 = 7008;
/// How long an answer may take.
const PATIENCE: Duration = Duration::from_millis(500);
/// The time between two trials of the victim's.
const INTERVAL: Duration = Duration::from_millis(10);
/// MTUs of the server's link with which a border forwards fragments as they are, and has to cut them.
pub(super) const AS_THEY_ARE: u32 = 1200;
pub(super) const CUT: u32 = 1500;
/// Octets of a datagram of the victim's: three fragments.
const LONG: usize = 3000;
const TRIALS: usize = 200;
/// Trials that a busy machine may fail. Without defences 56 to 98 do.
const FAILED: usize = 6;
/// The packets of strangers in a second.
const RATE: u32 = 100_000;
/// An address that no customer has (RFC 2544 appendix C.2.2).
const ELSEWHERE: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 2);

/// Last fragments of datagrams that never become whole, from sources that are made up, take nothing from the datagrams of a
/// customer, whose fragments come in order: the border knows by the first whose they are. First fragments of strangers would
/// go on to other customers, for whom this network has no CE; a test of the table has these (`core/tests/nat/border.rs`).
pub(super) fn with_fragments(row: &Mechanism, engine: &str, mtu: u32) {
    let Some(customer) = Customer::new(row, engine, mtu) else {
        return;
    };
    let (client, server) = (&customer.client, &customer.server);
    let seen = (customer.address, customer.port);
    customer.holds(last_fragment, || {
        server.send_to(&[7; LONG], seen).unwrap();
        client.recv(&mut [0; LONG]).ok() == Some(LONG)
    });
    customer.stop();
}

/// ICMP errors about packets that nobody sent take nothing from those about the packets of a customer.
pub(super) fn with_errors(row: &Mechanism, engine: &str) {
    let Some(customer) = Customer::new(row, engine, CUT) else {
        return;
    };
    let at: SocketAddr = (row.server.address(), CLOSED).into();
    let client = &customer.client;
    client.connect(at).unwrap();
    customer.holds(error_about_another, || {
        client.send(b"?").unwrap();
        let refused = client.recv(&mut [0; 1]).map_err(|error| error.kind());
        refused == Err(ErrorKind::ConnectionRefused)
    });
    customer.stop();
}

/// A customer of a border, and the server that it talks to.
struct Customer<'a> {
    engine: &'a str,
    net: Net,
    ce: Gateway,
    br: Gateway,
    client: UdpSocket,
    server: UdpSocket,
    /// The shared address and the port as which the server sees the client.
    address: Ipv4Addr,
    port: u16,
}

impl<'a> Customer<'a> {
    fn new(row: &Mechanism, engine: &'a str, mtu: u32) -> Option<Self> {
        let net = Net::new(row)?;
        ip(&net.server, &format!("link set eth0 mtu {mtu}"));
        let settings = [
            ("net.ipv4.ip_no_pmtu_disc", "1"),
            ("net.ipv4.icmp_ratelimit", "0"),
        ];
        net.server.sysctl(&settings).unwrap();
        let (ce, br) = net.start(row, engine);
        let at: SocketAddr = (row.server.address(), PORT).into();
        let anywhere = (Ipv4Addr::UNSPECIFIED, 0).into();
        let [client, server] = [(&net.client, anywhere), (&net.server, at)].map(|(node, at)| {
            let socket = inside(node, || UdpSocket::bind(at)).unwrap();
            socket.set_read_timeout(Some(PATIENCE)).unwrap();
            socket
        });
        // The first packets wait for neighbours.
        let seen = (0..5).find_map(|_| {
            client.send_to(b"?", at).unwrap();
            server.recv_from(&mut [0; 1]).ok()
        });
        let Some((_, SocketAddr::V4(seen))) = seen else {
            panic!("{seen:?}");
        };
        Some(Self {
            engine,
            net,
            ce,
            br,
            client,
            server,
            address: *seen.ip(),
            port: seen.port(),
        })
    }

    /// Has strangers send packets with these numbers to the address, and the customer try something meanwhile, which fails
    /// hardly ever.
    fn holds(&self, packet: fn(u64, Ipv4Addr) -> Vec<u8>, each: impl Fn() -> bool) {
        let to = self.address;
        let packets: Packets = Arc::new(move |number| packet(number, to));
        let rate = Rate::PerSecond(RATE);
        let flood = Flood::start(&self.net.server, &packets, 0, rate).unwrap();
        let stopped = ["slow-path-share", "icmp-inner"];
        let stopped = || {
            counted(&self.br, self.engine, |row| {
                stopped.iter().any(|name| row["counter"] == *name)
            })
        };
        self.br.wait_until(|_| stopped() > 0);
        let failed = (0..TRIALS).filter(|_| {
            std::thread::sleep(INTERVAL);
            !each()
        });
        let failed = failed.count();
        let (sent, _) = flood.stop().unwrap();
        let told = format!(
            "{failed} of {TRIALS} failed, {} of {sent} stopped\n{}",
            stopped(),
            self.br.json("counters --engines")
        );
        println!("{told}");
        assert!(failed <= FAILED, "{told}");
    }

    fn stop(self) {
        assert!(self.ce.stop().success() && self.br.stop().success());
    }
}

/// The last fragment of a datagram of its own.
fn last_fragment(number: u64, to: Ipv4Addr) -> Vec<u8> {
    lonely_fragment(2 * number + 1, to)
}

/// An error about a packet that nobody there can have sent.
fn error_about_another(number: u64, to: Ipv4Addr) -> Vec<u8> {
    forged_error(number, to, ELSEWHERE)
}

//! Floods beside a customer of a border: strangers, who send to the addresses that customers share what only their first packets,
//! or what they quote, say the customer of, and a neighbour in its own softwire.

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use isthmus_lab::experiments::attack::{
    Flood, Packets, Rate, datagram, forged_error, lonely_fragment, unreachable,
};
use isthmus_lab::network::netns::Namespace;
use isthmus_lab::subjects::provider::Mechanism;
use isthmus_lab::traffic::packet::Ends;

use super::net::{Net, ip};
use super::traffic::{IPV4, inside};
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
/// The packets of others in a second.
const RATE: u32 = 100_000;
/// The counters of packets that the border stops.
const STOPPED: [&str; 3] = ["slow-path-share", "icmp-inner", "tunnel-source"];
/// An address that no customer has (RFC 2544 appendix C.2.2).
const ELSEWHERE: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 2);

/// Last fragments of datagrams that never become whole, from sources that are made up, take nothing from the datagrams of a
/// customer, whose fragments come in order: the border knows by the first whose they are. First fragments of strangers would
/// go on to other customers, for whom this network has no CE; a test of the table has these (`core/tests/nat/border.rs`).
pub(super) fn with_fragments(row: &Mechanism, engine: &str, mtu: u32) {
    let Some(customer) = Customer::new(row, engine, mtu) else {
        return;
    };
    let to = customer.address;
    // Each the last of a datagram of its own.
    let packets = move |number| lonely_fragment(2 * number + 1, to);
    customer.gets_long_datagrams(&customer.net.server, packets);
    customer.stop();
}

/// Nor do packets for the customer's address and port in softwires of which nobody knows the other end: a border that took them
/// for those of its other customers would have them turn back.
pub(super) fn with_forged_softwires(row: &Mechanism, engine: &str) {
    let Some(customer) = Customer::new(row, engine, CUT) else {
        return;
    };
    let (to, port) = (customer.address, customer.port);
    customer.gets_long_datagrams(&customer.net.core, move |number| {
        // Each has a network of its own.
        let b4 = Ipv6Addr::from_bits(STRANGERS.to_bits() | u128::from(number as u32) << 64);
        let nobody = Neighbour { b4, ..OF_THE_AFTR };
        nobody.datagram_to(to, port)
    });
    customer.stop();
}

/// ICMP errors about packets that nobody sent take nothing from those about the packets of a customer.
pub(super) fn with_errors(row: &Mechanism, engine: &str) {
    let Some(customer) = Customer::new(row, engine, CUT) else {
        return;
    };
    let to = customer.address;
    let packets = move |number| forged_error(number, to, ELSEWHERE);
    customer.is_told_of_errors(&customer.net.server, packets);
    customer.stop();
}

/// Nor do errors that a neighbour sends in its own softwire, about datagrams to the port of the customer.
pub(super) fn with_errors_of_a_neighbour(row: &Mechanism, engine: &str, neighbour: Neighbour) {
    let Some(customer) = Customer::new(row, engine, CUT) else {
        return;
    };
    let IpAddr::V4(server) = row.server.address() else {
        panic!("an IPv4 server");
    };
    let port = customer.port;
    let packets = move |number| neighbour.error_about(server, port, number);
    customer.is_told_of_errors(&customer.net.core, packets);
    customer.stop();
}

/// Nor do packets of a neighbour to ports of the pool that nobody has, which would turn back: user space looks for sessions of all of
/// them.
pub(super) fn with_hairpins_of_a_neighbour(row: &Mechanism, engine: &str, neighbour: Neighbour) {
    let Some(customer) = Customer::new(row, engine, CUT) else {
        return;
    };
    let (pool, own) = (customer.address, customer.port);
    customer.gets_long_datagrams(&customer.net.core, move |number| {
        let port = number as u16;
        // Not to the customer, who would have to take them.
        let to = if port == own { port ^ 1 } else { port };
        neighbour.datagram_to(pool, to)
    });
    customer.stop();
}

/// Another customer of the same border.
#[derive(Clone, Copy)]
pub(super) struct Neighbour {
    /// The end of its softwire.
    b4: Ipv6Addr,
    /// Its address within.
    address: Ipv4Addr,
}

/// One of the AFTR, whose own addresses anybody else may have as well (RFC 6333 section 6.6).
pub(super) const OF_THE_AFTR: Neighbour = Neighbour {
    b4: Ipv6Addr::new(0x2001, 0xdb8, 0x12, 0x100, 0, 0, 0, 1),
    address: Ipv4Addr::new(192, 168, 1, 2),
};
/// One of the lwAFTR, with the address of the customer and other ports.
pub(super) const OF_THE_LWAFTR: Neighbour = Neighbour {
    b4: Ipv6Addr::new(0x2001, 0xdb8, 0x13, 0, 0, 0, 0, 1),
    address: Ipv4Addr::new(192, 0, 2, 18),
};
/// The networks of strangers.
const STRANGERS: Ipv6Addr = Ipv6Addr::new(0x3fff, 0xbad, 0, 0, 0, 0, 0, 1);
/// The border's end of every softwire.
const BORDER: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0xffff, 0, 0, 0, 0, 1);

impl Neighbour {
    /// A datagram within the softwire.
    fn datagram_to(self, to: Ipv4Addr, port: u16) -> Vec<u8> {
        let inner = datagram(Ends::V4(self.address, to), (PORT, port), &[0; 18]);
        Ends::V6(self.b4, BORDER).carry(IPV4, &inner, 0)
    }

    /// An error to a server, within the softwire, about a datagram from there to this port of the neighbour's address.
    fn error_about(self, server: Ipv4Addr, port: u16, number: u64) -> Vec<u8> {
        let ports = (number as u16, port);
        let quoted = datagram(Ends::V4(server, self.address), ports, &[0; 18]);
        let error = unreachable(self.address, server, &quoted);
        Ends::V6(self.b4, BORDER).carry(IPV4, &error, 0)
    }
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

    /// While a node sends these packets, datagrams of the server's get to the customer, which user space cuts where the server's
    /// link takes [`CUT`] octets.
    fn gets_long_datagrams(
        &self,
        node: &Namespace,
        packets: impl Fn(u64) -> Vec<u8> + Send + Sync + 'static,
    ) {
        let seen = (self.address, self.port);
        self.holds(node, packets, || {
            self.server.send_to(&[7; LONG], seen).unwrap();
            self.client.recv(&mut [0; LONG]).ok() == Some(LONG)
        });
    }

    /// While a node sends these packets, the customer hears that a port of the server is closed whenever it asks there.
    fn is_told_of_errors(
        &self,
        node: &Namespace,
        packets: impl Fn(u64) -> Vec<u8> + Send + Sync + 'static,
    ) {
        let mut at = self.server.local_addr().unwrap();
        at.set_port(CLOSED);
        self.client.connect(at).unwrap();
        self.holds(node, packets, || {
            self.client.send(b"?").unwrap();
            let refused = self.client.recv(&mut [0; 1]).map_err(|error| error.kind());
            refused == Err(ErrorKind::ConnectionRefused)
        });
    }

    /// Has a node send packets with these numbers, and the customer try something meanwhile, which fails hardly ever.
    fn holds(
        &self,
        node: &Namespace,
        packets: impl Fn(u64) -> Vec<u8> + Send + Sync + 'static,
        each: impl Fn() -> bool,
    ) {
        let packets: Packets = Arc::new(packets);
        let rate = Rate::PerSecond(RATE);
        let flood = Flood::start(node, &packets, 0, rate).unwrap();
        let stopped = || {
            counted(&self.br, self.engine, |row| {
                STOPPED.iter().any(|name| row["counter"] == *name)
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

//! SOCKS5 (RFC 1928, RFC 1929): connections and datagrams.

use std::io::{Read, Write};
use std::net::{SocketAddr, SocketAddrV4, TcpStream, UdpSocket};
use std::thread;
use std::time::Duration;

use isthmus_proxy::{Config, Counter};

use crate::common::{Origin, PATIENCE, Proxy, exchange, resolver};

fn start(change: impl FnOnce(&mut Config)) -> Proxy {
    Proxy::start(|config| {
        config.listen.clear();
        config.socks = vec!["127.0.0.1:0".parse().unwrap()];
        change(config);
    })
}

/// Says these octets, and reads so many.
fn say<const N: usize>(stream: &mut TcpStream, octets: &[u8]) -> [u8; N] {
    stream.write_all(octets).unwrap();
    let mut said = [0; N];
    stream.read_exact(&mut said).unwrap();
    said
}

/// A request for an IPv4 address.
fn request(command: u8, to: SocketAddr) -> Vec<u8> {
    let SocketAddr::V4(v4) = to else {
        panic!("{to}")
    };
    [
        &[5, command, 0, 1][..],
        &v4.ip().octets(),
        &v4.port().to_be_bytes(),
    ]
    .concat()
}

#[test]
fn rfc1928_4_connections_by_address_and_by_name() {
    let origin = Origin::start();
    let dns = resolver([127, 0, 0, 1].into());
    let proxy = start(|config| config.resolvers = vec![dns]);
    let port = origin.address.port().to_be_bytes();
    let by_name = [&[5, 1, 0, 3, 9][..], b"a.example", &port].concat();
    for request in [request(1, origin.address), by_name] {
        let mut client = proxy.connect();
        assert_eq!(say(&mut client, &[5, 1, 0]), [5, 0]);
        let [5, 0, 0, 1, rest @ ..] = say::<10>(&mut client, &request) else {
            panic!("no success")
        };
        assert_eq!(rest[..4], [127, 0, 0, 1]);
        assert!(exchange(&mut client, b"hello").ends_with("ok"));
        assert_eq!(origin.saw(), "hello");
    }
    assert_eq!(proxy.count(Counter::TunnelSocks), 2);
}

#[test]
fn rfc1928_6_what_fails_is_told() {
    let proxy = start(|config| {
        config.local_destinations = vec!["127.0.0.1/32".parse().unwrap()];
        config.ports = vec![9..=9, 1_024..=65_535];
    });
    let to = |text: &str| text.parse().unwrap();
    for (request, reply) in [
        (request(1, to("127.0.0.1:22")), 2),
        (request(1, to("127.0.0.9:9")), 2),
        (request(1, to("127.0.0.1:9")), 5),
        (request(2, to("127.0.0.1:9")), 7),
        (vec![5, 1, 0, 2, 0], 8),
        ([&[5, 1, 0, 3, 3][..], b"a b", &[0, 9]].concat(), 1),
        ([&[5, 1, 0, 3, 9][..], b"localhost", &[0, 9]].concat(), 2),
    ] {
        let mut client = proxy.connect();
        assert_eq!(say(&mut client, &[5, 2, 2, 0]), [5, 0]);
        assert_eq!(
            say::<10>(&mut client, &request)[..2],
            [5, reply],
            "{request:?}"
        );
    }
}

#[test]
fn who_speaks_something_else_gets_nothing() {
    let proxy = start(|_| {});
    for octets in [
        &b"GET / HTTP/1.1\r\n\r\n"[..],
        &[4, 1, 0, 80, 127, 0, 0, 1, 0],
        &[5, 0],
    ] {
        let said = exchange(&mut proxy.connect(), octets);
        assert!(said.is_empty() || said.as_bytes()[0] == 5, "{said:?}");
    }
    // Only a password, which nobody has.
    let mut client = proxy.connect();
    assert_eq!(say(&mut client, &[5, 1, 2]), [5, 0xff]);
}

/// Opens an association, and returns where its datagrams go.
fn associate(proxy: &Proxy) -> (TcpStream, SocketAddr) {
    let mut client = proxy.connect();
    assert_eq!(say(&mut client, &[5, 1, 0]), [5, 0]);
    let [5, 0, 0, 1, a, b, c, d, high, low] = say::<10>(
        &mut client,
        &request(3, SocketAddr::from(([0, 0, 0, 0], 0))),
    ) else {
        panic!("no association")
    };
    let port = u16::from_be_bytes([high, low]);
    (client, SocketAddrV4::new([a, b, c, d].into(), port).into())
}

fn socket(address: &str) -> UdpSocket {
    let socket = UdpSocket::bind(address).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket
}

fn datagram(to: SocketAddr, data: &[u8]) -> Vec<u8> {
    let mut octets = request(0, to);
    octets[0] = 0;
    [&octets[..], data].concat()
}

#[test]
fn rfc1928_7_datagrams_go_both_ways_and_nobody_else_is_heard() {
    let proxy = start(|_| {});
    let server = socket("127.0.0.1:0");
    let to = server.local_addr().unwrap();
    let (connection, relay) = associate(&proxy);
    let client = socket("127.0.0.1:0");
    client.send_to(&datagram(to, b"question"), relay).unwrap();
    let mut octets = [0; 2048];
    let (length, from) = server.recv_from(&mut octets).unwrap();
    assert_eq!(&octets[..length], b"question");
    // Another server, and another client, are not of this association.
    let stranger = socket("127.0.0.1:0");
    stranger.send_to(b"forged", from).unwrap();
    let neighbour = socket("127.0.0.1:0");
    neighbour.send_to(&datagram(to, b"stolen"), relay).unwrap();
    // Fragments are not put together, and nobody sees them.
    let mut fragment = datagram(to, b"fragment");
    fragment[2] = 1;
    client.send_to(&fragment, relay).unwrap();
    proxy.wait(Counter::DatagramForeign, 2);
    server.send_to(b"answer", from).unwrap();
    let (length, _) = client.recv_from(&mut octets).unwrap();
    assert_eq!(octets[..length], datagram(to, b"answer"));
    server
        .set_read_timeout(Some(Duration::from_millis(200)))
        .unwrap();
    assert!(server.recv_from(&mut octets).is_err());
    // It ends with its connection.
    drop(connection);
    thread::sleep(Duration::from_millis(200));
    let _ = client.send_to(&datagram(to, b"late"), relay);
    assert!(server.recv_from(&mut octets).is_err());
}

#[test]
fn datagrams_reach_no_more_than_connections_do() {
    let proxy = start(|config| config.local_destinations = vec!["127.0.0.1/32".parse().unwrap()]);
    let victim = socket("127.0.0.9:0");
    let (_connection, relay) = associate(&proxy);
    let client = socket("127.0.0.1:0");
    let to = victim.local_addr().unwrap();
    client.send_to(&datagram(to, b"attack"), relay).unwrap();
    proxy.wait(Counter::DestinationRefused, 1);
    victim
        .set_read_timeout(Some(Duration::from_millis(200)))
        .unwrap();
    assert!(victim.recv_from(&mut [0; 64]).is_err());
}

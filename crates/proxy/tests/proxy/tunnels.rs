//! Octets of tunnels: all of them, in order, with their end.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use isthmus_proxy::Counter;

use crate::common::{Origin, PATIENCE, Proxy, exchange, head};

/// So many that most of them go through a pipe.
const MANY: usize = 24 * 1024 * 1024;

/// Octets that show where they are from.
fn octets(seed: u8, length: usize) -> Vec<u8> {
    let mut state = u32::from(seed) + 1;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    (0..length).map(|_| next()).collect()
}

/// A server that sends `down`, and hands back what it got.
fn exchanger(down: Vec<u8>) -> (SocketAddr, thread::JoinHandle<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let task = thread::spawn(move || both(listener.accept().unwrap().0, down));
    (address, task)
}

/// Writes everything and the end, while everything that comes is read.
fn both(stream: TcpStream, out: Vec<u8>) -> Vec<u8> {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut writer = stream.try_clone().unwrap();
    let writing = thread::spawn(move || {
        writer.write_all(&out).unwrap();
        writer.shutdown(Shutdown::Write).unwrap();
    });
    let mut read = Vec::new();
    (&stream).read_to_end(&mut read).unwrap();
    writing.join().unwrap();
    read
}

/// Opens a tunnel.
fn tunnel(proxy: &Proxy, to: SocketAddr) -> TcpStream {
    let mut client = proxy.connect();
    write!(client, "CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n\r\n").unwrap();
    let said = head(&mut client);
    assert!(said.starts_with("HTTP/1.1 200 "), "{said}");
    client
}

#[test]
fn a_tunnel_carries_everything_both_ways() {
    let proxy = Proxy::start(|_| {});
    for length in [0, 1, 16_384, 65_537, MANY] {
        let (up, down) = (octets(1, length), octets(2, length / 2));
        let (server, task) = exchanger(down.clone());
        let client = tunnel(&proxy, server);
        assert!(both(client, up.clone()) == down, "{length}");
        assert!(task.join().unwrap() == up, "{length}");
    }
    assert_eq!(proxy.count(Counter::TunnelConnect), 5);
    assert!(
        proxy.count(Counter::Spliced) >= 2,
        "{}",
        proxy.count(Counter::Spliced)
    );
}

/// A client need not wait for the response (RFC 9110 section 9.3.6 warns of it, and some do it).
#[test]
fn what_follows_a_request_at_once_is_part_of_the_tunnel() {
    let (proxy, origin) = (Proxy::start(|_| {}), Origin::start());
    let request = format!(
        "CONNECT {} HTTP/1.1\r\nHost: x\r\n\r\nearly",
        origin.address
    );
    let said = exchange(&mut proxy.connect(), request.as_bytes());
    assert!(said.ends_with("ok"), "{said}");
    assert_eq!(origin.saw(), "early");
}

#[test]
fn the_end_of_one_side_reaches_the_other() {
    let proxy = Proxy::start(|_| {});
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut client = tunnel(&proxy, listener.local_addr().unwrap());
    let (server, _) = listener.accept().unwrap();
    // A reset, such as of a server that crashed.
    server.set_nodelay(true).unwrap();
    client.write_all(b"unread").unwrap();
    thread::sleep(Duration::from_millis(100));
    drop(server);
    let mut octets = [0; 16];
    assert!(matches!(client.read(&mut octets), Ok(0) | Err(_)));
}

#[test]
fn a_tunnel_that_carries_nothing_ends_and_a_busy_one_does_not() {
    let proxy = Proxy::start(|config| config.idle_timeout = Duration::from_secs(1));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let mut idle = tunnel(&proxy, address);
    let (_held, _) = listener.accept().unwrap();
    let mut busy = tunnel(&proxy, address);
    let (mut server, _) = listener.accept().unwrap();
    // One direction is enough.
    for _ in 0..12 {
        server.write_all(b"x").unwrap();
        thread::sleep(Duration::from_millis(250));
    }
    let mut octets = [0; 16];
    assert_eq!(idle.read(&mut octets).unwrap(), 0);
    assert!(busy.read(&mut octets).unwrap() > 0);
    assert_eq!(proxy.count(Counter::Idle), 1);
}

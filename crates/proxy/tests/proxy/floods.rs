//! Clients that take what they can get, and one that wants a little: another address on the same proxy.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use isthmus_proxy::{Config, Counter};
use socket2::{Domain, Socket, Type};

use crate::common::{Origin, Proxy, exchange, head};

const ATTACKER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
const VICTIM: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 3);
/// Connections that each client may have.
const EACH: usize = 8;

/// A proxy with room for two clients, of which each has half.
fn start(change: impl FnOnce(&mut Config)) -> Proxy {
    Proxy::start(|config| {
        config.client_connections = EACH;
        config.connections = 2 * EACH;
        change(config);
    })
}

/// A connection from this address.
fn connect(from: Ipv4Addr, proxy: &Proxy) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::from((from, 0)).into()).unwrap();
    socket.connect(&proxy.address().into()).unwrap();
    let stream = TcpStream::from(socket);
    let patience = Some(Duration::from_secs(30));
    stream.set_read_timeout(patience).unwrap();
    stream
}

/// The victim gets a page and a tunnel.
fn is_served(proxy: &Proxy) {
    let origin = Origin::start();
    let to = origin.address;
    let get = format!("GET http://{to}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    let said = exchange(&mut connect(VICTIM, proxy), get.as_bytes());
    assert!(said.ends_with("ok"), "{said}");
    let tunnel = format!("CONNECT {to} HTTP/1.1\r\nHost: x\r\n\r\nhello");
    let said = exchange(&mut connect(VICTIM, proxy), tunnel.as_bytes());
    assert!(said.ends_with("ok"), "{said}");
}

/// Opens a tunnel to a server.
fn tunnel(from: Ipv4Addr, proxy: &Proxy, to: SocketAddr) -> TcpStream {
    let mut stream = connect(from, proxy);
    write!(stream, "CONNECT {to} HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let said = head(&mut stream);
    assert!(said.starts_with("HTTP/1.1 200 "), "{said}");
    stream
}

#[test]
fn a_flood_of_connections_ends_at_the_share_of_its_client() {
    const MANY: usize = 300;
    let proxy = start(|_| {});
    let held: Vec<_> = (0..MANY).map(|_| connect(ATTACKER, &proxy)).collect();
    proxy.wait(Counter::ClientConnections, (MANY - EACH) as u64);
    is_served(&proxy);
    // As soon as they are gone, the attacker is a client like any other.
    drop(held);
    proxy.wait(Counter::Connection, (MANY + 2) as u64);
    assert_eq!(proxy.count(Counter::ConnectionsFull), 0);
}

#[test]
fn a_flood_of_heads_that_never_end_ends_by_the_clock() {
    let proxy = start(|config| config.head_timeout = Duration::from_secs(4));
    let mut held: Vec<_> = (0..EACH).map(|_| connect(ATTACKER, &proxy)).collect();
    for (at, stream) in held.iter_mut().enumerate() {
        let begun = [
            "GET http://x/ HTTP/1.1\r\nX: ",
            "CONNECT x:1 HTTP/1.1\r\nX: ",
        ][at % 2];
        stream.write_all(begun.as_bytes()).unwrap();
    }
    is_served(&proxy);
    for stream in &mut held {
        let mut rest = Vec::new();
        let ended = stream.read_to_end(&mut rest);
        assert!(
            !matches!(&ended, Err(error) if error.kind() == ErrorKind::WouldBlock),
            "{ended:?}"
        );
    }
}

/// The data that waits for a client that does not read is bounded by the sockets' buffers: the server cannot go on writing.
#[test]
fn clients_that_do_not_read_hold_up_their_servers_and_nobody_else() {
    let proxy = start(|config| config.idle_timeout = Duration::from_secs(5));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let to = listener.local_addr().unwrap();
    let servers = thread::spawn(move || {
        let endless = |mut stream: TcpStream| {
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n")?;
            let mut written = 0;
            loop {
                written += match stream.write(&[0; 1 << 16]) {
                    Ok(octets) => octets,
                    // The proxy has cut it off.
                    Err(_) => return std::io::Result::Ok(written),
                };
            }
        };
        let streams = (0..EACH).map(|_| listener.accept().unwrap().0);
        let tasks: Vec<_> = streams
            .map(|stream| thread::spawn(move || endless(stream)))
            .collect();
        let written = tasks.into_iter().map(|task| task.join().unwrap().unwrap());
        written.collect::<Vec<_>>()
    });
    let mut held: Vec<_> = (0..EACH / 2)
        .map(|_| tunnel(ATTACKER, &proxy, to))
        .collect();
    for _ in 0..EACH / 2 {
        let mut stream = connect(ATTACKER, &proxy);
        write!(stream, "GET http://{to}/ HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        held.push(stream);
    }
    is_served(&proxy);
    for written in servers.join().unwrap() {
        assert!(written < 64 << 20, "{written} octets are somewhere");
    }
}

#[test]
fn servers_that_accept_and_say_nothing_are_given_up() {
    let proxy = start(|config| config.idle_timeout = Duration::from_secs(5));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let to = listener.local_addr().unwrap();
    let mut held: Vec<_> = (0..EACH).map(|_| tunnel(ATTACKER, &proxy, to)).collect();
    is_served(&proxy);
    for stream in &mut held {
        assert_eq!(stream.read(&mut [0]).unwrap(), 0);
    }
    proxy.wait(Counter::Idle, EACH as u64);
}

#[test]
fn servers_that_do_not_even_accept_are_given_up() {
    let proxy = start(|config| config.connect_timeout = Duration::from_secs(4));
    let full = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    full.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into())
        .unwrap();
    full.listen(0).unwrap();
    let to = full.local_addr().unwrap().as_socket().unwrap();
    // Its queue has room for one. From then on it answers no SYN.
    let _queued = TcpStream::connect(to).unwrap();
    let request = format!("CONNECT {to} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    let mut held: Vec<_> = (0..EACH).map(|_| connect(ATTACKER, &proxy)).collect();
    for stream in &mut held {
        stream.write_all(request.as_bytes()).unwrap();
    }
    is_served(&proxy);
    for stream in &mut held {
        let said = head(stream);
        assert!(said.starts_with("HTTP/1.1 504 "), "{said}");
        assert!(said.contains("error=connection_timeout"), "{said}");
    }
}

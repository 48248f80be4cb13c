//! Clients that take more than their share, or their time.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;
use std::time::{Duration, Instant};

use isthmus_proxy::Counter;

use crate::common::{Origin, PATIENCE, Proxy, exchange, head};

#[test]
fn a_client_has_so_many_connections_and_no_more() {
    let (proxy, origin) = (
        Proxy::start(|config| config.client_connections = 2),
        Origin::start(),
    );
    let request = format!(
        "GET http://{}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        origin.address
    );
    let held = [proxy.connect(), proxy.connect()];
    proxy.wait(Counter::Connection, 2);
    assert_eq!(exchange(&mut proxy.connect(), request.as_bytes()), "");
    assert_eq!(proxy.count(Counter::ClientConnections), 1);
    // The places are free again once the connections have ended.
    drop(held);
    let begun = Instant::now();
    while !exchange(&mut proxy.connect(), request.as_bytes()).ends_with("ok") {
        assert!(begun.elapsed() < PATIENCE);
    }
}

#[test]
fn a_place_belongs_to_a_tunnel_until_it_ends() {
    let proxy = Proxy::start(|config| config.client_connections = 1);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut client = proxy.connect();
    let to = listener.local_addr().unwrap();
    write!(client, "CONNECT {to} HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    assert!(head(&mut client).contains("200"));
    assert_eq!(
        exchange(&mut proxy.connect(), b"GET / HTTP/1.1\r\n\r\n"),
        ""
    );
    drop((client, listener.accept().unwrap()));
    let begun = Instant::now();
    while exchange(&mut proxy.connect(), b"GET / HTTP/1.1\r\n\r\n").is_empty() {
        assert!(begun.elapsed() < PATIENCE);
        thread::sleep(Duration::from_millis(10));
    }
}

/// Octets that come one at a time do not make the time longer; the victim is served meanwhile.
#[test]
fn a_slow_head_ends_in_time() {
    let (proxy, origin) = (
        Proxy::start(|config| config.head_timeout = Duration::from_secs(1)),
        Origin::start(),
    );
    let begun = Instant::now();
    let mut slow = proxy.connect();
    slow.set_read_timeout(Some(Duration::from_millis(100)))
        .unwrap();
    let mut octet = [0];
    loop {
        let _ = slow.write_all(b"G");
        match slow.read(&mut octet) {
            Ok(0) => break,
            Err(error) if error.kind() != std::io::ErrorKind::WouldBlock => break,
            _ => assert!(begun.elapsed() < PATIENCE),
        }
    }
    assert!(begun.elapsed() >= Duration::from_millis(900));
    let request = format!(
        "GET http://{}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        origin.address
    );
    assert!(exchange(&mut proxy.connect(), request.as_bytes()).ends_with("ok"));
}

#[test]
fn a_silent_server_is_told_of() {
    let proxy = Proxy::start(|config| config.idle_timeout = Duration::from_secs(1));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let to = listener.local_addr().unwrap();
    let request = format!("GET http://{to}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    let said = exchange(&mut proxy.connect(), request.as_bytes());
    assert!(said.starts_with("HTTP/1.1 504 "), "{said}");
    assert!(said.contains("error=http_response_timeout"), "{said}");
}

#[test]
fn a_server_that_is_no_server_is_told_of() {
    for answer in [
        "",
        "SSH-2.0-x\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
    ] {
        let proxy = Proxy::start(|_| {});
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let to = listener.local_addr().unwrap();
        let task = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut octets = [0; 1024];
            let _ = stream.read(&mut octets);
            let _ = stream.write_all(answer.as_bytes());
        });
        let request = format!("GET http://{to}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        let said = exchange(&mut proxy.connect(), request.as_bytes());
        assert!(said.starts_with("HTTP/1.1 502 "), "{answer:?}: {said}");
        task.join().unwrap();
    }
}

#[test]
fn a_kept_connection_carries_the_next_request_and_a_closed_one_does_not() {
    let proxy = Proxy::start(|_| {});
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let to = listener.local_addr().unwrap();
    let task = thread::spawn(move || {
        // The first connection takes two requests, and then there is another.
        for requests in [2, 1] {
            let (mut stream, _) = listener.accept().unwrap();
            for _ in 0..requests {
                assert!(head(&mut stream).starts_with("GET / "));
                stream
                    .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
                    .unwrap();
            }
        }
    });
    let mut client = proxy.connect();
    for _ in 0..3 {
        write!(client, "GET http://{to}/ HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        assert!(head(&mut client).starts_with("HTTP/1.1 200 "));
        let mut body = [0; 2];
        client.read_exact(&mut body).unwrap();
        thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(proxy.count(Counter::ServerReused), 1);
    assert_eq!(proxy.count(Counter::ServerV4), 2);
    task.join().unwrap();
}

//! Cases of more than one turn.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread::{self, JoinHandle};

use isthmus_proxy::Counter;

use crate::common::{Proxy, connect, exchange, head};

/// A server whose one connection a function has.
fn server<T: Send + 'static>(
    talk: impl FnOnce(TcpStream) -> T + Send + 'static,
) -> (SocketAddr, JoinHandle<T>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let task = thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let patience = Some(std::time::Duration::from_secs(30));
        stream.set_read_timeout(patience).unwrap();
        talk(stream)
    });
    (address, task)
}

fn read(stream: &mut TcpStream, octets: usize) -> String {
    let mut read = vec![0; octets];
    stream.read_exact(&mut read).unwrap();
    String::from_utf8(read).unwrap()
}

/// The handshake of RFC 6455 section 1.2.
fn handshake(to: SocketAddr) -> String {
    format!(
        "GET http://{to}/chat HTTP/1.1\r\nHost: {to}\r\nUpgrade: WebSocket\r\nConnection: keep-alive, Upgrade\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    )
}

/// RFC 9110 section 7.8, RFC 6455: octets go both ways after the change, also those that came at once with it.
#[test]
fn a_web_socket_works_from_end_to_end() {
    let (address, task) = server(|mut stream| {
        let asked = head(&mut stream).to_lowercase();
        let agreed = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
                      Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\nearly";
        stream.write_all(agreed.as_bytes()).unwrap();
        let said = read(&mut stream, 9);
        stream.write_all(b"pong").unwrap();
        let mut rest = String::new();
        stream.read_to_string(&mut rest).unwrap();
        (asked, said, rest)
    });
    let proxy = Proxy::start(|_| {});
    let mut client = proxy.connect();
    // A client may not speak before the answer, and some do.
    let asks = handshake(address) + "quick";
    client.write_all(asks.as_bytes()).unwrap();
    let answered = head(&mut client);
    assert!(answered.starts_with("HTTP/1.1 101 "), "{answered}");
    for field in [
        "connection: upgrade\r\n",
        "upgrade: websocket\r\n",
        "s3pPLMBi",
    ] {
        assert!(answered.contains(field), "{answered}");
    }
    assert_eq!(read(&mut client, 5), "early");
    client.write_all(b"ping").unwrap();
    assert_eq!(read(&mut client, 4), "pong");
    client.shutdown(Shutdown::Write).unwrap();
    let (asked, said, rest) = task.join().unwrap();
    assert!(asked.starts_with("get /chat http/1.1\r\n"), "{asked}");
    for field in [
        "connection: upgrade\r\n",
        "upgrade: websocket\r\n",
        "sec-websocket-key: ",
    ] {
        assert!(asked.contains(field), "{asked}");
    }
    assert_eq!((said.as_str(), rest.as_str()), ("quickping", ""));
    assert_eq!(proxy.count(Counter::TunnelUpgrade), 1);
}

/// A server need not agree; the connection goes on with HTTP.
#[test]
fn a_refused_upgrade_is_a_response_like_any_other() {
    let (address, task) = server(|mut stream| {
        head(&mut stream);
        let refused = "HTTP/1.1 426 Upgrade Required\r\nContent-Length: 2\r\n\r\nno";
        stream.write_all(refused.as_bytes()).unwrap();
        let next = head(&mut stream);
        stream.write_all(super::OK.as_bytes()).unwrap();
        next
    });
    let proxy = Proxy::start(|_| {});
    let mut client = proxy.connect();
    client.write_all(handshake(address).as_bytes()).unwrap();
    assert!(head(&mut client).starts_with("HTTP/1.1 426 "));
    assert_eq!(read(&mut client, 2), "no");
    let next =
        format!("GET http://{address}/next HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    assert!(exchange(&mut client, next.as_bytes()).ends_with("ok"));
    let seen = task.join().unwrap();
    assert!(
        seen.starts_with("GET /next ") && !seen.contains("upgrade"),
        "{seen}"
    );
}

/// RFC 9110 section 7.8: a server may not choose what was not offered, and we offer nothing but WebSocket.
#[test]
fn no_other_protocol_gets_through() {
    let (address, task) = server(|mut stream| {
        let asked = head(&mut stream);
        let changed =
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n";
        stream.write_all(changed.as_bytes()).unwrap();
        asked
    });
    let proxy = Proxy::start(|_| {});
    let asks = handshake(address).replace("Upgrade: WebSocket", "Upgrade: h2c, websocket");
    let asks = asks.replace("keep-alive", "close");
    let said = exchange(&mut proxy.connect(), asks.as_bytes());
    assert!(said.starts_with("HTTP/1.1 502 "), "{said}");
    let asked = task.join().unwrap();
    assert!(!asked.contains("h2c"), "{asked}");
}

/// RFC 9110 section 10.1.1: who waits for 100 gets it, and then the response.
#[test]
fn a_client_that_waits_to_continue_is_told_to() {
    let (address, task) = server(|mut stream| {
        let asked = head(&mut stream);
        let content = read(&mut stream, 5);
        stream.write_all(super::OK.as_bytes()).unwrap();
        (asked, content)
    });
    let proxy = Proxy::start(|_| {});
    let mut client = proxy.connect();
    write!(
        client,
        "POST http://{address}/ HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nExpect: 100-Continue\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    assert_eq!(head(&mut client), "HTTP/1.1 100 Continue\r\n\r\n");
    let said = exchange(&mut client, b"hello");
    assert!(
        said.starts_with("HTTP/1.1 200 ") && said.ends_with("ok"),
        "{said}"
    );
    let (asked, content) = task.join().unwrap();
    assert!(asked.contains("expect: 100-Continue\r\n"), "{asked}");
    assert_eq!(content, "hello");
}

/// RFC 9112 section 9.3.2: many requests in one write, to two servers in turns.
#[test]
fn pipelined_requests_are_answered_in_order() {
    let proxy = Proxy::start(|_| {});
    let origin = |name: &'static str| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let asked = head(&mut stream);
                let path = asked.split(' ').nth(1).unwrap_or_default();
                let content = format!("{name}{path};");
                let head = format!(
                    "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n",
                    content.len()
                );
                let _ = stream.write_all((head + &content).as_bytes());
            }
        });
        address
    };
    let origins = [origin("a"), origin("b")];
    let requests: String = (0..32)
        .map(|at| {
            format!(
                "GET http://{}/{at} HTTP/1.1\r\nHost: x\r\n\r\n",
                origins[at % 2]
            )
        })
        .collect();
    let last = format!(
        "GET http://{}/end HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        origins[0]
    );
    let said = exchange(&mut proxy.connect(), (requests + &last).as_bytes());
    let contents = said
        .split("\r\n\r\n")
        .skip(1)
        .map(|text| text.split(';').next().unwrap());
    let wanted = (0..32).map(|at| format!("{}/{at}", ["a", "b"][at % 2]));
    let wanted: Vec<_> = wanted.chain(["a/end".to_owned()]).collect();
    assert_eq!(contents.collect::<Vec<_>>(), wanted);
}

/// Content goes on as it comes: neither side waits for the end of it.
#[test]
fn content_is_not_held_back() {
    let (address, task) = server(|mut stream| {
        head(&mut stream);
        assert_eq!(read(&mut stream, 8), "3\r\none\r\n");
        let begun = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n";
        stream.write_all(begun.as_bytes()).unwrap();
        assert_eq!(read(&mut stream, 13), "3\r\ntwo\r\n0\r\n\r\n");
        stream.write_all(b"0\r\n\r\n").unwrap();
    });
    let proxy = Proxy::start(|_| {});
    let mut client = proxy.connect();
    let begin = format!(
        "POST http://{address}/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n3\r\none\r\n"
    );
    client.write_all(begin.as_bytes()).unwrap();
    assert!(head(&mut client).starts_with("HTTP/1.1 200 "));
    assert_eq!(read(&mut client, 7), "2\r\nok\r\n");
    let rest = exchange(&mut client, b"3\r\ntwo\r\n0\r\n\r\n");
    assert_eq!(rest, "0\r\n\r\n");
    task.join().unwrap();
}

/// RFC 9112 section 8: content that breaks off is not made whole.
#[test]
fn a_client_that_leaves_in_the_middle_has_sent_no_request() {
    for (framing, begin) in [
        ("Content-Length: 9", "half"),
        ("Transfer-Encoding: chunked", "4\r\nhalf\r\n"),
    ] {
        let (address, task) = server(|mut stream| {
            let mut seen = String::new();
            let _ = stream.read_to_string(&mut seen);
            seen
        });
        let proxy = Proxy::start(|_| {});
        let mut client = proxy.connect();
        let request =
            format!("POST http://{address}/ HTTP/1.1\r\nHost: x\r\n{framing}\r\n\r\n{begin}");
        client.write_all(request.as_bytes()).unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        let seen = task.join().unwrap();
        assert!(seen.ends_with(begin), "{seen}");
        drop(client);
    }
}

/// Who has left gets nothing more, and the server is not left waiting with its response.
#[test]
fn a_server_learns_that_the_client_has_left() {
    let (address, task) = server(|mut stream| {
        head(&mut stream);
        let begun = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        stream.write_all(begun).unwrap();
        // Until the proxy hangs up.
        let chunk = format!("1000\r\n{}\r\n", "a".repeat(0x1000));
        while stream.write_all(chunk.as_bytes()).is_ok() {}
    });
    let proxy = Proxy::start(|_| {});
    let mut client = connect(proxy.address());
    write!(client, "GET http://{address}/ HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    assert!(head(&mut client).starts_with("HTTP/1.1 200 "));
    drop(client);
    task.join().unwrap();
}

//! Requests that mean one thing here and another at the server, and destinations that nobody may have.

use isthmus_proxy::{Config, ConfigError, Counter, Server, StartError};

use crate::common::{Origin, Proxy, exchange, head};

/// Sends a request, whose `TARGET` is the server, and returns what the client and the server saw.
fn forwarded(request: &str) -> (String, Option<String>) {
    let (proxy, origin) = (Proxy::start(|_| {}), Origin::start());
    let request = request.replace("TARGET", &origin.address.to_string());
    let mut client = proxy.connect();
    let said = exchange(&mut client, request.as_bytes());
    let seen = origin
        .seen
        .recv_timeout(std::time::Duration::from_millis(800))
        .ok();
    // The victim is another client of the same proxy.
    let victim = format!(
        "GET http://{}/victim HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        origin.address
    );
    assert!(exchange(&mut proxy.connect(), victim.as_bytes()).ends_with("ok"));
    let of_victim = origin.saw();
    assert!(
        of_victim.starts_with("GET /victim HTTP/1.1\r\n"),
        "{of_victim}"
    );
    (said, seen)
}

/// The hidden request of every attempt.
const HIDDEN: &str = "GET /hidden HTTP/1.1\r\nHost: x\r\n\r\n";

/// RFC 9112 section 6.3, items 3 and 4; section 2.2; section 5.1; section 5.2; section 7.1.
#[test]
fn what_could_be_read_in_two_ways_is_refused() {
    for headers in [
        "Content-Length: 5\r\nContent-Length: 35",
        "Content-Length: 5, 35",
        "Content-Length: +5",
        "Content-Length: 5 5",
        "Content-Length: -1",
        "Content-Length: 99999999999999999999",
        "Transfer-Encoding: chunked, identity",
        "Transfer-Encoding: xchunked",
        "Transfer-Encoding : chunked",
        "X: a\r\n folded",
        "X: a\r\n\tTransfer-Encoding: chunked",
        "X: a\rb",
        "X: a\0b",
        "X Y: a",
        ": a",
        "Host: other",
    ] {
        let request = format!(
            "POST http://TARGET/ HTTP/1.1\r\nHost: x\r\n{headers}\r\n\r\n0\r\n\r\n{HIDDEN}"
        );
        let (said, seen) = forwarded(&request);
        assert!(said.starts_with("HTTP/1.1 400 "), "{headers:?}: {said}");
        assert_eq!(seen, None, "{headers:?}");
    }
}

/// RFC 9112 section 6.3 item 3: the encoding holds, and no length is forwarded with it.
#[test]
fn a_length_beside_an_encoding_reaches_no_server() {
    for headers in [
        "Content-Length: 5\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 40",
    ] {
        let request = format!(
            "POST http://TARGET/ HTTP/1.1\r\nHost: x\r\n{headers}\r\n\r\n0\r\n\r\n{HIDDEN}"
        );
        let (said, seen) = forwarded(&request);
        // The hidden one is a request for us, and no proxy serves it.
        let seen = seen.unwrap_or_default().to_lowercase();
        assert!(
            !seen.contains("hidden") && !seen.contains("content-length: "),
            "{seen}"
        );
        assert!(
            !said.contains("200 OK") || seen.contains("transfer-encoding: chunked"),
            "{said}"
        );
    }
}

#[test]
fn chunks_that_are_none_end_the_connection() {
    for chunks in [
        "zz\r\n",
        "-1\r\n",
        "ffffffffffffffffff\r\n",
        "5;a=b\rc\r\nhello",
        "1\r\nab\r\n",
    ] {
        let request = format!(
            "POST http://TARGET/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}{HIDDEN}"
        );
        let (said, seen) = forwarded(&request);
        assert!(!said.contains("200 OK"), "{chunks:?}: {said}");
        let seen = seen.unwrap_or_default();
        assert!(!seen.contains("\r\nGET /hidden"), "{chunks:?}: {seen}");
    }
}

/// Lines may end in a single LF (RFC 9112 section 2.2), and a server sees none of them.
#[test]
fn the_server_gets_a_head_of_our_own() {
    let request = "GET http://TARGET/a HTTP/1.1\nHost: victim.example\nConnection: close, x-key\nX-Key: 1\n\n";
    let (said, seen) = forwarded(request);
    let seen = seen.unwrap();
    assert!(said.ends_with("ok"), "{said}");
    assert!(seen.starts_with("GET /a HTTP/1.1\r\n"), "{seen}");
    assert!(
        !seen.replace("\r\n", "").contains('\n') && !seen.contains("victim"),
        "{seen}"
    );
    assert!(!seen.contains("x-key"), "{seen}");
}

/// RFC 9112 section 3: a target is one, without spaces or users.
#[test]
fn targets_that_are_none() {
    for target in [
        "http://user:password@TARGET/",
        "http:///x",
        "http://TARGET/ x",
        "http://[::1/",
        "/relative",
        "*",
        "http://a\u{7f}b/",
        "http://127.1/",
        "http://0x7f000001/",
    ] {
        let (said, seen) = forwarded(&format!(
            "GET {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        ));
        assert!(
            !said.contains("200 OK") && !said.is_empty(),
            "{target}: {said}"
        );
        assert_eq!(seen, None, "{target}");
    }
}

#[test]
fn a_head_without_end_is_refused() {
    let proxy = Proxy::start(|_| {});
    let long = format!(
        "GET http://x/ HTTP/1.1\r\nHost: x\r\nX: {}\r\n\r\n",
        "a".repeat(70_000)
    );
    let many = "A: b\r\n".repeat(200);
    let many = format!("GET http://x/ HTTP/1.1\r\nHost: x\r\n{many}\r\n");
    for request in [long, many] {
        let said = exchange(&mut proxy.connect(), request.as_bytes());
        assert!(said.starts_with("HTTP/1.1 431 "), "{said}");
    }
}

#[test]
fn without_a_list_of_clients_there_is_no_proxy() {
    let config = Config {
        listen: vec!["127.0.0.1:0".parse().unwrap()],
        resolvers: vec!["127.0.0.1:53".parse().unwrap()],
        ..Config::default()
    };
    let error = Server::start(&config).unwrap_err();
    assert!(
        matches!(error, StartError::Config(ConfigError::NoAllow)),
        "{error}"
    );
}

#[test]
fn strangers_get_nothing() {
    let proxy = Proxy::start(|config| config.allow = vec!["127.0.0.2/32".parse().unwrap()]);
    let said = exchange(
        &mut proxy.connect(),
        b"GET http://x/ HTTP/1.1\r\nHost: x\r\n\r\n",
    );
    assert_eq!(said, "");
    proxy.wait(Counter::Stranger, 1);
}

/// The machine's own services, by every way to ask for them; the victim is a server on loopback.
#[test]
fn the_machine_itself_is_out_of_reach() {
    let victim = Origin::start();
    let resolver = crate::common::resolver([127, 0, 0, 1].into());
    let proxy = Proxy::start(|config| {
        config.local_destinations.clear();
        config.resolvers = vec![resolver];
    });
    let port = victim.address.port();
    for host in [
        "127.0.0.1",
        "127.255.0.1",
        "0.0.0.0",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "localhost",
        "x.localhost.",
        "rebound.example",
    ] {
        for request in [
            format!("GET http://{host}:{port}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
            format!("CONNECT {host}:{port} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
        ] {
            let said = exchange(&mut proxy.connect(), request.as_bytes());
            assert!(said.starts_with("HTTP/1.1 403 "), "{host}: {said}");
            assert!(said.contains("proxy-status: isthmus; error="), "{said}");
        }
    }
    assert_eq!(proxy.count(Counter::DestinationRefused), 22);
    assert!(victim.seen.try_recv().is_err());
}

/// RFC 9110 section 7.6.3: even where it may reach itself, it does so once.
#[test]
fn it_does_not_ask_itself_for_ever() {
    let proxy = Proxy::start(|_| {});
    let address = proxy.address();
    let itself = format!("GET http://{address}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    let said = exchange(&mut proxy.connect(), itself.as_bytes());
    assert!(said.starts_with("HTTP/1.1 400 "), "{said}");
    assert!(proxy.count(Counter::Connection) <= 2);
    let again = "GET http://127.0.0.1:9/ HTTP/1.1\r\nHost: x\r\nVia: 1.1 other\r\n\r\n";
    let mut client = proxy.connect();
    std::io::Write::write_all(&mut client, again.as_bytes()).unwrap();
    assert!(head(&mut client).starts_with("HTTP/1.1 502 "));
}

//! Clients that nobody named, and destinations that nobody may have.

use isthmus_proxy::{Config, ConfigError, Counter, Server, StartError};

use crate::common::{Origin, Proxy, exchange, head};

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

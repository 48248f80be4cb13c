//! Clients without a setting: TLS by its server name, HTTP by its host.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};

use isthmus_proxy::Counter;

use crate::common::{Origin, Proxy, connect, exchange, resolver};

/// A server at 127.0.0.2, and a proxy for sites at the same port of 127.0.0.1.
fn site() -> (Origin, Proxy, SocketAddr) {
    let origin = Origin::at("127.0.0.2:0");
    let port = origin.address.port();
    let dns = resolver([127, 0, 0, 2].into());
    let proxy = Proxy::start(|config| {
        config.listen.clear();
        config.sites = vec![SocketAddr::from(([127, 0, 0, 1], port))];
        config.resolvers = vec![dns];
    });
    let address = proxy.address();
    (origin, proxy, address)
}

/// A ClientHello for a name, by RFC 8446 section 4.1.2 and RFC 6066 section 3.
fn hello(name: &str) -> Vec<u8> {
    let vector = |octets: &[u8]| [&(octets.len() as u16).to_be_bytes(), octets].concat();
    let entry = [&[0][..], &vector(name.as_bytes())].concat();
    let extension = [&[0, 0][..], &vector(&vector(&entry))].concat();
    let extensions = if name.is_empty() {
        vector(&[])
    } else {
        vector(&extension)
    };
    let body = [
        &[3, 3][..],
        &[9; 32],
        &[0, 0, 2, 0x13, 1, 1, 0],
        &extensions,
    ]
    .concat();
    let message = [&[1, 0][..], &vector(&body)].concat();
    [&[22, 3, 1][..], &vector(&message)].concat()
}

#[test]
fn tls_goes_to_the_server_of_its_name_octet_for_octet() {
    let (origin, proxy, address) = site();
    let mut client = connect(address);
    let hello = hello("www.example.org");
    // In pieces, as a network may bring it.
    for piece in hello.chunks(20) {
        client.write_all(piece).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let said = exchange(&mut client, b"and more");
    assert!(said.ends_with("ok"), "{said}");
    let expected = String::from_utf8_lossy(&[&hello[..], b"and more"].concat()).into_owned();
    assert_eq!(origin.saw(), expected);
    assert_eq!(proxy.count(Counter::TunnelTls), 1);
}

/// RFC 8446 section 6: the client is told by an alert.
#[test]
fn tls_that_leads_nowhere_gets_an_alert() {
    let (_origin, _proxy, address) = site();
    for (octets, alert) in [
        (hello(""), 112),
        (hello("localhost"), 49),
        (hello("127.0.0.1"), 50),
        (vec![22, 3, 1, 0, 4, 2, 0, 0, 0], 50),
    ] {
        let mut client = connect(address);
        client.write_all(&octets).unwrap();
        let mut said = Vec::new();
        client.read_to_end(&mut said).unwrap();
        assert_eq!(said, [21, 3, 3, 0, 2, 2, alert]);
    }
}

#[test]
fn http_goes_to_the_server_of_its_host() {
    let (origin, proxy, address) = site();
    let port = address.port();
    let request =
        format!("GET /x HTTP/1.1\r\nHost: www.example.org:{port}\r\nConnection: close\r\n\r\n");
    let said = exchange(&mut connect(address), request.as_bytes());
    assert!(said.ends_with("ok"), "{said}");
    let seen = origin.saw();
    assert!(seen.starts_with("GET /x HTTP/1.1\r\n"), "{seen}");
    assert!(
        seen.contains(&format!("host: www.example.org:{port}\r\n")),
        "{seen}"
    );
    assert_eq!(proxy.count(Counter::RequestSite), 1);
    let tunnel = b"CONNECT www.example.org:443 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    assert!(exchange(&mut connect(address), tunnel).starts_with("HTTP/1.1 405 "));
}

#[test]
fn a_server_is_told_who_the_client_is() {
    let origin = Origin::at("127.0.0.3:0");
    let proxy =
        Proxy::start(|config| config.proxy_protocol = vec!["127.0.0.3/32".parse().unwrap()]);
    let mut client = proxy.connect();
    let request = format!(
        "CONNECT {} HTTP/1.1\r\nHost: x\r\n\r\nhello",
        origin.address
    );
    let from = client.local_addr().unwrap();
    exchange(&mut client, request.as_bytes());
    let seen = origin.saw();
    assert!(
        seen.starts_with("\r\n\r\n\0\r\nQUIT\n!\u{11}\0\u{c}\u{7f}\0\0\u{1}\u{7f}\0\0\u{1}"),
        "{seen:?}"
    );
    assert!(seen.ends_with("hello") && from.port() != 0);
    // Others are not.
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let to = other.local_addr().unwrap();
    let mut client = proxy.connect();
    write!(client, "CONNECT {to} HTTP/1.1\r\nHost: x\r\n\r\nhello").unwrap();
    let mut octets = [0; 5];
    other.accept().unwrap().0.read_exact(&mut octets).unwrap();
    assert_eq!(&octets, b"hello");
}

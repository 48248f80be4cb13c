//! What clients of the proxy send first: a head of HTTP, a ClientHello, a message of SOCKS5. A head that is forwarded
//! says one thing, and the same to every server.

use hyper::http::request::Parts;
use hyper::{HeaderMap, Request, header};
use isthmus_proxy::head::{self, Role, Wish};
use isthmus_proxy::hello::{self, Hello};
use isthmus_proxy::opening::{self, Opening};
use isthmus_proxy::socks;
use isthmus_proxy::target::Target;

use crate::reader::Reader;

const PSEUDONYM: &str = "isthmus-0";

/// An input is an octet that says which, and the client's octets.
pub(crate) fn run(input: &[u8]) {
    let mut input = Reader(input);
    match input.byte() % 4 {
        0 => client_hello(input.0),
        1 => request(input.0),
        2 => message(input.0),
        _ => target(input.0),
    }
}

/// Octets that come in pieces mean what they mean at once.
fn client_hello(octets: &[u8]) {
    let whole = hello::read(octets);
    for end in (0..octets.len()).rev().take(64) {
        let part = hello::read(&octets[..end]);
        assert!(
            part == Hello::Unfinished || part == whole || whole == Hello::Broken,
            "{part:?} {whole:?}"
        );
    }
    if let Hello::Name(name) = whole {
        assert!(Target::parse(&name, Some(443)).is_ok(), "{name}");
    }
}

/// A tunnel begins with a whole head of `CONNECT`; everything else goes on as it came.
fn opening(octets: &[u8]) {
    match opening::opening(&mut octets.to_vec(), PSEUDONYM) {
        None => {}
        Some(Opening::Other(same)) => assert_eq!(same, octets),
        Some(Opening::Tunnel(target, end, same)) => {
            assert_eq!(same, octets);
            assert!(octets.starts_with(b"CONNECT ") && octets[..end].ends_with(b"\n"));
            assert_ne!(target.port, 0);
            // Its head alone says the same.
            let head = opening::opening(&mut octets[..end].to_vec(), PSEUDONYM);
            assert!(
                matches!(head, Some(Opening::Tunnel(again, at, _)) if again == target && at == end)
            );
        }
    }
}

/// The head whose lines these are: method, target, and headers.
fn parts(octets: &[u8]) -> Option<Parts> {
    let mut lines = octets.split(|octet| *octet == b'\n');
    let mut request = Request::builder().method(lines.next()?).uri(lines.next()?);
    for line in lines {
        let colon = line.iter().position(|octet| *octet == b':')?;
        request = request.header(&line[..colon], &line[colon + 1..]);
    }
    Some(request.body(()).ok()?.into_parts().0)
}

fn request(octets: &[u8]) {
    opening(octets);
    let Some(mut head) = parts(octets) else {
        return;
    };
    let _ = head::read(&head, Role::Sites(80), PSEUDONYM);
    let Ok(Wish::Forward(target)) = head::read(&head, Role::Proxy, PSEUDONYM) else {
        return;
    };
    if head::rewrite(&mut head, &target, PSEUDONYM).is_err() {
        return;
    }
    assert!(head.uri.authority().is_none(), "{}", head.uri);
    for name in [
        header::CONNECTION,
        header::TE,
        header::UPGRADE,
        header::PROXY_AUTHORIZATION,
    ] {
        assert!(!head.headers.contains_key(&name), "{name}");
    }
    let number = |headers: &HeaderMap, name| headers.get_all(name).iter().count();
    assert_eq!(number(&head.headers, header::HOST), 1);
    assert!(number(&head.headers, header::CONTENT_LENGTH) <= 1);
    let host = head.headers[header::HOST].to_str().unwrap_or_default();
    assert_eq!(Target::parse(host, Some(80)), Ok(target.clone()));
    // Another proxy of this name would know it.
    assert!(number(&head.headers, header::VIA) >= 1);
}

fn message(octets: &[u8]) {
    if let Ok(Some((_, rest))) = socks::address(octets) {
        assert!(rest.len() < octets.len());
    }
    if let Some((target, data)) = socks::datagram(octets) {
        assert!(octets.ends_with(data));
        assert_ne!(target.port, 0);
    }
}

/// A target reads as it is written.
fn target(octets: &[u8]) {
    let Ok(text) = std::str::from_utf8(octets) else {
        return;
    };
    if let Ok(target) = Target::parse(text, Some(80)) {
        assert_eq!(Target::parse(&target.to_string(), None), Ok(target));
    }
}

//! The first octets of a client, read before anything is set up for it.
//!
//! Most clients ask for a tunnel, and nothing else on the same connection. Such a request is read here, by the parser of
//! hyper and the rules of [`head`]. All others, and all that is wrong, go on to hyper with the octets
//! that were read.

use std::io;

use hyper::header::{HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, Request, Version};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

use crate::head::{self, Role, Wish};
use crate::target::Target;

/// Octets of a request that is read here, at most; hyper reads longer ones.
const LONGEST: usize = 4 * 1024;
/// Its fields, at most.
const MOST_FIELDS: usize = 32;
const CONNECT: &[u8] = b"CONNECT ";

/// How a client begins.
#[derive(Debug)]
pub enum Opening {
    /// With a tunnel. The request ends there in these octets; the others are for the tunnel.
    Tunnel(Target, usize, Vec<u8>),
    /// With something that these octets begin.
    Other(Vec<u8>),
}

/// Reads until it is clear how a client begins.
pub(crate) async fn read(stream: &mut TcpStream, pseudonym: &str) -> io::Result<Opening> {
    let mut octets = Vec::with_capacity(LONGEST);
    while stream.read_buf(&mut octets).await? > 0 {
        if let Some(opening) = opening(&mut octets, pseudonym) {
            return Ok(opening);
        }
    }
    // An end in the middle of it.
    Ok(Opening::Other(octets))
}

/// The kind of connection that begins with these octets, if that is clear; then they are taken.
#[must_use]
pub fn opening(octets: &mut Vec<u8>, pseudonym: &str) -> Option<Opening> {
    let shown = octets.len().min(CONNECT.len());
    let end = match octets[..shown] == CONNECT[..shown] {
        true => tunnel(octets, pseudonym),
        false => Head::Other,
    };
    match end {
        Head::Unfinished if octets.len() < LONGEST => None,
        Head::Tunnel(target, end) => Some(Opening::Tunnel(target, end, std::mem::take(octets))),
        Head::Unfinished | Head::Other => Some(Opening::Other(std::mem::take(octets))),
    }
}

enum Head {
    /// A request for a tunnel, which ends there.
    Tunnel(Target, usize),
    Unfinished,
    Other,
}

fn tunnel(octets: &[u8], pseudonym: &str) -> Head {
    let mut fields = [httparse::EMPTY_HEADER; MOST_FIELDS];
    let mut request = httparse::Request::new(&mut fields);
    let end = match request.parse(octets) {
        Ok(httparse::Status::Complete(end)) => end,
        Ok(httparse::Status::Partial) => return Head::Unfinished,
        Err(_) => return Head::Other,
    };
    let wish = parts(&request).map(|head| head::read(&head, Role::Proxy, pseudonym));
    match wish {
        Some(Ok(Wish::Tunnel(target))) => Head::Tunnel(target, end),
        _ => Head::Other,
    }
}

/// The same in the types of hyper.
fn parts(request: &httparse::Request<'_, '_>) -> Option<Parts> {
    let mut parts = Request::new(()).into_parts().0;
    parts.method = Method::from_bytes(request.method?.as_bytes()).ok()?;
    parts.uri = request.path?.parse().ok()?;
    parts.version = match request.version? {
        0 => Version::HTTP_10,
        _ => Version::HTTP_11,
    };
    for field in request.headers.iter() {
        let name = HeaderName::from_bytes(field.name.as_bytes()).ok()?;
        let value = HeaderValue::from_bytes(field.value).ok()?;
        parts.headers.append(name, value);
    }
    Some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Option<Opening> {
        opening(&mut text.as_bytes().to_vec(), "isthmus-0")
    }

    #[test]
    fn rfc9110_9_3_6_a_tunnel_and_what_follows() {
        let text = "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\nearly";
        let Some(Opening::Tunnel(target, end, octets)) = of(text) else {
            panic!("{:?}", of(text));
        };
        assert_eq!(target.to_string(), "a.example:443");
        assert_eq!(&octets[end..], b"early");
        // It is clear at the end of its head, and not before.
        for end in 0..text.len() - "early".len() {
            assert!(of(&text[..end]).is_none(), "{end}");
        }
    }

    #[test]
    fn all_others_keep_their_octets() {
        for text in [
            "GET",
            "CONNEXION",
            "CONNECT a.example:443 HTTP/2.0\r\n\r\n",
            "CONNECT a.example:443 HTTP/1.1\r\n\r\n",
            "CONNECT a.example:443 HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n",
            "CONNECT a.example HTTP/1.1\r\nHost: x\r\n\r\n",
            "CONNECT http://a.example:1/ HTTP/1.1\r\nHost: x\r\n\r\n",
        ] {
            match of(text) {
                Some(Opening::Other(octets)) => assert_eq!(octets, text.as_bytes()),
                other => panic!("{text}: {other:?}"),
            }
        }
        let long = format!(
            "CONNECT a:1 HTTP/1.1\r\nHost: x\r\nX: {}",
            "a".repeat(LONGEST)
        );
        assert!(matches!(of(&long), Some(Opening::Other(_))));
    }
}

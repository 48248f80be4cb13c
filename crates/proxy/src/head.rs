//! The head of a request, as a proxy reads and rewrites it (RFC 9110 section 7, RFC 9112 section 3).

use hyper::header::{
    CONNECTION, CONTENT_LENGTH, EXPECT, HOST, HeaderName, HeaderValue, PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION, TE, TRANSFER_ENCODING, UPGRADE, VIA,
};
use hyper::http::request;
use hyper::http::uri::{PathAndQuery, Uri};
use hyper::{HeaderMap, Method, Version};

use crate::failure::Failure;
use crate::target::Target;

/// Headers that are of one connection whether `Connection` names them or not (RFC 9110 section 7.6.1).
const OF_ONE_CONNECTION: [HeaderName; 8] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    TE,
    TRANSFER_ENCODING,
    UPGRADE,
];
/// Octets of a target, at most. 8,000 are asked for (RFC 9112 section 3).
const LONGEST_TARGET: usize = 16 * 1024;
const MAX_FORWARDS: HeaderName = HeaderName::from_static("max-forwards");

/// Whom a client takes us for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A proxy.
    Proxy,
    /// The server of every site, at this port.
    Sites(u16),
}

/// The wish of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    /// A tunnel (RFC 9110 section 9.3.6).
    Tunnel(Target),
    /// A request that is forwarded.
    Forward(Target),
    /// A request that ends here (RFC 9110 section 7.6.2).
    Answer,
}

/// Reads what a client wants. `pseudonym` is the name of this proxy in `Via`.
///
/// # Errors
/// Why it cannot be done.
pub fn read(head: &request::Parts, role: Role, pseudonym: &str) -> Result<Wish, Failure> {
    plain(head)?;
    if let Role::Sites(port) = role {
        return site(head, port, pseudonym);
    }
    if head.method == Method::CONNECT {
        return tunnel(head);
    }
    if head.method == Method::TRACE {
        // It would show a client what other proxies added for the server.
        return Err(Failure::Method);
    }
    let scheme = head.uri.scheme_str().ok_or(Failure::NotForAProxy)?;
    if !scheme.eq_ignore_ascii_case("http") {
        return Err(Failure::Scheme);
    }
    let authority = head.uri.authority().ok_or(Failure::NotForAProxy)?;
    let target = Target::parse(authority.as_str(), Some(80))?;
    if has_been_here(&head.headers, pseudonym) {
        return Err(Failure::Loop);
    }
    let is_last = forwards(&head.headers) == Some(0);
    if head.method == Method::OPTIONS && is_last {
        return Ok(Wish::Answer);
    }
    Ok(Wish::Forward(target))
}

/// Checks that hold for every request: nothing in it can be read in two ways.
fn plain(head: &request::Parts) -> Result<(), Failure> {
    let hosts = head.headers.get_all(HOST).iter().count();
    // RFC 9112 section 3.2.
    if hosts > 1 || (hosts == 0 && head.version == Version::HTTP_11) {
        return Err(Failure::BadRequest(
            "it needs one Host, and has another number",
        ));
    }
    if !head.headers.get(HOST).is_none_or(is_host) {
        return Err(Failure::BadRequest(
            "its Host is neither a name nor an address",
        ));
    }
    if head.headers.get_all(CONTENT_LENGTH).iter().count() > 1 {
        return Err(Failure::BadRequest("it has several lengths"));
    }
    if !is_readable(&head.headers) {
        return Err(Failure::Coding);
    }
    let length = head
        .uri
        .path_and_query()
        .map_or(0, |path| path.as_str().len());
    if length > LONGEST_TARGET {
        return Err(Failure::LongTarget(LONGEST_TARGET));
    }
    // HTTP/1.0 has no expectations (RFC 9110 section 10.1.1).
    let expects = head
        .headers
        .get(EXPECT)
        .filter(|_| head.version == Version::HTTP_11);
    match expects {
        Some(value) if !value.as_bytes().eq_ignore_ascii_case(b"100-continue") => {
            Err(Failure::Expectation)
        }
        _ => Ok(()),
    }
}

/// Whether a value is a host with or without a port, or empty (RFC 9110 section 7.2, RFC 3986 section 3.2.2).
fn is_host(value: &HeaderValue) -> bool {
    let Ok(text) = value.to_str() else {
        return false;
    };
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, port),
        _ => (text, ""),
    };
    let of_name = |b: u8| b.is_ascii_alphanumeric() || b"-._~%!$&'()*+,;=".contains(&b);
    let is_literal = || {
        let inner = host
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'));
        inner.is_some_and(|inner| inner.bytes().all(|b| of_name(b) || b == b':'))
    };
    port.bytes().all(|b| b.is_ascii_digit()) && (host.bytes().all(of_name) || is_literal())
}

/// Whether the content can be read: it has no coding for the transfer, or is in chunks (RFC 9112 section 6.1).
pub(crate) fn is_readable(headers: &HeaderMap) -> bool {
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    match (codings.next(), codings.next()) {
        (None, _) => true,
        (Some(one), None) => one.as_bytes().trim_ascii().eq_ignore_ascii_case(b"chunked"),
        (Some(_), Some(_)) => false,
    }
}

/// RFC 9110 section 9.3.6: a host and a port, and no content.
fn tunnel(head: &request::Parts) -> Result<Wish, Failure> {
    let has_content = [CONTENT_LENGTH, TRANSFER_ENCODING]
        .iter()
        .any(|name| head.headers.contains_key(name));
    match head.uri.authority() {
        Some(authority) if head.uri.scheme().is_none() => {
            let target = Target::parse(authority.as_str(), None)?;
            match has_content {
                true => Err(Failure::BadRequest("CONNECT has no content")),
                false => Ok(Wish::Tunnel(target)),
            }
        }
        _ => Err(Failure::NotForAProxy),
    }
}

/// The same of a client that takes us for the server: the host says where, and the port is that of the client.
fn site(head: &request::Parts, port: u16, pseudonym: &str) -> Result<Wish, Failure> {
    if matches!(head.method, Method::CONNECT | Method::TRACE) {
        return Err(Failure::Method);
    }
    let host = match (head.uri.authority(), head.headers.get(HOST)) {
        (Some(authority), _) => authority.as_str(),
        (None, Some(host)) => host.to_str().unwrap_or_default(),
        (None, None) => return Err(Failure::BadRequest("it names no host")),
    };
    let target = Target::parse(host, Some(port))?;
    if target.port != port {
        return Err(Failure::Port(target.port));
    }
    match has_been_here(&head.headers, pseudonym) {
        true => Err(Failure::Loop),
        false => Ok(Wish::Forward(target)),
    }
}

/// Makes the head that the server gets: the target without where, the host, and no header of this connection.
///
/// # Errors
/// The URI cannot be written so.
pub fn rewrite(head: &mut request::Parts, target: &Target, pseudonym: &str) -> Result<(), Failure> {
    let unwritable = |_| Failure::BadRequest("its URI cannot be forwarded");
    if let Some(left) = forwards(&head.headers)
        && head.method == Method::OPTIONS
    {
        head.headers
            .insert(MAX_FORWARDS, HeaderValue::from(left.saturating_sub(1)));
    }
    let path = head.uri.path_and_query();
    let path = path
        .cloned()
        .unwrap_or_else(|| PathAndQuery::from_static("/"));
    let authority = match target.port {
        80 => target.to_string().trim_end_matches(":80").to_owned(),
        _ => target.to_string(),
    };
    head.uri = Uri::from(path);
    strip(&mut head.headers);
    // RFC 9112 section 3.2.2: the host of the URI, whatever the client has written.
    let host = HeaderValue::try_from(authority).map_err(unwritable)?;
    head.headers.insert(HOST, host);
    add_via(&mut head.headers, head.version, pseudonym);
    head.version = Version::HTTP_11;
    Ok(())
}

/// Takes out what is of one connection (RFC 9110 section 7.6.1), and a length that is not the length
/// (RFC 9112 section 6.3).
pub(crate) fn strip(headers: &mut HeaderMap) {
    if headers.contains_key(TRANSFER_ENCODING) {
        headers.remove(CONTENT_LENGTH);
    }
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in named.iter().chain(&OF_ONE_CONNECTION) {
        headers.remove(name);
    }
}

/// RFC 9110 section 7.6.3.
pub(crate) fn add_via(headers: &mut HeaderMap, version: Version, pseudonym: &str) {
    let version = if version == Version::HTTP_10 {
        "1.0"
    } else {
        "1.1"
    };
    if let Ok(value) = HeaderValue::try_from(format!("{version} {pseudonym}")) {
        headers.append(VIA, value);
    }
}

fn has_been_here(headers: &HeaderMap, pseudonym: &str) -> bool {
    let values = headers.get_all(VIA).iter();
    let mut hops = values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','));
    hops.any(|hop| hop.split_whitespace().nth(1) == Some(pseudonym))
}

fn forwards(headers: &HeaderMap) -> Option<u32> {
    headers.get(MAX_FORWARDS)?.to_str().ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::Request;

    fn head(method: &str, uri: &str, headers: &[(&str, &str)]) -> request::Parts {
        let mut request = Request::builder().method(method).uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap().into_parts().0
    }

    fn wish(method: &str, uri: &str, headers: &[(&str, &str)]) -> Result<Wish, Failure> {
        read(&head(method, uri, headers), Role::Proxy, "isthmus-1")
    }

    #[test]
    fn rfc9112_3_2_the_forms_of_a_target() {
        let host = &[("host", "a.example")];
        let target = |text| Target::parse(text, None).unwrap();
        let forwarded = wish("GET", "http://a.example/x", host);
        assert_eq!(forwarded, Ok(Wish::Forward(target("a.example:80"))));
        let tunnel = wish("CONNECT", "a.example:443", host);
        assert_eq!(tunnel, Ok(Wish::Tunnel(target("a.example:443"))));
        assert_eq!(wish("GET", "/x", host), Err(Failure::NotForAProxy));
        assert_eq!(wish("OPTIONS", "*", host), Err(Failure::NotForAProxy));
        assert_eq!(
            wish("GET", "https://a.example/", host),
            Err(Failure::Scheme)
        );
        assert_eq!(
            wish("TRACE", "http://a.example/", host),
            Err(Failure::Method)
        );
        assert!(wish("GET", "http://u:p@a.example/", host).is_err());
        assert!(wish("GET", "http://a.example/", &[]).is_err());
        let two = &[("host", "a.example"), ("host", "b.example")];
        assert!(wish("GET", "http://a.example/", two).is_err());
    }

    #[test]
    fn a_site_is_where_its_host_says() {
        let wish = |uri, host| {
            let head = head("GET", uri, &[("host", host)]);
            read(&head, Role::Sites(80), "isthmus-1")
        };
        let target = Target::parse("a.example:80", None).unwrap();
        assert_eq!(wish("/x", "a.example"), Ok(Wish::Forward(target.clone())));
        assert_eq!(
            wish("http://a.example/x", "b.example"),
            Ok(Wish::Forward(target))
        );
        assert_eq!(wish("/x", "a.example:81"), Err(Failure::Port(81)));
        assert!(wish("/x", "a b").is_err());
    }

    #[test]
    fn rfc9110_7_6_1_headers_of_a_connection_stay_there() {
        let mut head = head(
            "GET",
            "http://A.example/x?y",
            &[
                ("host", "victim.example"),
                ("connection", "close, X-Secret"),
                ("x-secret", "1"),
                ("proxy-authorization", "Basic eA=="),
                ("proxy-connection", "keep-alive"),
                ("te", "trailers"),
                ("accept", "*/*"),
            ],
        );
        let target = Target::parse("a.example", Some(80)).unwrap();
        rewrite(&mut head, &target, "isthmus-1").unwrap();
        let mut names: Vec<&str> = head.headers.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, ["accept", "host", "via"]);
        assert_eq!(head.headers[HOST], "a.example");
        assert_eq!(head.headers[VIA], "1.1 isthmus-1");
        assert_eq!(head.uri, "/x?y");
    }

    #[test]
    fn rfc9110_7_6_3_a_request_goes_through_once() {
        let via = |via| {
            wish(
                "GET",
                "http://a.example/",
                &[("host", "a.example"), ("via", via)],
            )
        };
        assert_eq!(via("1.0 fred, 1.1 isthmus-1"), Err(Failure::Loop));
        assert!(via("1.0 fred, 1.1 isthmus-2").is_ok());
    }

    #[test]
    fn rfc9110_7_6_2_max_forwards() {
        let options = |left| {
            let headers = [("host", "a.example"), ("max-forwards", left)];
            head("OPTIONS", "http://a.example", &headers)
        };
        assert_eq!(read(&options("0"), Role::Proxy, "x"), Ok(Wish::Answer));
        let mut head = options("3");
        let target = Target::parse("a.example", Some(80)).unwrap();
        rewrite(&mut head, &target, "x").unwrap();
        assert_eq!(head.headers[MAX_FORWARDS], "2");
    }
}

//! Cases of what clients send.

use super::Must::*;
use super::{Case, OK, Scripted, hold};
use crate::common::{Proxy, exchange};

/// The end of a head that has no other behind it.
const CLOSE: &str = "Connection: close\r\n\r\n";

/// Lines, names and values.
#[test]
fn rfc9112_2_lines_and_fields() {
    hold(&SYNTAX);
}

const SYNTAX: [Case; 22] = [
    Case {
        rule: "RFC 9112 section 2.2: empty lines in front of a request are skipped",
        client: "\r\n\r\nGET http://TARGET/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: OK,
        forwarded: &[Begin("GET / HTTP/1.1\r\n")],
        answered: &[Begin("HTTP/1.1 200 "), End("ok")],
    },
    Case {
        rule: "RFC 9112 section 2.2: space in front of the first field",
        client: "GET http://TARGET/ HTTP/1.1\r\n Host: x\r\n\r\n",
        server: OK,
        forwarded: &[Nothing],
        answered: &[Begin("HTTP/1.1 400 "), Have("connection: close\r\n")],
    },
    Case {
        rule: "RFC 9112 section 2.2: a CR alone in a value",
        client: "GET http://TARGET/ HTTP/1.1\r\nHost: x\r\nX: a\rb\r\n\r\n",
        server: OK,
        forwarded: &[Nothing],
        answered: &[Begin("HTTP/1.1 400 "), Have("connection: close\r\n")],
    },
    Case {
        rule: "RFC 9112 section 2.2: a line that ends in LF alone may be taken, and is not forwarded so",
        client: "GET http://TARGET/a HTTP/1.1\nHost: x\nConnection: close\n\n",
        server: OK,
        forwarded: &[Begin("GET /a HTTP/1.1\r\n"), Have("\r\nhost: ")],
        answered: &[Begin("HTTP/1.1 200 "), End("ok")],
    },
    Case {
        rule: "RFC 9112 section 2.2: what is no HTTP",
        client: "\u{0016}\u{0003}\u{0001} hello\r\n\r\n",
        server: OK,
        forwarded: &[Nothing],
        answered: &[Begin("HTTP/1.1 400 "), Have("connection: close\r\n")],
    },
    Case {
        rule: "RFC 9112 section 2.3: a version of another major number",
        client: "GET http://TARGET/ HTTP/2.0\r\nHost: x\r\n\r\n",
        server: OK,
        forwarded: &[Nothing],
        answered: &[Begin("HTTP/1.1 "), Lack(" 200 ")],
    },
    Case {
        rule: "RFC 9112 section 2.3: HTTP/0.9",
        client: "GET http://TARGET/\r\n\r\n",
        server: OK,
        forwarded: &[Nothing],
        answered: &[Begin("HTTP/1.1 400 ")],
    },
    Case {
        rule: "RFC 9112 section 2.3: a proxy says its own version",
        client: "GET http://TARGET/ HTTP/1.0\r\n\r\n",
        server: OK,
        forwarded: &[Begin("GET / HTTP/1.1\r\n"), Have("\r\nvia: 1.0 ")],
        answered: &[Have(" 200 "), End("ok")],
    },
    Case {
        rule: "RFC 9112 section 3: two spaces in the request line",
        client: "GET http://TARGET/ x HTTP/1.1\r\nHost: x\r\n\r\n",
        server: OK,
        forwarded: &[Nothing],
        answered: &[Begin("HTTP/1.1 400 "), Have("connection: close\r\n")],
    },
    Case {
        rule: "RFC 9112 section 3: no method",
        client: " http://TARGET/ HTTP/1.1\r\nHost: x\r\n\r\n",
        server: OK,
        forwarded: &[Nothing],
        answered: &[Begin("HTTP/1.1 400 "), Have("connection: close\r\n")],
    },
    Case {
        rule: "RFC 9112 section 3.1: a method that is no token",
        client: "G(T http://TARGET/ HTTP/1.1\r\nHost: x\r\n\r\n",
        server: OK,
        forwarded: &[Nothing],
        answered: &[Begin("HTTP/1.1 400 "), Have("connection: close\r\n")],
    },
    Case {
        rule: "RFC 9110 section 9.1: an unknown method is forwarded, and has a case",
        client: "Brew http://TARGET/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: OK,
        forwarded: &[Begin("Brew / HTTP/1.1\r\n")],
        answered: &[Begin("HTTP/1.1 200 "), End("ok")],
    },
    Case {
        rule: "RFC 9112 section 5.1: space between a name and its colon",
        client: "GET http://TARGET/ HTTP/1.1\r\nHost: x\r\nX : a\r\n\r\n",
        server: OK,
        forwarded: &[Nothing],
        answered: &[Begin("HTTP/1.1 400 "), Have("connection: close\r\n")],
    },
    Case {
        rule: "RFC 9112 section 5.1: space between Transfer-Encoding and its colon",
        client: "POST http://TARGET/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\nGET http://TARGET/hidden HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: OK,
        forwarded: &[Nothing],
        answered: &[Begin("HTTP/1.1 400 "), Have("connection: close\r\n")],
    },
    Case {
        rule: "RFC 9112 section 5.1: an empty name",
        client: "GET http://TARGET/ HTTP/1.1\r\nHost: x\r\n: a\r\n\r\n",
        server: OK,
        forwarded: &[Nothing],
        answered: &[Begin("HTTP/1.1 400 "), Have("connection: close\r\n")],
    },
    Case {
        rule: "RFC 9112 section 5.1: spaces around a value are no part of it",
        client: "GET http://TARGET/ HTTP/1.1\r\nHost: x\r\nX:   a b \t \r\nConnection: close\r\n\r\n",
        server: OK,
        forwarded: &[Have("\r\nx: a b\r\n")],
        answered: &[Begin("HTTP/1.1 200 "), End("ok")],
    },
    Case {
        rule: "RFC 9112 section 5.2: a folded line",
        client: "GET http://TARGET/ HTTP/1.1\r\nHost: x\r\nX: a\r\n b\r\n\r\n",
        server: OK,
        forwarded: &[Nothing],
        answered: &[Begin("HTTP/1.1 400 "), Have("connection: close\r\n")],
    },
    Case {
        rule: "RFC 9112 section 5.2: a folded line that looks like a field",
        client: "GET http://TARGET/ HTTP/1.1\r\nHost: x\r\nX: a\r\n\tTransfer-Encoding: chunked\r\n\r\n",
        server: OK,
        forwarded: &[Nothing],
        answered: &[Begin("HTTP/1.1 400 "), Have("connection: close\r\n")],
    },
    Case {
        rule: "RFC 9110 section 5.1: a name that is no token",
        client: "GET http://TARGET/ HTTP/1.1\r\nHost: x\r\nX Y: a\r\n\r\n",
        server: OK,
        forwarded: &[Nothing],
        answered: &[Begin("HTTP/1.1 400 "), Have("connection: close\r\n")],
    },
    Case {
        rule: "RFC 9110 section 5.5: NUL in a value",
        client: "GET http://TARGET/ HTTP/1.1\r\nHost: x\r\nX: a\u{0000}b\r\n\r\n",
        server: OK,
        forwarded: &[Nothing],
        answered: &[Begin("HTTP/1.1 400 "), Have("connection: close\r\n")],
    },
    Case {
        rule: "RFC 9110 section 5.3: fields of one name keep their order",
        client: "GET http://TARGET/ HTTP/1.1\r\nHost: x\r\nX: 1\r\nY: 0\r\nX: 2\r\nConnection: close\r\n\r\n",
        server: OK,
        forwarded: &[Have("x: 1\r\nx: 2\r\n")],
        answered: &[Begin("HTTP/1.1 200 "), End("ok")],
    },
    Case {
        rule: "RFC 9110 section 5.1: unknown fields are forwarded",
        client: "GET http://TARGET/ HTTP/1.1\r\nHost: x\r\nX-Unknown: \u{00e9}\r\nConnection: close\r\n\r\n",
        server: OK,
        forwarded: &[Have("x-unknown: \u{00e9}\r\n")],
        answered: &[Begin("HTTP/1.1 200 "), End("ok")],
    },
];

/// Where a request goes.
#[test]
fn rfc9112_3_targets() {
    hold(&TARGETS);
}

const TARGETS: [Case; 32] = [
    Case {
        rule: "RFC 9112 section 3.2: no host",
        client: "GET http:///x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: OK,
        forwarded: &[Nothing],
        answered: &[Begin("HTTP/1.1 "), Lack(" 200 ")],
    },
    Case {
        rule: "RFC 9112 section 3.2: a space",
        client: "GET http://TARGET/ x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: OK,
        forwarded: &[Nothing],
        answered: &[Begin("HTTP/1.1 "), Lack(" 200 ")],
    },
    Case {
        rule: "RFC 9112 section 3.2: half an address",
        client: "GET http://[::1/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: OK,
        forwarded: &[Nothing],
        answered: &[Begin("HTTP/1.1 "), Lack(" 200 ")],
    },
    Case {
        rule: "RFC 9112 section 3.2: * is for OPTIONS",
        client: "GET * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: OK,
        forwarded: &[Nothing],
        answered: &[Begin("HTTP/1.1 "), Lack(" 200 ")],
    },
    Case {
        rule: "RFC 9112 section 3.2: a control character",
        client: "GET http://a\u{7f}b/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: OK,
        forwarded: &[Nothing],
        answered: &[Begin("HTTP/1.1 "), Lack(" 200 ")],
    },
    Case {
        rule: "RFC 9112 section 3.2: another way to write an address",
        client: "GET http://127.1/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: OK,
        forwarded: &[Nothing],
        answered: &[Begin("HTTP/1.1 "), Lack(" 200 ")],
    },
    Case {
        rule: "RFC 9112 section 3.2: one more way to write an address",
        client: "GET http://0x7f000001/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: OK,
        forwarded: &[Nothing],
        answered: &[Begin("HTTP/1.1 "), Lack(" 200 ")],
    },
    Case {
        rule: "RFC 9112 section 3.2: a port that is none",
        client: "GET http://a:99999/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: OK,
        forwarded: &[Nothing],
        answered: &[Begin("HTTP/1.1 "), Lack(" 200 ")],
    },
    Case {
        rule: "RFC 9112 section 3.2: no Host",
        client: "GET http://TARGET/ HTTP/1.1\r\n\r\n",
        server: OK,
        forwarded: &[Nothing],
        answered: &[Begin("HTTP/1.1 400 "), Have("connection: close\r\n")],
    },
    Case {
        rule: "RFC 9112 section 3.2: two Hosts",
        client: "GET http://TARGET/ HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n",
        server: OK,
        forwarded: &[Nothing],
        answered: &[Begin("HTTP/1.1 400 "), Have("connection: close\r\n")],
    },
    Case {
        rule: "RFC 9112 section 3.2: a Host that is none",
        client: "GET http://TARGET/ HTTP/1.1\r\nHost: a b\r\n\r\n",
        server: OK,
        forwarded: &[Nothing],
        answered: &[Begin("HTTP/1.1 400 "), Have("connection: close\r\n")],
    },
    Case {
        rule: "RFC 9112 section 3.2: a Host with a path",
        client: "GET http://TARGET/ HTTP/1.1\r\nHost: a/b\r\n\r\n",
        server: OK,
        forwarded: &[Nothing],
        answered: &[Begin("HTTP/1.1 400 "), Have("connection: close\r\n")],
    },
    Case {
        rule: "RFC 9112 section 3.2: a Host with a user",
        client: "GET http://TARGET/ HTTP/1.1\r\nHost: u@a\r\n\r\n",
        server: OK,
        forwarded: &[Nothing],
        answered: &[Begin("HTTP/1.1 400 "), Have("connection: close\r\n")],
    },
    Case {
        rule: "RFC 9112 section 3.2: a Host whose port is none",
        client: "GET http://TARGET/ HTTP/1.1\r\nHost: a:b\r\n\r\n",
        server: OK,
        forwarded: &[Nothing],
        answered: &[Begin("HTTP/1.1 400 "), Have("connection: close\r\n")],
    },
    Case {
        rule: "RFC 9112 section 3.2: an empty Host is one",
        client: "GET http://TARGET/ HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n",
        server: OK,
        forwarded: &[Have("\r\nhost: 127.0.0.1:")],
        answered: &[Begin("HTTP/1.1 200 "), End("ok")],
    },
    Case {
        rule: "RFC 9112 section 3.2.2: the host of the target replaces Host",
        client: "GET http://TARGET/ HTTP/1.1\r\nHost: other.example\r\nConnection: close\r\n\r\n",
        server: OK,
        forwarded: &[Have("\r\nhost: 127.0.0.1:"), Lack("other")],
        answered: &[Begin("HTTP/1.1 200 "), End("ok")],
    },
    Case {
        rule: "RFC 9112 section 3.2.1: a proxy is no origin",
        client: "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        server: OK,
        forwarded: &[Nothing],
        answered: &[Begin("HTTP/1.1 400 ")],
    },
    Case {
        rule: "RFC 9110 section 7.7: path and query are not rewritten",
        client: "GET http://TARGET/a%2F..//./b;x?c=%41&&d=/? HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: OK,
        forwarded: &[Begin("GET /a%2F..//./b;x?c=%41&&d=/? HTTP/1.1\r\n")],
        answered: &[Begin("HTTP/1.1 200 "), End("ok")],
    },
    Case {
        rule: "RFC 9110 section 4.2.3: an empty path is /",
        client: "GET http://TARGET HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: OK,
        forwarded: &[Begin("GET / HTTP/1.1\r\n")],
        answered: &[Begin("HTTP/1.1 200 "), End("ok")],
    },
    Case {
        rule: "RFC 9110 section 4.2.3: an empty path before a query is /",
        client: "GET http://TARGET?q HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: OK,
        forwarded: &[Begin("GET /?q HTTP/1.1\r\n")],
        answered: &[Begin("HTTP/1.1 200 "), End("ok")],
    },
    Case {
        rule: "RFC 9110 section 4.2.4: a user in the target",
        client: "GET http://u:p@TARGET/ HTTP/1.1\r\nHost: x\r\n\r\n",
        server: OK,
        forwarded: &[Nothing],
        answered: &[Begin("HTTP/1.1 400 ")],
    },
    Case {
        rule: "RFC 9112 section 3.2.4: OPTIONS with a path is one about that",
        client: "OPTIONS http://TARGET/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: OK,
        forwarded: &[Begin("OPTIONS / HTTP/1.1\r\n")],
        answered: &[Begin("HTTP/1.1 200 "), End("ok")],
    },
    Case {
        rule: "RFC 9110 section 7.6.2: OPTIONS ends here",
        client: "OPTIONS http://TARGET HTTP/1.1\r\nHost: x\r\nMax-Forwards: 0\r\nConnection: close\r\n\r\n",
        server: OK,
        forwarded: &[Nothing],
        answered: &[Begin("HTTP/1.1 200 ")],
    },
    Case {
        rule: "RFC 9110 section 7.6.2: OPTIONS goes one hop less",
        client: "OPTIONS http://TARGET HTTP/1.1\r\nHost: x\r\nMax-Forwards: 3\r\nConnection: close\r\n\r\n",
        server: OK,
        forwarded: &[Have("max-forwards: 2\r\n")],
        answered: &[Begin("HTTP/1.1 200 "), End("ok")],
    },
    Case {
        rule: "RFC 9110 section 7.6.2: Max-Forwards of other methods is nobody's business",
        client: "GET http://TARGET/ HTTP/1.1\r\nHost: x\r\nMax-Forwards: 0\r\nConnection: close\r\n\r\n",
        server: OK,
        forwarded: &[Have("max-forwards: 0\r\n")],
        answered: &[Begin("HTTP/1.1 200 "), End("ok")],
    },
    Case {
        rule: "RFC 9110 section 9.3.8: TRACE is not forwarded",
        client: "TRACE http://TARGET/ HTTP/1.1\r\nHost: x\r\n\r\n",
        server: OK,
        forwarded: &[Nothing],
        answered: &[Begin("HTTP/1.1 405 "), Have("allow: ")],
    },
    Case {
        rule: "RFC 9110 section 9.3.6: CONNECT to an empty port",
        client: "CONNECT 127.0.0.1: HTTP/1.1\r\nHost: x\r\n\r\n",
        server: OK,
        forwarded: &[Nothing],
        answered: &[Begin("HTTP/1.1 400 ")],
    },
    Case {
        rule: "RFC 9110 section 9.3.6: CONNECT without a port",
        client: "CONNECT 127.0.0.1 HTTP/1.1\r\nHost: x\r\n\r\n",
        server: OK,
        forwarded: &[Nothing],
        answered: &[Begin("HTTP/1.1 400 ")],
    },
    Case {
        rule: "RFC 9110 section 9.3.6: CONNECT to a URI",
        client: "CONNECT http://TARGET/ HTTP/1.1\r\nHost: x\r\n\r\n",
        server: OK,
        forwarded: &[Nothing],
        answered: &[Begin("HTTP/1.1 400 ")],
    },
    Case {
        rule: "RFC 9110 section 9.3.6: the answer of CONNECT has no length",
        client: "CONNECT TARGET HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\n\r\n",
        server: OK,
        forwarded: &[Begin("GET / HTTP/1.1\r\n\r\n")],
        answered: &[
            Begin("HTTP/1.1 200 "),
            Lack("ransfer-encoding"),
            End("\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"),
        ],
    },
    Case {
        rule: "RFC 9110 section 9.3.6: a length of CONNECT means nothing, and is refused",
        client: "CONNECT TARGET HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc",
        server: OK,
        forwarded: &[Nothing],
        answered: &[Begin("HTTP/1.1 400 "), Have("connection: close\r\n")],
    },
    Case {
        rule: "RFC 9110 section 9.3.6: neither do chunks",
        client: "CONNECT TARGET HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        server: OK,
        forwarded: &[Nothing],
        answered: &[Begin("HTTP/1.1 400 "), Have("connection: close\r\n")],
    },
];

/// Where a request ends.
#[test]
fn rfc9112_6_where_a_request_ends() {
    hold(&FRAMING);
}

const FRAMING: [Case; 44] = [
    Case {
        rule: "RFC 9112 section 6.3: an encoding beside a length; the connection ends",
        client: "POST http://TARGET/ HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET http://TARGET/hidden HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: OK,
        forwarded: &[Lack("hidden"), Lack("content-length")],
        answered: &[Lack("\r\n\r\nHTTP/1.1 "), Have("connection: close\r\n")],
    },
    Case {
        rule: "RFC 9112 section 6.3: a length beside an encoding; the connection ends",
        client: "POST http://TARGET/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\nGET http://TARGET/hidden HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: OK,
        forwarded: &[Lack("hidden"), Lack("content-length")],
        answered: &[Lack("okHTTP/1.1"), Have("connection: close\r\n")],
    },
    Case {
        rule: "RFC 9112 section 6.3: two lengths that differ",
        client: "POST http://TARGET/ HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhelloGET http://TARGET/hidden HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: OK,
        forwarded: &[Nothing],
        answered: &[Begin("HTTP/1.1 400 "), Have("connection: close\r\n")],
    },
    Case {
        rule: "RFC 9112 section 6.3: a list of two lengths",
        client: "POST http://TARGET/ HTTP/1.1\r\nHost: x\r\nContent-Length: 5, 6\r\n\r\nhelloGET http://TARGET/hidden HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: OK,
        forwarded: &[Nothing],
        answered: &[Begin("HTTP/1.1 400 "), Have("connection: close\r\n")],
    },
    Case {
        rule: "RFC 9112 section 6.3: the same length twice is one, or refused",
        client: "POST http://TARGET/ HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello",
        server: OK,
        forwarded: &[Lack("content-length: 5, 5")],
        answered: &[Begin("HTTP/1.1 ")],
    },
    Case {
        rule: "RFC 9110 section 8.6: `+5` is no length",
        client: "POST http://TARGET/ HTTP/1.1\r\nHost: x\r\nContent-Length: +5\r\n\r\nhelloGET http://TARGET/hidden HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: OK,
        forwarded: &[Nothing],
        answered: &[Begin("HTTP/1.1 400 "), Have("connection: close\r\n")],
    },
    Case {
        rule: "RFC 9110 section 8.6: `-1` is no length",
        client: "POST http://TARGET/ HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\nhelloGET http://TARGET/hidden HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: OK,
        forwarded: &[Nothing],
        answered: &[Begin("HTTP/1.1 400 "), Have("connection: close\r\n")],
    },
    Case {
        rule: "RFC 9110 section 8.6: `5 5` is no length",
        client: "POST http://TARGET/ HTTP/1.1\r\nHost: x\r\nContent-Length: 5 5\r\n\r\nhelloGET http://TARGET/hidden HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: OK,
        forwarded: &[Nothing],
        answered: &[Begin("HTTP/1.1 400 "), Have("connection: close\r\n")],
    },
    Case {
        rule: "RFC 9110 section 8.6: `0x5` is no length",
        client: "POST http://TARGET/ HTTP/1.1\r\nHost: x\r\nContent-Length: 0x5\r\n\r\nhelloGET http://TARGET/hidden HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: OK,
        forwarded: &[Nothing],
        answered: &[Begin("HTTP/1.1 400 "), Have("connection: close\r\n")],
    },
    Case {
        rule: "RFC 9110 section 8.6: `5a` is no length",
        client: "POST http://TARGET/ HTTP/1.1\r\nHost: x\r\nContent-Length: 5a\r\n\r\nhelloGET http://TARGET/hidden HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: OK,
        forwarded: &[Nothing],
        answered: &[Begin("HTTP/1.1 400 "), Have("connection: close\r\n")],
    },
    Case {
        rule: "RFC 9110 section 8.6: `` is no length",
        client: "POST http://TARGET/ HTTP/1.1\r\nHost: x\r\nContent-Length: \r\n\r\nhelloGET http://TARGET/hidden HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: OK,
        forwarded: &[Nothing],
        answered: &[Begin("HTTP/1.1 400 "), Have("connection: close\r\n")],
    },
    Case {
        rule: "RFC 9110 section 8.6: `99999999999999999999` is no length",
        client: "POST http://TARGET/ HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\nhelloGET http://TARGET/hidden HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: OK,
        forwarded: &[Nothing],
        answered: &[Begin("HTTP/1.1 400 "), Have("connection: close\r\n")],
    },
    Case {
        rule: "RFC 9112 section 6.1: chunked is not last",
        client: "POST http://TARGET/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\nGET http://TARGET/hidden HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: OK,
        forwarded: &[Nothing],
        answered: &[Begin("HTTP/1.1 400 "), Have("connection: close\r\n")],
    },
    Case {
        rule: "RFC 9112 section 6.1: chunked is not last, on two lines",
        client: "POST http://TARGET/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: gzip\r\n\r\n0\r\n\r\nGET http://TARGET/hidden HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: OK,
        forwarded: &[Nothing],
        answered: &[Begin("HTTP/1.1 400 "), Have("connection: close\r\n")],
    },
    Case {
        rule: "RFC 9112 section 6.1: chunked is there twice",
        client: "POST http://TARGET/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\nGET http://TARGET/hidden HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: OK,
        forwarded: &[Nothing],
        answered: &[Lack(" 200 OK"), Have("connection: close\r\n")],
    },
    Case {
        rule: "RFC 9112 section 6.1: a coding that is not known",
        client: "POST http://TARGET/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\nConnection: close\r\n\r\n0\r\n\r\n",
        server: OK,
        forwarded: &[Nothing],
        answered: &[Begin("HTTP/1.1 501 ")],
    },
    Case {
        rule: "RFC 9112 section 6.1: codings of old",
        client: "POST http://TARGET/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\nGET http://TARGET/hidden HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: OK,
        forwarded: &[Nothing],
        answered: &[Begin("HTTP/1.1 400 "), Have("connection: close\r\n")],
    },
    Case {
        rule: "RFC 9112 section 6.1: an encoding in HTTP/1.0",
        client: "POST http://TARGET/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET http://TARGET/hidden HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: OK,
        forwarded: &[Nothing],
        answered: &[Have(" 400 ")],
    },
    Case {
        rule: "RFC 9112 section 7: names of codings have no case",
        client: "POST http://TARGET/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: CHUNKED\r\nConnection: close\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
        server: OK,
        forwarded: &[
            Have("\r\ntransfer-encoding: chunked\r\n"),
            End("\r\n\r\n2\r\nhi\r\n0\r\n\r\n"),
        ],
        answered: &[Begin("HTTP/1.1 200 "), End("ok")],
    },
    Case {
        rule: "RFC 9112 section 6.1: \"xchunked\" is no coding",
        client: "POST http://TARGET/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\nGET http://TARGET/hidden HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: OK,
        forwarded: &[Nothing],
        answered: &[Lack(" 200 OK"), Have("connection: close\r\n")],
    },
    Case {
        rule: "RFC 9112 section 6.1: \"chunkedx\" is no coding",
        client: "POST http://TARGET/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunkedx\r\n\r\n0\r\n\r\nGET http://TARGET/hidden HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: OK,
        forwarded: &[Nothing],
        answered: &[Lack(" 200 OK"), Have("connection: close\r\n")],
    },
    Case {
        rule: "RFC 9112 section 6.1: \"VT chunked\" is no coding",
        client: "POST http://TARGET/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: \u{000b}chunked\r\n\r\n0\r\n\r\nGET http://TARGET/hidden HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: OK,
        forwarded: &[Nothing],
        answered: &[Lack(" 200 OK"), Have("connection: close\r\n")],
    },
    Case {
        rule: "RFC 9112 section 6.1: \"\\\"chunked\\\"\" is no coding",
        client: "POST http://TARGET/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\nGET http://TARGET/hidden HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: OK,
        forwarded: &[Nothing],
        answered: &[Lack(" 200 OK"), Have("connection: close\r\n")],
    },
    Case {
        rule: "RFC 9112 section 6.1: \"chunked;q=1\" is no coding",
        client: "POST http://TARGET/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked;q=1\r\n\r\n0\r\n\r\nGET http://TARGET/hidden HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: OK,
        forwarded: &[Nothing],
        answered: &[Lack(" 200 OK"), Have("connection: close\r\n")],
    },
    Case {
        rule: "RFC 9112 section 6.1: \"chunked NBSP\" is no coding",
        client: "POST http://TARGET/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\u{00a0}\r\n\r\n0\r\n\r\nGET http://TARGET/hidden HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: OK,
        forwarded: &[Nothing],
        answered: &[Lack(" 200 OK"), Have("connection: close\r\n")],
    },
    Case {
        rule: "RFC 9112 section 6.1: \"ch TAB unked\" is no coding",
        client: "POST http://TARGET/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: ch\tunked\r\n\r\n0\r\n\r\nGET http://TARGET/hidden HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: OK,
        forwarded: &[Nothing],
        answered: &[Lack(" 200 OK"), Have("connection: close\r\n")],
    },
    Case {
        rule: "RFC 9112 section 6.3: a request without either has no content",
        client: "POST http://TARGET/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\nGET / HTTP/1.1\r\n\r\n",
        server: OK,
        forwarded: &[Lack("GET")],
        answered: &[Begin("HTTP/1.1 200 "), End("ok")],
    },
    Case {
        rule: "RFC 9112 section 6.2: content of a length",
        client: "POST http://TARGET/ HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello",
        server: OK,
        forwarded: &[Have("content-length: 5\r\n"), End("\r\n\r\nhello")],
        answered: &[Begin("HTTP/1.1 200 "), End("ok")],
    },
    Case {
        rule: "RFC 9110 section 8.6: a length of 0 is kept",
        client: "POST http://TARGET/ HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        server: OK,
        forwarded: &[Have("content-length: 0\r\n")],
        answered: &[Begin("HTTP/1.1 200 "), End("ok")],
    },
    Case {
        rule: "RFC 9110 section 9.3.1: content of GET keeps its frame",
        client: "GET http://TARGET/ HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello",
        server: OK,
        forwarded: &[Have("content-length: 5\r\n"), End("\r\n\r\nhello")],
        answered: &[Begin("HTTP/1.1 200 "), End("ok")],
    },
    Case {
        rule: "RFC 9110 section 7.6.1: Connection takes no frame away",
        client: "POST http://TARGET/ HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nConnection: close, content-length\r\n\r\nhello",
        server: OK,
        forwarded: &[Have("content-length: 5\r\n"), End("\r\n\r\nhello")],
        answered: &[Begin("HTTP/1.1 200 "), End("ok")],
    },
    Case {
        rule: "RFC 9110 section 7.6.1: Connection takes no chunks away",
        client: "POST http://TARGET/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nConnection: close, transfer-encoding\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        server: OK,
        forwarded: &[
            Have("transfer-encoding: chunked\r\n"),
            End("\r\n\r\n5\r\nhello\r\n0\r\n\r\n"),
        ],
        answered: &[Begin("HTTP/1.1 200 "), End("ok")],
    },
    Case {
        rule: "RFC 9112 section 7.1.1: extensions of chunks are left out",
        client: "POST http://TARGET/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n5;a=b;c=\"d\"\r\nhello\r\n0\r\n\r\n",
        server: OK,
        forwarded: &[End("\r\n\r\n5\r\nhello\r\n0\r\n\r\n")],
        answered: &[Begin("HTTP/1.1 200 "), End("ok")],
    },
    Case {
        rule: "RFC 9112 section 7.1.2: trailers are no fields of the head",
        client: "POST http://TARGET/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n5\r\nhello\r\n0\r\nContent-Length: 9\r\nHost: y\r\n\r\n",
        server: OK,
        forwarded: &[Lack("ength: 9"), Lack("ost: y")],
        answered: &[Begin("HTTP/1.1 200 "), End("ok")],
    },
    Case {
        rule: "RFC 9112 section 7.1: \"zz\\r\\n\" is no chunk",
        client: "POST http://TARGET/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n0\r\n\r\nGET http://TARGET/hidden HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: OK,
        forwarded: &[Lack("\r\nGET /hidden"), Lack("\r\n0\r\n\r\n")],
        answered: &[Lack(" 200 OK")],
    },
    Case {
        rule: "RFC 9112 section 7.1: \"-1\\r\\n\" is no chunk",
        client: "POST http://TARGET/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n0\r\n\r\nGET http://TARGET/hidden HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: OK,
        forwarded: &[Lack("\r\nGET /hidden"), Lack("\r\n0\r\n\r\n")],
        answered: &[Lack(" 200 OK")],
    },
    Case {
        rule: "RFC 9112 section 7.1: \"+1\\r\\na\\r\\n\" is no chunk",
        client: "POST http://TARGET/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n+1\r\na\r\n0\r\n\r\nGET http://TARGET/hidden HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: OK,
        forwarded: &[Lack("\r\nGET /hidden"), Lack("\r\n0\r\n\r\n")],
        answered: &[Lack(" 200 OK")],
    },
    Case {
        rule: "RFC 9112 section 7.1: \"0x1\\r\\na\\r\\n\" is no chunk",
        client: "POST http://TARGET/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0x1\r\na\r\n0\r\n\r\nGET http://TARGET/hidden HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: OK,
        forwarded: &[Lack("\r\nGET /hidden"), Lack("\r\n0\r\n\r\n")],
        answered: &[Lack(" 200 OK")],
    },
    Case {
        rule: "RFC 9112 section 7.1: \"ffffffffffffffffff\\r\\n\" is no chunk",
        client: "POST http://TARGET/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n0\r\n\r\nGET http://TARGET/hidden HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: OK,
        forwarded: &[Lack("\r\nGET /hidden"), Lack("\r\n0\r\n\r\n")],
        answered: &[Lack(" 200 OK")],
    },
    Case {
        rule: "RFC 9112 section 7.1: \"5;a=b\\rc\\r\\nhello\\r\\n\" is no chunk",
        client: "POST http://TARGET/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\rc\r\nhello\r\n0\r\n\r\nGET http://TARGET/hidden HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: OK,
        forwarded: &[Lack("\r\nGET /hidden"), Lack("\r\n0\r\n\r\n")],
        answered: &[Lack(" 200 OK")],
    },
    Case {
        rule: "RFC 9112 section 7.1: \"1\\r\\nab\\r\\n\" is no chunk",
        client: "POST http://TARGET/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\nGET http://TARGET/hidden HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: OK,
        forwarded: &[Lack("\r\nGET /hidden"), Lack("\r\n0\r\n\r\n")],
        answered: &[Lack(" 200 OK")],
    },
    Case {
        rule: "RFC 9112 section 7.1: \"\\r\\n\" is no chunk",
        client: "POST http://TARGET/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n\r\n0\r\n\r\nGET http://TARGET/hidden HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: OK,
        forwarded: &[Lack("\r\nGET /hidden"), Lack("\r\n0\r\n\r\n")],
        answered: &[Lack(" 200 OK")],
    },
    Case {
        rule: "RFC 9112 section 7.1: \"1 1\\r\\na\\r\\n\" is no chunk",
        client: "POST http://TARGET/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1 1\r\na\r\n0\r\n\r\nGET http://TARGET/hidden HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: OK,
        forwarded: &[Lack("\r\nGET /hidden"), Lack("\r\n0\r\n\r\n")],
        answered: &[Lack(" 200 OK")],
    },
    Case {
        rule: "RFC 9112 section 7.1: \"1\\nab\\r\\n\" is no chunk",
        client: "POST http://TARGET/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\nab\r\n0\r\n\r\nGET http://TARGET/hidden HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: OK,
        forwarded: &[Lack("\r\nGET /hidden"), Lack("\r\n0\r\n\r\n")],
        answered: &[Lack(" 200 OK")],
    },
];

/// Fields of one connection, and how long a connection lasts.
#[test]
fn rfc9110_7_6_one_connection() {
    hold(&HOPS);
}

const HOPS: [Case; 15] = [
    Case {
        rule: "RFC 9110 section 7.6.1: what Connection names is of one hop",
        client: "GET http://TARGET/ HTTP/1.1\r\nHost: x\r\nConnection: close, X-Key\r\nX-Key: 1\r\nX-Kept: 2\r\n\r\n",
        server: OK,
        forwarded: &[Lack("x-key"), Lack("connection"), Have("x-kept: 2\r\n")],
        answered: &[Begin("HTTP/1.1 200 "), End("ok")],
    },
    Case {
        rule: "RFC 9110 section 7.6.1: several lines of Connection, in any case",
        client: "GET http://TARGET/ HTTP/1.1\r\nHost: x\r\nConnection: X-A\r\nconnection: CLOSE\r\nX-A: 1\r\nX-B: 2\r\nCONNECTION:x-b\r\n\r\n",
        server: OK,
        forwarded: &[Lack("x-a"), Lack("x-b")],
        answered: &[Begin("HTTP/1.1 200 "), End("ok")],
    },
    Case {
        rule: "RFC 9110 section 7.6.1: what is of one hop without being named",
        client: "GET http://TARGET/ HTTP/1.1\r\nHost: x\r\nKeep-Alive: timeout=5\r\nProxy-Connection: keep-alive\r\nTE: trailers\r\nConnection: close\r\n\r\n",
        server: OK,
        forwarded: &[
            Lack("keep-alive"),
            Lack("proxy-connection"),
            Lack("te: trailers"),
        ],
        answered: &[Begin("HTTP/1.1 200 "), End("ok")],
    },
    Case {
        rule: "RFC 9110 section 11.7.2: Proxy-Authorization is for us",
        client: "GET http://TARGET/ HTTP/1.1\r\nHost: x\r\nProxy-Authorization: Basic eDp5\r\nAuthorization: Basic eDp5\r\nConnection: close\r\n\r\n",
        server: OK,
        forwarded: &[
            Lack("proxy-authorization"),
            Have("\r\nauthorization: Basic eDp5\r\n"),
        ],
        answered: &[Begin("HTTP/1.1 200 "), End("ok")],
    },
    Case {
        rule: "RFC 9110 section 7.6.3: Via has one hop more, after the others",
        client: "GET http://TARGET/ HTTP/1.1\r\nHost: x\r\nVia: 1.0 fred\r\nConnection: close\r\n\r\n",
        server: OK,
        forwarded: &[Have("via: 1.0 fred\r\nvia: 1.1 isthmus-")],
        answered: &[Have("\r\nvia: 1.1 isthmus-")],
    },
    Case {
        rule: "RFC 9110 section 7.6.1: Connection cannot hide where a request has been",
        client: "GET http://TARGET/ HTTP/1.1\r\nHost: x\r\nVia: 1.0 fred\r\nConnection: close, Via\r\n\r\n",
        server: OK,
        forwarded: &[Have("via: 1.1 isthmus-")],
        answered: &[Begin("HTTP/1.1 200 "), End("ok")],
    },
    Case {
        rule: "RFC 9110 section 7.6.1: Connection cannot take Host away",
        client: "GET http://TARGET/ HTTP/1.1\r\nHost: x\r\nConnection: close, Host\r\n\r\n",
        server: OK,
        forwarded: &[Have("\r\nhost: 127.0.0.1:")],
        answered: &[Begin("HTTP/1.1 200 "), End("ok")],
    },
    Case {
        rule: "RFC 9110 section 7.8: Upgrade of HTTP/1.0 is ignored",
        client: "GET http://TARGET/ HTTP/1.0\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
        server: OK,
        forwarded: &[Lack("upgrade")],
        answered: &[Have(" 200 "), End("ok")],
    },
    Case {
        rule: "RFC 9110 section 7.8: Upgrade that Connection does not name is ignored",
        client: "GET http://TARGET/ HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: close\r\n\r\n",
        server: OK,
        forwarded: &[Lack("upgrade")],
        answered: &[Begin("HTTP/1.1 200 "), End("ok")],
    },
    Case {
        rule: "RFC 9112 section 9.3: HTTP/1.1 stays open, and answers in order",
        client: "GET http://TARGET/ HTTP/1.1\r\nHost: x\r\n\r\nGET http://TARGET/2 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: OK,
        forwarded: &[Begin("GET / "), Have("GET /2 ")],
        answered: &[Have("okHTTP/1.1 200 "), End("ok")],
    },
    Case {
        rule: "RFC 9112 section 9.6: nothing is answered after close",
        client: "GET http://TARGET/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\nGET http://TARGET/hidden HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: OK,
        forwarded: &[Lack("hidden")],
        answered: &[Lack("okHTTP"), Have("connection: close\r\n"), End("ok")],
    },
    Case {
        rule: "RFC 9112 section 9.3: no proxy keeps a connection of HTTP/1.0",
        client: "GET http://TARGET/ HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET http://TARGET/hidden HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: OK,
        forwarded: &[Lack("hidden")],
        answered: &[Have("connection: close"), End("ok")],
    },
    Case {
        rule: "RFC 9112 section 9.3.2: an error does not shift the answers behind it",
        client: "GET / HTTP/1.1\r\nHost: x\r\n\r\nGET http://TARGET/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: OK,
        forwarded: &[Begin("GET / ")],
        answered: &[Begin("HTTP/1.1 400 "), Have("\nHTTP/1.1 200 "), End("ok")],
    },
    Case {
        rule: "RFC 9110 section 10.1.1: 100-continue of HTTP/1.0 is ignored",
        client: "POST http://TARGET/ HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nhi",
        server: OK,
        forwarded: &[End("hi")],
        answered: &[Lack("100 Continue"), Have(" 200 ")],
    },
    Case {
        rule: "RFC 9110 section 10.1.1: an expectation that is not known",
        client: "POST http://TARGET/ HTTP/1.1\r\nHost: x\r\nExpect: tea\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi",
        server: OK,
        forwarded: &[Nothing],
        answered: &[Begin("HTTP/1.1 417 ")],
    },
];

/// Heads of these many octets and fields, and the status that they get.
#[test]
fn rfc9112_3_sizes() {
    let with = |path: usize, field: usize, fields: usize| {
        let (path, field) = ("a".repeat(path), "a".repeat(field));
        let fields = "A: b\r\n".repeat(fields);
        format!("GET http://TARGET/{path} HTTP/1.1\r\nHost: x\r\nX: {field}\r\n{fields}{CLOSE}")
    };
    let proxy = Proxy::start(|_| {});
    for (rule, head, status) in [
        (
            "RFC 9112 section 3: a line of 8000",
            with(7_960, 0, 0),
            "200",
        ),
        (
            "RFC 9110 section 15.5.15: a long target",
            with(20_000, 0, 0),
            "414",
        ),
        ("RFC 9110 section 5.4: many fields", with(0, 0, 100), "200"),
        (
            "RFC 6585 section 5: too many fields",
            with(0, 0, 200),
            "431",
        ),
        (
            "RFC 9110 section 5.4: a long field",
            with(0, 16_000, 0),
            "200",
        ),
        (
            "RFC 6585 section 5: too long a field",
            with(0, 70_000, 0),
            "431",
        ),
    ] {
        let server = Scripted::start(OK);
        let head = head.replace("TARGET", &server.address.to_string());
        let said = exchange(&mut proxy.connect(), head.as_bytes());
        let wanted = format!("HTTP/1.1 {status} ");
        assert!(said.starts_with(&wanted), "{rule}: {said}");
        assert_eq!(server.seen().is_empty(), status != "200", "{rule}");
    }
}

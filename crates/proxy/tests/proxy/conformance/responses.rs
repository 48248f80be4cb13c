//! Cases of what servers send.

use super::Must::*;
use super::{Case, hold};

/// Status lines and fields.
#[test]
fn rfc9112_4_heads_of_servers() {
    hold(&HEADS);
}

const HEADS: [Case; 17] = [
    Case {
        rule: "RFC 9112 section 4: a status line that is none",
        client: "GET http://TARGET/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: "HTTP/1.1 two OK\r\n\r\n",
        forwarded: &[],
        answered: &[Begin("HTTP/1.1 502 ")],
    },
    Case {
        rule: "RFC 9112 section 4: what is no HTTP",
        client: "GET http://TARGET/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: "SSH-2.0-x\r\n",
        forwarded: &[],
        answered: &[Begin("HTTP/1.1 502 ")],
    },
    Case {
        rule: "RFC 9112 section 4: nothing at all",
        client: "GET http://TARGET/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: "",
        forwarded: &[],
        answered: &[Begin("HTTP/1.1 502 ")],
    },
    Case {
        rule: "RFC 9112 section 4: half a head",
        client: "GET http://TARGET/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: "HTTP/1.1 200 OK\r\nContent-Le",
        forwarded: &[],
        answered: &[Begin("HTTP/1.1 502 ")],
    },
    Case {
        rule: "RFC 9112 section 4: no reason",
        client: "GET http://TARGET/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: "HTTP/1.1 204\r\n\r\n",
        forwarded: &[],
        answered: &[Begin("HTTP/1.1 204 ")],
    },
    Case {
        rule: "RFC 9112 section 4: an unknown status is forwarded",
        client: "GET http://TARGET/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: "HTTP/1.1 299 Odd\r\nContent-Length: 2\r\n\r\nok",
        forwarded: &[],
        answered: &[Begin("HTTP/1.1 299 "), End("ok")],
    },
    Case {
        rule: "RFC 9112 section 5.1: space before the colon is taken out",
        client: "GET http://TARGET/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: "HTTP/1.1 200 OK\r\nX : a\r\nContent-Length: 2\r\n\r\nok",
        forwarded: &[],
        answered: &[Have("\r\nx: a\r\n"), End("ok")],
    },
    Case {
        rule: "RFC 9112 section 5.2: a folded line is refused or unfolded",
        client: "GET http://TARGET/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: "HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 2\r\n\r\nok",
        forwarded: &[],
        answered: &[Lack("\r\n b")],
    },
    Case {
        rule: "RFC 9110 section 5.5: NUL in a value",
        client: "GET http://TARGET/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: "HTTP/1.1 200 OK\r\nX: a\u{0000}b\r\nContent-Length: 2\r\n\r\nok",
        forwarded: &[],
        answered: &[Begin("HTTP/1.1 502 ")],
    },
    Case {
        rule: "RFC 9110 section 5.5: a CR alone in a value",
        client: "GET http://TARGET/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: "HTTP/1.1 200 OK\r\nX: a\rb\r\nContent-Length: 2\r\n\r\nok",
        forwarded: &[],
        answered: &[Lack("a\rb")],
    },
    Case {
        rule: "RFC 9110 section 5.3: cookies keep their order",
        client: "GET http://TARGET/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: "HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nX: y\r\nSet-Cookie: b=2\r\nContent-Length: 2\r\n\r\nok",
        forwarded: &[],
        answered: &[Have("set-cookie: a=1\r\nset-cookie: b=2\r\n")],
    },
    Case {
        rule: "RFC 9110 section 7.6.1: what is of one hop",
        client: "GET http://TARGET/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: "HTTP/1.1 200 OK\r\nConnection: X-Key, close\r\nX-Key: 1\r\nKeep-Alive: timeout=9\r\nProxy-Authenticate: Basic\r\nUpgrade: h2c\r\nContent-Length: 2\r\n\r\nok",
        forwarded: &[],
        answered: &[
            Lack("x-key"),
            Lack("keep-alive"),
            Lack("proxy-auth"),
            Lack("upgrade"),
            End("ok"),
        ],
    },
    Case {
        rule: "RFC 9110 section 7.6.3: Via says what the server speaks",
        client: "GET http://TARGET/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
        forwarded: &[],
        answered: &[Begin("HTTP/1.1 200 "), Have("via: 1.0 isthmus-"), End("ok")],
    },
    Case {
        rule: "RFC 9110 section 15.2: an interim response comes before the last",
        client: "GET http://TARGET/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
        forwarded: &[],
        answered: &[
            Begin("HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n"),
            Have("\r\n\r\nHTTP/1.1 200 "),
            End("ok"),
        ],
    },
    Case {
        rule: "RFC 9110 section 15.2: HTTP/1.0 has no interim responses",
        client: "GET http://TARGET/ HTTP/1.0\r\n\r\n",
        server: "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
        forwarded: &[],
        answered: &[Lack(" 103 "), Have(" 200 "), End("ok")],
    },
    Case {
        rule: "RFC 9110 section 15.2: 100 that nobody asked for may be left out",
        client: "GET http://TARGET/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
        forwarded: &[],
        answered: &[Have("HTTP/1.1 200 "), End("ok")],
    },
    Case {
        rule: "RFC 9110 section 15.2.2: a change of protocol that nobody asked for",
        client: "GET http://TARGET/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n",
        forwarded: &[],
        answered: &[Begin("HTTP/1.1 502 ")],
    },
];

/// Where a response ends.
#[test]
fn rfc9112_6_where_a_response_ends() {
    hold(&FRAMING);
}

const FRAMING: [Case; 17] = [
    Case {
        rule: "RFC 9112 section 6.3: two lengths that differ",
        client: "GET http://TARGET/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nok",
        forwarded: &[],
        answered: &[Begin("HTTP/1.1 502 ")],
    },
    Case {
        rule: "RFC 9112 section 6.3: a length that is none",
        client: "GET http://TARGET/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: "HTTP/1.1 200 OK\r\nContent-Length: 2x\r\n\r\nok",
        forwarded: &[],
        answered: &[Begin("HTTP/1.1 502 ")],
    },
    Case {
        rule: "RFC 9112 section 6.3: an encoding beside a length",
        client: "GET http://TARGET/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
        forwarded: &[],
        answered: &[Lack("content-length"), Have("2\r\nok\r\n0\r\n\r\n")],
    },
    Case {
        rule: "RFC 9112 section 6.1: a coding that is not known",
        client: "GET http://TARGET/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
        forwarded: &[],
        answered: &[Begin("HTTP/1.1 502 ")],
    },
    Case {
        rule: "RFC 9112 section 6.3: what ends with the connection",
        client: "GET http://TARGET/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: "HTTP/1.1 200 OK\r\n\r\nok",
        forwarded: &[],
        answered: &[
            Have("transfer-encoding: chunked\r\n"),
            End("\r\n\r\n2\r\nok\r\n0\r\n\r\n"),
        ],
    },
    Case {
        rule: "RFC 9112 section 6.3: and for HTTP/1.0",
        client: "GET http://TARGET/ HTTP/1.0\r\n\r\n",
        server: "HTTP/1.1 200 OK\r\n\r\nok",
        forwarded: &[],
        answered: &[Lack("chunked"), End("\r\n\r\nok")],
    },
    Case {
        rule: "RFC 9112 section 6.1: chunks are nothing for HTTP/1.0",
        client: "GET http://TARGET/ HTTP/1.0\r\n\r\n",
        server: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
        forwarded: &[],
        answered: &[Lack("chunked"), End("\r\n\r\nok")],
    },
    Case {
        rule: "RFC 9112 section 8: less than the length is no whole",
        client: "GET http://TARGET/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok",
        forwarded: &[],
        answered: &[Have("content-length: 9\r\n"), End("\r\n\r\nok")],
    },
    Case {
        rule: "RFC 9112 section 8: chunks without an end are no whole",
        client: "GET http://TARGET/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n",
        forwarded: &[],
        answered: &[Lack("\r\n0\r\n")],
    },
    Case {
        rule: "RFC 9112 section 8: chunks that break off are no whole",
        client: "GET http://TARGET/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nok",
        forwarded: &[],
        answered: &[Lack("\r\n0\r\n")],
    },
    Case {
        rule: "RFC 9112 section 7.1: a chunk that is none",
        client: "GET http://TARGET/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nok\r\n0\r\n\r\n",
        forwarded: &[],
        answered: &[Lack("\r\n0\r\n")],
    },
    Case {
        rule: "RFC 9112 section 6.3: octets behind a response are not another",
        client: "GET http://TARGET/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nbad",
        forwarded: &[],
        answered: &[Lack("bad"), Lack("okHTTP/1.1 200 OK\r\ncontent-length: 3")],
    },
    Case {
        rule: "RFC 9110 section 9.3.2: HEAD has a length and no content",
        client: "HEAD http://TARGET/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n",
        forwarded: &[],
        answered: &[
            Begin("HTTP/1.1 200 "),
            Have("content-length: 2\r\n"),
            End("\r\n\r\n"),
        ],
    },
    Case {
        rule: "RFC 9110 section 9.3.2: what a server sends after HEAD is none",
        client: "HEAD http://TARGET/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
        forwarded: &[],
        answered: &[Begin("HTTP/1.1 200 "), End("\r\n\r\n")],
    },
    Case {
        rule: "RFC 9110 section 15.4.5: 304 has a length and no content",
        client: "GET http://TARGET/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: "HTTP/1.1 304 Not Modified\r\nContent-Length: 2\r\nETag: \"a\"\r\n\r\n",
        forwarded: &[],
        answered: &[
            Begin("HTTP/1.1 304 "),
            Have("etag: \"a\"\r\n"),
            End("\r\n\r\n"),
        ],
    },
    Case {
        rule: "RFC 9110 section 15.3.5: 204 has no content",
        client: "GET http://TARGET/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: "HTTP/1.1 204 No Content\r\n\r\n",
        forwarded: &[],
        answered: &[
            Begin("HTTP/1.1 204 "),
            Lack("content-length"),
            Lack("chunked"),
            End("\r\n\r\n"),
        ],
    },
    Case {
        rule: "RFC 9110 section 8.6: no length beside 204",
        client: "GET http://TARGET/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        server: "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n",
        forwarded: &[],
        answered: &[
            Begin("HTTP/1.1 204 "),
            Lack("content-length"),
            End("\r\n\r\n"),
        ],
    },
];

//! Passwords, and the access log.

use std::io::{Read, Write};
use std::sync::Arc;

use isthmus_proxy::{Config, Counter, User, Users};

use crate::common::{Origin, Proxy, exchange};

/// By `openssl passwd -5 -salt saltstring 'Hello world!'`.
const ALICE: &str = "alice:$5$saltstring$5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5";

fn know(config: &mut Config) {
    config.users = Some(Arc::new(Users::new([User::parse(ALICE).unwrap()])));
}

/// RFC 9110 section 11.7; `YWxpY2U6...` is RFC 4648's writing of `alice:Hello world!`.
#[test]
fn http_needs_a_password_that_goes_no_further() {
    let (proxy, origin) = (Proxy::start(know), Origin::start());
    let fetch = |header: &str| {
        let request = format!(
            "GET http://{}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{header}\r\n",
            origin.address
        );
        exchange(&mut proxy.connect(), request.as_bytes())
    };
    for wrong in [
        "",
        "Proxy-Authorization: Basic YWxpY2U6aGVsbG8gd29ybGQh\r\n",
        "Proxy-Authorization: Basic Ym9iOkhlbGxvIHdvcmxkIQ==\r\n",
        "Authorization: Basic YWxpY2U6SGVsbG8gd29ybGQh\r\n",
    ] {
        let said = fetch(wrong);
        assert!(said.starts_with("HTTP/1.1 407 "), "{wrong}: {said}");
        assert!(said.contains("proxy-authenticate: Basic realm="), "{said}");
    }
    assert_eq!(proxy.count(Counter::Unauthenticated), 4);
    let said = fetch("Proxy-Authorization: Basic YWxpY2U6SGVsbG8gd29ybGQh\r\n");
    assert!(said.ends_with("ok"), "{said}");
    assert!(!origin.saw().to_lowercase().contains("authorization"));
}

#[test]
fn rfc1929_2_socks_needs_a_password() {
    let origin = Origin::start();
    let proxy = Proxy::start(|config| {
        know(config);
        config.socks = std::mem::take(&mut config.listen);
    });
    let begin = |password: &[u8]| {
        let mut client = proxy.connect();
        client.write_all(&[5, 2, 0, 2]).unwrap();
        let mut said = [0; 2];
        client.read_exact(&mut said).unwrap();
        assert_eq!(said, [5, 2]);
        let length = password.len() as u8;
        client
            .write_all(&[&[1, 5][..], b"alice", &[length], password].concat())
            .unwrap();
        client.read_exact(&mut said).unwrap();
        (client, said)
    };
    let (mut client, said) = begin(b"Hello world!");
    assert_eq!(said, [1, 0]);
    let port = origin.address.port().to_be_bytes();
    let request = [&[5, 1, 0, 1, 127, 0, 0, 1][..], &port].concat();
    client.write_all(&request).unwrap();
    let mut reply = [0; 10];
    client.read_exact(&mut reply).unwrap();
    assert_eq!(reply[1], 0);
    let (mut client, said) = begin(b"wrong");
    assert_eq!(said, [1, 1]);
    assert_eq!(exchange(&mut client, &request), "");
}

#[test]
fn the_access_log_has_a_line_for_each() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("access.jsonl");
    let (proxy, origin) = (
        Proxy::start(|config| config.access_log = Some(file.clone())),
        Origin::start(),
    );
    let to = origin.address;
    for request in [
        format!("GET http://{to}/a?secret HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
        format!("CONNECT {to} HTTP/1.1\r\nHost: x\r\n\r\nhello"),
        "GET http://127.0.0.1:0/\" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".to_owned(),
    ] {
        exchange(&mut proxy.connect(), request.as_bytes());
    }
    let begun = std::time::Instant::now();
    let lines = loop {
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        let lines: Vec<serde_json::Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        if lines.len() == 3 || begun.elapsed() > crate::common::PATIENCE {
            break lines;
        }
    };
    let of = |method: &str, key: &str| {
        let line = lines
            .iter()
            .find(|line| line["method"] == method && !line[key].is_null());
        line.map_or(serde_json::Value::Null, |line| line[key].clone())
    };
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert_eq!(of("GET", "down"), 2);
    assert_eq!(of("GET", "path"), "/a");
    assert_eq!(of("CONNECT", "up"), 5);
    assert_eq!(of("CONNECT", "server"), to.to_string());
    assert!(of("GET", "error").is_string(), "{lines:?}");
    assert!(lines.iter().all(|line| line["client"] == "127.0.0.1"));
}

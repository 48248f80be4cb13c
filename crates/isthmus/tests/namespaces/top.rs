//! What sessions carried, in each engine, and `isthmus top` on a terminal.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::gateway::{Gateway, ISTHMUS};
use crate::net::text;
use crate::site::{PLAT, Site, both_links};

const SERVER: &str = "64:ff9b::192.0.2.2";

/// What the only session carried: packets and bytes out, packets and bytes in.
fn carried(gateway: &Gateway) -> [u64; 4] {
    let sessions = gateway.client("sessions --json");
    let text = text(&sessions);
    let mut lines = text.lines();
    let session: Value = serde_json::from_str(lines.next().unwrap()).unwrap();
    assert_eq!(lines.next(), None, "{text}");
    ["packets-out", "bytes-out", "packets-in", "bytes-in"].map(|key| session[key].as_u64().unwrap())
}

fn ping(site: &Site, size: u32, count: u32) {
    // With one identifier all of them are of one session.
    let mut ping = site.net.command("host", "ping");
    let (size, count) = (size.to_string(), count.to_string());
    ping.args(["-n", "-e", "77", "-i", "0.2", "-W", "3"]);
    let output = ping
        .args(["-s", &size, "-c", &count, SERVER])
        .output()
        .unwrap();
    let said = text(&output);
    assert!(said.contains(&format!(" {count} received")), "{said}");
}

fn counting(engine: &str) -> Option<(Site, Gateway)> {
    let links = match engine {
        "user" => String::new(),
        engine => both_links(engine, ""),
    };
    Site::with(&format!("{links}{PLAT}count-traffic = true\n"))
}

#[test]
fn every_engine_counts_what_a_session_carries_once() {
    for engine in ["user", "tc", "xdp"] {
        let Some((site, gateway)) = counting(engine) else {
            return;
        };
        ping(&site, 100, 3);
        assert_eq!(carried(&gateway), [3, 324, 3, 324], "{engine}");
        // In fragments, which are put together and cut again in user space. XDP and tc, which leave them to it, count
        // nothing.
        ping(&site, 2000, 1);
        assert_eq!(carried(&gateway), [4, 2332, 4, 2332], "{engine}");
        let top = gateway.json("top --once --by remote --most bytes");
        assert_eq!(top["rows"][0]["name"], "192.0.2.0/24");
        assert_eq!(top["rows"][0]["bytes-in"], 2332, "{top}");
        let top = text(&gateway.client("top --once --by instance"));
        let words: Vec<_> = top
            .lines()
            .last()
            .unwrap_or_default()
            .split_whitespace()
            .collect();
        assert_eq!(words[0], "plat", "{top}");
        assert_eq!(words[3..], ["8", "2332", "2332"], "{top}");
    }
}

#[test]
fn most_bytes_of_what_is_not_counted_is_an_error_that_says_what_to_do() {
    let Some((site, gateway)) = Site::with(PLAT) else {
        return;
    };
    assert!(site.net.pings(SERVER));
    let refused = gateway.client("top --once --most bytes");
    assert!(!refused.status.success());
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("count-traffic = true"), "{said}");
    let session = text(&gateway.client("sessions --json"));
    assert!(!session.contains("bytes"), "{session}");
}

#[test]
fn a_terminal_shows_it_live() {
    let Some((site, gateway)) = counting("user") else {
        return;
    };
    ping(&site, 100, 1);
    let socket = site.path("edge.sock");
    let top = format!(
        "stty rows 24 cols 120; exec {ISTHMUS} top --interval 60 --socket {}",
        socket.display()
    );
    let mut script = Command::new("script")
        .args(["--quiet", "--return", "--command", &top, "/dev/null"])
        .env("TERM", "xterm")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut keys = script.stdin.take().unwrap();
    for key in [b"4", b"b", b"q"] {
        thread::sleep(Duration::from_millis(700));
        keys.write_all(key).unwrap();
    }
    drop(keys);
    let output = script.wait_with_output().unwrap();
    assert!(output.status.success());
    let shown = String::from_utf8_lossy(&output.stdout);
    for word in [
        "SUBSCRIBER",
        "INSTANCE",
        "plat",
        "OUT",
        "sessions,",
        "\x1b[?1049l",
    ] {
        assert!(shown.contains(word), "no {word:?} in {shown:?}");
    }
    drop(gateway);
}

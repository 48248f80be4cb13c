//! Tables that fill up, as people who watch over a gateway see them.

use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use crate::site::{PLAT, Site, both_links};

/// Time until the log tells: it is looked at once a second.
const PATIENCE: Duration = Duration::from_secs(20);

#[test]
fn a_table_that_refuses_is_seen() {
    let small = PLAT.replace("4096", "16");
    let Some((site, gateway)) = Site::with(&format!("{small}subscriber-sessions = 64\n")) else {
        return;
    };
    // Each with an identifier, and so a session, of its own.
    let pings: Vec<_> = (0..24)
        .map(|_| {
            let mut ping = site.net.command("host", "ping");
            ping.args(["-c1", "-W2", "64:ff9b::192.0.2.2"])
                .stdout(Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    for mut ping in pings {
        let _ = ping.wait();
    }
    let status = gateway.json("status");
    let tables = status["instances"][0]["tables"].as_array().unwrap();
    let number = |name: &str, of: &str| {
        let table = tables.iter().find(|table| table["table"] == name).unwrap();
        table[of].as_u64().unwrap()
    };
    // A network has four fifths at most.
    let used = number("sessions", "used");
    assert!((12..=13).contains(&used), "{status}");
    assert_eq!(number("sessions", "limit"), 16);
    assert!(number("bindings", "refused") >= 11, "{status}");
    assert_eq!(number("subscribers", "used"), 1, "{status}");

    let begun = Instant::now();
    while !gateway.log().contains("a table refuses entries") {
        assert!(begun.elapsed() < PATIENCE, "{}", gateway.log());
        thread::sleep(Duration::from_millis(100));
    }
    let log = gateway.log();
    assert!(log.contains("has most, about 100 %"), "{log}");
    assert!(gateway.stop().success());
}

#[test]
fn a_reload_limits_one_customer_while_sessions_go_on() {
    const LIMITS: &str = "subscriber-prefix = 128\nsubscriber-sessions = 64\n";
    for links in ["", "xdp", "tc"] {
        let links = match links {
            "" => String::new(),
            engine => both_links(engine, ""),
        };
        let Some((site, gateway)) = Site::with(&format!("{links}{PLAT}{LIMITS}")) else {
            return;
        };
        site.net
            .ip("host", "addr add 2001:db8:1::7/64 dev eth0 nodad");
        // Each ping is a session.
        let pings = |from: &str| {
            let mut ping = site.net.command("host", "ping");
            ping.args(["-c1", "-W1", "-I", from, "64:ff9b::192.0.2.2"]);
            ping.stdout(Stdio::null()).status().unwrap().success()
        };
        for _ in 0..4 {
            assert!(pings("2001:db8:1::2"), "{}", gateway.log());
        }
        let own = "subscriber-limits = [{ subscriber = \"2001:db8:1::2\", sessions = 5 }]\n";
        site.configure(&format!("{links}{PLAT}{LIMITS}{own}"));
        gateway.json("reload");
        assert_eq!(gateway.sessions(), 4, "{}", gateway.log());
        assert!(pings("2001:db8:1::2"), "{}", gateway.log());
        assert!(!pings("2001:db8:1::2"));
        for _ in 0..6 {
            assert!(pings("2001:db8:1::7"), "{}", gateway.log());
        }
        let counters = gateway.json("counters").to_string();
        assert!(counters.contains("subscriber-limit"), "{counters}");
        site.configure(&format!("{links}{PLAT}{LIMITS}"));
        gateway.json("reload");
        assert!(pings("2001:db8:1::2"), "{}", gateway.log());
        assert_eq!(gateway.sessions(), 12);
        assert!(gateway.stop().success());
    }
}

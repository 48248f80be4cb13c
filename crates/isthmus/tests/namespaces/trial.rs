//! Changes of the configuration that are only tried, are undone, or are taken back.

use std::fs;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::LOCAL;
use crate::gateway::Gateway;
use crate::heal::soon;
use crate::net::text;
use crate::restart::Connection;
use crate::site::{PLAT, Site, both_links};

const SERVER: &str = "64:ff9b::192.0.2.2";

/// Runs a command that must be refused. Returns what it says.
fn refused(gateway: &Gateway, arguments: &str) -> String {
    let output = gateway.client(arguments);
    assert!(!output.status.success(), "{arguments}: {output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A connection of a host on the inside to the server.
fn connect(site: &Site) -> Connection {
    for (node, link) in [("host", "eth0"), ("server", "eth0")] {
        // XDP programs cannot see that a checksum is missing.
        site.net.offload(node, link, &["tx", "off"]);
    }
    let (host, server) = (site.net.node("host"), site.net.node("server"));
    Connection::new(host, server, SERVER, "192.0.2.2")
}

fn exchange(connection: &mut Connection, gateway: &Gateway) {
    let exchanged = connection.exchange();
    exchanged.unwrap_or_else(|error| panic!("{error}\n{}", gateway.log()));
}

/// The port that the connection has outside.
fn outside(gateway: &Gateway) -> Value {
    gateway.json("sessions --protocol tcp")["outside-port"].clone()
}

/// Everything that a gateway could leave behind, but for the numbers of its XDP programs: a change that brings a mechanism
/// loads others, which also take the packets of the mechanisms before.
fn left(site: &Site) -> String {
    let dump = site.net.dump();
    let mut parts = dump.split("\"prog\":{\"id\":");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |left, part| {
        left + part.trim_start_matches(|digit: char| digit.is_ascii_digit())
    })
}

/// A change that nobody confirms is undone, though the client is long gone; connections live through both.
fn is_undone(links: &str) {
    let Some((site, gateway)) = Site::with(&format!("{links}{PLAT}")) else {
        return;
    };
    let before = left(&site);
    let mut connection = connect(&site);
    exchange(&mut connection, &gateway);
    let port = outside(&gateway);

    site.configure(&format!(
        "{links}{LOCAL}{PLAT}[instance.timers]\nudp = 400\n"
    ));
    let said = text(&gateway.client("reload --confirm 12s"));
    assert!(said.contains("instance local added"), "{said}");
    assert!(said.contains("undone at"), "{said}");
    // In force at once.
    assert_ne!(left(&site), before);
    let status = gateway.json("status");
    assert_eq!(status["instances"].as_array().unwrap().len(), 2);
    assert!(status["in-force"]["undone-at"].is_string(), "{status}");
    assert_eq!(status["in-force"]["differs"], false);
    exchange(&mut connection, &gateway);

    soon(&gateway, "it is undone", || {
        gateway.json("status")["last-reload"]["outcome"] == "undone"
    });
    assert_eq!(left(&site), before);
    let status = gateway.json("status");
    assert_eq!(status["instances"].as_array().unwrap().len(), 1);
    assert_eq!(status["in-force"]["undone-at"], Value::Null);
    assert_eq!(status["in-force"]["differs"], true, "the file stayed");
    assert_eq!(status["health"]["verdict"], "healthy");
    exchange(&mut connection, &gateway);
    assert_eq!(outside(&gateway), port);
    assert!(
        gateway.log().contains("nobody confirmed"),
        "{}",
        gateway.log()
    );
    assert!(gateway.stop().success());
}

#[test]
fn what_nobody_confirms_is_undone_in_user_space() {
    is_undone("");
}

#[test]
fn what_nobody_confirms_is_undone_in_xdp() {
    is_undone(&both_links("xdp", ""));
}

/// Memory that a change freed has to rest, and the tables before need it.
#[test]
fn an_undo_that_finds_no_room_is_tried_again() {
    let Some((site, gateway)) = Site::with(PLAT) else {
        return;
    };
    site.configure(&PLAT.replace("max-sessions = 4096", "max-sessions = 4000"));
    gateway.json("reload --confirm 1s");
    soon(&gateway, "it is undone", || {
        gateway.json("status")["last-reload"]["outcome"] == "undone"
    });
    let status = gateway.json("status");
    assert_eq!(status["instances"][0]["tables"][0]["limit"], 4096);
    assert_eq!(status["in-force"]["undone-at"], Value::Null, "{status}");
    assert_eq!(status["health"]["verdict"], "healthy", "{status}");
    assert!(site.net.pings(SERVER), "{}", gateway.log());
    assert!(gateway.stop().success());
}

#[test]
fn what_is_confirmed_stays() {
    let Some((site, gateway)) = Site::with(PLAT) else {
        return;
    };
    let said = refused(&gateway, "confirm");
    assert!(said.contains("no configuration waits"), "{said}");
    let both = format!("{LOCAL}{PLAT}");
    site.configure(&both);
    gateway.json("reload --confirm 10s");
    // Until then it is the last change.
    site.configure(PLAT);
    let said = refused(&gateway, "reload");
    assert!(said.contains("isthmus confirm"), "{said}");
    gateway.signal("HUP");
    gateway.wait_until(|gateway| gateway.log().contains("not reloaded:"));
    let output = gateway.client("confirm");
    assert!(output.status.success(), "{output:?}");
    thread::sleep(Duration::from_secs(11));
    let status = gateway.json("status");
    assert_eq!(status["instances"].as_array().unwrap().len(), 2, "{status}");
    assert_eq!(status["failed-reloads"], 0, "{status}");
    assert_eq!(
        gateway.json("reload"),
        serde_json::json!([
            "route 198.51.100.0/24 removed",
            "route 2001:db8:64::/96 removed",
            "instance local removed",
        ])
    );
}

#[test]
fn a_dry_run_tells_what_would_change_and_changes_nothing() {
    let Some((site, gateway)) = Site::with(&format!("{LOCAL}{PLAT}")) else {
        return;
    };
    let mut connection = connect(&site);
    exchange(&mut connection, &gateway);
    assert!(site.net.pings(SERVER), "{}", gateway.log());
    let before = (site.net.dump(), outside(&gateway));
    let sessions = gateway.sessions();

    // Other addresses outside: they have no place for these sessions.
    let moved = PLAT.replace("203.0.113.0/28", "203.0.113.64/28");
    site.configure(&moved);
    let told = gateway.json("reload --dry-run");
    let instances = told["instances"].as_array().unwrap();
    let of = |name: &str| {
        let found = instances.iter().find(|it| it["instance"] == name);
        found.unwrap_or_else(|| panic!("{told}"))
    };
    assert_eq!(of("local")["change"], "removed");
    let plat = of("plat");
    assert_eq!(plat["change"], "changed");
    assert_eq!(plat["sessions"]["fate"], "judged");
    assert_eq!(plat["sessions"]["counted"]["ending"], sessions, "{told}");
    let human = text(&gateway.client("reload --dry-run"));
    for part in [
        "instance plat\n",
        "203.0.113.64/28",
        &format!("{sessions} of {sessions} sessions end"),
        "route 203.0.113.0/28 removed",
    ] {
        assert!(human.contains(part), "{part}: {human}");
    }

    assert_eq!((site.net.dump(), outside(&gateway)), before);
    let status = gateway.json("status");
    assert_eq!(
        (&status["reloads"], &status["failed-reloads"]),
        (&0.into(), &0.into())
    );
    exchange(&mut connection, &gateway);

    // What it told of plat comes true.
    site.configure(&moved);
    gateway.json("reload");
    assert_eq!(gateway.sessions(), 0);
    assert!(gateway.stop().success());
}

#[test]
fn a_dry_run_decides_as_a_reload_does() {
    let both = format!("{LOCAL}{PLAT}");
    let Some((site, gateway)) = Site::with(&both) else {
        return;
    };
    assert!(site.net.pings(SERVER), "{}", gateway.log());
    let before = site.net.dump();
    // Tables of other sizes are other tables.
    let smaller = both.replace("max-sessions = 4096", "max-sessions = 2048");
    site.configure(&smaller);
    let told = gateway.json("reload --dry-run");
    let sessions = &told["instances"][0]["sessions"];
    assert_eq!(sessions["fate"], "end", "{told}");
    assert_eq!(sessions["counted"]["ending"], 1, "{told}");
    assert_eq!(gateway.sessions(), 1);
    // And the same text, or what only a restart changes.
    site.configure(&both);
    assert_eq!(
        text(&gateway.client("reload --dry-run")).trim(),
        "nothing changes"
    );
    let wide = fs::read_to_string(site.file()).unwrap();
    fs::write(site.file(), wide.replace("[tun]\n", "[tun]\nqueues = 2\n")).unwrap();
    let told = gateway.json("reload --dry-run");
    assert_eq!(told["restart"], serde_json::json!(["`queues` of [tun]"]));
    // A mistake has its place.
    site.configure(&PLAT.replace("64:ff9b::/96", "64:ff9b::/95"));
    let said = refused(&gateway, "reload --dry-run");
    assert!(
        said.contains("edge.toml:") && said.contains("64:ff9b::/95"),
        "{said}"
    );
    assert_eq!(site.net.dump(), before);
    let status = gateway.json("status");
    assert_eq!(status["failed-reloads"], 0, "{status}");
    site.configure(&smaller);
    gateway.json("reload");
    assert_eq!(gateway.sessions(), 0);
    assert!(gateway.stop().success());
}

#[test]
fn a_rollback_returns_to_the_configuration_before() {
    let Some((site, gateway)) = Site::with(PLAT) else {
        return;
    };
    let before = site.net.dump();
    let said = refused(&gateway, "rollback");
    assert!(said.contains("no configuration before"), "{said}");
    let first = gateway.json("status")["in-force"]["read"].clone();
    let mut connection = connect(&site);
    exchange(&mut connection, &gateway);

    site.configure(&format!("{LOCAL}{PLAT}"));
    gateway.json("reload");
    // The same text again is no other configuration.
    gateway.json("reload");
    assert_eq!(gateway.json("status")["in-force"]["before"], first);
    let back = gateway.json("rollback");
    assert_eq!(back["read"], first);
    let changes = back["changes"].as_array().unwrap();
    assert!(changes.contains(&"instance local removed".into()), "{back}");
    assert_eq!(site.net.dump(), before);
    exchange(&mut connection, &gateway);
    let status = gateway.json("status");
    assert_eq!(status["in-force"]["read"], first);
    assert_eq!(status["in-force"]["differs"], true);
    assert_eq!(status["last-reload"]["outcome"], "rolled-back");
    let human = text(&gateway.client("status"));
    assert!(human.contains("the file says something else"), "{human}");
    refused(&gateway, "rollback");

    // The file is there still; and what waits to be confirmed can be undone at once.
    gateway.json("reload --confirm 1h");
    let human = text(&gateway.client("status"));
    assert!(human.contains("isthmus confirm"), "{human}");
    gateway.json("rollback");
    assert_eq!(site.net.dump(), before);
    refused(&gateway, "confirm");
    exchange(&mut connection, &gateway);
    assert!(gateway.stop().success());
}

//! `isthmus who` and `isthmus sessions --delete` beside gateways that run.

use std::fs;
use std::process::{Command, Output};
use std::thread;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use super::gateway::{Gateway, ISTHMUS};
use super::restart::connection::Connection;
use super::restart::places::Places;
use super::site::{PLAT, Site, both_links};

const SERVER: &str = "64:ff9b::c000:202";

/// Asks who has the port of a session now.
fn ask(site: &Site, session: &Value, at: &str) -> Output {
    let (address, port) = (
        session["outside-address"].as_str().unwrap(),
        &session["outside-port"],
    );
    Command::new(ISTHMUS)
        .args([
            "who",
            &format!("{address}:{port}"),
            "--protocol=tcp",
            "--at",
            at,
            "--json",
        ])
        .arg("--config")
        .arg(site.file())
        .output()
        .unwrap()
}

fn answer(output: &Output) -> Value {
    let error = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{error}"))
}

fn now() -> String {
    Timestamp::now()
        .strftime("%Y-%m-%dT%H:%M:%S.%3fZ")
        .to_string()
}

fn connect(site: &Site) -> Connection {
    let hosts = site.net.hosts();
    for node in ["host", "server"] {
        // An XDP program moves packets with the checksums that they have.
        site.net.offload(node, "eth0", &["tx", "off"]);
    }
    // XDP leaves a packet to user space if its next hop is not resolved yet.
    assert!(site.net.pings_from("gateway", "192.0.2.2"));
    Connection::new(hosts.client, hosts.server, SERVER, "192.0.2.2")
}

/// Waits until the records of this moment are complete, which is so two seconds later: a ping begins another session.
fn go_on(site: &Site, gateway: &Gateway) {
    thread::sleep(Duration::from_millis(2100));
    let then = now();
    // The clock of the tables ticks about once in a millisecond.
    thread::sleep(Duration::from_millis(20));
    assert!(site.net.pings(SERVER), "{}", gateway.log());
    gateway.wait_until(|_| {
        let text = fs::read_to_string(site.path("records.jsonl")).unwrap_or_default();
        // Beginnings are written in the order in which they are found.
        let times = text.lines().filter_map(|line| {
            let record: Value = serde_json::from_str(line).ok()?;
            Some(record["time"].as_str()?.to_owned())
        });
        times.max().is_some_and(|last| last > then)
    });
}

fn records(site: &Site) -> String {
    format!(
        "\n[records]\njson = \"{}\"\n",
        site.path("records.jsonl").display()
    )
}

/// A binding is found while it is open, after a restart that kept it, and no more after one that did not.
fn by_record(engine: &str) {
    let Some(site) = Site::new() else {
        return;
    };
    let Some(places) = Places::new(&site.path("")) else {
        return;
    };
    site.configure(&format!("{}{PLAT}{}", links(engine), records(&site)));
    let start = || places.start(&site);
    let gateway = start();
    let _connection = connect(&site);
    let session = gateway.json("sessions --protocol tcp");
    let during = now();
    go_on(&site, &gateway);
    let found = |at: &str| {
        let output = ask(&site, &session, at);
        let answer = answer(&output);
        (output.status.code(), answer)
    };
    let (status, first) = found(&during);
    assert_eq!(status, Some(0), "{first}");
    assert_eq!(first["subscribers"][0], "2001:db8:1::/64");
    assert_eq!(first["uses"][0]["inside-address"], "2001:db8:1::2");
    assert_eq!(first["uses"][0]["inside-port"], session["inside-port"]);
    // The sessions outlive the process (ADR 12).
    assert!(gateway.terminate().success());
    let gateway = start();
    assert!(gateway.json("status")["ephemeral"].is_null());
    let after = now();
    go_on(&site, &gateway);
    let (status, second) = found(&after);
    assert_eq!(status, Some(0), "{second}");
    // SIGINT leaves nothing.
    assert!(gateway.stop().success());
    let gateway = start();
    let later = now();
    go_on(&site, &gateway);
    let (status, third) = found(&later);
    assert_eq!(status, Some(1), "{third}");
    let (status, again) = found(&during);
    assert_eq!(status, Some(0), "{again}");
    assert_eq!(again["uses"][0]["end-recorded"], false);
    assert!(gateway.stop().success());
}

#[test]
fn a_host_is_found_by_the_records_of_user_space() {
    by_record("user");
}

#[test]
fn a_host_is_found_by_the_records_of_tc() {
    by_record("tc");
}

#[test]
fn a_host_is_found_by_the_records_of_xdp() {
    by_record("xdp");
}

/// The links of an engine; those of user space are routes.
fn links(engine: &str) -> String {
    match engine {
        "user" => String::new(),
        engine => both_links(engine, ""),
    }
}

/// A deleted session is gone with its port block, and recorded as ended. The next packet that can open one makes
/// another; one in the middle of a connection cannot.
fn deleted(engine: &str) {
    let Some(site) = Site::new() else {
        return;
    };
    let blocks = "port-blocks = { size = 64, per-subscriber = 1 }\n";
    site.configure(&format!(
        "{}{PLAT}{blocks}{}",
        links(engine),
        records(&site)
    ));
    let gateway = site.start();
    let mut connection = connect(&site);
    connection.exchange().unwrap();
    let session = gateway.json("sessions --protocol tcp");
    let (age, idle) = (
        session["age"].as_u64().unwrap(),
        session["idle"].as_u64().unwrap(),
    );
    assert!(idle <= age && age < 60, "{session}");
    assert!(site.net.pings(SERVER));
    assert_eq!(gateway.sessions(), 2);
    let all = gateway.client("sessions --delete");
    assert_eq!(all.status.code(), Some(2), "{all:?}");
    let none = gateway.json("sessions --delete --inside 2001:db8:2::/64");
    assert_eq!(none["ended"], 0);
    assert_eq!(gateway.sessions(), 2);
    assert_eq!(gateway.json("sessions --delete --protocol tcp")["ended"], 1);
    assert_eq!(gateway.sessions(), 1);
    let events = || fs::read_to_string(site.path("records.jsonl")).unwrap_or_default();
    gateway.wait_until(|_| events().contains("\"session-removed\""));
    assert!(events().contains("\"binding-removed\""), "{}", events());
    assert!(!events().contains("port-block-released"), "{}", events());
    assert_eq!(
        gateway.json("sessions --delete --inside 2001:db8:1::2")["ended"],
        1
    );
    gateway.wait_until(|_| events().contains("port-block-released"));
    let empty =
        |table: &Value| matches!(table["table"].as_str(), Some("fragments")) || table["used"] == 0;
    let status = gateway.json("status");
    let tables = status["instances"][0]["tables"].as_array().unwrap();
    assert!(tables.iter().all(empty), "{tables:?}");
    // An echo request opens a session, a SYN too.
    assert!(site.net.pings(SERVER), "{}", gateway.log());
    drop(connection);
    let mut connection = connect(&site);
    connection.exchange().unwrap();
    assert_eq!(
        gateway.json("sessions --count --protocol tcp")["matched"],
        1
    );
    assert!(gateway.stop().success());
}

#[test]
fn a_deleted_session_gives_all_back_in_user_space() {
    deleted("user");
}

#[test]
fn a_deleted_session_gives_all_back_in_tc() {
    deleted("tc");
}

#[test]
fn a_deleted_session_gives_all_back_in_xdp() {
    deleted("xdp");
}

/// The port of a real connection is the calculated one, without a record.
#[test]
fn a_host_is_found_by_calculation() {
    let deterministic = "inside = [\"2001:db8:1::/60\"]\n\
                         deterministic = { inside = \"2001:db8:1::/60\", size = 1024 }\n";
    for links in ["user", "tc", "xdp"].map(links) {
        let Some((site, gateway)) = Site::with(&format!("{links}{PLAT}{deterministic}")) else {
            return;
        };
        let _connection = connect(&site);
        let session = gateway.json("sessions --protocol tcp");
        let output = ask(&site, &session, &now());
        let answer = answer(&output);
        assert_eq!(output.status.code(), Some(0), "{answer}");
        assert_eq!(answer["subscribers"][0], "2001:db8:1::/64");
        assert!(gateway.stop().success());
    }
}

//! Records over IPFIX, read by a collector that knows nothing of Isthmus: nfdump.

use std::fs;
use std::process::Command;
use std::time::Duration;

use isthmus_lab::network::process::{self, Process};
use serde_json::{Value, json};

use super::SERVER;
use super::restart::connection::Connection;
use super::site::{HOME, PLAT, Site};

const PATIENCE: Duration = Duration::from_secs(20);
const RECORDS: &str = "[records]\nipfix = \"192.0.2.2:4739\"\n";

/// Starts a collector at the server's address.
fn collector(site: &Site) -> Process {
    let flows = site.path("flows");
    fs::create_dir(&flows).unwrap();
    let mut command = site.net.command("server", "nfcapd");
    command.args(["-b", "192.0.2.2", "-p", "4739", "-w"]);
    let mut nfcapd = Process::start("nfcapd", command.arg(flows)).unwrap();
    let log = nfcapd.log().to_owned();
    let listens = || {
        let said = fs::read_to_string(&log).unwrap();
        said.contains("Startup nfcapd")
    };
    nfcapd.wait_until(PATIENCE, listens).unwrap();
    nfcapd
}

/// Returns the events that nfdump finds by a filter, each with its name there.
fn found(site: &Site, filter: &str) -> Vec<(String, Value)> {
    let mut nfdump = Command::new("nfdump");
    nfdump.arg("-R").arg(site.path("flows"));
    let said = process::run(nfdump.args(["-o", "json", filter])).unwrap();
    let events: Vec<Value> =
        serde_json::from_str(&said).unwrap_or_else(|error| panic!("{filter}: {error}\n{said}"));
    let name = |event: &Value| event["nat_event"].as_str().unwrap().to_owned();
    events
        .into_iter()
        .map(|event| (name(&event), event))
        .collect()
}

/// The names of the events, in the order of the alphabet.
fn names(events: &[(String, Value)]) -> Vec<&str> {
    let mut names: Vec<_> = events.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    names
}

/// A session of the gateway in the words of nfdump, which prints ports of a translation as text.
fn expected(session: &Value, source: &str) -> Value {
    json!({
        source: session["inside-address"],
        "src_port": session["inside-port"],
        "src4_xlt_ip": session["outside-address"],
        "src_xlt_port": session["outside-port"].to_string(),
        "dst4_xlt_ip": session["remote-address"],
        "dst_xlt_port": session["remote-port"].to_string(),
        "dst_port": session["remote-port"],
        "proto": 6,
    })
}

/// Asserts that the event has these values.
fn says(event: &Value, values: &Value) {
    for (key, value) in values.as_object().unwrap() {
        assert_eq!(&event[key], value, "{key} of {event}");
    }
}

#[test]
fn nfdump_reads_the_records() {
    if let Err(reason) = process::require("nfcapd", "nfdump") {
        eprintln!("skipped: {reason}");
        return;
    }
    let Some(site) = Site::new() else {
        return;
    };
    site.net.dual_stack();
    let mut nfcapd = collector(&site);
    let blocks = "port-blocks = { size = 64, per-subscriber = 1 }\n";
    site.configure(&format!("{RECORDS}{PLAT}{blocks}{HOME}"));
    let gateway = site.start();
    let hosts = site.net.hosts();
    let connect = |address| Connection::new(hosts.client, hosts.server, address, "192.0.2.2");
    let six = connect(SERVER);
    let of_plat = gateway.json("sessions --inside 2001:db8:1::/64");
    drop(six);
    let four = connect("192.0.2.2");
    let of_home = gateway.json("sessions --inside 192.168.7.0/24");
    drop(four);
    assert_eq!(gateway.json("sessions --delete --protocol tcp")["ended"], 2);
    // What is queued is sent at the end.
    assert!(gateway.stop().success());
    // What it has not read when it is told to end is lost.
    let has_read = || {
        let mut ss = site.net.command("server", "ss");
        let said = process::run(ss.args(["-Hunl", "sport = :4739"])).unwrap();
        said.split_whitespace().nth(1) == Some("0")
    };
    nfcapd.wait_until(PATIENCE, has_read).unwrap();
    assert!(nfcapd.stop());

    for (session, source, kind) in [
        (of_plat, "src6_addr", "NAT64"),
        (of_home, "src4_addr", "NAT44"),
    ] {
        let (address, port) = (&session["outside-address"], &session["outside-port"]);
        let address = address.as_str().unwrap();
        let filter = format!("src xip {address} and src xport {port}");
        let events = found(&site, &filter);
        let kinds = [
            "BIB create",
            "BIB delete",
            "session create",
            "session delete",
        ];
        assert_eq!(names(&events), kinds.map(|event| format!("{kind} {event}")));
        for (name, event) in events {
            if name.contains("session") {
                says(&event, &expected(&session, source));
            }
            assert_eq!(event["src_port"], session["inside-port"], "{event}");
            assert_eq!(event[source], session["inside-address"], "{event}");
        }
    }
    let blocks = found(&site, "nat event > 15");
    assert_eq!(
        names(&blocks),
        ["Port block allocation", "Port block de-allocation"]
    );
}

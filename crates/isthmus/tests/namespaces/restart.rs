//! Sessions outlive the process of a gateway: after its end, its death, and with another version or configuration.

pub(crate) mod connection;
pub(crate) mod places;

use std::fs;
use std::process::Command;
use std::time::Instant;

use serde_json::Value;

use crate::counted;
use crate::gateway::{Gateway, ISTHMUS};
use crate::site::{HOME, PLAT, Site, both_links};
use crate::softwires::net::Net as Softwires;
pub(crate) use connection::Connection;
use isthmus_lab::subjects::provider;
pub(crate) use places::Places;

const SERVER: &str = "64:ff9b::192.0.2.2";

/// The links of an engine.
fn links(engine: &str) -> String {
    match engine {
        "user" => String::new(),
        _ => both_links(engine, ""),
    }
}

/// A gateway whose sessions stay, in a place of its own.
struct Stage {
    places: Places,
    site: Site,
}

impl Stage {
    fn new(configuration: &str) -> Option<Self> {
        let site = Site::new()?;
        let places = Places::new(&site.path(""))?;
        site.net.dual_stack();
        for (node, link) in [("host", "eth0"), ("server", "eth0")] {
            // XDP programs cannot see that a checksum is missing.
            site.net.offload(node, link, &["tx", "off"]);
        }
        site.configure(configuration);
        Some(Self { places, site })
    }

    fn start(&self) -> Gateway {
        let begun = Instant::now();
        let gateway = self.places.start(&self.site);
        println!("ready after {} ms", begun.elapsed().as_millis());
        gateway
    }

    fn connect(&self, address: &str) -> Connection {
        let net = &self.site.net;
        Connection::new(net.node("host"), net.node("server"), address, "192.0.2.2")
    }

    /// What the log says since the last start.
    fn said(&self, gateway: &Gateway) -> String {
        let log = gateway.log();
        log.rsplit("ending").next().unwrap_or_default().to_owned()
    }

    fn forget(&self) -> bool {
        let mut isthmus = self.places.command(self.site.net.node("gateway"), ISTHMUS);
        let output = isthmus
            .arg("forget")
            .arg(self.site.file())
            .output()
            .unwrap();
        output.status.success()
    }

    /// The files that a gateway leaves to the next one.
    fn left(&self) -> Vec<String> {
        let mut left = self.places.left();
        let files = [
            "edge.sock",
            "edge.lock",
            "edge.state",
            "edge.kept",
            "edge.sessions",
        ];
        let there = files.iter().filter(|name| self.site.path(name).exists());
        left.extend(there.map(|name| (*name).to_owned()));
        left
    }
}

fn end(gateway: Gateway, signal: &str) {
    match signal {
        "KILL" => gateway.kill(),
        _ => assert!(gateway.terminate().success()),
    }
}

fn outside_port(gateway: &Gateway) -> u64 {
    let session = gateway.json("sessions --protocol tcp");
    session["outside-port"]
        .as_u64()
        .unwrap_or_else(|| panic!("{session}\n{}", gateway.log()))
}

/// A connection goes on after the end of its gateway, and the next one loads no program.
fn survives(engine: &str, signal: &str) {
    let Some(stage) = Stage::new(&format!("{}{PLAT}", links(engine))) else {
        return;
    };
    let before = stage.site.net.dump();
    let gateway = stage.start();
    assert_eq!(
        gateway.json("status")["ephemeral"],
        Value::Null,
        "{}",
        gateway.log()
    );
    let mut connection = stage.connect(SERVER);
    connection
        .exchange()
        .unwrap_or_else(|error| panic!("{error}\n{}", gateway.log()));
    let port = outside_port(&gateway);
    let pins = stage.places.numbers();
    assert_eq!(pins.is_empty(), engine == "user");
    end(gateway, signal);
    if signal == "TERM" {
        assert_eq!(stage.site.net.dump(), before, "more than sessions stayed");
        let memory = if engine == "user" {
            "edge.sessions"
        } else {
            "STATE"
        };
        let left = stage.left();
        assert!(
            left.contains(&memory.into()) && left.contains(&"edge.kept".into()),
            "{left:?}"
        );
        assert!(
            !left
                .iter()
                .any(|left| ["edge.sock", "edge.lock", "edge.state"].contains(&left.as_str()))
        );
    }
    // Lost now, and sent again.
    connection.send();
    let gateway = stage.start();
    connection
        .receive()
        .unwrap_or_else(|error| panic!("{error}\n{}", gateway.log()));
    connection
        .exchange()
        .unwrap_or_else(|error| panic!("{error}\n{}", gateway.log()));
    assert_eq!(outside_port(&gateway), port);
    let counters = gateway.json("counters");
    assert_eq!(
        counted(&counters, "session-created"),
        0,
        "{}",
        gateway.log()
    );
    assert_eq!(stage.places.numbers(), pins, "a program was loaded");
    let status = gateway.json("status");
    assert_eq!(status["instances"][0]["tables"][0]["used"], 1, "{status}");

    // Whoever ends it at a terminal is done with it.
    assert!(gateway.stop().success());
    assert_eq!(stage.left(), Vec::<String>::new());
    assert_eq!(stage.site.net.dump(), before);
}

macro_rules! survives {
    ($($name:ident: $engine:literal $signal:literal,)+) => {
        $(#[test]
        fn $name() {
            survives($engine, $signal);
        })+
    };
}

survives! {
    a_connection_survives_the_end_in_user_space: "user" "TERM",
    a_connection_survives_the_end_in_xdp: "xdp" "TERM",
    a_connection_survives_the_end_in_tc: "tc" "TERM",
    a_connection_survives_the_death_in_user_space: "user" "KILL",
    a_connection_survives_the_death_in_xdp: "xdp" "KILL",
    a_connection_survives_the_death_in_tc: "tc" "KILL",
}

/// Under a service manager that stores descriptors nothing is in a file system but the note.
fn survives_under_a_manager(engine: &str) {
    let Some(stage) = Stage::new(&format!("{}{PLAT}", links(engine))) else {
        return;
    };
    let start = |store| {
        // Without a file system for BPF.
        let isthmus = stage.site.net.command("gateway", ISTHMUS);
        let folder = stage.site.path("");
        let gateway = Gateway::spawn_with(isthmus, &folder, &stage.site.file(), store);
        gateway.expect("READY=1");
        gateway
    };
    let gateway = start(Vec::new());
    let mut connection = stage.connect(SERVER);
    connection
        .exchange()
        .unwrap_or_else(|error| panic!("{error}\n{}", gateway.log()));
    let port = outside_port(&gateway);
    let program = || stage.site.net.program("gateway", "toh");
    let before = program();
    assert_eq!(before.is_some(), engine == "xdp");
    let store = gateway.stored();
    let names = |store: &[(String, _)]| -> Vec<String> {
        store
            .iter()
            .map(|(name, _): &(String, _)| name.clone())
            .collect()
    };
    let stored = names(&store);
    end(gateway, "KILL");
    connection.send();
    let gateway = start(store);
    connection
        .receive()
        .unwrap_or_else(|error| panic!("{error}\n{}", gateway.log()));
    assert_eq!(outside_port(&gateway), port);
    assert_eq!(program(), before, "a program was loaded");
    let store = gateway.stored();
    assert_eq!(names(&store), stored, "something was stored again");
    assert!(gateway.stop().success());
    assert_eq!(stage.left(), Vec::<String>::new());
}

#[test]
fn a_service_manager_keeps_sessions_of_user_space() {
    survives_under_a_manager("user");
}

#[test]
fn a_service_manager_keeps_sessions_and_programs_of_xdp() {
    survives_under_a_manager("xdp");
}

/// The border of a DS-Lite provider starts again.
fn border_survives(engine: &str, signal: &str) {
    let row = &provider::DS_LITE;
    let Some(net) = Softwires::new(row) else {
        return;
    };
    let Some(places) = Places::new(net.folder()) else {
        return;
    };
    let folder = net.folder().join("br");
    let spawn = || {
        let isthmus = places.command(&net.br, ISTHMUS);
        let gateway = Gateway::spawn(isthmus, &folder, &folder.join("edge.toml"));
        gateway.expect("READY=1");
        gateway
    };
    let (ce, border) = net.start(row, engine);
    // In the place where its sessions stay.
    assert!(border.stop().success());
    let border = spawn();
    let address = row.server.address;
    let mut connection = Connection::new(&net.client, &net.server, address, address);
    connection
        .exchange()
        .unwrap_or_else(|error| panic!("{error}\n{}", border.log()));
    let port = outside_port(&border);
    end(border, signal);
    connection.send();
    let border = spawn();
    connection
        .receive()
        .unwrap_or_else(|error| panic!("{error}\n{}", border.log()));
    connection
        .exchange()
        .unwrap_or_else(|error| panic!("{error}\n{}", border.log()));
    assert_eq!(outside_port(&border), port);
    assert_eq!(counted(&border.json("counters"), "session-created"), 0);
    assert!(ce.stop().success() && border.stop().success());
}

#[test]
fn a_connection_in_a_softwire_survives_the_end_in_user_space() {
    border_survives("user", "TERM");
}

#[test]
fn a_connection_in_a_softwire_survives_the_death_in_xdp() {
    border_survives("xdp", "KILL");
}

/// What another configuration has no place for ends, and nothing else.
fn changes(engine: &str, then: &str) {
    let Some(stage) = Stage::new(&format!("{}{PLAT}{HOME}", links(engine))) else {
        return;
    };
    let gateway = stage.start();
    let mut stays = stage.connect(SERVER);
    let mut ends = stage.connect("192.0.2.2");
    for connection in [&mut stays, &mut ends] {
        connection
            .exchange()
            .unwrap_or_else(|error| panic!("{error}\n{}", gateway.log()));
    }
    assert_eq!(gateway.sessions(), 2);
    end(gateway, "TERM");
    // Another pool, and an instance more, so that there is more memory.
    let home = HOME.replace("203.0.113.32/28", "203.0.113.48/28");
    let home = home.replace("\"203.0.113.33\"", "\"203.0.113.49\"");
    let more = PLAT
        .replace("plat", "more")
        .replace("64:ff9b::/96", "2001:db8:64::/96");
    let more = more.replace("203.0.113.0/28", "203.0.113.64/28");
    stage
        .site
        .configure(&format!("{}{more}{PLAT}{home}", links(then)));
    let gateway = stage.start();
    stays
        .exchange()
        .unwrap_or_else(|error| panic!("{error}\n{}", gateway.log()));
    assert_eq!(gateway.sessions(), 1, "{}", gateway.log());
    let session = gateway.json("sessions");
    assert_eq!(session["instance"], "plat");
    let counters = gateway.json("counters");
    assert_eq!(
        counted(&counters, "session-created"),
        0,
        "{}",
        gateway.log()
    );
    assert_eq!(
        counted(&counters, "session-removed"),
        1,
        "{}",
        gateway.log()
    );
    assert!(gateway.stop().success());
    assert_eq!(stage.left(), Vec::<String>::new());
}

#[test]
fn another_configuration_ends_what_it_has_no_place_for() {
    changes("xdp", "xdp");
}

#[test]
fn another_configuration_ends_what_it_has_no_place_for_in_user_space() {
    changes("user", "user");
}

#[test]
fn sessions_go_from_one_engine_to_another() {
    changes("user", "tc");
    changes("tc", "user");
}

#[test]
fn static_bindings_are_those_of_the_configuration() {
    let fixed = r#"static = [{ protocol = "tcp", inside = "[2001:db8:1::2]:22", outside = "203.0.113.1:2222" }]"#;
    let with = format!("{PLAT}{fixed}\n");
    let Some(stage) = Stage::new(&with) else {
        return;
    };
    let bindings =
        |gateway: &Gateway| gateway.json("status")["instances"][0]["tables"][1]["used"].clone();
    let gateway = stage.start();
    assert_eq!(bindings(&gateway), 1);
    end(gateway, "KILL");
    // It is the same one, and not one more.
    let gateway = stage.start();
    assert_eq!(bindings(&gateway), 1, "{}", gateway.log());
    end(gateway, "KILL");
    stage.site.configure(PLAT);
    let gateway = stage.start();
    assert_eq!(bindings(&gateway), 0, "{}", gateway.log());
    assert!(gateway.stop().success());
    assert_eq!(stage.left(), Vec::<String>::new());
}

/// An upgrade: the programs are others, the tables are the same.
#[test]
fn sessions_survive_other_programs() {
    let Some(stage) = Stage::new(&format!("{}{PLAT}", links("xdp"))) else {
        return;
    };
    let gateway = stage.start();
    let mut connection = stage.connect(SERVER);
    connection.exchange().unwrap();
    let port = outside_port(&gateway);
    end(gateway, "TERM");
    let folder = stage.places.bpf().join(&stage.places.folders()[0]);
    for pin in fs::read_dir(&folder).unwrap() {
        let pin = pin.unwrap().path();
        let name = pin.file_name().unwrap().to_str().unwrap().to_owned();
        if let Some((_, name)) = name.split_once('-') {
            fs::rename(&pin, folder.join(format!("0123456789abcdef-{name}"))).unwrap();
        }
    }
    let gateway = stage.start();
    connection
        .exchange()
        .unwrap_or_else(|error| panic!("{error}\n{}", gateway.log()));
    assert_eq!(outside_port(&gateway), port);
    assert!(
        !stage
            .left()
            .iter()
            .any(|left| left.starts_with("0123456789abcdef"))
    );
    assert!(gateway.stop().success());
    assert_eq!(stage.left(), Vec::<String>::new());
}

/// A gateway starts with empty tables if it cannot trust what is there, and says why.
fn starts_empty(engine: &str, spoil: impl Fn(&Stage), reason: &str) {
    let Some(stage) = Stage::new(&format!("{}{PLAT}", links(engine))) else {
        return;
    };
    let gateway = stage.start();
    let mut connection = stage.connect(SERVER);
    connection.exchange().unwrap();
    assert_eq!(gateway.sessions(), 1);
    end(gateway, "TERM");
    spoil(&stage);
    let gateway = stage.start();
    assert_eq!(gateway.sessions(), 0);
    let said = stage.said(&gateway);
    assert!(
        said.contains("the sessions of the run before are lost") && said.contains(reason),
        "{said}"
    );
    assert!(stage.connect(SERVER).exchange().is_ok(), "{said}");
    assert!(gateway.stop().success());
    assert_eq!(stage.left(), Vec::<String>::new());
}

/// Changes the note of a gateway that has ended.
fn rewrite(stage: &Stage, change: impl Fn(&str) -> String) {
    let note = stage.site.path("edge.kept");
    let text = fs::read_to_string(&note).unwrap();
    let changed = change(&text);
    assert_ne!(changed, text);
    fs::write(&note, changed).unwrap();
}

#[test]
fn another_format_starts_empty() {
    let other =
        |stage: &Stage| rewrite(stage, |text| text.replace("\"format\": ", "\"format\": 9"));
    starts_empty("user", other, "their tables have format 9");
    starts_empty("xdp", other, "their tables have format 9");
}

#[test]
fn a_damaged_note_starts_empty() {
    let half = |stage: &Stage| rewrite(stage, |text| text[..text.len() / 2].to_owned());
    starts_empty("user", half, "edge.kept is damaged");
    let larger = |stage: &Stage| rewrite(stage, |text| text.replace("\"start\": ", "\"start\": 9"));
    starts_empty("xdp", larger, "edge.kept is damaged");
    let boot = |stage: &Stage| rewrite(stage, |text| text.replace("\"boot\": \"", "\"boot\": \"f"));
    starts_empty("user", boot, "the machine was started again");
}

#[test]
fn memory_that_is_gone_or_short_starts_empty() {
    let short = |stage: &Stage| {
        let memory = fs::File::options()
            .write(true)
            .open(stage.site.path("edge.sessions"));
        memory.unwrap().set_len(4096).unwrap();
    };
    starts_empty("user", short, "the memory is too short");
    let gone = |stage: &Stage| {
        let folder = &stage.places.folders()[0];
        fs::remove_file(stage.places.bpf().join(folder).join("STATE")).unwrap();
    };
    starts_empty("xdp", gone, "their memory is not there");
    let others = |stage: &Stage| {
        let open = Command::new("chmod")
            .arg("0666")
            .arg(stage.site.path("edge.sessions"))
            .status();
        assert!(open.unwrap().success());
    };
    starts_empty("user", others, "their memory is not there");
}

#[test]
fn what_is_left_can_be_forgotten() {
    for engine in ["user", "xdp"] {
        let Some(stage) = Stage::new(&format!("{}{PLAT}", links(engine))) else {
            return;
        };
        let gateway = stage.start();
        assert!(!stage.forget(), "it runs");
        end(gateway, "KILL");
        assert!(stage.left().len() > 2);
        assert!(stage.forget());
        let left = stage.left();
        // A crash leaves these as well.
        assert!(
            left.iter()
                .all(|left| left == "edge.sock" || left == "edge.state"),
            "{left:?}"
        );
        let gateway = stage.start();
        assert!(!stage.said(&gateway).contains("lost"), "{}", gateway.log());
        assert!(gateway.stop().success());
        assert_eq!(stage.left(), Vec::<String>::new());
    }
}

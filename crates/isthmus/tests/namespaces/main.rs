//! `isthmus up` on a network of its own: translating, watching, reloading, ending, crashing. And `isthmus lab`.

mod address;
mod bare;
mod burst;
mod cards;
mod collector;
mod control;
mod dashboard;
mod discipline;
mod doctor;
mod engines;
mod examples;
mod forward;
mod ftp;
mod gateway;
mod hairpin;
mod heal;
mod health;
mod interop;
mod isatap;
mod laboratory;
mod limited;
mod local;
mod migrate;
mod nat44;
mod nat_pt;
mod neighbours;
mod net;
mod old_kernel;
mod one_address;
mod own_clat;
mod pref64;
mod proxy;
mod recipes;
mod restart;
mod routes;
mod side;
mod site;
mod soak;
mod softwires;
mod suspended;
mod tables;
mod top;
mod trace;
mod trial;
mod vlan;
mod who;

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use gateway::Gateway;
use isthmus_lab::network::cores::GATEWAY_CPU;
use isthmus_lab::network::process;
use serde_json::Value;
use site::{HOME, PLAT, Site, both_links};
use soak::MORE;

/// An instance without sessions.
const LOCAL: &str = r#"
[[instance]]
name = "local"
mechanism = "siit"
prefix = "2001:db8:64::/96"
hosts = ["198.51.100.0/24"]
"#;

/// An instance of a mechanism for which the verifier has little to do: an emulated machine waits for it.
const TUNNEL: &str = r#"
[[instance]]
name = "tunnel"
mechanism = "4in6"
local = "2001:db8:64::1"
remote = "2001:db8:65::1"
networks = ["198.51.100.0/24"]
own-v4 = "198.51.101.1"
"#;

const SERVER: &str = "64:ff9b::192.0.2.2";

/// Returns the sum of a counter over all instances.
fn counted(counters: &Value, name: &str) -> u64 {
    counters
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| row["counter"] == name)
        .map(|row| row["value"].as_u64().unwrap())
        .sum()
}

#[test]
fn it_translates_tells_of_it_and_leaves_nothing_behind() {
    let Some(site) = Site::new() else {
        return;
    };
    let records = site.path("records.jsonl");
    let more = format!("{PLAT}\n[records]\njson = \"{}\"\n", records.display());
    site.configure(&more);
    let before = site.net.dump();
    let gateway = site.start();
    assert!(site.net.pings(SERVER), "{}", gateway.log());

    let status = gateway.json("status");
    assert_eq!(status["name"], "edge");
    assert_eq!(status["engines"][0]["engine"], "user");
    assert_eq!(status["instances"][0]["name"], "plat");
    assert_eq!(status["instances"][0]["translated"], 6);
    assert_eq!(status["instances"][0]["tables"][0]["used"], 1);
    let counters = gateway.json("counters");
    assert_eq!(counted(&counters, "translated-6to4"), 3);
    assert_eq!(counted(&counters, "translated-4to6"), 3);
    assert_eq!(counted(&counters, "session-created"), 1);
    let session = gateway.json("sessions --protocol icmp --inside 2001:db8:1::/64");
    assert_eq!(session["inside-address"], "2001:db8:1::2");
    assert_eq!(session["remote-address"], "192.0.2.2");
    assert_eq!(gateway.sessions(), 1);
    let none = gateway.client("sessions --count --protocol tcp");
    assert_eq!(net::text(&none).trim(), "0");

    // The record and the list show the same session.
    gateway.wait_until(|_| {
        fs::read_to_string(&records)
            .unwrap_or_default()
            .contains("session-created")
    });
    let text = fs::read_to_string(&records).unwrap();
    let record: Value = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .find(|record: &Value| record["event"] == "session-created")
        .unwrap();
    for key in ["inside-port", "outside-address", "outside-port"] {
        assert_eq!(record[key], session[key], "{key}");
    }

    assert!(gateway.stop().success());
    assert_eq!(site.net.dump(), before);
    for left in [
        "edge.sock",
        "edge.lock",
        "edge.state",
        "edge.kept",
        "edge.sessions",
    ] {
        assert!(!site.path(left).exists(), "{left}");
    }
}

/// A source address selects the packets to translate: the route to the link depends on it, changes with the
/// configuration, and is found after a crash.
#[test]
fn a_nat_within_ipv4_takes_what_comes_from_inside() {
    let Some(site) = Site::new() else {
        return;
    };
    site.net.dual_stack();
    let both = format!("{PLAT}{HOME}");
    site.configure(&both);
    let before = site.net.dump();
    let gateway = site.start();
    assert!(site.net.pings("192.0.2.2"), "{}", gateway.log());
    let session = gateway.json("sessions --protocol icmp --inside 192.168.0.0/16");
    assert_eq!(session["inside-address"], "192.168.7.2");
    assert_eq!(session["remote-address"], "192.0.2.2");
    let outside = session["outside-address"].as_str().unwrap();
    assert!(outside.starts_with("203.0.113."), "{session}");
    assert!(site.net.pings_with("192.0.2.2", 4000), "{}", gateway.log());
    // The other family and the machine itself are unchanged.
    assert!(site.net.pings(SERVER) && site.net.pings("192.168.7.1"));
    let counters = gateway.json("counters");
    assert_eq!(counted(&counters, "translated-4to4"), 8, "{counters}");

    // The routes go with the instance and return with it.
    site.configure(PLAT);
    gateway.client("reload");
    assert!(!site.net.dump().contains("192.168.0.0"));
    site.configure(&both);
    gateway.client("reload");
    assert!(site.net.pings("192.0.2.2"), "{}", gateway.log());

    gateway.kill();
    let gateway = site.start();
    assert!(site.net.pings("192.0.2.2"), "{}", gateway.log());
    assert!(gateway.stop().success());
    assert_eq!(site.net.dump(), before);
}

/// RFC 6888 section 3, REQ-6.
#[test]
fn a_nat_within_ipv4_leaves_exempt_destinations_alone() {
    let Some(site) = Site::new() else {
        return;
    };
    site.net.dual_stack();
    let exempt = |networks: &str| {
        let line = format!("mechanism = \"nat44\"\nexempt = [{networks}]");
        HOME.replace("mechanism = \"nat44\"", &line)
    };
    let before = site.net.dump();
    site.configure(&exempt("\"192.0.2.0/24\""));
    let gateway = site.start();
    assert!(site.net.pings("192.0.2.2"), "{}", gateway.log());
    assert_eq!(gateway.sessions(), 0);
    assert_eq!(counted(&gateway.json("counters"), "translated-4to4"), 0);

    // The routes follow the configuration, and so does the network of the inside hosts.
    for (networks, sessions) in [
        ("\"192.168.0.0/16\", \"198.51.100.0/24\"", 1),
        ("\"192.0.2.2/32\"", 1),
    ] {
        site.configure(&exempt(networks));
        gateway.client("reload");
        assert!(site.net.pings("192.0.2.2"), "{}", gateway.log());
        assert_eq!(gateway.sessions(), sessions, "{networks}");
    }
    assert!(gateway.stop().success());
    assert_eq!(site.net.dump(), before);
}

/// The message has its place in the file, and nothing has changed.
#[test]
fn what_the_machine_lacks_is_told() {
    let Some(site) = Site::new() else {
        return;
    };
    let before = site.net.dump();
    let records = "[records]\njson = \"/nonexistent/records.jsonl\"\n";
    site.configure(&format!(
        "{}{PLAT}{records}",
        both_links("xdp", "").replace("tos", "lost")
    ));
    let (status, said) = site.refused();
    assert!(!status.success());
    for part in [
        "no link \"lost\"",
        "edge.toml:",
        "no folder /nonexistent",
        "mkdir -p",
        "2 errors",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    site.configure(PLAT);
    let text = fs::read_to_string(site.file()).unwrap();
    fs::write(site.file(), text.replace("isthmus0", "toh")).unwrap();
    let (status, said) = site.refused();
    assert!(
        !status.success() && said.contains("not a TUN link"),
        "{said}"
    );
    assert_eq!(site.net.dump(), before);
}

#[test]
fn a_good_reload_holds_and_keeps_sessions() {
    let Some((site, gateway)) = Site::with(PLAT) else {
        return;
    };
    assert!(site.net.pings(SERVER));
    let session = gateway.json("sessions");

    // Another instance in front and another timer, by SIGHUP as from a service manager.
    site.configure(&format!("{LOCAL}{PLAT}"));
    gateway.signal("HUP");
    gateway.expect("RELOADING=1");
    gateway.expect("READY=1");
    assert!(
        gateway.log().contains("instance local added"),
        "{}",
        gateway.log()
    );
    assert!(
        site.net
            .ip("gateway", "-6 route")
            .contains("2001:db8:64::/96 dev isthmus0")
    );
    let still = gateway.json("sessions");
    assert_eq!(still["outside-port"], session["outside-port"]);
    assert!(site.net.pings(SERVER));
    // Counters follow their instance to its new index.
    let status = gateway.json("status");
    assert_eq!(status["reloads"], 1);
    assert_eq!(status["instances"][1]["name"], "plat");
    assert_eq!(status["instances"][1]["translated"], 12);

    // Remove it again, by the control socket.
    site.configure(PLAT);
    let changes = gateway.json("reload");
    assert!(
        changes
            .as_array()
            .unwrap()
            .contains(&"instance local removed".into()),
        "{changes}"
    );
    assert!(
        !site
            .net
            .ip("gateway", "-6 route")
            .contains("2001:db8:64::/96")
    );
    assert!(site.net.pings(SERVER));
}

/// Programs are loaded when a configuration first needs them. After a reload that adds NAT64, the kernel makes the
/// sessions, as if NAT64 had been there from the start.
#[test]
fn a_reload_brings_the_programs_of_its_mechanisms() {
    let Some(site) = Site::new() else {
        return;
    };
    site.net.dual_stack();
    let links = both_links("xdp", "").replacen("xdp", "tc", 1);
    site.configure(&format!("{links}{}", HOME.replace("4096", "8192")));
    let gateway = site.start();
    assert!(site.net.pings("192.0.2.2"), "{}", gateway.log());
    // Its memory is free once no packet can still use it.
    site.configure(&format!("{links}{LOCAL}"));
    gateway.client("reload");
    thread::sleep(Duration::from_secs(11));
    site.configure(&format!("{links}{PLAT}"));
    gateway.client("reload");
    // The first packet may have to wait for the addresses of the links.
    assert!(site.net.pings(SERVER), "{}", gateway.log());
    let before = gateway.json("counters");
    assert!(site.net.pings(SERVER), "{}", gateway.log());
    let after = gateway.json("counters");
    let more = |name| counted(&after, name) - counted(&before, name);
    assert_eq!(more("session-created"), 1, "{after}");
    assert_eq!(more("slow-path"), 0, "{after}");
    assert!(gateway.stop().success());
}

#[test]
fn sessions_without_a_place_end_with_a_reload() {
    let Some((site, gateway)) = Site::with(PLAT) else {
        return;
    };
    assert!(site.net.pings(SERVER));
    assert_eq!(gateway.sessions(), 1);
    site.configure(&PLAT.replace("203.0.113.0/28", "203.0.113.64/28"));
    gateway.json("reload");
    assert_eq!(gateway.sessions(), 0);
    assert!(site.net.pings(SERVER), "{}", gateway.log());
    let session = gateway.json("sessions");
    let outside = session["outside-address"].as_str().unwrap();
    let last: u8 = outside.strip_prefix("203.0.113.").unwrap().parse().unwrap();
    assert!((64..80).contains(&last), "{outside}");
}

#[test]
fn hosts_that_are_not_inside_any_more_are_cut_off_by_a_reload() {
    for links in [String::new(), both_links("xdp", "")] {
        let inside = |network| format!("{links}{PLAT}inside = [\"{network}\"]\n");
        let Some((site, gateway)) = Site::with(&inside("2001:db8:1::/64")) else {
            return;
        };
        assert!(site.net.pings(SERVER), "{}", gateway.log());
        assert_eq!(gateway.sessions(), 1);
        site.configure(&inside("2001:db8:2::/64"));
        gateway.json("reload");
        assert_eq!(gateway.sessions(), 0);
        assert!(!site.net.pings(SERVER));
        assert_eq!(gateway.sessions(), 0);
        let dropped = counted(&gateway.json("counters"), "not-inside");
        assert_eq!(dropped, 3, "{}", gateway.log());
    }
}

#[test]
fn an_open_relay_is_told_of() {
    let Some((_site, gateway)) = Site::with(PLAT) else {
        return;
    };
    let log = gateway.log();
    assert!(
        log.contains("open relay") && log.contains("edge.toml"),
        "{log}"
    );
}

#[test]
fn a_bad_reload_changes_nothing_and_says_where() {
    let Some((site, gateway)) = Site::with(PLAT) else {
        return;
    };
    assert!(site.net.pings(SERVER));
    let before = site.net.dump();
    for bad in [
        PLAT.replace("64:ff9b::/96", "64:ff9b::/95"),
        PLAT.replace("max-sessions", "max-sesions"),
        format!("{PLAT}\n[[instance]\n"),
        // The file is valid, but not for a running gateway.
        format!("[[interface]]\nname = \"tos\"\nengine = \"user\"\n{PLAT}"),
    ] {
        site.configure(&bad);
        let said = gateway.client("reload");
        assert!(!said.status.success(), "{bad}");
        assert_eq!(site.net.dump(), before, "{bad}");
        assert_eq!(gateway.sessions(), 1);
    }
    site.configure(&PLAT.replace("64:ff9b::/96", "64:ff9b::/95"));
    let said = gateway.client("reload");
    let said = String::from_utf8_lossy(&said.stderr).into_owned();
    let line = fs::read_to_string(site.file())
        .unwrap()
        .lines()
        .position(|line| line.contains("/95"))
        .unwrap()
        + 1;
    assert!(said.contains(&format!("edge.toml:{line}:")), "{said}");
    assert!(said.contains("64:ff9b::/95"), "{said}");
    let log = gateway.log();
    assert!(log.contains(&format!("line={line}")), "{log}");
    assert!(site.net.pings(SERVER));
    let status = gateway.json("status");
    assert_eq!(status["reloads"], 0);
    assert_eq!(status["failed-reloads"], 5);
    assert_eq!(status["last-reload"]["outcome"], "failed");
    assert!(status["last-reload"]["error"].is_string());
}

#[test]
fn a_crash_and_a_restart_leave_no_more_than_a_clean_run() {
    let Some(site) = Site::new() else {
        return;
    };
    site.configure(PLAT);
    let before = site.net.dump();
    let crashed = site.start();
    assert!(site.net.pings(SERVER));
    crashed.kill();
    assert_ne!(
        site.net.dump(),
        before,
        "forwarding is left on by the crash"
    );
    let gateway = site.start();
    assert!(site.net.pings(SERVER), "{}", gateway.log());
    assert!(gateway.stop().success());
    assert_eq!(site.net.dump(), before);
}

#[test]
fn a_start_that_fails_leaves_nothing_behind() {
    let Some(site) = Site::new() else {
        return;
    };
    let before = site.net.dump();
    // The route is refused. By then the link and an address exist.
    site.net.ip("gateway", "route add 203.0.113.0/28 dev tos");
    let taken = site.net.dump();
    site.configure(PLAT);
    let (status, said) = site.refused();
    assert!(!status.success());
    assert!(said.contains("203.0.113.0/28"), "{said}");
    assert_eq!(site.net.dump(), taken);
    site.net.ip("gateway", "route del 203.0.113.0/28 dev tos");
    assert_eq!(site.net.dump(), before);
}

#[test]
fn a_second_gateway_in_the_same_place_is_refused() {
    let Some((site, gateway)) = Site::with(PLAT) else {
        return;
    };
    let (status, said) = site.refused();
    assert!(!status.success());
    assert!(said.contains("running already"), "{said}");
    assert!(site.net.pings(SERVER));
    gateway.stop();
}

#[test]
fn followers_see_sessions_come() {
    let Some((site, gateway)) = Site::with(PLAT) else {
        return;
    };
    let mut follower = std::process::Command::new(env!("CARGO_BIN_EXE_isthmus"))
        .args([
            "sessions",
            "--follow",
            "--limit",
            "1",
            "--protocol",
            "icmp",
            "--socket",
        ])
        .arg(site.path("edge.sock"))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // The sessions that it sees are its only sign of life.
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert!(site.net.pings(SERVER), "{}", gateway.log());
    let mut line = String::new();
    BufReader::new(follower.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    assert!(follower.wait().unwrap().success());
    let event: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(event["event"], "session-created");
    assert_eq!(event["inside-address"], "2001:db8:1::2");
}

#[test]
fn static_bindings_follow_the_configuration() {
    let Some(site) = Site::new() else {
        return;
    };
    // The outside sends echo requests with this identifier to the inside.
    let fixed = |outside: &str| {
        format!(
            "{PLAT}static = [{{ protocol = \"icmp\", inside = \"[2001:db8:1::2]:7\", outside = \"{outside}:7\" }}]\n"
        )
    };
    let reached = |address: &str| {
        let mut ping = site.net.command("server", "ping");
        ping.args(["-n", "-c", "2", "-i", "0.2", "-W", "1", "-e", "7", address]);
        ping.output().unwrap().status.success()
    };
    site.configure(&fixed("203.0.113.3"));
    let gateway = site.start();
    assert!(reached("203.0.113.3"), "{}", gateway.log());
    assert!(!reached("203.0.113.4"));
    site.configure(&fixed("203.0.113.4"));
    gateway.json("reload");
    assert!(reached("203.0.113.4"), "{}", gateway.log());
    assert!(!reached("203.0.113.3"));
}

const RELOADS: usize = 150;

/// Pings through the gateway 333 times a second while `work` is done. Fails unless there are answers to all, in the
/// order of the requests, each once. Returns their number.
fn pinged_throughout(site: &Site, gateway: &Gateway, work: impl FnOnce()) -> usize {
    // On one processor, each of which has a queue of its own: else a request may overtake one that waits in that of the
    // processor where the sender was before.
    let mut ping = site.net.node("host").command_on(GATEWAY_CPU, "ping");
    ping.args(["-n", "-i", "0.003", "-W", "5", SERVER]);
    let heard = site.path("pings");
    let ping = ping.stdout(File::create(&heard).unwrap());
    let mut ping = ping.spawn().unwrap();
    work();
    // It writes down what it has heard.
    let number = ping.id().to_string();
    process::run(Command::new("kill").args(["-INT", &number])).unwrap();
    ping.wait().unwrap();
    let said = fs::read_to_string(heard).unwrap();
    let numbers: Vec<usize> = said
        .split("icmp_seq=")
        .skip(1)
        .filter_map(|rest| rest.split(' ').next()?.parse().ok())
        .collect();
    let all = numbers.iter().copied().eq(1..=numbers.len());
    assert!(all, "{said}\n{}", gateway.log());
    numbers.len()
}

#[test]
fn no_packet_is_lost_to_reloads_under_load() {
    let Some((site, gateway)) = Site::with(PLAT) else {
        return;
    };
    assert!(site.net.pings(SERVER));
    let pings = pinged_throughout(&site, &gateway, || {
        for reloads in 0..RELOADS {
            // The pool grows and shrinks, and what is in front of it comes and goes.
            let last = 65_000 + reloads % 500;
            let plat = PLAT.replace("1024-65535", &format!("1024-{last}"));
            let first = if reloads % 2 == 0 { MORE } else { "" };
            site.configure(&format!("{first}{plat}"));
            gateway.signal("HUP");
            gateway.expect("RELOADING=1");
            gateway.expect("READY=1");
            // A ping or two between them, also where the sender waits for a processor.
            thread::sleep(Duration::from_millis(6));
        }
    });
    assert!(pings > RELOADS, "{pings}");
    assert_eq!(gateway.json("status")["reloads"], RELOADS);
}

/// Programs are loaded for the mechanisms of the configuration. Another one has all loaded anew, while the old ones take
/// the packets.
#[test]
fn no_packet_is_lost_while_programs_are_loaded_anew() {
    let Some(site) = Site::new() else {
        return;
    };
    site.net.dual_stack();
    let links = both_links("xdp", "").replacen("xdp", "tc", 1);
    site.configure(&format!("{links}{PLAT}"));
    let gateway = site.start();
    assert!(site.net.pings(SERVER), "{}", gateway.log());
    let program = || site.net.program("gateway", "tos").unwrap();
    let before = program();
    let pings = pinged_throughout(&site, &gateway, || {
        site.configure(&format!("{links}{TUNNEL}{PLAT}"));
        let reload = gateway.client("reload");
        assert!(reload.status.success(), "{reload:?}");
    });
    assert!(pings > 0);
    let between = program();
    assert_ne!(between, before);
    // They know the first mechanism still.
    pinged_throughout(&site, &gateway, || {
        site.configure(&format!("{links}{PLAT}"));
        let reload = gateway.client("reload");
        assert!(reload.status.success(), "{reload:?}");
    });
    assert_eq!(program(), between);
    assert!(gateway.stop().success());
}

#[test]
fn dns64_and_metrics_are_served_and_follow_a_reload() {
    for (tool, package) in [("dig", "bind9-dnsutils"), ("curl", "curl")] {
        if let Err(reason) = process::require(tool, package) {
            eprintln!("skipped: {reason}");
            return;
        }
    }
    let Some(site) = Site::new() else {
        return;
    };
    let write = |port: u16| {
        let metrics = format!("metrics = \"[2001:db8:1::1]:{port}\"");
        let dns64 = "[dns64]\nlisten = [\"[2001:db8:1::1]:53\"]\nupstream = [\"192.0.2.2:53\"]\n";
        site.configure_gateway(&metrics, &format!("{dns64}{PLAT}"));
    };
    write(9464);
    let gateway = site.start();
    // RFC 8880 section 7.1: answered without an upstream resolver.
    let mut dig = site.net.command("host", "dig");
    dig.args([
        "@2001:db8:1::1",
        "+short",
        "+time=2",
        "AAAA",
        "ipv4only.arpa",
    ]);
    let answer = net::text(&dig.output().unwrap());
    assert!(
        answer.contains("64:ff9b::c000:aa"),
        "{answer}\n{}",
        gateway.log()
    );
    let metrics = |port: u16| {
        let mut curl = site.net.command("host", "curl");
        curl.args([
            "-s",
            "-g",
            "-m",
            "3",
            "-H",
            "Accept: application/openmetrics-text",
            &format!("http://[2001:db8:1::1]:{port}/metrics"),
        ]);
        net::text(&curl.output().unwrap())
    };
    let text = metrics(9464);
    assert!(
        text.contains("isthmus_dns64_events_total{counter=\"answered-local\"}"),
        "{text}"
    );
    assert!(text.ends_with("# EOF\n"));
    write(9465);
    gateway.json("reload");
    assert!(metrics(9464).is_empty());
    assert!(metrics(9465).ends_with("# EOF\n"));
    let answer = net::text(&dig.output().unwrap());
    assert!(answer.contains("64:ff9b::c000:aa"), "{answer}");
    assert!(gateway.stop().success());
}

#[test]
fn xdp_programs_translate_and_are_gone_after_a_crash() {
    in_the_kernel("xdp");
}

#[test]
fn tc_programs_translate_and_are_gone_after_a_crash() {
    in_the_kernel("tc");
}

fn in_the_kernel(engine: &str) {
    let Some(site) = Site::new() else {
        return;
    };
    let interfaces = both_links(engine, "");
    site.configure(&format!("{interfaces}{PLAT}"));
    let before = site.net.dump();
    let gateway = site.start();
    // XDP leaves a packet to user space if its next hop is not resolved yet.
    assert!(site.net.pings_from("gateway", "192.0.2.2"));
    assert!(site.net.pings(SERVER), "{}", gateway.log());
    let counters = gateway.json("counters --engines");
    let of_engine: Vec<&Value> = counters
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| row["engine"] == engine && row["instance"] == "plat")
        .collect();
    assert!(
        of_engine
            .iter()
            .any(|row| row["counter"] == "translated-6to4" && row["value"] == 3),
        "{counters}"
    );
    assert_eq!(gateway.sessions(), 1);
    let plat = PLAT.replace("1024-65535", "1024-65000");
    site.configure(&format!("{interfaces}{plat}"));
    assert_eq!(
        gateway.json("reload"),
        serde_json::json!(["instance plat changed"])
    );
    assert!(site.net.pings(SERVER), "{}", gateway.log());
    gateway.kill();
    let left = site.net.ip("gateway", "link show dev toh");
    assert!(!left.contains("xdp"), "{left}");
    assert!(!site.net.pings(SERVER));
    let gateway = site.start();
    assert!(site.net.pings(SERVER), "{}", gateway.log());
    assert!(gateway.stop().success());
    assert_eq!(site.net.dump(), before);
}

/// Runs with the reduced rights of a gateway. `SCHED_BATCH` is 3 (sched(7)), and a process shows its policy in
/// field 41 of its `stat` (proc(5)).
#[test]
fn the_kernel_threads_of_its_link_are_batch_work() {
    let Some(site) = Site::new() else {
        return;
    };
    // A name that no other test has: kernel threads do not show their network namespace.
    let link = "batched0";
    site.configure(PLAT);
    let text = fs::read_to_string(site.file()).unwrap();
    fs::write(site.file(), text.replace("isthmus0", link)).unwrap();
    let _gateway = site.start();
    let policies: Vec<String> = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|process| {
            let stat = fs::read_to_string(process.unwrap().path().join("stat")).ok()?;
            let (name, fields) = stat.rsplit_once(") ")?;
            let ours = name.contains(&format!("(napi/{link}-"));
            // The first field after the name is the third.
            let policy = fields.split_whitespace().nth(41 - 3);
            ours.then(|| policy.unwrap_or_default().to_owned())
        })
        .collect();
    assert_eq!(policies, ["3"]);
}

//! `isthmus doctor`: each check in a network in which exactly that is wrong, and after the remedy that it printed.

use std::fs;

use isthmus_lab::traffic::sink::Sink;
use serde_json::Value;

use crate::gateway::{Gateway, ISTHMUS};
use crate::net::text;
use crate::site::{PLAT, Site, both_links};

/// The exit status of findings.
const FINDINGS: Option<i32> = Some(2);
/// Remedies that the findings of one check may need in turn.
const TURNS: usize = 4;

/// A machine with a gateway's configuration, on which nothing else is wrong.
fn site(configuration: &str) -> Option<Site> {
    let site = Site::new()?;
    site.configure(configuration);
    sh(
        &site,
        "sysctl -qw net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0",
    );
    sh(
        &site,
        "sysctl -qw net.ipv4.conf.toh.rp_filter=0 net.ipv4.conf.tos.rp_filter=0",
    );
    site.net.ip("gateway", "route add default via 192.0.2.2");
    Some(site)
}

/// Runs lines of a shell on the machine.
fn sh(site: &Site, lines: &str) {
    site.net.node("gateway").script(lines).unwrap();
}

/// The answer of `isthmus doctor`, and its exit status.
fn asked(site: &Site, before: &[&str]) -> (Value, Option<i32>) {
    let mut words = [before, &[ISTHMUS, "doctor", "--json"]]
        .concat()
        .into_iter();
    let mut doctor = site.net.command("gateway", words.next().unwrap());
    let output = doctor.args(words).arg(site.file()).output().unwrap();
    let answer = serde_json::from_slice(&output.stdout);
    let answer = answer.unwrap_or_else(|error| panic!("{error}: {output:?}"));
    (answer, output.status.code())
}

/// The findings of a check.
fn findings(site: &Site, check: &str) -> Vec<Value> {
    of_check(&asked(site, &[]).0, check)
}

fn of_check(answer: &Value, check: &str) -> Vec<Value> {
    let findings = answer["findings"].as_array().unwrap().iter();
    findings
        .filter(|one| one["check"] == check)
        .cloned()
        .collect()
}

/// Does what a finding says.
fn apply(site: &Site, finding: &Value) {
    let remedy = &finding["remedy"];
    if let Some(command) = remedy["command"].as_str() {
        // What nobody but the operator knows.
        return sh(site, &command.replace("NEXT-HOP", "192.0.2.2"));
    }
    let of = |key: &str| remedy["configuration"][key].as_str().unwrap();
    let old = fs::read_to_string(site.file()).unwrap();
    fs::write(site.file(), edited(&old, of("table"), of("line"))).unwrap();
}

/// The text with a line in a table, in the place of the line with the same key. The table is a heading such as
/// `[tun]`, or the one with the name that stands in quotes.
fn edited(text: &str, table: &str, line: &str) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    let mark = match table.split('"').nth(1) {
        Some(name) => format!("name = \"{name}\""),
        None => table.to_owned(),
    };
    let at = lines.iter().position(|one| *one == mark);
    let at = at.unwrap_or_else(|| panic!("no {mark} in {text}"));
    let is_heading = |one: &&str| one.starts_with('[');
    let begin = at - lines[..=at].iter().rev().position(is_heading).unwrap();
    let end = lines[at + 1..].iter().position(is_heading);
    let end = end.map_or(lines.len(), |length| at + 1 + length);
    let key = format!("{} = ", line.split(" = ").next().unwrap());
    match (begin..end).find(|&number| lines[number].starts_with(&key)) {
        Some(number) => lines[number] = line,
        None => lines.insert(begin + 1, line),
    }
    lines.join("\n")
}

/// Breaks something, and expects that this check alone finds it until its remedies are applied.
fn finds_and_mends(site: &Site, check: &str, break_it: &str) {
    assert_eq!(findings(site, check), [] as [Value; 0], "before");
    if let Err(error) = site.net.node("gateway").script(break_it) {
        // Kernels of virtual machines lack some parts.
        let said = error.to_string();
        let lacks = ["Unknown device type", "TC classifier not found"];
        let lack = lacks.into_iter().find(|lack| said.contains(lack));
        eprintln!("skipped: the kernel says {:?}", lack.expect(&said));
        return;
    }
    mends(site, check);
}

/// Expects a finding of this check, which its remedies end.
fn mends(site: &Site, check: &str) {
    let (answer, status) = asked(site, &[]);
    assert!(!of_check(&answer, check).is_empty(), "{check}: {answer}");
    assert_eq!(status, FINDINGS);
    for _ in 0..TURNS {
        let findings = findings(site, check);
        for finding in &findings {
            apply(site, finding);
        }
        if findings.is_empty() {
            return;
        }
    }
    panic!("{:?}", findings(site, check));
}

/// A test of a check: the configuration, and what makes it wrong.
macro_rules! checks {
    ($($test:ident $check:literal: $configuration:expr, $break:expr;)+) => {$(
        #[test]
        fn $test() {
            if let Some(site) = site(&$configuration) {
                finds_and_mends(&site, $check, $break);
            }
        }
    )+};
}

fn with(engine: &str, keys: &str) -> String {
    format!("{}{PLAT}", both_links(engine, keys))
}

const SIIT: &str = r#"
[[instance]]
name = "local"
mechanism = "siit"
prefix = "2001:db8:64::/96"
hosts = ["198.51.100.0/24"]
"#;

const SIX_IN_FOUR: &str = r#"
[[instance]]
name = "tunnel"
mechanism = "6in4"
local = "203.0.113.1"
remote = "198.51.100.1"
networks = ["2001:db8:b::/48"]
icmp-source-v6 = "2001:db8:a::1"
"#;

const OWN_CLAT: &str = r#"
[[instance]]
name = "clat"
mechanism = "clat"
uplink = "tos"
"#;

checks! {
    a_tun_name_that_is_taken "machine": PLAT, "ip link add isthmus0 type veth peer name other";
    a_link_that_does_not_forward "forwarding": PLAT,
        "sysctl -qw net.ipv4.ip_forward=1
         ip tuntap add isthmus0 mode tun
         sysctl -qw net.ipv4.conf.isthmus0.forwarding=0";
    a_router_that_is_not_heard "accept-ra": PLAT, "ip -6 route add default via fe80::2 dev toh proto ra";
    strict_sources "rp-filter": with("tc", "forward = \"kernel\""), "sysctl -qw net.ipv4.conf.all.rp_filter=1";
    loose_sources_without_an_address "rp-filter": with("tc", "forward = \"kernel\""),
        "sysctl -qw net.ipv4.conf.toh.rp_filter=2";
    a_tc_filter "other-programs": with("tc", ""),
        "tc qdisc add dev toh clsact
         tc filter add dev toh ingress matchall classid 1:1";
    tags_that_xdp_does_not_see "vlan-tags": with("xdp", ""),
        "ethtool -K toh rxvlan on
         ip link add link toh name toh.7 type vlan id 7";
    a_link_too_narrow_for_v6 "mtu": with("user", ""), "ip link set dev toh mtu 1279";
    a_link_too_narrow_for_a_tunnel "mtu": format!("{}{SIX_IN_FOUR}", both_links("tc", "")),
        "ip link set dev tos mtu 1299";
    an_address_of_the_machine "own-addresses": SIIT, "ip address add 198.51.100.7/32 dev tos";
    another_clat "second-clat": OWN_CLAT,
        "ip tuntap add other mode tun
         ip address add 192.0.0.2/32 dev other";
    no_default_route "routes": PLAT, "ip route del default";
}

/// A machine with this configuration, from the beginning wrong.
macro_rules! wrong {
    ($($test:ident $check:literal: $configuration:expr;)+) => {$(
        #[test]
        fn $test() {
            if let Some(site) = site(&$configuration) {
                mends(&site, $check);
            }
        }
    )+};
}

wrong! {
    xdp_in_the_stack "xdp-driver": with("xdp", "mode = \"generic\"");
    a_driver_without_xdp "xdp-driver":
        format!("[[interface]]\nname = \"lo\"\nengine = \"xdp\"\nmode = \"native\"\n{PLAT}");
}

#[test]
fn a_folder_that_is_not_there() {
    let Some(site) = site("") else {
        return;
    };
    let file = site.path("log/deep/records.jsonl");
    site.configure(&format!(
        "{PLAT}\n[records]\njson = \"{}\"\n",
        file.display()
    ));
    mends(&site, "machine");
    assert!(site.path("log/deep").is_dir());
}

#[test]
fn a_link_that_is_not_there() {
    let Some(site) = site(&with("tc", "").replace("toh", "nolink")) else {
        return;
    };
    let [finding] = &findings(&site, "machine")[..] else {
        panic!("{:?}", asked(&site, &[]));
    };
    assert!(finding["wrong"].as_str().unwrap().contains("nolink"));
    let remedy = &finding["remedy"]["configuration"];
    assert!(
        remedy["table"].as_str().unwrap().contains("toh, tos"),
        "{finding}"
    );
    assert_eq!(remedy["line"], "name = \"LINK\"");
    site.configure(&with("tc", ""));
    assert_eq!(findings(&site, "machine"), [] as [Value; 0]);
}

#[test]
fn forwarding_that_the_gateway_leaves_alone() {
    let Some(site) = site(PLAT) else {
        return;
    };
    assert_eq!(findings(&site, "forwarding"), [] as [Value; 0]);
    let text = fs::read_to_string(site.file()).unwrap();
    fs::write(site.file(), edited(&text, "[tun]", "routes = \"none\"")).unwrap();
    mends(&site, "forwarding");
    // Nobody makes the routes that the configuration wants none of.
    mends(&site, "routes");
    assert!(
        fs::read_to_string(site.file())
            .unwrap()
            .contains("routes = \"auto\"")
    );
}

/// The other end of a veth, on another machine.
#[test]
fn an_end_that_does_not_poll() {
    let Some(site) = site(&with("xdp", "mode = \"native\"")) else {
        return;
    };
    assert_eq!(findings(&site, "deaf-links"), [] as [Value; 0]);
    site.net.offload("host", "eth0", &["gro", "off"]);
    mends(&site, "deaf-links");
    assert!(site.path("edge.toml").exists());
}

#[test]
fn another_xdp_program() {
    let Some(site) = site(&with("xdp", "")) else {
        return;
    };
    assert_eq!(findings(&site, "other-programs"), [] as [Value; 0]);
    // One that holds its attachment.
    let _sink = Sink::attach(site.net.node("gateway"), "toh").unwrap();
    mends(&site, "other-programs");
}

#[test]
fn another_tc_program() {
    let Some(site) = site(&with("tc", "")) else {
        return;
    };
    // That of a gateway who does not put it back, because it is stopped.
    let ours = fs::read_to_string(site.file()).unwrap();
    let other = ours
        .replace("edge", "other")
        .replace("isthmus0", "isthmus1");
    let folder = site.path("other");
    fs::create_dir(&folder).unwrap();
    let file = folder.join("other.toml");
    fs::write(&file, other).unwrap();
    let gateway = Gateway::spawn(site.net.command("gateway", ISTHMUS), &folder, &file);
    gateway.expect("READY=1");
    gateway.signal("STOP");
    mends(&site, "other-programs");
}

#[test]
fn a_firewall_that_drops() {
    let Some(site) = site(&with("tc", "forward = \"kernel\"")) else {
        return;
    };
    if !site.net.has_nft() {
        return;
    }
    let chain = "nft add table inet filter
                 nft add chain inet filter forward '{ type filter hook forward priority 0; policy drop; }'";
    finds_and_mends(&site, "firewall-drops", chain);
    // The remedy is one: translated packets pass.
    let gateway = site.start();
    assert!(site.net.pings("64:ff9b::192.0.2.2"), "{}", gateway.log());
    assert!(gateway.stop().success());
}

#[test]
fn a_firewall_that_is_passed_by() {
    let Some(site) = site(&with("tc", "")) else {
        return;
    };
    if !site.net.has_nft() {
        return;
    }
    let rules = "nft add table inet filter
                 nft add chain inet filter forward '{ type filter hook forward priority 0; }'
                 nft add rule inet filter forward ct state new counter";
    finds_and_mends(&site, "firewall-bypassed", rules);
}

/// `ip netns exec` has mounts of its own, in which a device can be missing.
#[test]
fn no_tun_device() {
    let Some(site) = site(PLAT) else {
        return;
    };
    let doctor = format!("{ISTHMUS} doctor {}", site.file().display());
    sh(
        &site,
        &format!(
            "{doctor} | grep tun-device && exit 1
             mount -t tmpfs none /dev/net
             remedy=$({doctor} | grep -A2 ^tun-device | sed -n 's/^  run: //p')
             test -n \"$remedy\"
             eval \"$remedy\"
             {doctor} | grep tun-device && exit 1
             test -c /dev/net/tun"
        ),
    );
}

#[test]
fn a_process_without_rights() {
    let Some(site) = site(&with("tc", "")) else {
        return;
    };
    let without = |rights: &str| asked(&site, &["setpriv", &format!("--bounding-set={rights}")]);
    let (answer, status) = without("-bpf,-perfmon,-sys_admin");
    let found = of_check(&answer, "rights");
    assert_eq!((found.len(), status), (2, FINDINGS), "{answer}");
    for finding in &found {
        apply(&site, finding);
    }
    let (answer, status) = without("-bpf,-perfmon,-sys_admin");
    assert_eq!(of_check(&answer, "rights"), [] as [Value; 0]);
    assert_eq!(status, Some(0), "{answer}");
    // Who may not look does not say that all is well.
    let (answer, status) = without("-bpf,-perfmon,-sys_admin,-net_admin");
    assert_eq!(status, Some(1), "{answer}");
    assert_eq!(answer["unseen"][0]["check"], "rights");
}

#[test]
fn troubles_of_a_gateway_that_runs() {
    let Some(site) = site(&with("tc", "")) else {
        return;
    };
    let gateway = site.start();
    let (answer, _) = asked(&site, &[]);
    assert_eq!(answer["running"], true);
    assert_eq!(of_check(&answer, "running"), [] as [Value; 0]);
    // Its own programs are no others.
    assert_eq!(of_check(&answer, "other-programs"), [] as [Value; 0]);
    site.net.ip("gateway", "link set tos name other");
    gateway.wait_until(|_| !findings(&site, "running").is_empty());
    let named = |check: &str| {
        findings(&site, check)[0]["wrong"]
            .to_string()
            .contains("tos")
    };
    assert!(named("running") && named("machine"));
    // The file is that of the gateway, who is found by his socket.
    let output = gateway.client("doctor");
    assert_eq!(output.status.code(), FINDINGS, "{output:?}");
    assert!(
        text(&output).contains("running: there is no link tos"),
        "{output:?}"
    );
    site.net.ip("gateway", "link set other name tos");
    gateway.wait_until(|_| findings(&site, "running").is_empty());
    assert!(gateway.stop().success());
}

#[test]
fn a_table_that_is_full() {
    let small = PLAT.replace("4096", "16");
    let Some(site) = site(&format!("{small}subscriber-sessions = 64\n")) else {
        return;
    };
    let fill = |site: &Site| {
        let ping = "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18; do \
                    ping -c1 -W1 64:ff9b::192.0.2.2 >/dev/null & done; wait";
        site.net.node("host").script(ping).unwrap();
    };
    // Sessions and bindings, one after the other.
    let rounds = (0..TURNS).map(|_| {
        let gateway = site.start();
        fill(&site);
        let found = findings(&site, "running");
        assert!(gateway.stop().success());
        for finding in &found {
            apply(&site, finding);
        }
        found.len()
    });
    let rounds: Vec<usize> = rounds.collect();
    assert!(rounds[0] > 0 && rounds[TURNS - 1] == 0, "{rounds:?}");
}

/// The shape that docs/doctor.md promises.
#[test]
fn the_answer_has_a_shape() {
    let Some(site) = site(PLAT) else {
        return;
    };
    let (answer, status) = asked(&site, &[]);
    let nothing = serde_json::json!({
        "gateway": "edge", "running": false, "findings": [], "unseen": [],
    });
    assert_eq!((&answer, status), (&nothing, Some(0)));
    site.net.ip("gateway", "route del default");
    let (answer, status) = asked(&site, &[]);
    assert_eq!(status, FINDINGS);
    let expected = serde_json::json!([{
        "check": "routes",
        "wrong": "there is no route to 0.0.0.0/0",
        "why": "Translated packets go no further than to this machine's neighbours",
        "remedy": { "command": "ip route add default via NEXT-HOP" },
    }]);
    assert_eq!(answer["findings"], expected);
    // In words.
    let mut doctor = site.net.command("gateway", ISTHMUS);
    let output = doctor.arg("doctor").arg(site.file()).output().unwrap();
    assert_eq!(output.status.code(), FINDINGS);
    let said = text(&output);
    for line in [
        "routes: there is no",
        "  run: ip route add default",
        "1 finding",
    ] {
        assert!(said.contains(line), "{said}");
    }
    // A line of the configuration has its table.
    site.configure(&with("xdp", "mode = \"generic\""));
    let finding = &findings(&site, "xdp-driver")[0];
    let line = serde_json::json!({
        "configuration": { "table": "[[interface]] of \"toh\"", "line": "mode = \"auto\"" },
    });
    assert_eq!(finding["remedy"], line);
}

/// The warnings of `up` and `check` on the same machine.
#[test]
fn a_start_and_a_check_warn() {
    let Some(site) = site(&with("tc", "forward = \"kernel\"")) else {
        return;
    };
    sh(&site, "sysctl -qw net.ipv4.conf.all.rp_filter=1");
    let remedy = "sysctl -w net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.toh.rp_filter=0";
    let mut check = site.net.command("gateway", ISTHMUS);
    let output = check.arg("check").arg(site.file()).output().unwrap();
    assert!(output.status.success());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains(remedy), "{said}");
    let gateway = site.start();
    assert!(gateway.log().contains(remedy), "{}", gateway.log());
    assert!(gateway.stop().success());
    // What is not there is a warning for `check`, and an error for `up`.
    site.configure(&with("tc", "").replace("toh", "nolink"));
    let mut check = site.net.command("gateway", ISTHMUS);
    let output = check.arg("check").arg(site.file()).output().unwrap();
    assert!(output.status.success());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let missing = "there is no link \"nolink\" on this machine";
    assert!(said.contains("warning") && said.contains(missing), "{said}");
    let (status, refused) = site.refused();
    assert!(!status.success() && refused.contains(missing), "{refused}");
}

/// A veth whose other end does not poll: XDP would lose what it sends there, and counters would say `translated`.
#[test]
fn tc_takes_the_place_of_xdp_before_an_end_that_does_not_poll() {
    const SERVER: &str = "64:ff9b::192.0.2.2";
    let Some(site) = site(&with("xdp", "")) else {
        return;
    };
    let net = &site.net;
    net.offload("host", "eth0", &["gro", "off"]);
    let gateway = site.start();
    let engine = || gateway.json("status")["engines"][1].clone();
    if engine()["engine"] == "xdp" {
        eprintln!("skipped: the kernel does not know which links take frames");
        return;
    }
    assert_eq!(engine()["engine"], "tc", "{}", engine());
    assert!(
        engine()["detail"]
            .as_str()
            .unwrap()
            .contains("does not poll")
    );
    assert_eq!(
        gateway.bpf_programs(),
        ["3"],
        "those of XDP are for no link"
    );
    assert!(net.pings(SERVER), "{}", gateway.log());
    // It notices when that changes, in both directions.
    net.offload("host", "eth0", &["gro", "on"]);
    gateway.wait_until(|_| engine()["engine"] == "xdp");
    assert_eq!(gateway.bpf_programs(), ["3", "6"]);
    assert!(net.pings(SERVER), "{}", gateway.log());
    net.offload("host", "eth0", &["gro", "off"]);
    gateway.wait_until(|_| engine()["engine"] == "tc");
    assert!(net.pings(SERVER), "{}", gateway.log());
    assert!(gateway.stop().success());

    // Where XDP must not be left, the kernel forwards what it translates, and nothing is lost.
    site.configure(&with("xdp", "mode = \"native\""));
    let gateway = site.start();
    assert!(net.pings(SERVER), "{}", gateway.log());
    assert!(crate::forward::translated(&gateway, "xdp") > 0);
    assert!(gateway.stop().success());
}

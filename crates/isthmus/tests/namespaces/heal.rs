//! A gateway puts back what others take away from it.

use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use isthmus_lab::network::process;

use crate::forward::{PINGS, translated};
use crate::gateway::Gateway;
use crate::net::Net;
use crate::site::{HOME, PLAT, Site, both_links};
use crate::soak::MORE;

const SERVER: &str = "64:ff9b::192.0.2.2";
/// A few seconds, and what a busy machine takes.
const PATIENCE: Duration = Duration::from_secs(40);

/// Waits until this holds.
pub(crate) fn soon(gateway: &Gateway, what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "{what}: {}", gateway.log());
        thread::sleep(Duration::from_millis(100));
    }
}

/// Everything on the machine that is the gateway's.
fn ours(net: &Net) -> String {
    [
        "-4 route show table all proto 146",
        "-6 route show table all proto 146",
        "-4 rule",
        "-o addr show dev isthmus0",
        "-br link show dev isthmus0",
    ]
    .map(|what| net.ip("gateway", what))
    .join("\n")
}

#[test]
fn routes_rules_and_the_state_of_the_link_come_back() {
    let Some(site) = Site::new() else {
        return;
    };
    let net = &site.net;
    site.configure(&format!("{PLAT}{HOME}"));
    let gateway = site.start();
    let before = ours(net);
    for harm in [
        "-4 route flush proto 146",
        "-6 route flush proto 146",
        "-4 route flush table all proto 146",
        "-4 rule del pref 14600",
        "addr flush dev isthmus0",
        "link set isthmus0 mtu 1400",
        "link set isthmus0 down",
    ] {
        net.ip("gateway", harm);
        soon(&gateway, harm, || ours(net) == before);
        assert!(net.pings(SERVER), "{harm}: {}", gateway.log());
    }
    net.ip("gateway", "link set isthmus0 down");
    net.ip("gateway", "link set isthmus0 up");
    soon(&gateway, "down and up", || ours(net) == before);
    assert!(
        gateway.log().contains("is there again"),
        "{}",
        gateway.log()
    );
    assert_eq!(gateway.json("status")["troubles"], serde_json::Value::Null);
    assert!(gateway.stop().success());
}

#[test]
fn a_reload_puts_back_first_what_it_needs() {
    let Some((site, gateway)) = Site::with(PLAT) else {
        return;
    };
    for more in [MORE, "", MORE, ""] {
        site.configure(&format!("{PLAT}{more}"));
        site.net.ip("gateway", "link set isthmus0 down");
        let reloaded = gateway.client("reload");
        assert!(reloaded.status.success(), "{reloaded:?}: {}", gateway.log());
        assert!(site.net.pings(SERVER), "{}", gateway.log());
    }
    assert!(gateway.stop().success());
}

#[test]
fn forwarding_is_turned_on_again() {
    let Some((site, gateway)) = Site::with(PLAT) else {
        return;
    };
    let net = &site.net;
    for switch in ["net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding"] {
        let sysctl = |arguments: &[&str]| {
            let output = net.command("gateway", "sysctl").args(arguments).output();
            crate::net::text(&output.unwrap())
        };
        sysctl(&["-q", "-w", &format!("{switch}=0")]);
        soon(&gateway, switch, || sysctl(&["-n", switch]).trim() == "1");
    }
    assert!(net.pings(SERVER), "{}", gateway.log());
}

#[test]
fn xdp_returns_to_a_link_that_was_made_again() {
    made_again("xdp");
}

#[test]
fn tc_returns_to_a_link_that_was_made_again() {
    made_again("tc");
}

fn made_again(engine: &str) {
    let Some(site) = Site::new() else {
        return;
    };
    let net = &site.net;
    site.configure(&format!("{}{PLAT}", both_links(engine, "")));
    let gateway = site.start();
    let engines = |gateway: &Gateway| gateway.json("status")["engines"].clone();
    let before = engines(&gateway);
    for _ in 0..2 {
        net.ip("gateway", "link del toh");
        soon(&gateway, "the loss is told of", || {
            let status = gateway.json("status");
            let told = |at: &str| status[at].to_string().contains("there is no link toh");
            told("troubles") && told("engines")
        });
        let host = net.name("host").to_owned();
        net.ip(
            "gateway",
            &format!("link add toh type veth peer name eth0 netns {host}"),
        );
        for (node, link, address) in [
            ("gateway", "toh", "2001:db8:1::1/64"),
            ("host", "eth0", "2001:db8:1::2/64"),
        ] {
            net.ip(node, &format!("link set {link} up"));
            net.ip(node, &format!("addr add {address} dev {link} nodad"));
        }
        // Without it a veth device takes no frames from XDP.
        let mut gro = net.command("host", "ethtool");
        assert!(
            gro.args(["-K", "eth0", "gro", "on"])
                .status()
                .unwrap()
                .success()
        );
        net.ip("host", "route replace default via 2001:db8:1::1");
        soon(&gateway, "the program is there", || {
            // The trouble is over once the gateway has looked at everything else, too.
            let status = gateway.json("status");
            status["engines"] == before && status["troubles"] == serde_json::Value::Null
        });
        // The first packets may have to wait for the addresses of the links.
        soon(&gateway, "the program translates", || {
            let count = translated(&gateway, engine);
            net.pings(SERVER) && translated(&gateway, engine) - count == 2 * PINGS
        });
    }
}

#[test]
fn xdp_returns_to_a_link_that_it_was_taken_off() {
    taken_off("xdp");
}

#[test]
fn tc_returns_to_a_link_that_it_was_taken_off() {
    taken_off("tc");
}

/// Attachments of both kinds are links of BPF, but before Linux 6.6 that of tc is a filter.
fn taken_off(engine: &str) {
    let Some(site) = Site::new() else {
        return;
    };
    let net = &site.net;
    if process::require("bpftool", "bpftool").is_err() {
        eprintln!("skipped: bpftool is not installed");
        return;
    }
    site.configure(&format!("{}{PLAT}", both_links(engine, "")));
    let gateway = site.start();
    let engines = gateway.json("status")["engines"].clone();
    for round in 1..=2 {
        take_off(net, &gateway);
        soon(&gateway, "the program is there again", || {
            gateway.log().matches("somebody took it off").count() == 2 * round
        });
        let status = gateway.json("status");
        assert_eq!(status["engines"], engines);
        assert_eq!(status["troubles"], serde_json::Value::Null);
        soon(&gateway, "the program translates", || {
            let count = translated(&gateway, engine);
            net.pings(SERVER) && translated(&gateway, engine) - count == 2 * PINGS
        });
    }
    assert!(gateway.stop().success());
}

/// A reload that brings a mechanism has other programs for all links. While the kernel verifies them, the links lose those
/// that they have.
#[test]
fn a_reload_brings_programs_to_links_that_have_none() {
    let Some(site) = Site::new() else {
        return;
    };
    let net = &site.net;
    if process::require("bpftool", "bpftool").is_err() {
        eprintln!("skipped: bpftool is not installed");
        return;
    }
    let links = both_links("xdp", "");
    site.configure(&format!("{links}{PLAT}"));
    let gateway = site.start();
    let engines = gateway.json("status")["engines"].clone();
    site.configure(&format!("{links}{PLAT}{MORE}"));
    gateway.signal("HUP");
    gateway.expect("RELOADING=1");
    thread::sleep(Duration::from_millis(50));
    take_off(net, &gateway);
    gateway.expect("READY=1");
    assert_eq!(gateway.json("status")["reloads"], 1, "{}", gateway.log());
    soon(&gateway, "the programs are there again", || {
        gateway.log().matches("somebody took it off").count() == 2
    });
    assert_eq!(gateway.json("status")["engines"], engines);
    soon(&gateway, "the programs translate", || {
        let count = translated(&gateway, "xdp");
        net.pings(SERVER) && translated(&gateway, "xdp") - count == 2 * PINGS
    });
    assert!(gateway.stop().success());
}

/// Takes the programs off both links of a gateway.
fn take_off(net: &Net, gateway: &Gateway) {
    let links = gateway.bpf_links();
    if links.is_empty() {
        for link in ["toh", "tos"] {
            let mut tc = net.command("gateway", "tc");
            process::run(tc.args(["filter", "del", "dev", link, "ingress"])).unwrap();
        }
    }
    for link in links {
        let mut bpftool = Command::new("bpftool");
        process::run(bpftool.args(["link", "detach", "id", &link])).unwrap();
    }
}

#[test]
fn a_link_that_was_deleted_is_there_again() {
    let Some(site) = Site::new() else {
        return;
    };
    let net = &site.net;
    site.net.dual_stack();
    site.configure(&format!("{PLAT}{HOME}"));
    let gateway = site.start();
    let before = ours(net);
    assert!(net.pings(SERVER), "{}", gateway.log());
    let sessions = gateway.sessions();
    for _ in 0..2 {
        net.ip("gateway", "link del isthmus0");
        soon(&gateway, "it is there again", || {
            let there = net.ip("gateway", "-br link");
            there.contains("isthmus0") && ours(net) == before
        });
        assert!(net.pings(SERVER), "{}", gateway.log());
        assert!(gateway.sessions() >= sessions, "{}", gateway.log());
        soon(&gateway, "no trouble", || {
            gateway.json("status")["troubles"] == serde_json::Value::Null
        });
    }
    let counted = crate::forward::translated(&gateway, "user");
    assert_eq!(counted, 3 * 2 * PINGS, "{}", gateway.log());
    assert!(gateway.stop().success());
}

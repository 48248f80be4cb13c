//! NAT-PT with its DNS gateway (RFC 2766), between real name servers and resolvers.
//!
//! ```text
//!  host ── 2001:db8:1::/64 ── gateway ── 192.0.2.0/24 ── server
//!   ::2, name server ::53  ::1       .1                .2, name server
//! ```

use std::net::SocketAddr;
use std::time::Duration;

use isthmus_lab::network::process::{self, Process};

use crate::gateway::Gateway;
use crate::net::{Net, text};
use crate::one_address::{reaches, serve};
use crate::site::{Site, both_links};

const WEB: u16 = 80;
const NAT_PT: &str = r#"
[[instance]]
name = "history"
mechanism = "nat-pt"
variant = "basic"
prefix = "2001:db8:64::/96"
inside = ["2001:db8:1::/64"]
pool = [{ addresses = "203.0.113.0/29" }, { addresses = "203.0.113.53" }]
eam = [{ v4 = "203.0.113.53", v6 = "2001:db8:1::53" }]
alg = ["dns"]
max-sessions = 4096
max-bindings = 4096
"#;

#[test]
fn user_space_answers_for_names_on_both_sides() {
    answers("");
}

#[test]
fn tc_answers_for_names_on_both_sides() {
    answers(&both_links("tc", ""));
}

#[test]
fn xdp_answers_for_names_on_both_sides() {
    answers(&both_links("xdp", ""));
}

/// A name server with records of its own.
fn name_server(net: &Net, node: &str, address: &str, host: &str) -> Process {
    let mut dnsmasq = net.command(node, "dnsmasq");
    dnsmasq.args([
        "--keep-in-foreground",
        "--conf-file=/dev/null",
        "--user=root",
    ]);
    dnsmasq.args([
        "--no-resolv",
        "--no-hosts",
        "--bind-interfaces",
        "--pid-file=",
    ]);
    dnsmasq.arg(format!("--listen-address={address}"));
    dnsmasq.arg(format!("--host-record={host}"));
    let at = SocketAddr::new(address.parse().unwrap(), 53);
    net.server(node, &mut dnsmasq, at)
}

fn answers(links: &str) {
    for (program, package) in [("dnsmasq", "dnsmasq-base"), ("dig", "bind9-dnsutils")] {
        if process::require(program, package).is_err() {
            println!("skipped: {program} is not installed (Debian: {package})");
            return;
        }
    }
    let Some(site) = Site::new() else { return };
    let net = &site.net;
    for node in ["host", "server"] {
        // XDP cannot tell which checksums are not finished.
        net.offload(node, "eth0", &["tx", "off"]);
    }
    net.ip("host", "address add 2001:db8:1::53/64 dev eth0 nodad");
    site.configure(&format!("{links}{NAT_PT}"));
    let gateway = site.start();
    let _servers = [
        name_server(net, "host", "2001:db8:1::53", "six.example,2001:db8:1::2"),
        name_server(net, "server", "192.0.2.2", "four.example,192.0.2.2"),
    ];
    let _web = [("host", "[::]:80"), ("server", "0.0.0.0:80")]
        .map(|(node, at)| serve(net, node, at.parse().unwrap()));

    // From inside: the host is found under the prefix, and has its name.
    let found = lookup(
        net,
        &gateway,
        "host",
        "2001:db8:64::192.0.2.2",
        &["four.example", "AAAA"],
    );
    assert_eq!(found, "2001:db8:64::c000:202");
    reaches(net, "host", &found, WEB).unwrap_or_else(|error| panic!("{error}: {}", gateway.log()));
    let name = lookup(
        net,
        &gateway,
        "host",
        "2001:db8:64::192.0.2.2",
        &["-x", &found],
    );
    assert_eq!(name, "four.example.");

    // From outside: the host gets an address when it is asked for, and keeps it while it is used.
    let found = lookup(
        net,
        &gateway,
        "server",
        "203.0.113.53",
        &["six.example", "A"],
    );
    assert!(found.starts_with("203.0.113."), "{found}");
    reaches(net, "server", &found, WEB)
        .unwrap_or_else(|error| panic!("{error}: {}", gateway.log()));
    assert!(net.pings_from("server", &found), "{}", gateway.log());
    let name = lookup(net, &gateway, "server", "203.0.113.53", &["-x", &found]);
    assert_eq!(name, "six.example.");
    let again = lookup(
        net,
        &gateway,
        "server",
        "203.0.113.53",
        &["six.example", "A"],
    );
    assert_eq!(again, found, "the host has one address");

    shows_addresses(&gateway, &found);
}

/// Sessions are between addresses, and are shown so.
fn shows_addresses(gateway: &Gateway, outside: &str) {
    let sessions = gateway.json(&format!("sessions --protocol any --outside {outside}"));
    let session = sessions.as_array().map_or(&sessions, |all| &all[0]);
    assert_eq!(session["inside-address"], "2001:db8:1::2", "{sessions}");
    for port in ["inside-port", "outside-port", "remote-port"] {
        assert!(session.get(port).is_none(), "{sessions}");
    }
    let top = gateway.json("top --once --by port");
    assert_eq!(top["rows"][0]["name"], "any", "{top}");
}

/// What a name server says about a question, in short.
fn lookup(net: &Net, gateway: &Gateway, node: &str, server: &str, question: &[&str]) -> String {
    for _ in 0..20 {
        let mut dig = net.command(node, "dig");
        dig.args(["+short", "+tries=1", "+time=1", &format!("@{server}")]);
        let said = dig.args(question).output().unwrap();
        let said = text(&said).trim().to_owned();
        if !said.is_empty() && !said.contains(';') {
            return said;
        }
        std::thread::sleep(Duration::from_millis(250));
    }
    let mut dig = net.command(node, "dig");
    dig.args(["+tries=1", "+time=1", &format!("@{server}")]);
    let said = dig.args(question).output().unwrap();
    panic!(
        "{node} hears nothing of {question:?}: {}\n{}",
        text(&said),
        gateway.json("status"),
    );
}

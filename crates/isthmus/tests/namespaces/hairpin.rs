//! Connections from one inside host to another, by its address outside.

use crate::forward::counted;
use crate::site::{HOME, PLAT, Site, both_links};
use crate::softwires::traffic::{Hosts, Way, tcp};

/// Another host beside the one of these tests, in each family, and as it is reached from there.
const OTHER6: &str = "2001:db8:1::3";
const OTHER4: &str = "192.168.7.3";
const OTHER6_OUTSIDE: &str = "64:ff9b::203.0.113.1";
const OTHER4_OUTSIDE: &str = "203.0.113.40";
/// Octets that come and go.
const BYTES: u32 = 1 << 20;
/// Packets that user space may have: some of a handshake, and the first to a neighbour.
const FEW: u64 = 20;

/// The key of the instance that gives the other host a port outside.
fn reachable(inside: &str, outside: &str) -> String {
    format!(
        "static = [{{ protocol = \"tcp\", inside = \"{inside}:7007\", outside = \"{outside}:7007\" }}]\n"
    )
}

fn turns_back(engine: &str, instance: &str, at: &str, to: &str) {
    let Some(site) = Site::new() else {
        return;
    };
    let net = &site.net;
    net.dual_stack();
    // It does not take part in the choice of a source.
    net.ip(
        "host",
        &format!("addr add {OTHER6}/64 dev eth0 nodad preferred_lft 0"),
    );
    net.ip("host", &format!("addr add {OTHER4}/24 dev eth0"));
    if engine == "xdp" {
        // XDP cannot tell which checksums are not finished.
        net.offload("host", "eth0", &["tx", "off"]);
    }
    site.configure(&format!("{}{instance}", both_links(engine, "")));
    let gateway = site.start();
    let host = net.node("host");
    let hosts = Hosts {
        client: host,
        server: host,
    };
    let done = tcp(Way { hosts, to, at }, BYTES);
    assert_eq!(done, Ok(()), "{}", gateway.log());
    let of = |engine| counted(&gateway, engine, |row| row["counter"] == "hairpinned");
    let (program, user) = (of(engine), of("user"));
    assert!(program > FEW && user <= FEW, "{program}, {user}");
    assert!(gateway.stop().success());
}

fn between_ipv6_hosts(engine: &str) {
    let instance = format!("{PLAT}{}", reachable(&format!("[{OTHER6}]"), "203.0.113.1"));
    turns_back(engine, &instance, OTHER6, OTHER6_OUTSIDE);
}

fn between_ipv4_hosts(engine: &str) {
    let instance = format!("{HOME}{}", reachable(OTHER4, OTHER4_OUTSIDE));
    turns_back(engine, &instance, OTHER4, OTHER4_OUTSIDE);
}

#[test]
fn between_ipv6_hosts_in_xdp() {
    between_ipv6_hosts("xdp");
}

#[test]
fn between_ipv6_hosts_in_tc() {
    between_ipv6_hosts("tc");
}

#[test]
fn between_ipv4_hosts_in_xdp() {
    between_ipv4_hosts("xdp");
}

#[test]
fn between_ipv4_hosts_in_tc() {
    between_ipv4_hosts("tc");
}

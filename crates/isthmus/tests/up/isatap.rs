//! ISATAP with both roles ours: a host without any IPv6 address of its own, a router at the other side of an
//! IPv4 site, a server behind that.
//!
//! ```text
//!  host ──── site ──── router ──── server
//!      toh     IPv4          tos  IPv6
//! ```

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use isthmus_lab::netns::Namespace;
use tempfile::TempDir;

use crate::gateway::{Gateway, ISTHMUS};
use crate::net::{possible, text};

const HOST: &str = "203.0.113.10";
const ROUTER: &str = "203.0.113.1";
const SERVER: &str = "3fff:b::20";
/// RFC 5214 section 6.1; the address is not known to be unique in the world.
const ADDRESS: &str = "2001:db8:1:2:0:5efe:cb00:710a/64";

#[test]
fn a_host_gets_its_address_from_the_router() {
    reaches("user");
}

#[test]
fn a_host_gets_its_address_from_a_router_with_xdp() {
    reaches("xdp");
}

#[test]
fn a_host_gets_its_address_from_a_router_with_tc() {
    reaches("tc");
}

fn reaches(engine: &str) {
    if !possible() {
        return;
    }
    let create = |role| Namespace::create(role).unwrap();
    let (host, site) = (create("host"), create("site"));
    let (router, server) = (create("router"), create("server"));
    for node in [&host, &site, &router] {
        let settings = [("net.ipv4.ip_forward", "1")];
        node.sysctl(&settings).unwrap();
    }
    connect((&site, "toh"), (&host, "eth0"));
    connect((&site, "tor"), (&router, "eth0"));
    connect((&router, "tos"), (&server, "eth0"));
    ip(&host, "addr add 100.64.0.2/24 dev eth0");
    ip(&site, "addr add 100.64.0.1/24 dev toh");
    ip(&site, "addr add 100.64.1.1/24 dev tor");
    ip(&router, "addr add 100.64.1.2/24 dev eth0");
    ip(&host, "route add default via 100.64.0.1");
    ip(&router, "route add default via 100.64.1.1");
    ip(&site, &format!("route add {HOST} via 100.64.0.2"));
    ip(&site, &format!("route add {ROUTER} via 100.64.1.2"));
    ip(&router, "addr add 3fff:b::1/64 dev tos nodad");
    ip(&server, &format!("addr add {SERVER}/64 dev eth0 nodad"));
    ip(&server, "route add default via 3fff:b::1");
    if engine == "xdp" {
        for (node, link) in [(&site, "tor"), (&server, "eth0")] {
            node.offload(link, &["tx", "off"]).unwrap();
        }
    }

    let folder = tempfile::tempdir().unwrap();
    let mut interfaces = String::new();
    if engine != "user" {
        for link in ["eth0", "tos"] {
            interfaces += &format!("[[interface]]\nname = \"{link}\"\nengine = \"{engine}\"\n");
        }
    }
    let routers = format!(
        "role = \"router\"\nlocal = \"{ROUTER}\"\nprefix = \"2001:db8:1:2::/64\"\n\
         icmp-source-v6 = \"3fff:e::1\""
    );
    let hosts = format!("role = \"host\"\nlocal = \"{HOST}\"\nrouters = [\"{ROUTER}\"]");
    // The host asks before there is a router, and again.
    let asking = start(&folder, &host, "host", "", &hosts);
    let answering = start(&folder, &router, "router", &interfaces, &routers);
    let seen = || {
        let counters = [&asking, &answering].map(|gateway| text(&gateway.client("counters")));
        format!(
            "{}\n{}\n{}",
            asking.log(),
            answering.log(),
            counters.concat()
        )
    };
    let until = Instant::now() + Duration::from_secs(30);
    loop {
        let addresses = host.run("ip -6 addr show dev isthmus0").unwrap();
        if addresses.contains(ADDRESS) {
            assert!(addresses.contains("scope global dynamic"), "{addresses}");
            break;
        }
        assert!(Instant::now() < until, "{addresses}\n{}", seen());
        thread::sleep(Duration::from_millis(200));
    }
    for bytes in ["56", "1400"] {
        let mut ping = host.command("ping");
        ping.args(["-n", "-c", "3", "-i", "0.2", "-W", "2", "-s", bytes, SERVER]);
        let said = text(&ping.output().unwrap());
        assert!(said.contains("3 received"), "{bytes}: {said}\n{}", seen());
    }
    assert!(asking.stop().success() && answering.stop().success());
}

fn start(
    folder: &TempDir,
    node: &Namespace,
    name: &str,
    interfaces: &str,
    instance: &str,
) -> Gateway {
    let folder = folder.path().join(name);
    fs::create_dir(&folder).unwrap();
    let file = folder.join("edge.toml");
    let text = format!(
        "[gateway]\nname = \"{name}\"\ncontrol = \"{}\"\n{interfaces}\
         [[instance]]\nname = \"{name}\"\nmechanism = \"isatap\"\n{instance}\n",
        folder.join("edge.sock").display()
    );
    fs::write(&file, text).unwrap();
    let gateway = Gateway::spawn(node.command(ISTHMUS), &folder, &file);
    gateway.expect("READY=1");
    gateway
}

fn connect(near: (&Namespace, &str), far: (&Namespace, &str)) {
    ip(
        near.0,
        &format!(
            "link add {} type veth peer name {} netns {}",
            near.1,
            far.1,
            far.0.name()
        ),
    );
    for (node, link) in [near, far] {
        ip(node, &format!("link set {link} up"));
        node.offload(link, &["gro", "on"]).unwrap();
    }
}

fn ip(node: &Namespace, arguments: &str) {
    node.ip(&[arguments.into()]).unwrap();
}

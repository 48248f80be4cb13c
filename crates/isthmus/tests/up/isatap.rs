//! ISATAP with both roles ours: a host without any IPv6 address of its own, a router at the other side of an
//! IPv4 site, a server behind that.
//!
//! ```text
//!  host ──── site ──── router ──── server
//!      toh     IPv4          tos  IPv6
//! ```

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use isthmus_lab::netns::Namespace;
use isthmus_lab::process::Process;
use tempfile::TempDir;

use crate::gateway::{Gateway, ISTHMUS};
use crate::net::{possible, text};

const HOST: &str = "203.0.113.10";
const ROUTER: &str = "203.0.113.1";
const SERVER: &str = "3fff:b::20";
/// How long an address may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// Where the site's names are known.
const NAMES: &str = "100.64.0.1";
/// RFC 5214 section 6.1; the address is not known to be unique in the world.
const ADDRESS: &str = "2001:db8:1:2:0:5efe:cb00:710a/64";

#[test]
fn a_host_gets_its_address_from_the_router() {
    reaches("user", &format!("routers = [\"{ROUTER}\"]"));
}

#[test]
fn a_host_gets_its_address_from_a_router_with_xdp() {
    reaches("xdp", &format!("routers = [\"{ROUTER}\"]"));
}

#[test]
fn a_host_gets_its_address_from_a_router_with_tc() {
    reaches("tc", &format!("routers = [\"{ROUTER}\"]"));
}

#[test]
fn a_host_finds_its_router_by_name() {
    reaches("user", "");
}

/// The host knows its routers by these keys. By name it finds them when somebody knows the name, which
/// nobody does when it starts.
fn reaches(engine: &'static str, routers: &str) {
    let Some(site) = Site::new(engine) else {
        return;
    };
    // The host asks before there is a router, and again.
    let asking = site.start_host(routers);
    let answering = site.start_router();
    let _names = routers.is_empty().then(|| site.start_names());
    let seen = || {
        format!(
            "{}\n{}\n{}{}",
            asking.log(),
            answering.log(),
            counters(&asking),
            counters(&answering)
        )
    };
    let addresses = wait(&site.host, seen);
    assert!(addresses.contains("scope global dynamic"), "{addresses}");
    for bytes in [56, 1400] {
        site.ping(bytes, seen);
    }
    // Both ends hear of the tunnel's MTU first.
    let _ = site.answered(4000);
    site.ping(4000, seen);
    assert!(asking.stop().success() && answering.stop().success());
}

/// Waits until the host has its address. What addresses it has then.
fn wait(host: &Namespace, seen: impl Fn() -> String) -> String {
    let until = Instant::now() + PATIENCE;
    loop {
        let addresses = host.run("ip -6 addr show dev isthmus0").unwrap();
        if addresses.contains(ADDRESS) {
            return addresses;
        }
        assert!(Instant::now() < until, "{addresses}\n{}", seen());
        thread::sleep(Duration::from_millis(200));
    }
}

fn counters(gateway: &Gateway) -> String {
    text(&gateway.client("counters"))
}

/// The network, gone when it is dropped.
struct Site {
    host: Namespace,
    site: Namespace,
    router: Namespace,
    /// Kept for as long as the others.
    _server: Namespace,
    folder: TempDir,
    /// What the router runs.
    engine: &'static str,
}

impl Site {
    /// `None` where namespaces can not be made, after saying so.
    fn new(engine: &'static str) -> Option<Self> {
        if !possible() {
            return None;
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
        ip(&site, &format!("addr add {NAMES}/24 dev toh"));
        ip(&site, "addr add 100.64.1.1/24 dev tor");
        ip(&router, "addr add 100.64.1.2/24 dev eth0");
        ip(&host, &format!("route add default via {NAMES}"));
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
        Some(Self {
            host,
            site,
            router,
            _server: server,
            folder: tempfile::tempdir().unwrap(),
            engine,
        })
    }

    /// Our host, which knows its routers by these keys.
    fn start_host(&self, keys: &str) -> Gateway {
        let resolver = self.folder.path().join("resolv.conf");
        fs::write(&resolver, format!("search example\nnameserver {NAMES}\n")).unwrap();
        let keys = format!("role = \"host\"\nlocal = \"{HOST}\"\n{keys}");
        start(
            &self.folder,
            asked(&self.host, &resolver),
            "host",
            "",
            &keys,
        )
    }

    /// Our router.
    fn start_router(&self) -> Gateway {
        let mut interfaces = String::new();
        if self.engine != "user" {
            for link in ["eth0", "tos"] {
                let engine = self.engine;
                interfaces += &format!("[[interface]]\nname = \"{link}\"\nengine = \"{engine}\"\n");
            }
        }
        let keys = format!(
            "role = \"router\"\nlocal = \"{ROUTER}\"\nprefix = \"2001:db8:1:2::/64\"\n\
             icmp-source-v6 = \"3fff:e::1\""
        );
        let command = self.router.command(ISTHMUS);
        start(&self.folder, command, "router", &interfaces, &keys)
    }

    /// Who knows the name of the router.
    fn start_names(&self) -> Process {
        let mut command = self.site.command("dnsmasq");
        command.args([
            "--keep-in-foreground",
            "--conf-file=/dev/null",
            "--no-resolv",
        ]);
        command.args(["--no-hosts", "--user=root", "--pid-file="]);
        command.arg(format!("--listen-address={NAMES}"));
        command.arg(format!("--address=/isatap.example/{ROUTER}"));
        Process::start("dnsmasq", &mut command).unwrap()
    }

    /// The host pings the server.
    fn ping(&self, bytes: u32, seen: impl Fn() -> String) {
        let said = self.answered(bytes);
        assert!(said.contains("3 received"), "{bytes}: {said}\n{}", seen());
    }

    /// What `ping` says.
    fn answered(&self, bytes: u32) -> String {
        let mut ping = self.host.command("ping");
        let bytes = bytes.to_string();
        ping.args([
            "-n", "-c", "3", "-i", "0.2", "-W", "4", "-s", &bytes, SERVER,
        ]);
        text(&ping.output().unwrap())
    }
}

/// The program on a node with a resolver of its own.
fn asked(node: &Namespace, resolver: &Path) -> Command {
    // `ip netns exec` has given it a namespace for mounts already.
    let mut command = node.command("sh");
    let script = "mount --bind \"$0\" /etc/resolv.conf && exec \"$@\"";
    command.args(["-c", script]).arg(resolver).arg(ISTHMUS);
    command
}

fn start(
    folder: &TempDir,
    command: Command,
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
    let gateway = Gateway::spawn(command, &folder, &file);
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

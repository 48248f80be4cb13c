//! ISATAP with both roles ours: a host without an IPv6 address of its own, a router at the other side of an IPv4
//! site, and a server behind the router.
//!
//! ```text
//!  host ──── site ──── router ──── server
//!      toh     IPv4          tos  IPv6
//! ```

use std::fs;
use std::net::{Ipv6Addr, SocketAddrV6};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use isthmus_lab::network::netns::Namespace;
use isthmus_lab::network::process::Process;
use isthmus_lab::network::topology::{End, Link, Neighbours, Node, Offloads, Role, Topology};
use socket2::{Domain, Protocol, Socket, Type};
use tempfile::TempDir;

use crate::gateway::{Gateway, ISTHMUS};
use crate::net::{possible, text};
use crate::softwires::traffic::{self, Hosts, inside};

const HOST: &str = "203.0.113.10";
const ROUTER: &str = "203.0.113.1";
const SERVER: &str = "3fff:b::20";
/// Time limit for an address: an emulated machine is slow.
const PATIENCE: Duration = Duration::from_secs(60);
/// The zone of the site's names.
const NAMES: &str = "100.64.0.1";
/// RFC 5214 section 6.1. The address is not known to be globally unique.
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

/// The kernel's own ISATAP at one end.
mod kernel {
    use super::*;

    #[test]
    fn a_host_of_the_kernel_gets_its_address_from_our_router() {
        let Some(site) = Site::new("user").filter(Site::has_isatap) else {
            return;
        };
        host_of_the_kernel(&site);
    }

    #[test]
    fn a_host_of_the_kernel_gets_its_address_from_our_router_with_xdp() {
        let Some(site) = Site::new("xdp").filter(Site::has_isatap) else {
            return;
        };
        host_of_the_kernel(&site);
    }

    fn host_of_the_kernel(site: &Site) {
        let answering = site.start_router();
        // The kernel sends no solicitations on such a link; a daemon of its own does (isatapd).
        script(
            &site.host,
            &[
                &format!("ip addr add {HOST}/32 dev lo"),
                &format!("ip tunnel add isatap0 mode isatap local {HOST} ttl 64"),
                &format!("ip tunnel prl dev isatap0 prl-default {ROUTER}"),
                "ip link set isatap0 up",
            ],
        );
        let seen = || format!("{}\n{}", answering.log(), counters(&answering));
        wait("isatap0", &site.host, "2001:db8:1:2:", seen, || {
            solicit(&site.host, "isatap0");
        });
        pings(site, seen);
        assert!(answering.stop().success());
    }

    #[test]
    fn our_host_reaches_a_router_of_the_kernel() {
        let Some(site) = Site::new("user").filter(Site::has_isatap) else {
            return;
        };
        router_of_the_kernel(&site);
    }

    #[test]
    fn our_host_reaches_a_router_of_the_kernel_with_xdp() {
        let Some(site) = Site::new("xdp").filter(Site::has_isatap) else {
            return;
        };
        router_of_the_kernel(&site);
    }

    fn router_of_the_kernel(site: &Site) {
        let forwarding = ("net.ipv6.conf.all.forwarding", "1");
        site.router.sysctl(&[forwarding]).unwrap();
        script(
            &site.router,
            &[
                &format!("ip addr add {ROUTER}/32 dev lo"),
                &format!("ip tunnel add isatap0 mode isatap local {ROUTER} ttl 64"),
                "ip link set isatap0 up",
                "ip addr add 2001:db8:1:2:0:5efe:cb00:7101/64 dev isatap0 nodad",
            ],
        );
        // No router announces a prefix there (radvd would).
        let keys = format!("routers = [\"{ROUTER}\"]\nprefix = \"2001:db8:1:2::/64\"");
        let interfaces = site.interfaces(&["eth0"]);
        let asking = site.start_host_by(site.host.command(ISTHMUS), &interfaces, &keys);
        let seen = || format!("{}\n{}", asking.log(), counters(&asking));
        pings(site, seen);
        assert!(asking.stop().success());
    }

    /// The host pings the server, also with fragments. Either may first have to discover the MTU of the link.
    fn pings(site: &Site, seen: impl Fn() -> String) {
        for bytes in [56, 1400, 4000] {
            let reached = traffic::pings(site.hosts(), SERVER, bytes);
            reached.unwrap_or_else(|error| panic!("{bytes}: {error}\n{}", seen()));
        }
    }

    /// Sends a router solicitation (RFC 4861 section 4.1) to the link-local address of the router.
    fn solicit(host: &Namespace, link: &str) {
        let router: Ipv6Addr = "fe80::5efe:cb00:7101".parse().unwrap();
        let scope = host.interface_index(link).unwrap();
        let sent = inside(host, || {
            let socket = Socket::new(Domain::IPV6, Type::RAW, Some(Protocol::ICMPV6))?;
            socket.bind_device(Some(link.as_bytes()))?;
            socket.set_unicast_hops_v6(255)?;
            let to = SocketAddrV6::new(router, 0, 0, scope);
            socket.send_to(&[133, 0, 0, 0, 0, 0, 0, 0], &to.into())
        });
        // Its link-local address may not exist yet.
        if let Err(error) = sent {
            println!("no solicitation: {error}");
        }
    }

    fn script(node: &Namespace, lines: &[&str]) {
        for line in lines {
            node.run(line).unwrap();
        }
    }
}

/// The host knows its routers by these keys. By name it finds them once the name exists, which it does not at
/// the start.
fn reaches(engine: &'static str, routers: &str) {
    let Some(site) = Site::new(engine) else {
        return;
    };
    // The host solicits before there is a router, and again later.
    let asking = if routers.is_empty() {
        site.start_asking_host()
    } else {
        site.start_host(routers)
    };
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
    let addresses = wait("isthmus0", &site.host, ADDRESS, seen, || {});
    assert!(addresses.contains("scope global dynamic"), "{addresses}");
    for bytes in [56, 1400] {
        site.ping(bytes, seen);
    }
    // Both ends first learn the MTU of the tunnel.
    let _ = site.answered(4000);
    site.ping(4000, seen);
    assert!(asking.stop().success() && answering.stop().success());
}

/// Waits until a link of a node has an address that begins so and may be used, and does this all the while.
/// Returns the addresses that it has then.
fn wait(
    link: &str,
    node: &Namespace,
    address: &str,
    seen: impl Fn() -> String,
    meanwhile: impl Fn(),
) -> String {
    let until = Instant::now() + PATIENCE;
    loop {
        meanwhile();
        let addresses = node.run(&format!("ip -6 addr show dev {link}")).unwrap();
        if addresses.contains(address) && !addresses.contains("tentative") {
            return addresses;
        }
        assert!(Instant::now() < until, "{addresses}\n{}", seen());
        thread::sleep(Duration::from_millis(200));
    }
}

fn counters(gateway: &Gateway) -> String {
    text(&gateway.client("counters"))
}

/// The network. It is removed on drop.
struct Site {
    host: Arc<Namespace>,
    site: Arc<Namespace>,
    router: Arc<Namespace>,
    server: Arc<Namespace>,
    folder: TempDir,
    /// The router's process, or the host's if the router is the kernel's.
    engine: &'static str,
}

impl Site {
    /// Returns `None`, after printing the reason, if namespaces cannot be made.
    fn new(engine: &'static str) -> Option<Self> {
        if !possible() {
            return None;
        }
        let network = topology().build().unwrap();
        let node = |name| Arc::clone(network.node(name).unwrap());
        let [host, site, router, server] = ["host", "site", "router", "server"].map(node);
        for node in [&host, &site, &router] {
            node.sysctl(&[("net.ipv4.ip_forward", "1")]).unwrap();
        }
        // The gateways will have these addresses.
        ip(&site, &format!("route add {HOST} via 100.64.0.2"));
        ip(&site, &format!("route add {ROUTER} via 100.64.1.2"));
        if engine == "xdp" {
            for (node, link) in [(&site, "toh"), (&site, "tor"), (&server, "eth0")] {
                node.offload(link, &["tx", "off"]).unwrap();
            }
        }
        Some(Self {
            host,
            site,
            router,
            server,
            folder: tempfile::tempdir().unwrap(),
            engine,
        })
    }

    /// The links of a gateway with programs.
    fn interfaces(&self, links: &[&str]) -> String {
        let engine = self.engine;
        let interface =
            |link: &&str| format!("[[interface]]\nname = \"{link}\"\nengine = \"{engine}\"\n");
        match engine {
            "user" => String::new(),
            _ => links.iter().map(interface).collect(),
        }
    }

    /// The two ends that talk.
    fn hosts(&self) -> Hosts<'_> {
        Hosts {
            client: &self.host,
            server: &self.server,
        }
    }

    /// Whether the kernel has links of this kind. Prints the reason if not.
    fn has_isatap(&self) -> bool {
        let made = self
            .server
            .run("ip tunnel add probe mode isatap local 192.0.2.1");
        if made.is_err() {
            eprintln!("skipped: the kernel has no sit (CONFIG_IPV6_SIT)");
            return false;
        }
        true
    }

    /// Our host, which knows its routers by these keys.
    fn start_host(&self, keys: &str) -> Gateway {
        self.start_host_by(self.host.command(ISTHMUS), "", keys)
    }

    /// Our host, which asks a resolver for its routers.
    fn start_asking_host(&self) -> Gateway {
        let resolver = self.folder.path().join("resolv.conf");
        fs::write(&resolver, format!("search example\nnameserver {NAMES}\n")).unwrap();
        self.start_host_by(asked(&self.host, &resolver), "", "")
    }

    fn start_host_by(&self, command: Command, interfaces: &str, keys: &str) -> Gateway {
        let keys = format!("role = \"host\"\nlocal = \"{HOST}\"\n{keys}");
        start(&self.folder, command, "host", interfaces, &keys)
    }

    /// Our router.
    fn start_router(&self) -> Gateway {
        let interfaces = self.interfaces(&["eth0", "tos"]);
        let keys = format!(
            "role = \"router\"\nlocal = \"{ROUTER}\"\nprefix = \"2001:db8:1:2::/64\"\n\
             icmp-source-v6 = \"3fff:e::1\""
        );
        let command = self.router.command(ISTHMUS);
        start(&self.folder, command, "router", &interfaces, &keys)
    }

    /// The resolver that knows the name of the router.
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

    /// Returns the output of `ping`.
    fn answered(&self, bytes: u32) -> String {
        let mut ping = self.host.command("ping");
        let bytes = bytes.to_string();
        ping.args([
            "-n", "-c", "3", "-i", "0.2", "-W", "4", "-s", &bytes, SERVER,
        ]);
        text(&ping.output().unwrap())
    }
}

/// Returns the program on a node with a resolver of its own.
fn asked(node: &Namespace, resolver: &Path) -> Command {
    // `ip netns exec` has already given it a mount namespace.
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

/// The machines. The host hears routers, and nobody forwards IPv6 but a gateway.
fn topology() -> Topology {
    let node = |name, routes: &[&str]| Node::new(name, Role::Plain, routes);
    let names = format!("{NAMES}/24");
    let server = format!("{SERVER}/64");
    Topology {
        nodes: vec![
            node("host", &[&format!("default via {NAMES}")]),
            node("site", &[]),
            node("router", &["default via 100.64.1.1"]),
            node("server", &["default via 3fff:b::1"]),
        ],
        links: vec![
            Link::veth(
                End::new("site", "toh", &[&names]),
                End::new("host", "eth0", &["100.64.0.2/24"]),
            ),
            Link::veth(
                End::new("site", "tor", &["100.64.1.1/24"]),
                End::new("router", "eth0", &["100.64.1.2/24"]),
            ),
            Link::veth(
                End::new("router", "tos", &["3fff:b::1/64"]),
                End::new("server", "eth0", &[&server]),
            ),
        ],
        neighbours: Neighbours::Resolved,
        offloads: Offloads::On,
    }
}

fn ip(node: &Namespace, arguments: &str) {
    node.ip(&[arguments.into()]).unwrap();
}

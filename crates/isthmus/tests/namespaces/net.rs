//! The network of the tests: an IPv6-only host, a machine for the gateway, an IPv4-only host.
//!
//! ```text
//!  host ── 2001:db8:1::/64 ── gateway ── 192.0.2.0/24 ── server
//!   ::2                    ::1       .1                  .2
//! ```

use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Output};
use std::time::Duration;

use isthmus_lab::network::netns::Namespace;
use isthmus_lab::network::process::{self, Process};
use isthmus_lab::network::topology::{
    End, Link, Neighbours, Network, Node, Offloads, Role, Topology,
};

use crate::softwires::traffic::{Hosts, inside};

/// Three namespaces of this test alone, gone when it is dropped.
pub(crate) struct Net(Network);

/// Whether namespaces can be made. Prints the reason if not.
pub(crate) fn possible() -> bool {
    let tools = [("ip", "iproute2"), ("ethtool", "ethtool")];
    let mut tools = tools
        .into_iter()
        .map(|(tool, package)| process::require(tool, package));
    let able = process::require_root().and_then(|()| tools.try_for_each(|tool| tool));
    if let Err(reason) = &able {
        eprintln!("skipped: {reason}");
    }
    able.is_ok()
}

impl Net {
    pub(crate) fn new() -> Self {
        let net = Self(topology().build().unwrap());
        for (node, link) in [
            ("host", "eth0"),
            ("gateway", "toh"),
            ("gateway", "tos"),
            ("server", "eth0"),
        ] {
            // Without addresses of the kernel's making, dumps do not change by themselves.
            net.ip(node, &format!("link set {link} addrgenmode none"));
            net.ip(node, &format!("addr flush dev {link} scope link"));
        }
        // Neighbour discovery for forwarded packets has a link-local source.
        net.ip("host", "addr add fe80::2/64 dev eth0 nodad");
        net.ip("gateway", "addr add fe80::1/64 dev toh nodad");
        net
    }

    /// These nodes, whose links are up to the caller: `host`, `gateway` and `server`.
    pub(crate) fn of(network: Network) -> Self {
        Self(network)
    }

    /// The ends of the path through the gateway.
    pub(crate) fn hosts(&self) -> Hosts<'_> {
        Hosts {
            client: self.node("host"),
            server: self.node("server"),
        }
    }

    /// Starts a server on a node, by a command that runs there, and waits until it accepts connections.
    pub(crate) fn server(&self, node: &str, command: &mut Command, at: SocketAddr) -> Process {
        let name = command.get_program().to_string_lossy().into_owned();
        let mut server = Process::start(&name, command).unwrap();
        let accepts = || inside(self.node(node), || TcpStream::connect(at)).is_ok();
        server.wait_until(Duration::from_secs(60), accepts).unwrap();
        server
    }

    /// Gives the host an IPv4 address from a network of its own.
    pub(crate) fn dual_stack(&self) {
        self.ip("host", "addr add 192.168.7.2/24 dev eth0");
        self.ip("gateway", "addr add 192.168.7.1/24 dev toh");
        self.ip("host", "route add default via 192.168.7.1");
    }

    /// Returns the number of the XDP program on a link.
    pub(crate) fn program(&self, node: &str, link: &str) -> Option<u64> {
        let links: serde_json::Value =
            serde_json::from_str(&self.ip(node, &format!("-j link show {link}"))).unwrap();
        links[0]["xdp"]["prog"]["id"].as_u64()
    }

    /// Switches offloads of a link.
    pub(crate) fn offload(&self, node: &str, link: &str, switches: &[&str]) {
        self.node(node).offload(link, switches).unwrap();
    }

    /// Whether a ping of this many bytes returns, in fragments if needed.
    pub(crate) fn pings_with(&self, address: &str, bytes: u32) -> bool {
        let mut command = self.command("host", "ping");
        let bytes = bytes.to_string();
        command.args([
            "-n", "-c", "1", "-W", "2", "-M", "dont", "-s", &bytes, address,
        ]);
        command.output().unwrap().status.success()
    }

    pub(crate) fn node(&self, node: &str) -> &Namespace {
        self.0.node(node).unwrap()
    }

    /// Does something in the namespace of a node.
    pub(crate) fn enter<T: Send>(&self, node: &str, task: impl FnOnce() -> T + Send) -> T {
        self.node(node).enter(|| Ok(task())).unwrap()
    }

    /// The name of the namespace of a node.
    pub(crate) fn name(&self, node: &str) -> &str {
        self.node(node).name()
    }

    /// Runs `ip` in the namespace of a node.
    pub(crate) fn ip(&self, node: &str, arguments: &str) -> String {
        let mut ip = Command::new("ip");
        ip.args(["-n", self.name(node)]).args(arguments.split(' '));
        process::run(&mut ip).unwrap()
    }

    /// Returns a command for a program in the namespace of a node.
    pub(crate) fn command(&self, node: &str, program: &str) -> Command {
        self.node(node).command(program)
    }

    /// Whether there is a firewall that can be read. Prints the reason if not.
    pub(crate) fn has_nft(&self) -> bool {
        let has = Command::new("nft").arg("-v").output().is_ok();
        if !has {
            eprintln!("skipped: nft is not installed");
        }
        has
    }

    /// Runs nft in the namespace of a node.
    pub(crate) fn nft(&self, node: &str, rules: &str) {
        let output = self.command(node, "nft").arg(rules).output().unwrap();
        assert!(output.status.success(), "nft {rules:?}: {output:?}");
    }

    /// Whether `address` answers all of a few pings from the IPv6 host.
    pub(crate) fn pings(&self, address: &str) -> bool {
        self.pings_from("host", address)
    }

    /// Whether `address` answers all of a few pings from a node.
    pub(crate) fn pings_from(&self, node: &str, address: &str) -> bool {
        let mut command = self.command(node, "ping");
        command.args(["-n", "-c", "3", "-i", "0.2", "-W", "2", address]);
        command.output().unwrap().status.success()
    }

    /// Dumps everything that a gateway could leave behind.
    pub(crate) fn dump(&self) -> String {
        let mut dump = String::new();
        for what in [
            "-j addr",
            "-j link",
            "-j route show table all",
            "-j -6 route show table all",
            "-j rule",
            "-j -6 rule",
            "-j netconf",
        ] {
            dump.push_str(what);
            dump.push('\n');
            dump.push_str(&self.ip("gateway", what));
        }
        let mut sysctl = self.command("gateway", "sysctl");
        sysctl.args([
            "-a",
            "-r",
            r"\.(forwarding|ip_forward|accept_redirects|accept_ra)$",
        ]);
        dump.push_str(&text(&sysctl.output().unwrap()));
        dump
    }
}

/// The machines, of which the gateway does what it is told to.
fn topology() -> Topology {
    let node = |name, routes: &[&str]| Node::new(name, Role::Plain, routes);
    Topology {
        nodes: vec![
            node("host", &["default via 2001:db8:1::1"]),
            node("gateway", &[]),
            node("server", &["default via 192.0.2.1"]),
        ],
        links: vec![
            Link::veth(
                End::new("gateway", "toh", &["2001:db8:1::1/64"]),
                End::new("host", "eth0", &["2001:db8:1::2/64"]),
            ),
            Link::veth(
                End::new("gateway", "tos", &["192.0.2.1/24"]),
                End::new("server", "eth0", &["192.0.2.2/24"]),
            ),
        ],
        neighbours: Neighbours::Resolved,
        offloads: Offloads::On,
    }
}

pub(crate) fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Runs `ip` in the namespace of this process.
pub(crate) fn of_this_machine(arguments: &str) {
    process::run(Command::new("ip").args(arguments.split(' '))).unwrap();
}

pub(crate) fn ip(node: &Namespace, arguments: &str) {
    node.ip(&[arguments.into()]).unwrap();
}

//! The network of the tests: an IPv6-only host, a machine for the gateway, an IPv4-only host.
//!
//! ```text
//!  host ── 2001:db8:1::/64 ── gateway ── 192.0.2.0/24 ── server
//!   ::2                    ::1       .1                  .2
//! ```

use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

use isthmus_lab::netns::Namespace;
use isthmus_lab::process;

/// Three namespaces of this test. They are removed on drop.
pub(crate) struct Net {
    prefix: String,
}

/// Whether namespaces can be made. Prints the reason if not.
pub(crate) fn possible() -> bool {
    let able = process::require_root().and_then(|()| process::require("ip", "iproute2"));
    if let Err(reason) = &able {
        eprintln!("skipped: {reason}");
    }
    able.is_ok()
}

impl Net {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let net = Self {
            prefix: format!("isup{}-{number}-", std::process::id()),
        };
        for node in NODES {
            run("ip", &["netns", "add", &net.name(node)]);
            net.ip(node, "link set lo up");
        }
        for (node, near, far) in [("host", "toh", "eth0"), ("server", "tos", "eth0")] {
            let name = net.name(node);
            net.ip(
                "gateway",
                &format!("link add {near} type veth peer name {far} netns {name}"),
            );
            for (node, link) in [("gateway", near), (node, far)] {
                // Without addresses made by the kernel, dumps do not change by themselves.
                net.ip(node, &format!("link set {link} addrgenmode none"));
                net.ip(node, &format!("link set {link} up"));
            }
        }
        // Neighbour discovery for forwarded packets has a link-local source.
        net.ip("host", "addr add fe80::2/64 dev eth0 nodad");
        net.ip("gateway", "addr add fe80::1/64 dev toh nodad");
        net.ip("host", "addr add 2001:db8:1::2/64 dev eth0 nodad");
        net.ip("gateway", "addr add 2001:db8:1::1/64 dev toh nodad");
        net.ip("server", "addr add 192.0.2.2/24 dev eth0");
        net.ip("gateway", "addr add 192.0.2.1/24 dev tos");
        net.ip("host", "route add default via 2001:db8:1::1");
        net.ip("server", "route add default via 192.0.2.1");
        net
    }

    /// Gives the host an IPv4 address from a network of its own.
    pub(crate) fn dual_stack(&self) {
        self.ip("host", "addr add 192.168.7.2/24 dev eth0");
        self.ip("gateway", "addr add 192.168.7.1/24 dev toh");
        self.ip("host", "route add default via 192.168.7.1");
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

    /// Returns the namespace of a node.
    pub(crate) fn name(&self, node: &str) -> String {
        format!("{}{node}", self.prefix)
    }

    /// Runs `ip` in the namespace of a node.
    pub(crate) fn ip(&self, node: &str, arguments: &str) -> String {
        let name = self.name(node);
        let mut all = vec!["-n", &name];
        all.extend(arguments.split(' '));
        run("ip", &all)
    }

    /// Returns a command for a program in the namespace of a node.
    pub(crate) fn command(&self, node: &str, program: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name(node), program]);
        command
    }

    /// Makes the far ends of the gateway's links poll, because a veth otherwise takes no redirected packets. Prints
    /// the reason if that is not possible.
    pub(crate) fn polls(&self) -> bool {
        let polls = ["host", "server"].iter().all(|node| {
            let mut ethtool = self.command(node, "ethtool");
            ethtool.args(["-K", "eth0", "gro", "on"]);
            ethtool.status().is_ok_and(|status| status.success())
        });
        if !polls {
            eprintln!("skipped: ethtool is not installed");
        }
        polls
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

const NODES: [&str; 3] = ["host", "gateway", "server"];

impl Drop for Net {
    fn drop(&mut self) {
        for node in NODES {
            let _ = Command::new("ip")
                .args(["netns", "del", &self.name(node)])
                .output();
        }
    }
}

fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().unwrap();
    assert!(
        output.status.success(),
        "{program} {arguments:?}: {output:?}"
    );
    text(&output)
}

pub(crate) fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Creates a pair of links that are up. The far end polls, because a veth otherwise takes no redirected packets.
pub(crate) fn connect(near: (&Namespace, &str), far: (&Namespace, &str)) {
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
    }
    far.0.offload(far.1, &["gro", "on"]).unwrap();
}

pub(crate) fn ip(node: &Namespace, arguments: &str) {
    node.ip(&[arguments.into()]).unwrap();
}

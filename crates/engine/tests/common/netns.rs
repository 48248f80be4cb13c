//! An IPv4 host, a gateway and an IPv6 host in network namespaces of their own.
//!
//! ```text
//!   v4 192.0.2.1/24 ---- 192.0.2.254/24 gw 2001:db8:f::1/64 ---- v6 2001:db8:64::198.51.100.9
//! ```
//!
//! Dropping the value removes them. Root is needed.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

/// One of the namespaces.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Node {
    /// The IPv4-only host.
    V4,
    /// The gateway.
    Gateway,
    /// The IPv6-only host.
    V6,
}

pub(crate) struct Network {
    tag: String,
}

/// Whether the test can run. Prints the reason if not.
pub(crate) fn available() -> bool {
    // SAFETY: a plain system call.
    let root = unsafe { libc::geteuid() } == 0;
    let tun = File::options()
        .read(true)
        .write(true)
        .open("/dev/net/tun")
        .is_ok();
    if !root || !tun {
        eprintln!("SKIPPED: needs root and /dev/net/tun");
    }
    root && tun
}

fn run(command: &str) {
    let mut words = command.split_whitespace();
    let program = words.next().expect("a program");
    let output = Command::new(program).args(words).output().expect(program);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command}: {errors}");
}

impl Network {
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let network = Self {
            tag: format!("ie{}-{number}", std::process::id()),
        };
        for node in [Node::V4, Node::Gateway, Node::V6] {
            run(&format!("ip netns add {}", network.name(node)));
            network.ip(node, "link set lo up");
        }
        let v4 = network.name(Node::V4);
        let v6 = network.name(Node::V6);
        network.ip(Node::Gateway, "link set lo up");
        network.ip(
            Node::Gateway,
            &format!("link add to4 type veth peer name eth0 netns {v4}"),
        );
        network.ip(
            Node::Gateway,
            &format!("link add to6 type veth peer name eth0 netns {v6}"),
        );
        network.ip(Node::Gateway, "addr add 192.0.2.254/24 dev to4");
        network.ip(Node::Gateway, "addr add 2001:db8:f::1/64 dev to6 nodad");
        for link in ["to4", "to6"] {
            network.ip(Node::Gateway, &format!("link set {link} up"));
        }
        network.sysctl(Node::Gateway, "net.ipv4.ip_forward=1");
        network.sysctl(Node::Gateway, "net.ipv6.conf.all.forwarding=1");
        network.ip(Node::V4, "addr add 192.0.2.1/24 dev eth0");
        network.ip(Node::V4, "link set eth0 up");
        network.ip(Node::V4, "route add default via 192.0.2.254");
        network.ip(Node::V6, "addr add 2001:db8:f::2/64 dev eth0 nodad");
        network.ip(
            Node::V6,
            "addr add 2001:db8:64::198.51.100.9/128 dev eth0 nodad",
        );
        network.ip(Node::V6, "link set eth0 up");
        network.ip(
            Node::V6,
            "route add default via 2001:db8:f::1 src 2001:db8:64::198.51.100.9",
        );
        network.ip(
            Node::Gateway,
            "route add 2001:db8:64::198.51.100.0/120 via 2001:db8:f::2",
        );
        network
    }

    /// Brings the gateway's link up and routes both families into it.
    pub(crate) fn route_into(&self, link: &str) {
        self.ip(Node::Gateway, &format!("link set {link} up"));
        self.ip(
            Node::Gateway,
            &format!("route add 198.51.100.0/24 dev {link}"),
        );
        self.ip(
            Node::Gateway,
            &format!("route add 2001:db8:64::/96 dev {link}"),
        );
    }

    pub(crate) fn name(&self, node: Node) -> String {
        format!("{}-{node:?}", self.tag)
    }

    pub(crate) fn ip(&self, node: Node, arguments: &str) {
        run(&format!("ip -n {} {arguments}", self.name(node)));
    }

    pub(crate) fn sysctl(&self, node: Node, setting: &str) {
        self.exec(node, &format!("sysctl -qw {setting}"));
    }

    /// Runs a command in a namespace. It must succeed.
    pub(crate) fn exec(&self, node: Node, command: &str) {
        run(&format!("ip netns exec {} {command}", self.name(node)));
    }

    /// Runs a function with a `/sys` that shows the namespace's links, as `ip netns exec` does.
    pub(crate) fn inside_with_sysfs<T: Send>(
        &self,
        node: Node,
        function: impl FnOnce() -> T + Send,
    ) -> T {
        self.inside(node, || {
            let (none, sysfs) = (std::ptr::null(), c"sysfs".as_ptr());
            let private = libc::MS_REC | libc::MS_PRIVATE;
            // SAFETY: plain system calls with valid strings. They concern this thread only, which has a mount
            // namespace of its own after the first call.
            let results = unsafe {
                [
                    libc::unshare(libc::CLONE_NEWNS),
                    libc::mount(none, c"/".as_ptr(), none, private, none.cast()),
                    libc::mount(sysfs, c"/sys".as_ptr(), sysfs, 0, none.cast()),
                ]
            };
            assert_eq!(results, [0; 3], "{}", std::io::Error::last_os_error());
            function()
        })
    }

    /// Runs a function in a namespace, in a new thread, and waits for it.
    pub(crate) fn inside<T: Send>(&self, node: Node, function: impl FnOnce() -> T + Send) -> T {
        let path = format!("/run/netns/{}", self.name(node));
        thread::scope(|scope| {
            let inside = scope.spawn(|| {
                let namespace = File::open(path).expect("namespace");
                // SAFETY: a plain system call, which concerns this new thread only.
                let moved = unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) };
                assert_eq!(moved, 0, "{}", std::io::Error::last_os_error());
                function()
            });
            inside.join().expect("the thread inside the namespace")
        })
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for node in [Node::V4, Node::Gateway, Node::V6] {
            let name = self.name(node);
            let _ = Command::new("ip").args(["netns", "del", &name]).status();
        }
    }
}

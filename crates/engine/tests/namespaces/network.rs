//! An IPv4 host, a gateway and an IPv6 host in network namespaces of their own.
//!
//! ```text
//!   v4 192.0.2.1/24 ---- 192.0.2.254/24 gw 2001:db8:f::1/64 ---- v6 2001:db8:64::198.51.100.9
//! ```
//!
//! They go when the value is dropped. Root is needed.

use std::fs::File;

use isthmus_instruments::LabError;
use isthmus_instruments::network::netns::Namespace;
use isthmus_instruments::network::topology::{
    self, End, Link, Neighbours, Offloads, Role, Topology,
};

/// Which namespace.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Node {
    /// The IPv4-only host.
    V4,
    /// The gateway.
    Gateway,
    /// The IPv6-only host.
    V6,
}

impl Node {
    fn name(self) -> &'static str {
        match self {
            Self::V4 => "v4",
            Self::Gateway => "gateway",
            Self::V6 => "v6",
        }
    }
}

pub(crate) struct Network(topology::Network);

impl Network {
    /// `None` where it cannot be made, after saying so.
    pub(crate) fn new() -> Option<Self> {
        let tun = File::options().read(true).write(true).open("/dev/net/tun");
        if tun.is_err() {
            eprintln!("skipped: needs root and /dev/net/tun");
            return None;
        }
        match topology().build() {
            Ok(network) => Some(Self(network)),
            Err(reason @ (LabError::NotRoot | LabError::Missing { .. })) => {
                eprintln!("skipped: {reason}");
                None
            }
            Err(error) => panic!("{error}"),
        }
    }

    /// Brings the gateway's link up and routes both families into it.
    pub(crate) fn route_into(&self, link: &str) {
        self.ip(Node::Gateway, &format!("link set {link} up"));
        for network in ["198.51.100.0/24", "2001:db8:64::/96"] {
            self.ip(Node::Gateway, &format!("route add {network} dev {link}"));
        }
    }

    fn node(&self, node: Node) -> &Namespace {
        self.0.node(node.name()).unwrap()
    }

    /// Runs `ip` there.
    pub(crate) fn ip(&self, node: Node, arguments: &str) {
        self.node(node).ip(&[arguments.into()]).unwrap();
    }

    /// Runs a command there; it must succeed.
    pub(crate) fn exec(&self, node: Node, command: &str) {
        self.node(node).run(command).unwrap();
    }

    /// Runs a function there with a `/sys` that shows the links there, as `ip netns exec` makes it.
    pub(crate) fn inside_with_sysfs<T: Send>(
        &self,
        node: Node,
        function: impl FnOnce() -> T + Send,
    ) -> T {
        self.inside(node, || {
            let (none, sysfs) = (std::ptr::null(), c"sysfs".as_ptr());
            let private = libc::MS_REC | libc::MS_PRIVATE;
            // SAFETY: plain system calls with valid strings; they concern this thread only, which
            // has a mount namespace of its own from the first on.
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

    /// Runs a function there, in a thread of its own, and waits for it.
    pub(crate) fn inside<T: Send>(&self, node: Node, function: impl FnOnce() -> T + Send) -> T {
        self.node(node).enter(|| Ok(function())).unwrap()
    }
}

fn topology() -> Topology {
    Topology {
        nodes: vec![
            topology::Node::new("v4", Role::Host, &["default via 192.0.2.254"]),
            topology::Node::new(
                "gateway",
                Role::Router,
                &["2001:db8:64::198.51.100.0/120 via 2001:db8:f::2"],
            ),
            topology::Node::new(
                "v6",
                Role::Host,
                &["default via 2001:db8:f::1 src 2001:db8:64::198.51.100.9"],
            ),
        ],
        links: vec![
            Link::veth(
                End::new("gateway", "to4", &["192.0.2.254/24"]),
                End::new("v4", "eth0", &["192.0.2.1/24"]),
            ),
            Link::veth(
                End::new("gateway", "to6", &["2001:db8:f::1/64"]),
                End::new(
                    "v6",
                    "eth0",
                    &["2001:db8:f::2/64", "2001:db8:64::198.51.100.9/128"],
                ),
            ),
        ],
        neighbours: Neighbours::Resolved,
        offloads: Offloads::On,
    }
}

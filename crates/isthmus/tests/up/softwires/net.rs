//! The network of the tests: two gateways with a core of one protocol between them.
//!
//! ```text
//!  client ── edge ── core ── border ── server
//!         toc    tok     tok        tos
//! ```

use std::fs;

use isthmus_lab::netns::Namespace;
use tempfile::TempDir;

use super::rows::{Core, Host, Row};
use super::traffic::Hosts;
use crate::gateway::{Gateway, ISTHMUS};
use crate::net::possible;

/// Bytes that a narrow core takes: the least over IPv6, and the least that carries as much over IPv4.
pub(crate) const fn narrow(core: Core) -> u32 {
    match core {
        Core::V4 => 1300,
        Core::V6 => 1280,
    }
}

/// Five namespaces, gone when it is dropped.
pub(crate) struct Net {
    pub(crate) client: Namespace,
    pub(crate) edge: Namespace,
    pub(crate) core: Namespace,
    border: Namespace,
    pub(crate) server: Namespace,
    folder: TempDir,
}

impl Net {
    /// `None` where namespaces can not be made, after saying so.
    pub(crate) fn new(row: &Row) -> Option<Self> {
        possible().then(|| Self::build(row))
    }

    fn build(row: &Row) -> Self {
        let create = |role| Namespace::create(role).unwrap();
        let net = Self {
            client: create("client"),
            edge: create("edge"),
            core: create("core"),
            border: create("border"),
            server: create("server"),
            folder: tempfile::tempdir().unwrap(),
        };
        for node in [&net.edge, &net.core, &net.border] {
            // As routers are; what they answer is not held back.
            let settings = [
                ("net.ipv4.ip_forward", "1"),
                ("net.ipv6.conf.all.forwarding", "1"),
                ("net.ipv4.icmp_ratelimit", "0"),
                ("net.ipv6.icmp.ratelimit", "0"),
            ];
            node.sysctl(&settings).unwrap();
        }
        net.host(&net.client, &net.edge, "toc", row.client);
        net.host(&net.server, &net.border, "tos", row.server);
        net.link(row, 0, row.to_edge);
        net.link(row, 1, row.to_border);
        net
    }

    /// Links a host to its gateway, which is its way to everything.
    fn host(&self, node: &Namespace, gateway: &Namespace, near: &str, host: Host) {
        connect((gateway, near), (node, "eth0"));
        let (length, nodad) = (host.length, nodad(host.address));
        ip(
            gateway,
            &format!("addr add {}/{length} dev {near} {nodad}", host.gateway),
        );
        ip(
            node,
            &format!("addr add {}/{length} dev eth0 {nodad}", host.address),
        );
        ip(node, &format!("route add default via {}", host.gateway));
    }

    /// Links a gateway to the core, which is its way to everything of the core's protocol.
    fn link(&self, row: &Row, number: usize, routed: &str) {
        let (gateway, link) = [(&self.edge, "toe"), (&self.border, "tob")][number];
        connect((gateway, "tok"), (&self.core, link));
        let length = match row.core {
            Core::V4 => 24,
            Core::V6 => 64,
        };
        let [cores, gateways] = [1, 2].map(|end| end_of(row.core, number, end));
        let nodad = nodad(&cores);
        for (node, address, link) in [(&self.core, &cores, link), (gateway, &gateways, "tok")] {
            ip(
                node,
                &format!("addr add {address}/{length} dev {link} {nodad}"),
            );
        }
        ip(gateway, &format!("route add default via {cores}"));
        ip(&self.core, &format!("route add {routed} via {gateways}"));
    }

    /// The client and the server.
    pub(crate) fn hosts(&self) -> Hosts<'_> {
        Hosts {
            client: &self.client,
            server: &self.server,
        }
    }

    /// Starts both gateways.
    pub(crate) fn start(&self, row: &Row, engine: &str) -> (Gateway, Gateway) {
        if engine == "xdp" {
            // A veth leaves checksums and segments to a device that there is none of. XDP programs can
            // not see that the former are missing, and get no packet larger than a page.
            let ends = [
                (&self.client, "eth0"),
                (&self.core, "toe"),
                (&self.core, "tob"),
                (&self.server, "eth0"),
            ];
            for (node, link) in ends {
                node.offload(link, &["tx", "off"]).unwrap();
            }
        }
        for (name, ..) in self.gateways(row) {
            fs::create_dir(self.folder.path().join(name)).unwrap();
        }
        self.configure(row, engine, "");
        let [edge, border] = self.gateways(row).map(|(name, node, ..)| {
            let folder = self.folder.path().join(name);
            Gateway::spawn(node.command(ISTHMUS), &folder, &folder.join("edge.toml"))
        });
        for gateway in [&edge, &border] {
            gateway.expect("READY=1");
        }
        (edge, border)
    }

    /// The gateways with the links of their hosts and their instances.
    fn gateways<'a>(&'a self, row: &'a Row) -> [(&'a str, &'a Namespace, &'a str, &'a str); 2] {
        [
            ("edge", &self.edge, "toc", row.edge),
            ("border", &self.border, "tos", row.border),
        ]
    }

    /// Writes the configurations of both.
    fn configure(&self, row: &Row, engine: &str, more: &str) {
        for (name, _, host_link, instance) in self.gateways(row) {
            let folder = self.folder.path().join(name);
            let mut text = format!(
                "[gateway]\nname = \"{name}\"\ncontrol = \"{}\"\n{more}\n",
                folder.join("edge.sock").display()
            );
            if engine != "user" {
                for link in [host_link, "tok"] {
                    text += &format!("[[interface]]\nname = \"{link}\"\nengine = \"{engine}\"\n");
                }
            }
            text += &format!("[[instance]]\nname = \"{name}\"\n{instance}\n");
            fs::write(folder.join("edge.toml"), text).unwrap();
        }
    }

    /// Makes the core forward packets of so many bytes only. The links of the gateways stay as they
    /// are.
    pub(crate) fn narrow(&self, row: &Row) {
        let bytes = narrow(row.core);
        for (routed, number) in [(row.to_edge, 0), (row.to_border, 1)] {
            let link = ["toe", "tob"][number];
            let via = end_of(row.core, number, 2);
            ip(
                &self.core,
                &format!("route replace {routed} via {via} dev {link} mtu lock {bytes}"),
            );
        }
    }

    /// Tells the gateways how narrow the core is, and makes the hosts forget it.
    pub(crate) fn tell(&self, row: &Row, engine: &str, gateways: [&Gateway; 2]) {
        let bytes = narrow(row.core);
        for node in [&self.client, &self.server] {
            for family in ["-4", "-6"] {
                let flush = [family, "route", "flush", "cache"];
                let flushed = node.command("ip").args(flush).status().unwrap();
                assert!(flushed.success());
            }
        }
        let key = match row.core {
            Core::V4 => "ipv4-mtu",
            Core::V6 => "ipv6-mtu",
        };
        self.configure(row, engine, &format!("[link]\n{key} = {bytes}"));
        for (number, (gateway, (_, node, ..))) in
            gateways.into_iter().zip(self.gateways(row)).enumerate()
        {
            let via = end_of(row.core, number, 1);
            ip(
                node,
                &format!("route replace default via {via} dev tok mtu lock {bytes}"),
            );
            gateway.json("reload");
        }
    }
}

/// The address of an end of the core's link to the edge (0) or to the border (1): the core's is 1, the
/// gateway's 2.
pub(crate) fn end_of(core: Core, number: usize, end: u8) -> String {
    match core {
        Core::V4 => format!("100.64.{number}.{end}"),
        Core::V6 => format!("3fff:c{number}::{end}"),
    }
}

/// A pair of links. The far ends of those with programs poll, without which a veth takes no redirected
/// packets.
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

/// Addresses are there at once.
pub(crate) fn nodad(address: &str) -> &'static str {
    if address.contains(':') { "nodad" } else { "" }
}

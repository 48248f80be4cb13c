//! The network of the tests: two gateways with a core of one protocol between them.
//!
//! ```text
//!  client ── ce ── core ── br ── server
//!         toc    tok     tok        tos
//! ```

use std::fs;
use std::path::Path;
use std::sync::Arc;

use isthmus_lab::network::netns::Namespace;
use isthmus_lab::network::topology::{BR, Offloads};
use isthmus_lab::subjects::isthmus::Keys;
use isthmus_lab::subjects::provider::{self, Core, Mechanism};
use tempfile::TempDir;

use super::traffic::Hosts;
use crate::gateway::{Gateway, ISTHMUS};
use crate::net::possible;

/// Five namespaces. They are removed on drop.
pub(crate) struct Net {
    pub(crate) client: Arc<Namespace>,
    pub(crate) ce: Arc<Namespace>,
    pub(crate) core: Arc<Namespace>,
    pub(crate) br: Arc<Namespace>,
    pub(crate) server: Arc<Namespace>,
    folder: TempDir,
}

impl Net {
    /// Returns `None`, after printing the reason, if namespaces cannot be made.
    pub(crate) fn new(row: &Mechanism) -> Option<Self> {
        possible().then(|| Self::build(row))
    }

    fn build(row: &Mechanism) -> Self {
        let network = row.topology(Offloads::On).build().unwrap();
        let node = |name| Arc::clone(network.node(name).unwrap());
        let net = Self {
            client: node(provider::CLIENT),
            ce: node(provider::CE),
            core: node(provider::CORE),
            br: node(BR),
            server: node(provider::SERVER),
            folder: tempfile::tempdir().unwrap(),
        };
        for node in [&net.ce, &net.core, &net.br] {
            // Their ICMP errors are not rate limited.
            let settings = [
                ("net.ipv4.icmp_ratelimit", "0"),
                ("net.ipv6.icmp.ratelimit", "0"),
            ];
            node.sysctl(&settings).unwrap();
        }
        net
    }

    /// The folder with a folder for each gateway.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The client and the server.
    pub(crate) fn hosts(&self) -> Hosts<'_> {
        Hosts {
            client: &self.client,
            server: &self.server,
        }
    }

    /// Starts both gateways.
    pub(crate) fn start(&self, row: &Mechanism, engine: &str) -> (Gateway, Gateway) {
        if engine == "xdp" {
            // A veth leaves checksums and segmentation to a device that does not exist. XDP programs cannot see that a
            // checksum is missing, and get no packet larger than a page.
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
        let [ce, br] = self.gateways(row).map(|(name, node, ..)| {
            let folder = self.folder.path().join(name);
            Gateway::spawn(node.command(ISTHMUS), &folder, &folder.join("edge.toml"))
        });
        for gateway in [&ce, &br] {
            gateway.expect("READY=1");
        }
        (ce, br)
    }

    /// The gateways with the links of their hosts and their instances.
    fn gateways<'a>(&'a self, row: &'a Mechanism) -> [(&'a str, &'a Namespace, &'a str, Keys); 2] {
        [
            ("ce", &self.ce, "toc", row.ce),
            ("br", &self.br, "tos", row.br),
        ]
    }

    /// Writes the configurations of both.
    fn configure(&self, row: &Mechanism, engine: &str, more: &str) {
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
            let keys = instance.join("\n");
            text += &format!("[[instance]]\nname = \"{name}\"\n{keys}\n");
            fs::write(folder.join("edge.toml"), text).unwrap();
        }
    }

    /// Has the kernel cut super-packets that leave the gateways for hosts, as in front of a card that cannot.
    pub(crate) fn cut(&self) {
        for (node, link) in [(&self.ce, "toc"), (&self.br, "tos")] {
            node.offload(link, &["tso", "off", "gso", "off"]).unwrap();
        }
    }

    /// Makes the core forward packets up to this size only. The links of the gateways do not change.
    pub(crate) fn narrow(&self, row: &Mechanism) {
        let bytes = row.core.narrow();
        for (routed, number) in [(row.to_ce, 0), (row.to_br, 1)] {
            let link = ["toe", "tob"][number];
            let via = row.core.end_of(number, 2);
            ip(
                &self.core,
                &format!("route replace {routed} via {via} dev {link} mtu lock {bytes}"),
            );
        }
    }

    /// Configures the gateways with the core's MTU, and clears the hosts' path MTUs.
    pub(crate) fn tell(&self, row: &Mechanism, engine: &str, gateways: [&Gateway; 2]) {
        let bytes = row.core.narrow();
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
            let via = row.core.end_of(number, 1);
            ip(
                node,
                &format!("route replace default via {via} dev tok mtu lock {bytes}"),
            );
            gateway.json("reload");
        }
    }
}

pub(crate) fn ip(node: &Namespace, arguments: &str) {
    node.ip(&[arguments.into()]).unwrap();
}

/// Addresses are there at once.
pub(crate) fn nodad(address: &str) -> &'static str {
    if address.contains(':') { "nodad" } else { "" }
}

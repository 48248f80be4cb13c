//! The network of the tests: our gateway and the other implementation, which change places.
//!
//! ```text
//!  host ── ours ── core ── theirs ── host
//!       toh    tok ours  theirs tok      toh
//! ```

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use isthmus_lab::network::device::Started;
use isthmus_lab::network::netns::Namespace;
use isthmus_lab::network::process;
use isthmus_lab::network::topology::{
    End as Plug, Link, Neighbours, Node, Offloads, Role, Topology,
};
use isthmus_lab::subjects::provider::others::End;
use isthmus_lab::subjects::provider::{Core, Mechanism, Transport};
use tempfile::TempDir;

use super::pairs::{Pair, Side};
use crate::gateway::{Gateway, ISTHMUS};
use crate::softwires::net::{ip, nodad};
use crate::softwires::traffic::Hosts;

/// Instances with sessions, each with the name of one in a pair and with unused addresses. A gateway reserves memory
/// for sessions when it starts, and an instance of a later configuration finds it by name.
const IDLE: [(&str, &str); 6] = [
    (
        "ds-lite-br",
        r#"mechanism = "ds-lite"
role = "aftr"
local = "3fff:ffff::1"
softwires = ["3fff:ffff:1::/48"]
pool = [{ addresses = "198.18.255.0/28", ports = "1024-65535" }]
own-v4 = "198.18.255.254""#,
    ),
    (
        "map-e-whole-ce",
        r#"mechanism = "map-e"
role = "ce"
br = "3fff:ffff::2"
rules = [{ v6 = "3fff:fffe::/32", v4 = "198.18.254.0/24", ea-bits = 8 }]
end-user-prefix = "3fff:fffe:100::/40"
inside = ["10.255.1.0/24"]"#,
    ),
    (
        "map-e-shared-ce",
        r#"mechanism = "map-e"
role = "ce"
br = "3fff:ffff::3"
rules = [{ v6 = "3fff:fffa::/32", v4 = "198.18.252.0/24", ea-bits = 16 }]
end-user-prefix = "3fff:fffa:101::/48"
inside = ["10.255.3.0/24"]"#,
    ),
    (
        "lw4o6-ce",
        r#"mechanism = "lw4o6"
role = "b4"
local = "3fff:fff9::1"
aftr = "3fff:ffff::4"
address = "198.18.251.1"
psid = 1
psid-length = 8
inside = ["10.255.4.0/24"]"#,
    ),
    (
        "464xlat-br",
        r#"mechanism = "nat64"
prefix = "3fff:fffd::/96"
pool = [{ addresses = "198.18.253.0/28", ports = "1024-65535" }]"#,
    ),
    (
        "464xlat-ce",
        r#"mechanism = "clat"
prefix = "3fff:fffc::/96"
local = "3fff:fffb::464"
inside = ["10.255.2.0/24"]"#,
    ),
];

/// Five namespaces. They are removed on drop.
pub(crate) struct World {
    pub(crate) engine: &'static str,
    ours: Site,
    core: Arc<Namespace>,
    theirs: Site,
    folder: TempDir,
}

/// A gateway and the host behind it.
struct Site {
    gateway: Arc<Namespace>,
    host: Arc<Namespace>,
}

impl World {
    /// Namespaces and links, without addresses.
    pub(crate) fn new(engine: &'static str) -> Self {
        let network = topology().build().unwrap();
        let node = |name| Arc::clone(network.node(name).unwrap());
        let site = |gateway, host| Site {
            gateway: node(gateway),
            host: node(host),
        };
        let world = Self {
            engine,
            ours: site("ours", "host-of-ours"),
            core: node("core"),
            theirs: site("theirs", "host-of-theirs"),
            folder: tempfile::tempdir().unwrap(),
        };
        for node in [&world.ours.gateway, &world.core, &world.theirs.gateway] {
            // What they answer is not held back.
            let settings = [
                ("net.ipv4.icmp_ratelimit", "0"),
                ("net.ipv6.icmp.ratelimit", "0"),
            ];
            node.sysctl(&settings).unwrap();
        }
        if engine == "xdp" {
            // See `softwires`: XDP programs cannot see that a checksum is missing.
            world.ours.host.offload("eth0", &["tx", "off"]).unwrap();
            world.core.offload("ours", &["tx", "off"]).unwrap();
        }
        world
    }

    /// Returns the requirements of a pair that this machine lacks.
    pub(crate) fn lacks(&self, pair: &Pair) -> Option<String> {
        let mut both = pair.both();
        let lack = both.find_map(|(_, theirs)| theirs.require().err());
        lack.map(|lack| lack.to_string())
    }

    /// Sets up addresses and routes for a pair, and the other implementation's end. Removes the state of an earlier
    /// pair; our gateway must have removed its own.
    pub(crate) fn set(&self, pair: &Pair, ours: Side, theirs: &End) -> Result<Started, String> {
        self.try_to_set(pair.row, ours, theirs)
            .map_err(|error| error.to_string())
    }

    fn try_to_set(
        &self,
        row: &Mechanism,
        ours: Side,
        theirs: &End,
    ) -> isthmus_lab::Result<Started> {
        self.clear()?;
        for (node, link, side) in [
            (&self.ours, "ours", ours),
            (&self.theirs, "theirs", ours.other()),
        ] {
            self.connect(node, link, row, side)?;
        }
        theirs.start(&self.theirs.gateway, None)
    }

    /// Removes the setup of a pair, and the path MTUs that hosts and routers have learnt.
    fn clear(&self) -> isthmus_lab::Result<()> {
        let (ours, theirs) = (&self.ours, &self.theirs);
        // One shell for all: an emulated machine takes long to start a process, and longest from one as large as this.
        let mut script = String::from("set -e\n");
        for (node, links) in [
            (&ours.gateway, &["toh", "tok"][..]),
            (&ours.host, &["eth0"]),
            (&self.core, &["ours", "theirs"]),
            (&theirs.gateway, &["toh", "tok", "lo"]),
            (&theirs.host, &["eth0"]),
        ] {
            let mut lines = String::from("route flush proto boot\nroute flush cache\n");
            for link in links {
                lines += &format!("addr flush dev {link} scope global\n");
            }
            let name = node.name();
            for family in ["-4", "-6"] {
                script += &format!("ip -n {name} {family} -batch - <<END\n{lines}END\n");
            }
        }
        process::run(Command::new("sh").args(["-c", &script]))?;
        // The first time there is nothing, and a machine without nft has no rules.
        theirs
            .gateway
            .script("ip link del tunnel 2>/dev/null || true; nft flush ruleset 2>/dev/null || true")
    }

    /// Gives a gateway, its host and the core addresses and routes to each other.
    fn connect(
        &self,
        node: &Site,
        link: &str,
        row: &Mechanism,
        side: Side,
    ) -> isthmus_lab::Result<()> {
        let host = side.host(row);
        let length = match row.core {
            Core::V4 => 24,
            Core::V6 => 64,
        };
        let [cores, gateways] = [1, 2].map(|end| row.core.end_of(side.number(), end));
        let [near, far] = [side, side.other()].map(|side| side.routed(row));
        let on = |link: &str, address: &str, length: u8| {
            format!("addr add {address}/{length} dev {link} {}", nodad(address))
        };
        node.host.ip(&[
            on("eth0", host.address, host.length),
            format!("route add default via {}", host.gateway),
        ])?;
        // No default route: for some mechanisms it is the route into the tunnel.
        node.gateway.ip(&[
            on("toh", host.gateway, host.length),
            on("tok", &gateways, length),
            format!("route add {far} via {cores}"),
        ])?;
        self.core.ip(&[
            on(link, &cores, length),
            format!("route add {near} via {gateways}"),
        ])
    }

    /// Starts our gateway without work.
    pub(crate) fn start(&self) -> Gateway {
        self.configure(None, "");
        let command = self.ours.gateway.command(ISTHMUS);
        let gateway = Gateway::spawn(command, self.folder.path(), &self.file());
        gateway.expect("READY=1");
        gateway
    }

    /// Makes our gateway idle.
    pub(crate) fn rest(&self, gateway: &Gateway) {
        self.configure(None, "");
        gateway.json("reload");
    }

    /// Makes our gateway one end of a mechanism.
    pub(crate) fn work(&self, pair: &Pair, ours: Side, gateway: &Gateway) {
        self.configure(Some((pair, ours)), "");
        gateway.json("reload");
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("edge.toml")
    }

    fn configure(&self, work: Option<(&Pair, Side)>, more: &str) {
        let socket = self.folder.path().join("edge.sock");
        let mut text = format!(
            "[gateway]\nname = \"edge\"\ncontrol = \"{}\"\n{more}\n",
            socket.display()
        );
        if self.engine != "user" {
            for link in ["toh", "tok"] {
                text += &format!(
                    "[[interface]]\nname = \"{link}\"\nengine = \"{}\"\n",
                    self.engine
                );
            }
        }
        let working = work.map(|(pair, side)| (instance_name(pair, side), side.instance(pair.row)));
        for (name, instance) in IDLE {
            if working.as_ref().is_none_or(|(other, _)| name != other) {
                let sizes = "max-sessions = 4096\nmax-bindings = 4096";
                text += &format!("[[instance]]\nname = \"{name}\"\n{instance}\n{sizes}\n");
            }
        }
        if let Some((name, instance)) = working {
            let keys = instance.join("\n");
            text += &format!("[[instance]]\nname = \"{name}\"\n{keys}\n");
        }
        fs::write(self.file(), text).unwrap();
    }

    /// The host of the CE as the client, the other as the server.
    pub(crate) fn hosts(&self, ours: Side) -> Hosts<'_> {
        let (client, server) = match ours {
            Side::Ce => (&self.ours.host, &self.theirs.host),
            Side::Br => (&self.theirs.host, &self.ours.host),
        };
        Hosts { client, server }
    }

    /// Makes the core forward packets up to this size only. Our gateway is configured with this MTU where it
    /// encapsulates, so that it fragments. The other implementation discovers it.
    pub(crate) fn narrow(&self, pair: &Pair, ours: Side, gateway: &Gateway) {
        let row = pair.row;
        let bytes = row.core.narrow();
        for (link, side) in [("ours", ours), ("theirs", ours.other())] {
            let (routed, via) = (side.routed(row), row.core.end_of(side.number(), 2));
            ip(
                &self.core,
                &format!("route replace {routed} via {via} dev {link} mtu lock {bytes}"),
            );
        }
        if row.transport == Transport::Translation {
            return;
        }
        let key = match row.core {
            Core::V4 => "ipv4-mtu",
            Core::V6 => "ipv6-mtu",
        };
        self.configure(Some((pair, ours)), &format!("[link]\n{key} = {bytes}"));
        let (far, via) = (ours.other().routed(row), row.core.end_of(ours.number(), 1));
        ip(
            &self.ours.gateway,
            &format!("route replace {far} via {via} dev tok mtu lock {bytes}"),
        );
        gateway.json("reload");
    }
}

fn instance_name(pair: &Pair, side: Side) -> String {
    format!("{}-{}", pair.name, side.name())
}

/// Machines and links, without addresses: each pair has its own.
fn topology() -> Topology {
    let link = |near, near_link, far, far_link| {
        Link::veth(
            Plug::new(near, near_link, &[]),
            Plug::new(far, far_link, &[]),
        )
    };
    Topology {
        nodes: vec![
            Node::new("ours", Role::Router, &[]),
            Node::new("host-of-ours", Role::Host, &[]),
            Node::new("core", Role::Router, &[]),
            Node::new("theirs", Role::Router, &[]),
            Node::new("host-of-theirs", Role::Host, &[]),
        ],
        links: vec![
            link("ours", "toh", "host-of-ours", "eth0"),
            link("ours", "tok", "core", "ours"),
            link("theirs", "toh", "host-of-theirs", "eth0"),
            link("theirs", "tok", "core", "theirs"),
        ],
        neighbours: Neighbours::Resolved,
        offloads: Offloads::On,
    }
}

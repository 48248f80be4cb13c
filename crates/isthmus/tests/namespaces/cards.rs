//! Gateways between network cards with drivers of their own, in the guest: offloads, queues, carriers, and cards that
//! are pulled out.
//!
//! ```text
//!  host ═══ wire ═══ gateway ═══ wire ═══ server
//!   eth0          toh       tos          eth0
//! ```

mod machine;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use isthmus_lab::topology::{Neighbours, Node, Offloads, Role, Topology};

use crate::forward::translated;
use crate::gateway::Gateway;
use crate::net::{Net, possible};
use crate::site::{PLAT, Site, both_links};
use crate::softwires::traffic;
use machine::{Card, Carrier, Monitor, wires};

/// Time limit of what takes a moment, on an emulated processor.
const PATIENCE: Duration = Duration::from_secs(30);
const SERVER: &str = "64:ff9b::192.0.2.2";
/// Bytes of a TCP connection in each direction.
const BYTES: u32 = 2 << 20;

const VIRTIO: &str = "virtio-net-pci";
const E1000E: &str = "e1000e";

/// There is one set of cards for all tests.
static CARDS: Mutex<()> = Mutex::new(());

/// Three machines with cards.
struct Bench {
    site: Site,
    /// The cards of the gateway machine: the one towards the host, and the one towards the server.
    near: [Card; 2],
    _alone: MutexGuard<'static, ()>,
}

impl Bench {
    /// Returns `None`, after printing the reason, if this machine has no such cards.
    fn new(model: &str) -> Option<Self> {
        if !possible() {
            return None;
        }
        let [inside, outside] = wires(model)?;
        let alone = CARDS.lock().unwrap_or_else(PoisonError::into_inner);
        let node = |name| Node::new(name, Role::Plain, &[]);
        let nodes = Topology {
            nodes: ["host", "gateway", "server"].map(node).into(),
            links: Vec::new(),
            neighbours: Neighbours::Resolved,
            offloads: Offloads::On,
        };
        let net = Net::of(nodes.build().unwrap());
        for (node, link, card) in [
            ("host", "eth0", &inside.far),
            ("gateway", "toh", &inside.near),
            ("gateway", "tos", &outside.near),
            ("server", "eth0", &outside.far),
        ] {
            take(&net, node, link, card);
        }
        Some(Self {
            site: Site::over(net),
            near: [inside.near, outside.near],
            _alone: alone,
        })
    }
}

/// Moves a card to a node, and gives it its name and addresses there.
fn take(net: &Net, node: &str, link: &str, card: &Card) {
    let found = card.found();
    let namespace = net.name(node);
    crate::net::of_this_machine(&format!("link set {found} netns {namespace} name {link}"));
    let (addresses, router): (&[&str], _) = match (node, link) {
        ("host", _) => (&["2001:db8:1::2/64", "fe80::2/64"], Some("2001:db8:1::1")),
        ("server", _) => (&["192.0.2.2/24"], Some("192.0.2.1")),
        (_, "toh") => (&["2001:db8:1::1/64", "fe80::1/64"], None),
        _ => (&["192.0.2.1/24", "fe80::3/64"], None),
    };
    net.ip(
        node,
        &format!("link set {link} mtu 1500 addrgenmode none up"),
    );
    for address in addresses {
        let nodad = if address.contains(':') { " nodad" } else { "" };
        net.ip(node, &format!("addr add {address} dev {link}{nodad}"));
    }
    if node != "gateway" {
        // The kernel judges every checksum by itself. Cards of virtio have no such switch, and leave it to the wire.
        let mut ethtool = net.command(node, "ethtool");
        ethtool.args(["-K", link, "rx", "off"]).output().unwrap();
    }
    if let Some(router) = router {
        net.ip(node, &format!("route add default via {router}"));
    }
}

/// Waits until this holds.
fn soon(gateway: &Gateway, what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "{what}: {}", gateway.log());
        thread::sleep(Duration::from_millis(100));
    }
}

/// All kinds of traffic between host and server pass, and the receiving kernels find their checksums right.
fn passes(bench: &Bench, gateway: &Gateway, what: &str) {
    let net = &bench.site.net;
    // A card needs seconds until its carrier is there.
    soon(gateway, what, || net.pings(SERVER));
    let way = traffic::Way {
        hosts: net.hosts(),
        to: SERVER,
        at: "192.0.2.2",
    };
    for (kind, result) in [
        ("ping", traffic::pings(way.hosts, SERVER, 1000)),
        ("tcp", traffic::tcp(way, BYTES)),
        ("udp", traffic::udp(way)),
    ] {
        result.unwrap_or_else(|said| {
            let counters = crate::net::text(&gateway.client("counters --engines"));
            panic!("{what}: {kind}: {said}\n{counters}\n{}", gateway.log())
        });
    }
}

/// What `status` says about a link.
fn at(gateway: &Gateway, link: &str) -> String {
    let status = gateway.json("status");
    let engines = status["engines"].as_array().unwrap();
    let there = engines.iter().find(|engine| engine["interface"] == link);
    there.unwrap()["detail"].as_str().unwrap().to_owned()
}

fn translates(model: &str, engine: &str, keys: &str, detail: &str) {
    let Some(bench) = Bench::new(model) else {
        return;
    };
    let site = &bench.site;
    site.configure(&format!("{}{PLAT}", both_links(engine, keys)));
    let gateway = site.start();
    for link in ["toh", "tos"] {
        let said = at(&gateway, link);
        assert!(said.starts_with(detail), "{link}: {said}");
    }
    passes(&bench, &gateway, "at first");
    assert!(translated(&gateway, engine) > 0, "{}", gateway.log());
    eprintln!(
        "{}",
        crate::net::text(&gateway.client("counters --engines"))
    );
    assert!(gateway.stop().success());
}

#[test]
fn virtio_native() {
    translates(VIRTIO, "xdp", "", "native");
}

#[test]
fn virtio_generic() {
    translates(VIRTIO, "xdp", "mode = \"generic\"", "generic");
}

#[test]
fn virtio_tc() {
    translates(VIRTIO, "tc", "", "ingress");
}

#[test]
fn e1000e_generic() {
    translates(E1000E, "xdp", "", "generic");
}

#[test]
fn e1000e_tc() {
    translates(E1000E, "tc", "", "ingress");
}

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

use isthmus_lab::network::topology::{Neighbours, Node, Offloads, Role, Topology};
use serde_json::Value;

use crate::forward::translated;
use crate::gateway::Gateway;
use crate::net::{Net, possible};
use crate::site::{PLAT, Site};
use crate::softwires::traffic;
use crate::vlan::{Side, into_vlan, out_of_vlan};
use machine::{Card, Carrier, Monitor, wires};

/// Time limit of what takes a moment, on an emulated processor.
const PATIENCE: Duration = Duration::from_secs(30);
const SERVER: &str = "64:ff9b::192.0.2.2";
/// Bytes of a TCP connection in each direction.
const BYTES: u32 = 2 << 20;

/// The flows that are spread over queues.
const FLOWS: usize = 32;

const XDP: &str = "engine = \"xdp\"\n";
const TC: &str = "engine = \"tc\"\n";
/// With queues for XDP to send, one for each processor.
const VIRTIO: &str = "virtio-net-pci,mq=on";
/// With one queue, which XDP shares with the kernel. Linux 6.1 never ends with the removal of a card that has queues
/// for XDP: it forgets them, and the references that they hold.
const ONE_QUEUE: &str = "virtio-net-pci";
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

    /// Starts a gateway with these keys for both links.
    fn start(&self, keys: &str) -> Gateway {
        let links = ["toh", "tos"].map(|name| format!("[[interface]]\nname = \"{name}\"\n{keys}"));
        self.site.configure(&format!("{}{PLAT}", links.join("\n")));
        self.site.start()
    }
}

/// Moves a card to a node, and gives it its name and addresses there.
fn take(net: &Net, node: &str, link: &str, card: &Card) {
    let found = card.found();
    let namespace = net.name(node);
    crate::net::of_this_machine(&format!("link set {found} netns {namespace} name {link}"));
    net.ip(
        node,
        &format!("link set {link} mtu 1500 addrgenmode none up"),
    );
    address(net, node, link);
    if node != "gateway" {
        // The kernel judges every checksum by itself. Cards of virtio have no such switch, and leave it to the wire.
        let mut ethtool = net.command(node, "ethtool");
        ethtool.args(["-K", link, "rx", "off"]).output().unwrap();
    }
}

/// Gives a link its addresses, and a host its router.
fn address(net: &Net, node: &str, link: &str) {
    let (addresses, router): (&[&str], _) = match (node, link) {
        ("host", _) => (&["2001:db8:1::2/64", "fe80::2/64"], Some("2001:db8:1::1")),
        ("server", _) => (&["192.0.2.2/24"], Some("192.0.2.1")),
        (_, "toh") => (&["2001:db8:1::1/64", "fe80::1/64"], None),
        _ => (&["192.0.2.1/24", "fe80::3/64"], None),
    };
    for address in addresses {
        let nodad = if address.contains(':') { " nodad" } else { "" };
        net.ip(node, &format!("addr replace {address} dev {link}{nodad}"));
    }
    if let Some(router) = router {
        net.ip(node, &format!("route replace default via {router}"));
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

/// The way from the host to the server.
fn way(net: &Net) -> traffic::Way<'_> {
    traffic::Way {
        hosts: net.hosts(),
        to: SERVER,
        at: "192.0.2.2",
    }
}

/// All kinds of traffic between host and server pass, and the receiving kernels find their checksums right.
fn passes(bench: &Bench, gateway: &Gateway, what: &str) {
    let net = &bench.site.net;
    // A card needs seconds until its carrier is there.
    soon(gateway, what, || net.pings(SERVER));
    let way = way(net);
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

/// Translates with `engine` at work on both links, where `keys` are configured and `status` says `detail`.
fn translates(model: &str, keys: &str, engine: &str, detail: &str) {
    let Some(bench) = Bench::new(model) else {
        return;
    };
    let gateway = bench.start(keys);
    for link in ["toh", "tos"] {
        let said = at(&gateway, link);
        assert!(said.starts_with(detail), "{link}: {said}");
    }
    passes(&bench, &gateway, "at first");
    assert!(translated(&gateway, engine) > 0, "{}", gateway.log());
    in_vlans(&bench, &gateway);
    assert!(gateway.stop().success());
}

/// The program runs on all queues of a card, and has more of them to send, one for each processor.
#[test]
fn virtio_native() {
    let Some(bench) = Bench::new(VIRTIO) else {
        return;
    };
    let net = &bench.site.net;
    let gateway = bench.start(XDP);
    assert_eq!(at(&gateway, "toh"), "native");
    assert_eq!(at(&gateway, "tos"), "native");
    passes(&bench, &gateway, "at first");
    let counts = || [queues(net, "toh"), queues(net, "tos")];
    let before = counts();
    // Which flow comes to which queue is for the host to say.
    soon(&gateway, "several queues receive", || {
        traffic::flows(way(net), FLOWS).unwrap_or_else(|said| panic!("{said}\n{}", gateway.log()));
        let after = counts();
        let busy = |link: usize| {
            let both = before[link].iter().zip(&after[link]);
            both.filter(|(before, after)| before < after).count()
        };
        busy(0) >= 2 && busy(1) >= 2
    });
    in_vlans(&bench, &gateway);
    assert!(gateway.stop().success());
}

/// Packets that each queue of a link has received.
fn queues(net: &Net, link: &str) -> Vec<u64> {
    let mut ethtool = net.command("gateway", "ethtool");
    let said = crate::net::text(&ethtool.args(["-S", link]).output().unwrap());
    let counts = said.lines().filter_map(|line| {
        let (name, count) = line.trim().split_once(": ")?;
        let ours = name.starts_with("rx_queue_") && name.ends_with("_packets");
        ours.then(|| count.parse().unwrap())
    });
    counts.collect()
}

/// Both hosts move to a VLAN and back.
fn in_vlans(bench: &Bench, gateway: &Gateway) {
    let net = &bench.site.net;
    for side in [Side::Host, Side::Server] {
        into_vlan(net, side, "802.1Q");
    }
    passes(bench, gateway, "in VLANs");
    assert_eq!(gateway.json("status")["troubles"], Value::Null);
    for side in [Side::Host, Side::Server] {
        out_of_vlan(net, side);
    }
    passes(bench, gateway, "out of VLANs");
}

/// Packets that virtual machines send over a virtual wire have unfinished checksums, of which generic XDP is not told.
#[test]
fn virtio_generic_says_what_it_is_not_for() {
    let Some(bench) = Bench::new(VIRTIO) else {
        return;
    };
    let gateway = bench.start(&format!("{XDP}mode = \"generic\"\n"));
    let said = at(&gateway, "toh");
    assert!(
        said.contains("not for packets whose checksums are left to a device"),
        "{said}"
    );
    assert!(gateway.stop().success());
}

/// Drivers refuse programs where packets can be larger than a page.
#[test]
fn virtio_refuses_native() {
    let Some(bench) = Bench::new(VIRTIO) else {
        return;
    };
    let net = &bench.site.net;
    let gateway = bench.start(&format!("{XDP}mode = \"native\"\n"));
    let before = gateway.json("status")["engines"].clone();
    net.ip("gateway", "link set toh mtu 9000");
    soon(&gateway, "the loss is told of", || {
        let status = gateway.json("status");
        ["troubles", "engines"].map(|at| status[at].to_string().contains("xdp engine on toh"))
            == [true; 2]
    });
    // In user space.
    passes(&bench, &gateway, "without a program");
    net.ip("gateway", "link set toh mtu 1500");
    is_healed(&gateway, &before, "small again");
    assert!(gateway.stop().success());
}

#[test]
fn virtio_tc() {
    translates(VIRTIO, TC, "tc", "ingress");
}

/// The driver has no XDP.
#[test]
fn e1000e_auto() {
    translates(
        E1000E,
        XDP,
        "tc",
        "ingress, because the driver does not run XDP",
    );
}

#[test]
fn e1000e_generic() {
    let Some(bench) = Bench::new(E1000E) else {
        return;
    };
    let net = &bench.site.net;
    let gateway = bench.start(&format!("{XDP}mode = \"generic\"\n"));
    assert!(at(&gateway, "toh").starts_with("generic"));
    passes(&bench, &gateway, "at first");
    assert!(translated(&gateway, "xdp") > 0, "{}", gateway.log());
    // The card takes tags off, unless it is told not to.
    for link in ["toh", "tos"] {
        net.ip(
            "gateway",
            &format!("link add link {link} name {link}.9 type vlan id 9"),
        );
        let said = format!("`ethtool -K {link} rxvlan off`");
        soon(&gateway, "hidden tags are told of", || {
            gateway.json("status")["troubles"]
                .to_string()
                .contains(&said)
        });
        let mut ethtool = net.command("gateway", "ethtool");
        assert!(
            ethtool
                .args(["-K", link, "rxvlan", "off"])
                .status()
                .unwrap()
                .success()
        );
    }
    soon(&gateway, "tags are left", || {
        gateway.json("status")["troubles"].is_null()
    });
    in_vlans(&bench, &gateway);
    for link in ["toh", "tos"] {
        net.ip("gateway", &format!("link del {link}.9"));
        let mut ethtool = net.command("gateway", "ethtool");
        assert!(
            ethtool
                .args(["-K", link, "rxvlan", "on"])
                .status()
                .unwrap()
                .success()
        );
    }
    assert!(gateway.stop().success());
}

#[test]
fn e1000e_tc() {
    translates(E1000E, TC, "tc", "ingress");
}

/// A link is found as it was, and has its program.
fn is_healed(gateway: &Gateway, before: &Value, what: &str) {
    soon(gateway, what, || {
        let status = gateway.json("status");
        status["troubles"].is_null() && status["engines"] == *before
    });
}

/// The MTUs of the links become smaller and larger.
fn resizes(bench: &Bench, gateway: &Gateway, before: &Value) {
    let net = &bench.site.net;
    net.ip("gateway", "link set tos mtu 1400");
    soon(gateway, "a small MTU", || net.pings(SERVER));
    // RFC 7915 section 4.2: the IPv6 host may send 20 bytes more.
    traffic::path_mtu(net.hosts(), SERVER, 1420).unwrap_or_else(|said| panic!("{said}"));
    for link in ["toh", "tos"] {
        net.ip("gateway", &format!("link set {link} mtu 9000"));
    }
    // A program of XDP gives way to one of tc where the driver cannot have it.
    soon(gateway, "a large MTU", || {
        let there = ["toh", "tos"].map(|link| at(gateway, link).starts_with("ingress"));
        there == [true; 2] && gateway.json("status")["troubles"].is_null()
    });
    passes(bench, gateway, "a large MTU");
    for link in ["toh", "tos"] {
        net.ip("gateway", &format!("link set {link} mtu 1500"));
    }
    is_healed(gateway, before, "the MTU of before");
    passes(bench, gateway, "the MTU of before");
}

/// Everything that happens to cards and links while a gateway runs.
fn survives(model: &str, keys: &str) {
    let Some(bench) = Bench::new(model) else {
        return;
    };
    let net = &bench.site.net;
    let gateway = bench.start(keys);
    passes(&bench, &gateway, "at first");
    let before = gateway.json("status")["engines"].clone();
    let mut monitor = Monitor::open();
    for link in ["toh", "tos"] {
        net.ip("gateway", &format!("link set {link} down"));
        net.ip("gateway", &format!("link set {link} up"));
        // The kernel forgets those of IPv6 with the link.
        address(net, "gateway", link);
    }
    passes(&bench, &gateway, "down and up");
    for card in &bench.near {
        card.carrier(&mut monitor, Carrier::Off);
    }
    assert!(!net.pings(SERVER));
    for card in &bench.near {
        card.carrier(&mut monitor, Carrier::On);
    }
    passes(&bench, &gateway, "carrier off and on");
    assert_eq!(gateway.json("status")["engines"], before);
    resizes(&bench, &gateway, &before);

    for (link, card) in ["toh", "tos"].into_iter().zip(&bench.near) {
        card.unplug(&mut monitor);
        soon(&gateway, "the loss is told of", || {
            let status = gateway.json("status");
            let said = format!("there is no link {link}");
            ["troubles", "engines"].map(|at| status[at].to_string().contains(&said)) == [true; 2]
        });
        card.plug(&mut monitor);
        take(net, "gateway", link, card);
        is_healed(&gateway, &before, "plugged in again");
        passes(&bench, &gateway, "plugged in again");
    }
    assert!(gateway.stop().success());
}

#[test]
fn virtio_native_faults() {
    survives(ONE_QUEUE, XDP);
}

#[test]
fn virtio_tc_faults() {
    survives(ONE_QUEUE, TC);
}

#[test]
fn e1000e_faults() {
    survives(E1000E, XDP);
}

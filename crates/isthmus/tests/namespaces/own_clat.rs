//! A machine on an IPv6-only network with a CLAT of its own, in the words of its user: programs that know IPv4 alone
//! work, follow the network where it goes, and afterwards everything is as before.
//!
//! ```text
//!  laptop ── 2001:db8:1::/64, by router advertisements ── plat ── 198.51.100.0/24 ── server
//!     wlan0                                    lan fe80::1    wan .1              .2, 9.9.9.9
//! ```

mod managers;

use std::fs;
use std::io;
use std::net::{Ipv6Addr, SocketAddrV6};
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use isthmus_lab::network::netns::Namespace;
use isthmus_lab::network::topology::{
    End, Link, Neighbours, Network, Node, Offloads, Role, Topology,
};
use serde_json::Value;
use socket2::{Domain, Protocol, Socket, Type};
use tempfile::TempDir;

use crate::gateway::{Gateway, ISTHMUS};
use crate::net::{possible, text};
use crate::softwires::traffic::{self, Hosts, Way, inside};

/// A server that is known by its IPv4 address alone.
const SERVER: &str = "9.9.9.9";
/// All that the user writes.
const CLAT: &str = "[[instance]]\nname = \"clat\"\nmechanism = \"clat\"\nuplink = \"wlan0\"\n";
const PLAT: &str = "[[instance]]\nname = \"plat\"\nmechanism = \"nat64\"\nprefix = \"64:ff9b::/96\"
pool = [{ addresses = \"198.51.100.64/28\" }]\nmax-sessions = 4096\nmax-bindings = 4096\n";
const HOME: &str = "2001:db8:1::";
const ELSEWHERE: &str = "2001:db8:2::";
const PATIENCE: Duration = Duration::from_secs(20);

/// The machines, with the NAT64 of the network running.
struct World {
    network: Network,
    folder: TempDir,
    _plat: Gateway,
}

/// A router advertisement.
struct Advertisement {
    network: &'static str,
    /// Seconds for which hosts choose addresses of the network.
    preferred: u32,
    mtu: u32,
    /// Whether the prefix of the NAT64 is announced (RFC 8781).
    pref64: bool,
}

const OF_HOME: Advertisement = Advertisement {
    network: HOME,
    preferred: 3600,
    mtu: 1500,
    pref64: true,
};

impl World {
    fn new() -> Option<Self> {
        possible().then(|| {
            let network = topology().build().unwrap();
            let folder = tempfile::tempdir().unwrap();
            let plat = start(&network, &folder, "plat", PLAT);
            let world = Self {
                network,
                folder,
                _plat: plat,
            };
            world.run("server", "ip addr add 9.9.9.9/32 dev lo");
            // A machine that has been on the network for a while.
            world.wait(|world| {
                world.advertise(&OF_HOME);
                let addresses = |which| {
                    let words = format!("ip -6 addr show dev wlan0 {which}");
                    world.run("laptop", &words)
                };
                !addresses("scope global").is_empty() && addresses("tentative").is_empty()
            });
            world
        })
    }

    fn node(&self, name: &str) -> &Arc<Namespace> {
        self.network.node(name).unwrap()
    }

    fn run(&self, node: &str, words: &str) -> String {
        self.node(node).run(words).unwrap()
    }

    fn clat(&self, text: &str) -> Gateway {
        start(&self.network, &self.folder, "laptop", text)
    }

    /// Says to all hosts what a router says.
    fn advertise(&self, said: &Advertisement) {
        let link = self.node("plat").interface_index("lan").unwrap();
        let message = said.message();
        inside(self.node("plat"), || {
            let socket = Socket::new(Domain::IPV6, Type::RAW, Some(Protocol::ICMPV6))?;
            socket.set_multicast_hops_v6(255)?;
            let router: Ipv6Addr = "fe80::1".parse().map_err(io::Error::other)?;
            socket.bind(&SocketAddrV6::new(router, 0, 0, link).into())?;
            let all = "ff02::1".parse().map_err(io::Error::other)?;
            socket.send_to(&message, &SocketAddrV6::new(all, 0, 0, link).into())
        })
        .unwrap();
    }

    /// Waits until something has come about.
    fn wait(&self, done: impl Fn(&Self) -> bool) {
        let until = Instant::now() + PATIENCE;
        while !done(self) {
            let log = fs::read_to_string(self.folder.path().join("laptop/log"));
            assert!(Instant::now() < until, "{}", log.unwrap_or_default());
            sleep(Duration::from_millis(100));
        }
    }

    /// Waits until the CLAT has an address in a network of the uplink, and a prefix.
    fn wait_for(&self, clat: &Gateway, said: &Advertisement) {
        self.wait(|world| {
            world.advertise(said);
            let status = &clat.json("status")["instances"][0];
            let local = status["host"]["local"].as_str().unwrap_or_default();
            local.starts_with(said.network.trim_end_matches(':'))
                && status["prefix"]["prefix"].is_string()
        });
    }

    fn hosts(&self) -> Hosts<'_> {
        Hosts {
            client: self.node("laptop"),
            server: self.node("server"),
        }
    }

    /// `ping 9.9.9.9`, a connection with several megabytes in both directions, and datagrams of all sizes.
    fn carries(&self) {
        let way = Way {
            hosts: self.hosts(),
            to: SERVER,
            at: SERVER,
        };
        traffic::pings(self.hosts(), SERVER, 56).unwrap();
        traffic::tcp(way, 4 << 20).unwrap();
        traffic::udp(way).unwrap();
    }

    /// What the machine's network looks like, without times.
    fn state(&self) -> Vec<String> {
        let words = [
            "ip -o addr",
            "ip route show table all",
            "ip -6 route show table all",
            "ip rule",
            "ip -6 rule",
            "ip maddr show dev wlan0",
            "sysctl -a -r forwarding|accept_ra$|accept_local|rp_filter|redirects",
        ];
        let said: String = words
            .iter()
            .map(|words| self.run("laptop", words))
            .collect();
        let mut lines: Vec<String> = said.lines().map(without_times).collect();
        lines.sort();
        lines
    }
}

/// A line without what counts down.
fn without_times(line: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_time = |word: &&str| {
        word.strip_suffix("sec")
            .is_some_and(|number| number.parse::<u32>().is_ok())
    };
    words
        .into_iter()
        .filter(|word| !is_time(word))
        .collect::<Vec<_>>()
        .join(" ")
}

impl Advertisement {
    /// RFC 4861 section 4.2, with a prefix (4.6.2), an MTU (4.6.4) and a prefix of a NAT64 (RFC 8781 section 4).
    fn message(&self) -> Vec<u8> {
        let mut message = vec![134, 0, 0, 0, 64, 0, 0x07, 0x08, 0, 0, 0, 0, 0, 0, 0, 0];
        message.extend([3, 4, 64, 0b1100_0000]);
        for lifetime in [7200, self.preferred, 0] {
            message.extend(lifetime.to_be_bytes());
        }
        message.extend(self.network.parse::<Ipv6Addr>().unwrap().octets());
        message.extend([5, 1, 0, 0]);
        message.extend(self.mtu.to_be_bytes());
        if self.pref64 {
            message.extend([
                38, 2, 0x07, 0x08, 0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0,
            ]);
        }
        message
    }
}

fn start(network: &Network, folder: &TempDir, node: &str, instance: &str) -> Gateway {
    let folder = folder.path().join(node);
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join("edge.toml");
    let socket = folder.join("edge.sock");
    let gateway = format!(
        "[gateway]\nname = \"{node}\"\ncontrol = \"{}\"\n",
        socket.display()
    );
    fs::write(&file, gateway + instance).unwrap();
    let isthmus = network.node(node).unwrap().command(ISTHMUS);
    let gateway = Gateway::spawn(isthmus, &folder, &file);
    gateway.expect("READY=1");
    gateway
}

fn topology() -> Topology {
    Topology {
        nodes: vec![
            Node::new("laptop", Role::Plain, &[]),
            Node::new("plat", Role::Router, &["9.9.9.9 via 198.51.100.2"]),
            Node::new("server", Role::Host, &["198.51.100.64/28 via 198.51.100.1"]),
        ],
        links: vec![
            Link::veth(
                End::new(
                    "plat",
                    "lan",
                    &["fe80::1/64", "2001:db8:1::1/64", "2001:db8:2::1/64"],
                ),
                End::new("laptop", "wlan0", &[]),
            ),
            Link::veth(
                End::new("plat", "wan", &["198.51.100.1/24"]),
                End::new("server", "eth0", &["198.51.100.2/24"]),
            ),
        ],
        neighbours: Neighbours::Resolved,
        offloads: Offloads::On,
    }
}

fn host(clat: &Gateway) -> Value {
    clat.json("status")["instances"][0]["host"].clone()
}

/// `isthmus up` on a laptop, and nothing else: programs with IPv4 addresses work. At the end all is as before.
#[test]
fn ipv4_works_at_once_and_leaves_nothing() {
    let Some(world) = World::new() else {
        return;
    };
    let before = world.state();
    let clat = world.clat(CLAT);
    world.wait_for(&clat, &OF_HOME);
    world.carries();
    // An application that is given an address, and was never told of IPv6.
    traffic::connects(
        [world.node("laptop"), world.node("server")],
        "9.9.9.9:80".parse().unwrap(),
        "9.9.9.9:80".parse().unwrap(),
    )
    .unwrap();
    // 1500 bytes of the uplink less 20, and the way back as well.
    let said = world.run("laptop", "ip route get 9.9.9.9");
    assert!(
        said.contains("src 192.0.0.1") && said.contains("mtu 1480"),
        "{said}"
    );
    traffic::pings(world.hosts(), SERVER, 1480 - 28).unwrap();

    let status = text(&clat.client("status"));
    let local = host(&clat)["local"].as_str().unwrap().to_owned();
    let expected = format!("clat: 192.0.0.1 of this machine is {local} on wlan0");
    assert!(status.contains(&expected), "{status}");
    // Nobody else on the machine chooses that address, and neighbours find it.
    let addresses = world.run("laptop", "ip -6 addr show dev wlan0");
    assert!(!addresses.contains(&local), "{addresses}");
    let neighbours = world.run("plat", "ip -6 neigh show dev lan");
    assert!(neighbours.contains(&local), "{neighbours}");

    assert!(clat.stop().success());
    assert_eq!(world.state(), before);
}

/// The network renumbers, its MTU shrinks, the link goes down and comes back, another network has another prefix.
#[test]
fn it_follows_the_network() {
    let Some(world) = World::new() else {
        return;
    };
    let clat = world.clat(CLAT);
    world.wait_for(&clat, &OF_HOME);
    // The network of before is not for new connections any more.
    world.advertise(&Advertisement {
        preferred: 0,
        pref64: false,
        ..OF_HOME
    });
    let other = Advertisement {
        network: ELSEWHERE,
        mtu: 1400,
        ..OF_HOME
    };
    world.wait_for(&clat, &other);
    world.wait(|world| {
        world
            .run("laptop", "ip route show default")
            .contains("mtu 1380")
    });
    world.carries();

    world.run("laptop", "ip link set wlan0 down");
    world.wait(|_| host(&clat)["local"].is_null());
    assert_eq!(world.run("laptop", "ip route show default"), "");
    world.run("laptop", "ip link set wlan0 up");
    world.wait(|world| {
        !world
            .run("laptop", "ip -6 addr show dev wlan0 scope link -tentative")
            .is_empty()
    });
    world.wait_for(&clat, &OF_HOME);
    world.carries();
    // Somebody removes what he does not know.
    world.run("laptop", "ip route flush proto 146");
    world.wait(|world| {
        world
            .run("laptop", "ip route show default")
            .contains("192.0.0.1")
    });
    world.carries();
    assert!(clat.stop().success());
}

/// The user joins a network that has IPv4, and leaves it.
#[test]
fn a_real_ipv4_network_is_preferred() {
    let Some(world) = World::new() else {
        return;
    };
    let clat = world.clat(CLAT);
    world.wait_for(&clat, &OF_HOME);
    let way = || world.run("laptop", "ip route get 9.9.9.9");
    assert!(way().contains("dev isthmus0"), "{}", way());
    for line in [
        "ip link add eth0 type veth peer name away",
        "ip link set away up",
        "ip link set eth0 up",
        "ip addr add 192.168.7.2/24 dev eth0",
        // The metric that NetworkManager gives a wireless link.
        "ip route add default via 192.168.7.1 dev eth0 metric 600",
    ] {
        world.run("laptop", line);
    }
    assert!(way().contains("dev eth0"), "{}", way());
    world.run("laptop", "ip link del eth0");
    assert!(way().contains("dev isthmus0"), "{}", way());
    world.carries();
    assert!(clat.stop().success());
}

/// A laptop loses its gateway without a word: IPv4 is gone, IPv6 works as before, and the next start has the same
/// address, so that the network sees no other host. Its end, or `isthmus forget`, restores what the first one changed.
#[test]
fn it_can_be_killed() {
    let Some(world) = World::new() else {
        return;
    };
    let before = world.state();
    let clat = world.clat(CLAT);
    world.wait_for(&clat, &OF_HOME);
    let local = host(&clat)["local"].clone();
    clat.kill();
    assert_eq!(world.run("laptop", "ip route show default"), "");
    traffic::pings(world.hosts(), "2001:db8:1::1", 56).unwrap();
    let clat = world.clat(CLAT);
    world.wait_for(&clat, &OF_HOME);
    assert_eq!(host(&clat)["local"], local);
    world.carries();
    clat.kill();
    let file = world.folder.path().join("laptop/edge.toml");
    world.run("laptop", &format!("{ISTHMUS} forget {}", file.display()));
    assert_eq!(world.state(), before);
}

/// Another node has the address that the CLAT would choose: it takes another.
#[test]
fn an_address_that_somebody_has_is_left_to_him() {
    let Some(world) = World::new() else {
        return;
    };
    let clat = world.clat(CLAT);
    world.wait_for(&clat, &OF_HOME);
    let first = host(&clat)["local"].as_str().unwrap().to_owned();
    assert!(clat.stop().success());
    world.run("plat", &format!("ip addr add {first}/128 dev lan nodad"));
    let clat = world.clat(CLAT);
    world.wait_for(&clat, &OF_HOME);
    assert_ne!(host(&clat)["local"], first.as_str());
    assert!(clat.log().contains("another node has this address"));
    world.carries();
    assert!(clat.stop().success());
}

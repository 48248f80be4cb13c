//! Changes of routes that the BPF programs have cached.

use std::thread;
use std::time::Duration;

use crate::forward::{PINGS, translated};
use crate::site::{PLAT, Site, both_links};

const SERVER: &str = "64:ff9b::192.0.2.2";
/// Much less than the second after which everything is asked for again, and much more than it takes to
/// hear of a change.
const HEARD: Duration = Duration::from_millis(300);
/// More than it takes until routes that stay as they are have been read.
const READ: Duration = Duration::from_millis(500);

#[test]
fn xdp_follows_a_next_hop_that_changes() {
    follows("xdp");
}

#[test]
fn tc_follows_a_next_hop_that_changes() {
    follows("tc");
}

/// Both hosts get new Ethernet addresses. Frames to the old ones are lost.
fn follows(engine: &str) {
    let Some(site) = Site::new() else {
        return;
    };
    let net = &site.net;
    site.configure(&format!("{}{PLAT}", both_links(engine, "")));
    let gateway = site.start();
    assert!(net.pings(SERVER), "{}", gateway.log());
    for (node, link, host, octet) in [
        ("server", "tos", "192.0.2.2", 1),
        ("host", "toh", "2001:db8:1::2", 2),
    ] {
        let address = format!("02:00:5e:00:53:0{octet}");
        net.ip(node, &format!("link set eth0 address {address}"));
        net.ip(
            "gateway",
            &format!("neigh replace {host} lladdr {address} dev {link}"),
        );
        thread::sleep(HEARD);
        let before = translated(&gateway, engine);
        assert!(net.pings(SERVER), "{node}: {}", gateway.log());
        assert_eq!(translated(&gateway, engine) - before, 2 * PINGS, "{node}");
    }
}

#[test]
fn xdp_tells_a_part_of_the_world_apart() {
    tells_parts_apart("xdp");
}

#[test]
fn tc_tells_a_part_of_the_world_apart() {
    tells_parts_apart("tc");
}

/// Behind each host is the rest of the world, and later a second router for part of it. One machine is both
/// routers: it acts as the router whose Ethernet address it has.
fn tells_parts_apart(engine: &str) {
    let Some(site) = Site::new() else {
        return;
    };
    let net = &site.net;
    let sides = [
        Behind {
            node: "server",
            link: "tos",
            routers: ["192.0.2.2", "192.0.2.3/24"],
            part: "198.18.0.0/15",
            hosts: ["1.1.1.1", "198.18.0.1"],
        },
        Behind {
            node: "host",
            link: "toh",
            routers: ["2001:db8:1::2", "2001:db8:1::3/64"],
            part: "3fff:800::/21",
            hosts: ["3fff::1", "3fff:800::1"],
        },
    ];
    for side in &sides {
        side.prepare(&site);
    }
    site.configure(&format!("{}{PLAT}", both_links(engine, "")));
    let gateway = site.start();
    for side in &sides {
        let arrive = || side.hosts.map(|host| side.reaches(&site, host));
        thread::sleep(READ);
        assert_eq!(arrive(), [true, true], "{}", gateway.log());
        let router = side.routers[1].split('/').next().unwrap();
        net.ip("gateway", &format!("route add {} via {router}", side.part));
        for wait in [HEARD, READ] {
            thread::sleep(wait);
            assert_eq!(arrive(), [true, false], "{}, {wait:?}", side.node);
        }
        side.become_router(&site, 1);
        assert_eq!(arrive(), [false, true], "{}", side.node);
        net.ip("gateway", &format!("route del {} via {router}", side.part));
        thread::sleep(HEARD);
        assert_eq!(arrive(), [false, false], "{}", side.node);
        side.become_router(&site, 0);
        thread::sleep(READ);
        assert_eq!(arrive(), [true, true], "{}", side.node);
    }
}

/// The networks behind a node.
struct Behind {
    node: &'static str,
    link: &'static str,
    /// The addresses of the node as either router.
    routers: [&'static str; 2],
    /// The network that the second router serves later.
    part: &'static str,
    /// A host of either part.
    hosts: [&'static str; 2],
}

impl Behind {
    fn prepare(&self, site: &Site) {
        let net = &site.net;
        let [first, second] = self.routers;
        // The host's own packets have another source.
        let more = if second.contains(':') {
            " nodad preferred_lft 0"
        } else {
            ""
        };
        net.ip(self.node, &format!("address add {second} dev eth0{more}"));
        for host in self.hosts {
            net.ip(self.node, &format!("address add {host} dev lo"));
        }
        let second = second.split('/').next().unwrap();
        for (number, router) in [first, second].into_iter().enumerate() {
            let address = ethernet(number);
            net.ip(
                "gateway",
                &format!(
                    "neigh replace {router} lladdr {address} dev {} nud permanent",
                    self.link
                ),
            );
        }
        self.become_router(site, 0);
        net.ip(
            "gateway",
            &format!("route add default via {first} dev {}", self.link),
        );
    }

    /// Takes the Ethernet address of one router.
    fn become_router(&self, site: &Site, number: usize) {
        let address = ethernet(number);
        let change = format!("link set eth0 address {address}");
        site.net.ip(self.node, &change);
    }

    /// Whether packets reach a host behind the node: a server's, or the answers to an IPv6 host's.
    fn reaches(&self, site: &Site, host: &str) -> bool {
        let net = &site.net;
        if self.node == "server" {
            return net.pings(&format!("64:ff9b::{host}"));
        }
        let mut ping = net.command("host", "ping");
        ping.args(["-n", "-c", "1", "-W", "1", "-I", host, SERVER]);
        ping.output().unwrap().status.success()
    }
}

fn ethernet(number: usize) -> String {
    format!("02:00:5e:00:54:0{number}")
}

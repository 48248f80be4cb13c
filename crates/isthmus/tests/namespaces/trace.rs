//! `isthmus trace` and `isthmus capture`: packets are seen on their way, in every engine.

use std::fs::{self, File};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use etherparse::{NetSlice, SlicedPacket, TransportSlice};
use serde_json::{Value, json};

use super::gateway::{Gateway, ISTHMUS};
use super::net::{possible, text};
use super::site::{PLAT, Site, both_links};

/// Time limit of what takes a moment: on an emulated processor the kernel verifies for a while.
const PATIENCE: Duration = Duration::from_secs(60);
const SERVER: &str = "64:ff9b::c000:202";

/// A gateway whose packets are followed.
struct World {
    site: Site,
    gateway: Gateway,
    engine: &'static str,
}

/// A command that follows packets, and where it writes.
struct Following {
    process: Child,
    files: [PathBuf; 2],
}

impl Following {
    fn said(&self) -> [String; 2] {
        self.files
            .clone()
            .map(|file| fs::read_to_string(file).unwrap_or_default())
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        let _ended = self.process.kill();
        let _waited = self.process.wait();
    }
}

impl World {
    /// Waits until the programs that look on are gone with the last who looks, and those that were `attached` before
    /// are left.
    fn until_nobody_looks_on(&self, attached: &[String]) {
        let begun = Instant::now();
        while self.gateway.bpf_links() != *attached {
            let links = self.gateway.bpf_links();
            assert!(begun.elapsed() < PATIENCE, "{links:?} {attached:?}");
            thread::sleep(Duration::from_millis(100));
        }
    }

    /// With this engine, or, after printing the reason, nothing.
    fn new(engine: &'static str) -> Option<Self> {
        if !possible() {
            return None;
        }
        let site = Site::new()?;
        let links = match engine {
            "user" => String::new(),
            other => both_links(other, ""),
        };
        site.configure(&format!("{links}{PLAT}"));
        for node in ["host", "server"] {
            site.net.offload(node, "eth0", &["tx", "off"]);
        }
        let gateway = site.start();
        let world = Self {
            site,
            gateway,
            engine,
        };
        // XDP leaves a packet to user space if its next hop is not resolved yet.
        assert!(world.site.net.pings(SERVER), "{}", world.gateway.log());
        Some(world)
    }

    fn follow(&self, words: &str) -> Following {
        let files = ["out", "err"].map(|name| self.site.path(name));
        let [out, err] = files.clone().map(|file| File::create(file).unwrap());
        let mut words = words.split(' ');
        let process = Command::new(ISTHMUS)
            .args(words.next())
            .args(["--socket", self.site.path("edge.sock").to_str().unwrap()])
            .args(words)
            .stdout(out)
            .stderr(err)
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        Following { process, files }
    }

    /// Sends packets until `following` has ended, and returns what it has written; `None`, after printing the
    /// reason, if the kernel does not let it look.
    fn until(&self, mut following: Following, mut send: impl FnMut(&Self)) -> Option<String> {
        let begun = Instant::now();
        loop {
            let ended: Option<ExitStatus> = following.process.try_wait().unwrap();
            let [out, err] = following.said();
            if self.engine != "user" && err.contains("Operation not permitted") {
                eprintln!(
                    "skipped: this kernel lets no program look at another: {}",
                    err.trim()
                );
                return None;
            }
            if let Some(status) = ended {
                assert!(status.success(), "{err}");
                assert_eq!(err, "");
                return Some(out);
            }
            assert!(
                begun.elapsed() < PATIENCE,
                "{out}{err}{}",
                self.gateway.log()
            );
            send(self);
        }
    }

    fn ping(&self) {
        self.site.net.pings(SERVER);
    }

    /// A datagram from the host.
    fn datagram(&self, to: &str) {
        self.from("host", "[::]:0", to);
    }

    fn from(&self, node: &str, at: &str, to: &str) {
        self.site.net.enter(node, || {
            let socket = UdpSocket::bind(at).unwrap();
            socket.send_to(b"four", to).unwrap();
        });
        thread::sleep(Duration::from_millis(50));
    }

    /// The IP packet of a form.
    fn packet(&self, form: &Value) -> Vec<u8> {
        let digits = form["bytes"].as_str().unwrap();
        let octet = |at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
        let bytes: Vec<u8> = (0..digits.len()).step_by(2).map(octet).collect();
        assert_eq!(form["length"], bytes.len());
        match self.engine {
            "user" => bytes,
            _ => bytes[14..].to_vec(),
        }
    }
}

fn events(lines: &str) -> Vec<Value> {
    lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The addresses of an echo, and its number.
fn echo(packet: &[u8]) -> ([IpAddr; 2], [u8; 2]) {
    let parsed = SlicedPacket::from_ip(packet).unwrap();
    let (ends, rest): ([IpAddr; 2], _) = match (parsed.net.unwrap(), parsed.transport.unwrap()) {
        (NetSlice::Ipv4(net), TransportSlice::Icmpv4(icmp)) => {
            let net = net.header();
            let ends = [net.source_addr().into(), net.destination_addr().into()];
            (ends, icmp.bytes5to8())
        }
        (NetSlice::Ipv6(net), TransportSlice::Icmpv6(icmp)) => {
            let net = net.header();
            assert!(icmp.is_checksum_valid(net.source(), net.destination()));
            let ends = [net.source_addr().into(), net.destination_addr().into()];
            (ends, icmp.bytes5to8())
        }
        other => panic!("{other:?}"),
    };
    (ends, [rest[2], rest[3]])
}

/// A ping is followed: each of its packets as it came and as it left, with the instance and the session.
fn follows_a_ping(engine: &'static str) {
    let Some(world) = World::new(engine) else {
        return;
    };
    let attached = world.gateway.bpf_links();
    let following = world.follow("trace --json --count 4 --protocol icmp --network 192.0.2.2");
    let Some(lines) = world.until(following, World::ping) else {
        return;
    };
    let inside: IpAddr = Ipv6Addr::new(0x2001, 0xdb8, 1, 0, 0, 0, 0, 2).into();
    let server: IpAddr = Ipv4Addr::new(192, 0, 2, 2).into();
    let mapped: IpAddr = SERVER.parse().unwrap();
    let events = events(&lines);
    assert_eq!(events.len(), 4);
    for event in &events {
        assert_eq!(
            (&event["engine"], &event["fate"]),
            (&json!(engine), &json!("sent"))
        );
        assert_eq!(event["left"].as_array().unwrap().len(), 1);
        let (came, came_number) = echo(&world.packet(&event["came"]));
        let (left, left_number) = echo(&world.packet(&event["left"][0]));
        assert_eq!(came_number, left_number);
        let session = &event["session"];
        let outside: IpAddr = session["outside-address"]
            .as_str()
            .unwrap()
            .parse()
            .unwrap();
        let (counter, link) = if came[0] == inside {
            assert_eq!((came, left), ([inside, mapped], [outside, server]));
            ("translated-6to4", "toh")
        } else {
            assert_eq!((came, left), ([server, outside], [mapped, inside]));
            ("translated-4to6", "tos")
        };
        let reason = json!({"instance": "plat", "counter": counter});
        assert!(
            event["reasons"].as_array().unwrap().contains(&reason),
            "{event}"
        );
        assert_eq!(session["inside-address"], inside.to_string());
        let rule = if came[0] == inside {
            json!({"instance": "plat", "address": mapped,
                "meaning": "stands for the IPv4 host 192.0.2.2 under 64:ff9b::/96"})
        } else {
            json!({"instance": "plat", "address": outside,
                "meaning": "is in the pool, with the ports 1024 to 65535"})
        };
        assert!(
            event["rules"].as_array().unwrap().contains(&rule),
            "{event}"
        );
        assert_eq!(event["link"], if engine == "user" { "" } else { link });
    }
    world.until_nobody_looks_on(&attached);
    assert!(world.site.net.pings(SERVER));
    assert!(world.gateway.stop().success());
}

/// Only what meets the conditions is told, and why it ended.
fn tells_what_was_dropped(engine: &'static str) {
    let Some(world) = World::new(engine) else {
        return;
    };
    let following = world.follow("trace --count 2 --dropped --port 4711");
    let said = world.until(following, |world| {
        world.ping();
        world.datagram(&format!("[{SERVER}]:4711"));
        world.from("server", "0.0.0.0:0", "203.0.113.5:4712");
        world.from("server", "0.0.0.0:0", "203.0.113.5:4711");
    });
    let Some(said) = said else {
        return;
    };
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.len(), 8, "{said}");
    for four in lines.chunks(4) {
        assert!(four[0].contains("> 203.0.113.5:4711 UDP, "), "{said}");
        let fate = four[1].trim_start();
        assert!(
            fate.starts_with("dropped") && fate.ends_with("(plat: no-binding)"),
            "{said}"
        );
        let rules = [
            format!("plat: 192.0.2.2 IPv6 hosts reach it at {SERVER}"),
            "plat: 203.0.113.5 is in the pool, with the ports 1024 to 65535".to_owned(),
        ];
        assert_eq!([four[2].trim(), four[3].trim()], rules, "{said}");
    }
    assert!(world.gateway.stop().success());
}

/// Both forms are in a file that other tools read.
fn captures(engine: &'static str) {
    let Some(world) = World::new(engine) else {
        return;
    };
    let file = world.site.path("both.pcapng");
    let words = format!("capture -w {} --count 3 --port 4711", file.display());
    let following = world.follow(&words);
    let send = |world: &World| world.datagram(&format!("[{SERVER}]:4711"));
    if world.until(following, send).is_none() {
        return;
    }
    let mut tcpdump = Command::new("tcpdump");
    let Ok(output) = tcpdump
        .args(["-Z", "root", "-nn", "-r"])
        .arg(&file)
        .output()
    else {
        eprintln!("skipped: tcpdump is not installed");
        return;
    };
    let said = text(&output);
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(
        lines.len(),
        6,
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    for two in lines.chunks(2) {
        assert!(
            two[0].contains("IP6 2001:db8:1::2.")
                && two[0].contains("> 64:ff9b::c000:202.4711: UDP"),
            "{said}"
        );
        assert!(
            two[1].contains("IP 203.0.113.") && two[1].contains("> 192.0.2.2.4711: UDP"),
            "{said}"
        );
    }
    let mut tshark = Command::new("tshark");
    let comments = tshark
        .args(["-T", "fields", "-e", "frame.comment", "-r"])
        .arg(&file)
        .output();
    let Ok(comments) = comments else {
        eprintln!("skipped: tshark is not installed, the comments are not read");
        return;
    };
    let comments = text(&comments);
    for (comment, form) in comments.lines().zip(["came", "left"].into_iter().cycle()) {
        assert!(
            comment.starts_with(form) && comment.contains("plat: translated-6to4"),
            "{comments}"
        );
    }
    assert_eq!(comments.lines().count(), 6, "{comments}");
    assert!(world.gateway.stop().success());
}

macro_rules! in_every_engine {
    ($($name:ident),+) => {$(
        mod $name {
            #[test]
            fn user() {
                super::$name("user");
            }

            #[test]
            fn xdp() {
                super::$name("xdp");
            }

            #[test]
            fn tc() {
                super::$name("tc");
            }
        }
    )+};
}
in_every_engine!(follows_a_ping, tells_what_was_dropped, captures);

/// Mistakes are told, and a client of the socket that only reads sees no packets.
#[test]
fn mistakes_are_told() {
    let Some(world) = World::new("user") else {
        return;
    };
    for (words, expected) in [
        (
            "trace --instance plat2",
            "there is no instance \"plat2\", but: plat",
        ),
        ("trace --protocol tls", "tls"),
        ("trace --network 2001:db8::/129", "2001:db8::/129"),
        ("capture --count 1", "--write"),
    ] {
        let mut following = world.follow(words);
        let status = following.process.wait().unwrap();
        let [_, err] = following.said();
        assert!(
            !status.success() && err.contains(expected),
            "{words}: {err}"
        );
    }
    assert!(world.gateway.stop().success());
}

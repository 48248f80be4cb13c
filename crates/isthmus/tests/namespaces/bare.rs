//! `isthmus bare run`: the gateway as a machine without an operating system, in QEMU, between two TAP links.
//!
//! ```text
//!  host ── 2001:db8:1::/64 ── toh = tap6 ── machine ── tap4 = tos ── 192.0.2.0/24 ── server
//!   ::2                                 ::1       .1                              .2
//! ```

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use isthmus_lab::network::topology::{End, Link, Neighbours, Node, Offloads, Role, Topology};
use isthmus_lab::{network::process, subjects::bare};

use crate::gateway::{Gateway, ISTHMUS};
use crate::net::{Net, possible, text};
use crate::softwires::traffic::{self, Way};

/// An emulated processor on a busy machine is slow.
const PATIENCE: Duration = Duration::from_secs(60);

const SIIT: &str = r#"
[[card]]
addresses = ["2001:db8:1::1/64"]

[[card]]
addresses = ["192.0.2.1/24"]

[[instance]]
name = "siit"
mechanism = "siit"
prefix = "2001:db8:46::/96"
eam = [{ v4 = "198.51.100.7", v6 = "2001:db8:1::2" }]
"#;
const NAT64: &str = r#"
[[card]]
addresses = ["2001:db8:1::1/64"]

[[card]]
addresses = ["192.0.2.1/24"]

[[instance]]
name = "plat"
mechanism = "nat64"
prefix = "64:ff9b::/96"
inside = ["2001:db8:1::/64"]
allow-non-global = true
allow-short-timers = true
pool = [{ addresses = "192.0.2.64/28" }]
subscriber-sessions = 64
max-sessions = 64
max-bindings = 64
timers = { icmp = 1, udp = 1 }
"#;
const AFTR: &str = r#"
[[card]]
addresses = ["2001:db8:1::1/64"]
routes = [{ to = "2001:db8:2::/64", via = "2001:db8:1::2" }]

[[card]]
addresses = ["192.0.2.1/24"]

[[instance]]
name = "aftr"
mechanism = "ds-lite"
role = "aftr"
local = "2001:db8:ffff::1"
softwires = ["2001:db8:2::/64"]
pool = [{ addresses = "192.0.2.64/28" }]
subscriber-sessions = 64
max-sessions = 64
max-bindings = 64
"#;
/// The host as the home router of a customer.
const B4: &str = r#"
[[instance]]
name = "b4"
mechanism = "ds-lite"
role = "b4"
local = "2001:db8:2::1"
aftr = "2001:db8:ffff::1"
"#;
/// The server, for the host; and the host, for the server.
const SERVER: &str = "2001:db8:46::192.0.2.2";
const HOST: &str = "198.51.100.7";

/// The machine as a file; `None` where it cannot be built or run, with the reason.
fn machine() -> Option<&'static Path> {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    if let Err(reason) = process::require("qemu-system-x86_64", "qemu-system-x86") {
        eprintln!("skipped: {reason}");
        return None;
    }
    let build = || bare::build().unwrap();
    Some(BUILT.get_or_init(build))
}

/// A machine that runs, and ends when this is dropped.
struct Machine {
    net: Net,
    folder: tempfile::TempDir,
    process: Child,
    keys: ChildStdin,
    console: Receiver<String>,
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.cut_power();
    }
}

impl Machine {
    /// Boots a machine with this configuration. Prints the reason if that is not possible here.
    fn boot(configuration: &str) -> Option<Self> {
        let machine = machine().filter(|_| possible())?;
        let net = network();
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("bare.toml"), configuration).unwrap();
        let (process, keys, console) = start(&net, folder.path(), machine);
        let it = Self {
            net,
            folder,
            process,
            keys,
            console,
        };
        it.says("isthmus: forwards");
        Some(it)
    }

    /// Waits for a line that begins like this, and returns those before it.
    fn says(&self, beginning: &str) -> Vec<String> {
        let mut lines = Vec::new();
        loop {
            let line = self.console.recv_timeout(PATIENCE);
            let line =
                line.unwrap_or_else(|_| panic!("no {beginning:?} on the console: {lines:#?}"));
            if line.starts_with(beginning) {
                return lines;
            }
            lines.push(line);
        }
    }

    /// Asks the console for a counter of the first instance.
    fn counter(&mut self, name: &str) -> u64 {
        self.keys.write_all(b"c").unwrap();
        let lines = self.says("counters end");
        let named = format!("counter 0 {name} ");
        let number = lines.iter().find_map(|line| line.strip_prefix(&named));
        number.map_or(0, |number| number.parse().unwrap())
    }

    fn cut_power(&mut self) {
        if matches!(self.process.try_wait(), Ok(Some(_))) {
            return;
        }
        // `isthmus` waits for QEMU, which is in its process group.
        let group = format!("-{}", self.process.id());
        let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
        let _ = self.process.wait();
    }

    fn start_again(&mut self) {
        self.cut_power();
        let machine = machine().unwrap();
        (self.process, self.keys, self.console) = start(&self.net, self.folder.path(), machine);
        self.says("isthmus: forwards");
    }
}

/// Starts a machine in a process group of its own.
fn start(net: &Net, folder: &Path, machine: &Path) -> (Child, ChildStdin, Receiver<String>) {
    use std::os::unix::process::CommandExt as _;
    let mut process = net
        .command("gateway", ISTHMUS)
        .args([
            "bare",
            "run",
            "--left",
            "tap6",
            "--right",
            "tap4",
            "--machine",
        ])
        .arg(machine)
        .arg(folder.join("bare.toml"))
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (keys, output) = (
        process.stdin.take().unwrap(),
        process.stdout.take().unwrap(),
    );
    let (said, console) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            let _ = said.send(line);
        }
    });
    (process, keys, console)
}

/// Hosts on links that are bridged to the links of the machine.
fn network() -> Net {
    let topology = Topology {
        nodes: vec![
            Node::new("host", Role::Plain, &["default via 2001:db8:1::1"]),
            Node::new("gateway", Role::Host, &[]),
            Node::new("server", Role::Plain, &["default via 192.0.2.1"]),
        ],
        links: vec![
            Link::veth(
                End::new("gateway", "toh", &[]),
                End::new("host", "eth0", &["2001:db8:1::2/64"]),
            ),
            Link::veth(
                End::new("gateway", "tos", &[]),
                End::new("server", "eth0", &["192.0.2.2/24"]),
            ),
        ],
        neighbours: Neighbours::Resolved,
        offloads: Offloads::On,
    };
    let net = Net::of(topology.build().unwrap());
    for (bridge, tap, link) in [("br6", "tap6", "toh"), ("br4", "tap4", "tos")] {
        net.ip(
            "gateway",
            &format!("link add {bridge} type bridge mcast_snooping 0"),
        );
        net.ip("gateway", &format!("tuntap add {tap} mode tap"));
        for end in [tap, link] {
            net.ip("gateway", &format!("link set {end} master {bridge}"));
        }
        for link in [bridge, tap] {
            net.ip("gateway", &format!("link set {link} addrgenmode none up"));
        }
    }
    net
}

#[test]
fn it_translates_in_both_directions() {
    let Some(mut machine) = Machine::boot(SIIT) else {
        return;
    };
    let net = &machine.net;
    assert!(comes(|| net.pings("2001:db8:1::1")));
    assert!(comes(|| net.pings_from("server", "192.0.2.1")));
    assert!(comes(|| net.pings(SERVER)));
    assert!(comes(|| net.pings_from("server", HOST)));
    // Errors of the machine itself: a hop limit that ends there, and packets that are too large.
    errs(
        net,
        "host",
        &["-t", "1", SERVER],
        "From 2001:db8:1::1 icmp_seq=1 Time exceeded",
    );
    errs(
        net,
        "server",
        &["-t", "1", HOST],
        "From 192.0.2.1 icmp_seq=1 Time to live exceeded",
    );
    errs(net, "server", &["-M", "do", "-s", "1472", HOST], "1480");
    let way = Way {
        at: "192.0.2.2",
        ..net.hosts().to(SERVER)
    };
    traffic::tcp(way, 1_000_000).unwrap();
    traffic::udp(way).unwrap();
    let dropped = machine.counter("engine-error");
    assert_eq!(dropped, 0);
    assert!(machine.counter("translated-6to4") > 100);
    assert!(machine.counter("translated-4to6") > 100);
}

/// Whether something comes true in time: an emulated machine may stand still for seconds where others work.
fn comes(mut true_now: impl FnMut() -> bool) -> bool {
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        if true_now() {
            return true;
        }
        thread::sleep(Duration::from_millis(50));
    }
    false
}

/// A ping with these options gets an error with these words.
fn errs(net: &Net, node: &str, options: &[&str], words: &str) {
    let mut ping = net.command(node, "ping");
    ping.args(["-n", "-c", "1", "-W", "3"]).args(options);
    let said = text(&ping.output().unwrap());
    assert!(said.contains(words), "{options:?}: {said}");
}

#[test]
fn it_shares_addresses_and_ends_idle_sessions() {
    let Some(mut machine) = Machine::boot(NAT64) else {
        return;
    };
    let net = &machine.net;
    let server = "64:ff9b::192.0.2.2";
    assert!(comes(|| net.pings(server)));
    let way = Way {
        at: "192.0.2.2",
        ..net.hosts().to(server)
    };
    traffic::tcp(way, 300_000).unwrap();
    traffic::udp(way).unwrap();
    // More sessions than the table has places, a few at a time: those before have ended.
    let turns =
        "for port in {2000..2099}; do echo > /dev/udp/64:ff9b::192.0.2.2/$port; sleep 0.1; done";
    process::run(net.command("host", "bash").args(["-c", turns])).unwrap();
    assert!(comes(|| net.pings(server)));
    // Where the machine is busy, a few datagrams are lost.
    assert!(machine.counter("session-created") > 80);
    assert_eq!(machine.counter("table-full"), 0);
    assert_eq!(machine.counter("subscriber-sessions"), 0);
}

#[test]
fn it_ends_softwires() {
    let Some(machine) = Machine::boot(AFTR) else {
        return;
    };
    let (net, folder) = (&machine.net, machine.folder.path());
    let file = folder.join("b4.toml");
    let control = format!("[gateway]\ncontrol = \"{}/edge.sock\"\n", folder.display());
    fs::write(&file, control + B4).unwrap();
    net.ip("host", "address add 192.168.1.1/32 dev lo");
    let forward = ["-w", "net.ipv6.conf.all.forwarding=1"];
    process::run(net.command("host", "sysctl").args(forward)).unwrap();
    let b4 = Gateway::spawn(net.command("host", ISTHMUS), folder, &file);
    let pings = |size: &str| {
        let mut ping = net.command("host", "ping");
        ping.args(["-n", "-c", "3", "-i", "0.2", "-W", "3", "-I", "192.168.1.1"]);
        let output = ping.args(["-s", size, "192.0.2.2"]).output().unwrap();
        text(&output).contains(" 3 received")
    };
    // The addresses of the host are new.
    assert!(comes(|| pings("56")));
    // As large as the link takes with the other header.
    assert!(comes(|| pings("1432")));
    assert!(b4.stop().success());
}

#[test]
fn looking_for_neighbours_that_are_not_there_takes_no_place_of_one_that_is() {
    // A network with many addresses.
    let configuration = SIIT.replace("\"192.0.2.1/24\"", "\"192.0.2.1/24\", \"198.18.0.1/16\"");
    let Some(machine) = Machine::boot(&configuration) else {
        return;
    };
    let net = &machine.net;
    assert!(comes(|| net.pings(SERVER)));
    // From here on the machine has what it remembers, or nothing: for half a minute it need not ask again.
    let run = |node, command| {
        process::run(net.command(node, "bash").args(["-c", command])).unwrap();
    };
    run("server", "sysctl -w net.ipv4.conf.eth0.arp_ignore=8");
    run(
        "host",
        "for i in 198.18.{1..3}.{0..255}; do echo > /dev/udp/2001:db8:46::$i/9; done",
    );
    assert!(comes(|| net.pings(SERVER)));
}

#[test]
fn it_starts_again_after_a_power_cut() {
    let Some(mut machine) = Machine::boot(SIIT) else {
        return;
    };
    assert!(comes(|| machine.net.pings(SERVER)));
    machine.start_again();
    assert!(comes(|| machine.net.pings(SERVER)));
    machine.keys.write_all(b"q").unwrap();
    machine.says("isthmus: ends");
    let ends = || matches!(machine.process.try_wait(), Ok(Some(status)) if status.success());
    assert!(comes(ends), "QEMU goes on");
}

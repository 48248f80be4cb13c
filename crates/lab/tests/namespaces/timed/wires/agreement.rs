//! The laboratory's figures beside those of others on the same path: `ping`, iperf3, and a sender in C that shares no line
//! with it. All are compared with the arithmetic of the path, or with what its cables were told to lose.

use std::{fs, num::NonZeroU32, path::Path, process::Command, time::Duration};

use isthmus_lab::{
    LabError, Result,
    figures::statistics::median,
    network::{
        cores::GATEWAY_CPU,
        device::{Device, Started},
        leftovers, plan,
        process::{self, Process},
        topology::{HOST4, HOST6, Neighbours, Network, Offloads, Topology},
        wire::{Direction, Ethernet, Fault, Medium, What, When},
    },
    subjects::isthmus::{Engine, Isthmus, Mechanism},
    traffic::{
        services,
        sockets::{
            Pair, Protocol,
            streaming::{Offered, Stream},
        },
        tools::{self, Traffic, Until},
    },
};
use tempfile::TempDir;

use super::{
    Attempt, measure, path, patient, payload, rate, report, routed, strangers, subjects, transport,
    with,
};

/// Octets of payload of every packet: the header of an echo is as long as that of UDP.
const OCTETS: u32 = 1000;
const PORT: u16 = 7100;
/// The rate of the cables, in megabits per second: a frame takes longer than hosts do.
const MEGABITS: u64 = 10;
/// How much longer a round trip may take than frames take on the cables: what hosts and programs take.
const TIME: f64 = 0.08;
/// How far a rate may be from what is right.
const RATE: f64 = 0.01;
/// How far a loss may be from what is right, in percentage points: a cable counts other frames too.
const LOSS: f64 = 1.0;

/// The complaint of iperf3 whose first datagram, or the answer to that, did not come.
const NOT_BEGUN: &str = "unable to read from stream socket: Resource temporarily unavailable";

/// How often iperf3 is asked to begin.
const BEGINNINGS: u32 = 4;

/// The sender in C.
struct Referee(TempDir);

impl Referee {
    fn build() -> Result<Self> {
        process::require("cc", "build-essential")?;
        let folder = leftovers::directory()?;
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/namespaces/timed/wires");
        let mut compiler = Command::new("cc");
        compiler.args(["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-o"]);
        compiler.arg(folder.path().join("referee"));
        process::run(compiler.arg(sources.join("referee.c")))?;
        Ok(Self(folder))
    }
}

/// A path, and all that measure it.
struct Scene<'a> {
    network: &'a Network,
    name: &'static str,
    pair: Pair,
    /// The far host as the near one knows it.
    target: String,
    /// The paths of the bound, there and back.
    ways: [&'static str; 2],
    referee: Referee,
    _device: Option<Started>,
}

impl Scene<'_> {
    /// The referee on a node, with these words.
    fn referee(&self, node: &str, words: &str) -> Command {
        let program = self.referee.0.path().join("referee").display().to_string();
        let node = self.network.node(node).unwrap();
        let mut command = node.command_on(GATEWAY_CPU, &program);
        command.args(words.split(' '));
        command
    }

    /// Starts the referee on the far host. Its socket is there.
    fn far(&self, words: &str) -> Process {
        let mut far = Process::start("referee", &mut self.referee(HOST4, words)).unwrap();
        let log = far.log().to_owned();
        let ready = || fs::read_to_string(&log).is_ok_and(|said| said.starts_with("ready\n"));
        far.wait_until(Duration::from_secs(5), ready).unwrap();
        far
    }

    /// Has the referee send so many datagrams in a second. Returns how many arrived, and their payload in bits per second.
    fn carried(&self, count: u32) -> (f64, f64) {
        let _awake = self.awake();
        let mut far = self.far(&format!("count {PORT} {count}"));
        let words = format!("send {} {PORT} {OCTETS} {count} {count}", self.target);
        process::run(&mut self.referee(HOST6, &words)).unwrap();
        let log = far.log().to_owned();
        let last = || {
            fs::read_to_string(&log)
                .unwrap()
                .lines()
                .nth(1)
                .map(str::to_owned)
        };
        // It ends when it has said it, which is no failure.
        let _ended = far.wait_until(Duration::from_secs(10), || last().is_some());
        let [arrived, octets, nanoseconds] = numbers(&last().expect("a count"));
        (arrived, octets * 8e9 / nanoseconds)
    }

    /// Our datagrams.
    fn stream(&self, offered: Offered) -> Stream {
        Stream {
            payload: payload(OCTETS),
            offered,
            duration: Duration::from_secs(1),
        }
    }

    /// Round trips in seconds: ours, those of the referee, and those of `ping`.
    fn round_trips(&self) -> [(&'static str, f64); 3] {
        let series = patient(Protocol::Udp, payload(OCTETS))
            .play(&self.pair)
            .unwrap();
        let exchanges = series.exchanges.iter();
        let mut ours: Vec<_> = exchanges.map(|one| one.round_trip.as_secs_f64()).collect();
        let _awake = self.awake();
        let _far = self.far(&format!("echo {PORT}"));
        let words = format!("ask {} {PORT} {OCTETS} 100", self.target);
        let said = process::run(&mut self.referee(HOST6, &words)).unwrap();
        let [answers, nanoseconds] = numbers(said.trim());
        assert_eq!((ours.len(), answers), (100, 100.0), "{said}");
        let mut pings = self.pings();
        assert_eq!(pings.len(), 100);
        [
            ("ours", median(&mut ours)),
            ("C", nanoseconds / 1e9),
            ("ping", median(&mut pings) / 1e3),
        ]
    }

    /// Keeps the hosts' processor from sleeping while others measure, by work that waits for all other work. A virtual processor
    /// takes 0.1 ms to wake, and each end of a round trip may have to wait for that: it is not the path's. Ours are measured without:
    /// beside such work their round trips took 1.8 times as long, and it is not known why.
    fn awake(&self) -> Process {
        let node = self.network.node(HOST6).unwrap();
        let mut command = node.command_on(GATEWAY_CPU, "chrt");
        command.args(["--idle", "0", "sh", "-c", "while :; do :; done"]);
        Process::start("work", &mut command).unwrap()
    }

    /// The times of a hundred pings that were answered, in milliseconds.
    fn pings(&self) -> Vec<f64> {
        let mut ping = self
            .network
            .node(HOST6)
            .unwrap()
            .command_on(GATEWAY_CPU, "ping");
        ping.args([
            "-n",
            "-c",
            "100",
            "-i",
            "0.01",
            "-W",
            "1",
            "-s",
            &OCTETS.to_string(),
        ]);
        let said = process::run(ping.arg(&self.target)).unwrap();
        let times = said
            .lines()
            .filter_map(|line| line.split_once("time=")?.1.split(' ').next());
        times.map(|time| time.parse().unwrap()).collect()
    }

    /// The result of iperf3 for so many datagrams at a rate in megabits per second. It has a few tries to begin: a path that
    /// loses frames may lose the one by which it asks for that.
    fn iperf(&self, megabits: u32, datagrams: u32) -> tools::Transfer {
        let [near, far] = [HOST6, HOST4].map(|host| self.network.node(host).unwrap());
        let load = Traffic::Udp {
            megabits,
            payload: OCTETS,
        };
        let until = Until::Blocks(datagrams);
        let once = || {
            let _server = services::start_iperf(far, GATEWAY_CPU).unwrap();
            tools::iperf(
                near,
                GATEWAY_CPU,
                &self.target,
                load,
                tools::Direction::Upload,
                until,
            )
        };
        let began = |result: &Result<_>| match result {
            Err(LabError::Output { output, .. }) => !output.contains(NOT_BEGUN),
            _ => true,
        };
        let mut tries = (0..BEGINNINGS).map(|_| once());
        tries.find(began).expect("iperf3 begins").unwrap()
    }
}

fn numbers<const N: usize>(line: &str) -> [f64; N] {
    let numbers = line.split(' ').map(|number| number.parse().unwrap());
    let numbers: Vec<f64> = numbers.collect();
    numbers.try_into().expect(line)
}

/// Good if all are within a range.
fn all_within(
    what: &str,
    seen: &[(&str, f64)],
    right: f64,
    range: std::ops::RangeInclusive<f64>,
) -> Attempt {
    let within = seen
        .iter()
        .map(|(who, seen)| range.contains(&report(&format!("{what}, {who}"), *seen, right)));
    // All of them are reported.
    match within.filter(|within| !within).count() {
        0 => Attempt::Good,
        _ => Attempt::Bad,
    }
}

/// Does something with the kernel's forwarding, and with a NAT64.
fn each(ethernet: &Ethernet, task: impl Fn(&Scene<'_>)) {
    with(&routed(ethernet.clone()), |network| {
        let [_, (_, pair)] = strangers(network);
        task(&Scene {
            network,
            name: "forwarding",
            pair,
            target: plan::HOST4_AS_IPV6.to_string(),
            ways: ["native-ipv6"; 2],
            referee: Referee::build().unwrap(),
            _device: None,
        });
    });
    let cables = Medium::Ethernet(ethernet.clone());
    let topology = Topology::translator(Neighbours::Static, Offloads::Off).over(&cables);
    with(&topology, |network| {
        let nat64 = Isthmus::new(Engine::Xdp, Mechanism::Nat64);
        let device = match nat64.start(network, GATEWAY_CPU) {
            Err(reason @ LabError::Missing { .. }) => return println!("skipped: {reason}"),
            started => started.unwrap(),
        };
        task(&Scene {
            network,
            name: "NAT64",
            pair: subjects::hosts(network),
            target: plan::embed(plan::HOST4).to_string(),
            ways: ["nat64-6to4", "nat64-4to6"],
            referee: Referee::build().unwrap(),
            _device: Some(device),
        });
    });
}

#[test]
fn on_a_round_trip() {
    each(&Ethernet::new(rate(MEGABITS)), |scene| {
        let ways = scene.ways.map(|way| path(way, rate(MEGABITS)));
        let frames = ways.map(|way| way.delay(transport(Protocol::Udp), payload(OCTETS)));
        let what = format!("round trip by {}", scene.name);
        measure(&what, || {
            let right = frames.iter().sum();
            all_within(&what, &scene.round_trips(), right, 0.999..=1.0 + TIME)
        });
    });
}

/// Twice of what a line carries is offered to it; and less, to be carried whole.
#[test]
fn on_a_rate() {
    each(&Ethernet::new(rate(MEGABITS)), |scene| {
        let way = path(scene.ways[0], rate(MEGABITS));
        let line = way.streaming(transport(Protocol::Udp), payload(OCTETS));
        let what = format!("full line by {}", scene.name);
        measure(&what, || {
            let ours = scene.stream(Offered::Line).run(&scene.pair).unwrap();
            let seen = [("ours", ours.goodput()), ("C", scene.carried(2400).1)];
            all_within(&what, &seen, line, 1.0 - RATE..=1.0 + RATE)
        });
        let what = format!("8 Mb/s by {}", scene.name);
        measure(&what, || {
            let ours = scene
                .stream(Offered::PerSecond(1000.0))
                .run(&scene.pair)
                .unwrap();
            let iperf = scene.iperf(8, 1000).bits_per_second;
            let seen = [
                ("ours", ours.goodput()),
                ("C", scene.carried(1000).1),
                ("iperf3", iperf),
            ];
            all_within(&what, &seen, 8e6, 1.0 - RATE..=1.0 + RATE)
        });
    });
}

/// Each of two cables loses every tenth frame.
#[test]
fn on_a_loss() {
    let fault = Fault {
        what: What::Drop,
        when: When::EveryNth(NonZeroU32::new(10).unwrap()),
    };
    let lossy = Ethernet::new(rate(MEGABITS)).fault(Direction::Forth, fault);
    each(&lossy, |scene| {
        let what = format!("percent lost by {}", scene.name);
        measure(&what, || {
            let ours = scene
                .stream(Offered::PerSecond(500.0))
                .run(&scene.pair)
                .unwrap();
            let seen = [
                ("ours", 100.0 * ours.lost() as f64 / ours.sent as f64),
                ("C", 100.0 - scene.carried(500).0 / 5.0),
                ("iperf3", scene.iperf(4, 500).lost_percent),
                ("ping", 100.0 - scene.pings().len() as f64),
            ];
            let right = 19.0;
            all_within(&what, &seen, right, 1.0 - LOSS / right..=1.0 + LOSS / right)
        });
    });
}

//! The experiments of the papers.
//!
//! * 000: Quintero, Sans, Gamess 2016: delay and throughput of ISATAP, 6to4 and NAT64
//! * 001: Tsetse et al.: IVI on Linux and without an operating system
//! * 002: Cordeiro, Carnier, Zucchi: DS-Lite, MAP-E, MAP-T, 464XLAT
//! * 003: Gamess, Surós 2008: the theoretical bound
//! * 004: Yu, Carpenter, Brownlee 2010: NAT64, NAT-PT and a proxy

use super::{
    definition::{Experiment, How},
    links::Links,
    measure::{
        applications, connections, delay, dns64, edge, files, frames, overhead, ping, steps, tcp,
        udp,
    },
    profile::Profile,
    standards::{self, WIRES},
    subject::{Carries, Setup, Subject},
    testbed::Testbed,
};
use crate::{
    Result,
    figures::results::{Point, Quantity, Scale},
};

const LOAD: &str = "UDP, 100 Mb/s of payload. `udp`: by the tester, which sends each datagram when it is due; if it \
    could not, or others had the cores, the trial is void. `iperf3`: the second opinion, where it could send the load \
    (for tunnels that begin in hosts, `udp` is iperf3). Sender, receiver and what runs in softirq are on one core, gateways \
    that are processes on the other.";
const CPU: &str = "iperf3 sends the same; where it could not send 100 Mb/s, there are no cores. `hosts` are sender and receiver by their own clocks, `gateways` the gateways' processes \
    by the scheduler's, `programs` the time in the gateways' BPF programs by the kernel's, each with what the kernel does \
    in their name; `udp` is all together. What runs in softirq runs in the sender's time: what the kernel, XDP and tc \
    take is the difference of `udp` to native forwarding, and of that to two hosts on one link. Datagrams that are lost \
    on the way cost less.";
const SLOW_EDGE: &str =
    "veth pairs without offloads, and an emulated machine as the customer's edge";
const AT_EDGE: &str = "UDP, 100 Mb/s of payload by the tester from the customer, as in `paper-002/throughput`. The edge is an emulated machine that has \
    125 million instructions in a second on every computer, two virtio cards and Debian 12's kernel. If it could not keep \
    this pace, or the load was not sent, the trial is void. The border is ours in XDP for all. `cpu` is the edge's own, by its own clock. The \
    machine is up to 3 ms ahead of its pace, so that packets leave it in bursts of so many: the jitter has that in it.";
const PING: &str =
    "ping, 2 ms apart, on the sender's core; the median after ten that do not count.";
const HTTP: &str = "One file after the other by HTTP/1.1, a connection for each, from nginx; both on the sender's core. Connecting ends \
    when the client has the answer to its SYN, the file's time when its last octet is there.";

const SIZE: Option<(&str, &str, Scale)> = Some(("payload", "bytes", Scale::Linear));
const FILE: Option<(&str, &str, Scale)> = Some(("file", "bytes", Scale::Linear));

const ETHERNET: &str =
    "Ethernet with true serialisation: a frame takes its time on each link, also when it is alone";
const PING_PONG: &str = "A message goes to the other host, which answers with one of the same size. One thread has both \
    hosts' sockets, and one clock. `forward` and `back` are from the first bit at the first cable to the last bit at the \
    end of the last; `mean` is half of the round trip between the applications, as in the paper.";
const STREAM: &str = "Messages of one size follow each other as fast as the first link takes them; payload that arrives, \
    between the first arrival and the last.";
const NONE: &str = "none";

/// Selects our translator whose steps can be run one by one.
fn our_siit(subject: &Subject) -> bool {
    subject.name == "siit-isthmus-user"
}

/// Estimates a ping-pong with all sizes at this rate in megabits per second: at 10, an exchange takes 10 ms on
/// average.
fn ping_pong(profile: Profile, megabits: u32) -> f64 {
    let sizes = profile.thin(&[(); 18]).len() as f64;
    let exchanges = f64::from((profile.exchanges() / 10).max(20) + 10);
    sizes * (0.1 + exchanges * 0.16 / f64::from(megabits))
}

/// Estimates a stream of each size.
fn stream(profile: Profile) -> f64 {
    profile.thin(&[(); 18]).len() as f64 * (profile.length().as_secs_f64() + 0.8)
}

/// Estimates one step.
fn steps_take(profile: Profile) -> f64 {
    0.0005 * f64::from(profile.exchanges().clamp(100, 2000))
}

/// Selects all subjects that carry packets.
fn packets(subject: &Subject) -> bool {
    subject.carries == Carries::Packets && !direct(subject)
}

/// Selects these and two hosts with nothing between them.
fn carried(subject: &Subject) -> bool {
    subject.carries == Carries::Packets
}

/// Selects two hosts on one link.
fn direct(subject: &Subject) -> bool {
    matches!(subject.setup, Setup::Direct(_))
}

/// Selects the mechanisms of paper 000.
fn of_paper_000(subject: &Subject) -> bool {
    let mechanisms = [
        "native IPv4",
        "native IPv6",
        "ISATAP",
        "6to4 hosts",
        "NAT64",
    ];
    let stateless = ["siit-tayga", "siit-tundra", "siit-jool"];
    mechanisms.contains(&subject.mechanism) || stateless.contains(&subject.name.as_str())
}

/// Selects all subjects that carry HTTP, in packets or as proxies.
fn http(subject: &Subject) -> bool {
    subject.carries != Carries::Dns && !direct(subject)
}

/// Selects the DNS64 servers.
fn dns(subject: &Subject) -> bool {
    subject.carries == Carries::Dns
}

/// Estimates a run of the tester and one of iperf3 for each size.
fn load(profile: Profile) -> f64 {
    profile.thin(&udp::SIZES).len() as f64 * (2.0 * profile.length().as_secs_f64() + 0.5)
}

/// The mechanisms of paper 002.
pub const OF_PAPER_002: [&str; 4] = ["DS-Lite", "MAP-E", "MAP-T", "464XLAT"];

fn of_paper_002(subject: &Subject) -> bool {
    OF_PAPER_002.contains(&subject.mechanism)
}

/// Estimates an experiment that uses the results of an earlier one.
fn nothing(_: Profile) -> f64 {
    0.1
}

/// The properties that several experiments have in common.
#[derive(Clone, Copy)]
struct Kind {
    quantity: Quantity,
    over: Option<(&'static str, &'static str, Scale)>,
    network: &'static str,
    method: &'static str,
    of: fn(&Subject) -> bool,
}

/// Delays over Ethernet, by size of message.
const DELAYS: Kind = Kind {
    quantity: Quantity::OneWayDelay,
    over: SIZE,
    network: ETHERNET,
    method: PING_PONG,
    of: of_paper_000,
};
/// The throughput of a stream over Ethernet, by size of message.
const STREAMS: Kind = Kind {
    quantity: Quantity::Throughput,
    method: STREAM,
    ..DELAYS
};
/// The same between two hosts on one link.
const DIRECT: Kind = Kind {
    of: direct,
    ..STREAMS
};
/// The transfer of files, by their size.
const FILES: Kind = Kind {
    quantity: Quantity::FileTime,
    over: FILE,
    network: WIRES,
    method: HTTP,
    of: http,
};
/// Datagrams at 100 Mb/s, by their size.
const OFFERED: Kind = Kind {
    quantity: Quantity::Throughput,
    over: SIZE,
    network: WIRES,
    method: LOAD,
    of: packets,
};
/// The processors that they keep busy.
const BUSY: Kind = Kind {
    quantity: Quantity::Cpu,
    method: CPU,
    of: carried,
    ..OFFERED
};

/// The same load at an edge that it may overload.
const AT_SLOW_EDGE: Kind = Kind {
    network: SLOW_EDGE,
    method: AT_EDGE,
    of: of_paper_002,
    ..OFFERED
};

impl Kind {
    /// Returns the same kind with another quantity.
    const fn measuring(self, quantity: Quantity) -> Self {
        Self { quantity, ..self }
    }

    /// Returns an experiment of this kind with its name, title and source, its measurement, and the estimate of its
    /// time.
    const fn experiment(
        self,
        [name, title, source]: [&'static str; 3],
        how: How,
        takes: fn(Profile) -> f64,
    ) -> Experiment {
        Experiment {
            name,
            title,
            source,
            quantity: self.quantity,
            over: self.over,
            network: self.network,
            method: self.method,
            of: self.of,
            how,
            takes,
        }
    }
}

type Measure = fn(&mut Testbed, Profile) -> Result<Vec<Point>>;

const fn ethernet(megabits: u32, measure: Measure) -> How {
    How::Live(Links::Ethernet(megabits), measure)
}

const fn unlimited(measure: Measure) -> How {
    How::Live(Links::Unlimited, measure)
}

const fn at_slow_edge(measure: Measure) -> How {
    How::Live(Links::SlowEdge, measure)
}

/// All experiments of the papers.
pub static EXPERIMENTS: [Experiment; 37] = [
    DELAYS.experiment(
        [
            "paper-000/delay-udp-10M",
            "One-way delay, UDP at 10 Mb/s",
            "Paper 000, measured there, but not shown",
        ],
        ethernet(10, delay::udp),
        |profile| ping_pong(profile, 10),
    ),
    DELAYS.experiment(
        [
            "paper-000/delay-tcp-10M",
            "One-way delay, TCP at 10 Mb/s",
            "Paper 000, figures 16 to 19",
        ],
        ethernet(10, delay::tcp),
        |profile| ping_pong(profile, 10),
    ),
    DELAYS.experiment(
        [
            "paper-000/delay-udp-100M",
            "One-way delay, UDP at 100 Mb/s",
            "Paper 000, figures 20 to 23",
        ],
        ethernet(100, delay::udp),
        |profile| ping_pong(profile, 100),
    ),
    DELAYS.experiment(
        [
            "paper-000/delay-tcp-100M",
            "One-way delay, TCP at 100 Mb/s",
            "Paper 000, figures 24 to 27",
        ],
        ethernet(100, delay::tcp),
        |profile| ping_pong(profile, 100),
    ),
    STREAMS.experiment(
        [
            "paper-000/throughput-udp-10M",
            "UDP throughput at 10 Mb/s",
            "Paper 000, figures 28 to 31",
        ],
        ethernet(10, delay::udp_throughput),
        stream,
    ),
    STREAMS.experiment(
        [
            "paper-000/throughput-udp-100M",
            "UDP throughput at 100 Mb/s",
            "Paper 000, figures 32 to 35",
        ],
        ethernet(100, delay::udp_throughput),
        stream,
    ),
    Experiment {
        name: "paper-001/steps",
        title: "Cost of the steps of a translation",
        source: "Paper 001, figures 5 and 6",
        quantity: Quantity::Cost,
        over: None,
        network: NONE,
        method: "Our own code on a packet of 1024 bytes in memory. `header` is the whole translation with all \
            the other steps in it, as in the paper; `tcp`, `udp` and `icmp` are the checksum's adjustment.",
        of: our_siit,
        how: How::Apart(steps::all),
        takes: |profile| 12.0 * steps_take(profile),
    },
    Experiment {
        name: "paper-001/prefix-length",
        title: "Cost of a translation by prefix length",
        source: "Paper 001, figures 10 and 11",
        quantity: Quantity::Cost,
        over: Some(("prefix length", "bits", Scale::Linear)),
        network: NONE,
        method: "Our own code on a packet of 1024 bytes in memory.",
        of: our_siit,
        how: How::Apart(steps::by_prefix),
        takes: |profile| 12.0 * steps_take(profile),
    },
    Experiment {
        name: "paper-001/packet-rate",
        title: "Packets of 1024 bytes without loss",
        source: "Paper 001, figure 7",
        quantity: Quantity::PacketRate,
        over: None,
        network: WIRES,
        method: standards::NDR,
        of: frames::is_known,
        how: unlimited(frames::throughput::of_1024),
        takes: |profile| standards::search(profile, 1),
    },
    Experiment {
        name: "paper-001/round-trip",
        title: "Round trip of a ping of 1024 bytes",
        source: "Paper 001, figure 8",
        quantity: Quantity::RoundTrip,
        over: None,
        network: WIRES,
        method: PING,
        of: packets,
        how: unlimited(ping::of_1024),
        takes: |profile| 0.1 + 0.002 * f64::from(profile.exchanges()),
    },
    FILES.measuring(Quantity::ConnectTime).experiment(
        [
            "paper-001/connect",
            "Time until a TCP connection is open",
            "Paper 001, figures 14, 15 and 18",
        ],
        unlimited(files::connect),
        |profile| 0.2 + 0.0005 * f64::from(profile.exchanges()),
    ),
    FILES.experiment(
        [
            "paper-001/files",
            "Time until a file is complete",
            "Paper 001, figure 19",
        ],
        unlimited(files::time),
        nothing,
    ),
    FILES.measuring(Quantity::FileThroughput).experiment(
        [
            "paper-001/file-throughput",
            "Throughput of a file's transfer",
            "Paper 001, figure 20",
        ],
        unlimited(files::throughput),
        nothing,
    ),
    OFFERED.experiment(
        [
            "paper-002/throughput",
            "UDP throughput at 100 Mb/s offered",
            "Paper 002, figure 8",
        ],
        unlimited(udp::throughput),
        load,
    ),
    Experiment {
        name: "paper-002/throughput-tcp",
        title: "TCP throughput by size of segment",
        source: "Paper 002, figure 8",
        quantity: Quantity::Throughput,
        over: SIZE,
        network: WIRES,
        method: "iperf3, one connection for each size, whose segments have so much payload and timestamps, from \
            the client; sender, receiver and what runs in softirq on one core, gateways that are processes on \
            the other.",
        of: packets,
        how: unlimited(tcp::throughput),
        takes: |profile| {
            tcp::sizes(profile).len() as f64 * (f64::from(tcp::seconds(profile)) + 0.3)
        },
    },
    OFFERED.measuring(Quantity::Loss).experiment(
        [
            "paper-002/loss",
            "UDP loss at 100 Mb/s offered",
            "Paper 002, figure 7",
        ],
        unlimited(udp::loss),
        nothing,
    ),
    OFFERED.measuring(Quantity::Jitter).experiment(
        [
            "paper-002/jitter",
            "Jitter at 100 Mb/s offered",
            "Paper 002, figure 6",
        ],
        unlimited(udp::jitter),
        nothing,
    ),
    BUSY.experiment(
        [
            "paper-002/cpu",
            "Cores busy at 100 Mb/s offered",
            "Paper 002, figure 4",
        ],
        unlimited(udp::cpu),
        nothing,
    ),
    BUSY.measuring(Quantity::Cost).experiment(
        [
            "paper-002/cost",
            "Processor time for a packet at 100 Mb/s offered",
            "Paper 002, figure 4, by packet",
        ],
        unlimited(udp::cost),
        nothing,
    ),
    AT_SLOW_EDGE.experiment(
        [
            "paper-002/slow-edge-throughput",
            "UDP throughput at a slow edge",
            "Paper 002, figure 8, with its regime",
        ],
        at_slow_edge(edge::throughput),
        edge::takes,
    ),
    AT_SLOW_EDGE.measuring(Quantity::Loss).experiment(
        [
            "paper-002/slow-edge-loss",
            "UDP loss at a slow edge",
            "Paper 002, figure 7, with its regime",
        ],
        at_slow_edge(edge::loss),
        nothing,
    ),
    AT_SLOW_EDGE.measuring(Quantity::Jitter).experiment(
        [
            "paper-002/slow-edge-jitter",
            "Jitter at a slow edge",
            "Paper 002, figure 6, with its regime",
        ],
        at_slow_edge(edge::jitter),
        nothing,
    ),
    AT_SLOW_EDGE.measuring(Quantity::Cpu).experiment(
        [
            "paper-002/slow-edge-cpu",
            "Processor of a slow edge",
            "Paper 002, figure 4, with its regime",
        ],
        at_slow_edge(edge::cpu),
        nothing,
    ),
    Experiment {
        name: "paper-002/latency",
        title: "Round trip by size",
        source: "Paper 002, figure 5",
        quantity: Quantity::RoundTrip,
        over: SIZE,
        network: WIRES,
        method: PING,
        of: packets,
        how: unlimited(ping::by_size),
        takes: |profile| {
            let sizes = profile.thin(&udp::SIZES).len() as f64;
            sizes * (0.1 + 0.002 * f64::from(profile.exchanges()))
        },
    },
    Experiment {
        name: "paper-002/overhead",
        title: "Bytes added to a packet in the core",
        source: "Paper 002, section on header overhead",
        quantity: Quantity::Overhead,
        over: None,
        network: ETHERNET,
        method: "Counted on the cables before and behind the first gateway, of 200 datagrams of 100 bytes.",
        of: packets,
        how: ethernet(100, overhead::added),
        takes: |_| 0.8,
    },
    Experiment {
        name: "paper-002/applications",
        title: "Applications by mechanism",
        source: "Paper 002, tables of applications and operating systems",
        quantity: Quantity::Works,
        over: None,
        network: WIRES,
        method: "All at once. curl (pages, files, FTP), dig, ping and traceroute ask nginx, unbound and an FTP \
            server, by the address that the mechanism has for the server. A call is a second of G.711 in both \
            directions, of which 5 % may be lost. `ESP` is an echo of packets of IPsec. For `IPv4 literal` and `IPv4-only \
            program` the server's own address is asked for by a client that has IPv4 only if the mechanism is there to \
            carry it. `unasked from outside`: the server connects to the address that it has seen the client have.",
        of: packets,
        how: unlimited(applications::all),
        takes: |_| 2.0,
    },
    Experiment {
        name: "paper-002/everyday",
        title: "Ten everyday applications by mechanism",
        source: "Paper 002, section on applications",
        quantity: Quantity::Works,
        over: None,
        network: WIRES,
        method: "The programs that people use, each at the same time through the mechanism and over native IPv4: what \
            fails or is slow natively too says nothing of the mechanism. Our gateways give ports to hosts that ask \
            (PCP, NAT-PMP); only the row that says so asks.",
        of: packets,
        how: How::Apart(applications::everyday),
        takes: |_| 60.0,
    },
    Experiment {
        name: "paper-004/connections",
        title: "From a request to its answer, with many connections at once",
        source: "Paper 004, plan for 1 to 100 simultaneous connections",
        quantity: Quantity::RoundTrip,
        over: Some(("connections", "", Scale::Logarithmic)),
        network: WIRES,
        method: "HTTP/1.1 on connections that stay, a thread for each, from nginx: `small` answers have 100 \
            bytes, `large` ones 100,000.",
        of: http,
        how: unlimited(connections::round_trips),
        takes: |profile| 0.5 + 0.003 * f64::from(profile.exchanges()),
    },
    Experiment {
        name: "paper-004/round-trip",
        title: "From a request to its answer, in the simplest case",
        source: "Paper 004, table of round trips",
        quantity: Quantity::RoundTrip,
        over: None,
        network: WIRES,
        method: "HTTP/1.1 on one connection that stays, an answer of 100 bytes, from nginx.",
        of: http,
        how: unlimited(connections::simplest),
        takes: |profile| 0.3 + 0.0002 * f64::from(profile.exchanges()),
    },
    Experiment {
        name: "rfc8219/dns64",
        title: "AAAA queries answered",
        source: "RFC 8219 section 9",
        quantity: Quantity::QueryRate,
        over: Some(("cached", "%", Scale::Linear)),
        network: WIRES,
        method: "AAAA queries over IPv6 at a fixed rate for names that have an A record only, to a server on a \
            core of its own that asks an authoritative one over IPv4. The highest rate at which every query is \
            answered with an AAAA within a second, searched to 5 % (smoke: 20 %). `cached` is the share of queries for names \
            that were asked before.",
        of: dns,
        how: unlimited(dns64::rates),
        takes: |profile| {
            10.0 * profile.length().as_secs_f64() * dns64::shares(profile).len() as f64
        },
    },
    DIRECT.experiment(
        [
            "paper-003/throughput-udp-10M",
            "UDP throughput of two hosts at 10 Mb/s",
            "Paper 003, measured beside its upper bound",
        ],
        ethernet(10, delay::udp_throughput),
        stream,
    ),
    DIRECT.experiment(
        [
            "paper-003/throughput-tcp-10M",
            "TCP throughput of two hosts at 10 Mb/s",
            "Paper 003, measured beside its upper bound",
        ],
        ethernet(10, delay::tcp_throughput),
        stream,
    ),
    DIRECT.experiment(
        [
            "paper-003/throughput-udp-100M",
            "UDP throughput of two hosts at 100 Mb/s",
            "Paper 003, measured beside its upper bound",
        ],
        ethernet(100, delay::udp_throughput),
        stream,
    ),
    DIRECT.experiment(
        [
            "paper-003/throughput-tcp-100M",
            "TCP throughput of two hosts at 100 Mb/s",
            "Paper 003, measured beside its upper bound",
        ],
        ethernet(100, delay::tcp_throughput),
        stream,
    ),
    DIRECT.experiment(
        [
            "paper-003/throughput-udp-1000M",
            "UDP throughput of two hosts at 1000 Mb/s",
            "Paper 003, measured beside its upper bound",
        ],
        ethernet(1000, delay::udp_throughput),
        stream,
    ),
    DIRECT.experiment(
        [
            "paper-003/throughput-tcp-1000M",
            "TCP throughput of two hosts at 1000 Mb/s",
            "Paper 003, measured beside its upper bound",
        ],
        ethernet(1000, delay::tcp_throughput),
        stream,
    ),
    Experiment {
        name: "paper-004/size",
        title: "Round trip by size of message",
        source: "Paper 004, figure by packet size",
        quantity: Quantity::RoundTrip,
        over: SIZE,
        network: WIRES,
        method: PING_PONG,
        of: packets,
        how: unlimited(delay::round_trips),
        takes: |profile| {
            let sizes = profile.thin(&[(); 18]).len() as f64;
            sizes * (0.1 + 0.0003 * f64::from(profile.exchanges()))
        },
    },
];

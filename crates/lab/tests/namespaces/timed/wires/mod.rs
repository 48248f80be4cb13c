//! Links with line rates, and what is measured over them.
//!
//! The expectation is arithmetic: the lengths of frames and the line rate, and what the same path takes without
//! cables in the same run. What the lab's own clocks say about a lone frame is compared with the time stamps that the
//! kernel gives to captured packets.

mod agreement;
mod delay;
mod faults;
mod kernel_clock;
mod subjects;
mod throughput;

use std::{net::IpAddr, time::Duration};

use isthmus_lab::{
    LabError, Result,
    figures::{
        bound::{self, Mtu, Payload, Rate, TcpOptions, Transport},
        statistics::median,
    },
    network::{
        plan,
        topology::{HOST_INTERFACE, HOST4, HOST6, Neighbours, Network, Offloads, Topology},
        wire::{Ethernet, Medium},
    },
    traffic::sockets::{
        Host, Pair, Protocol,
        pingpong::{Delay, Exchange, PingPong, Series},
    },
};

/// Builds a network and uses it alone, or says why it cannot be built here.
fn with(topology: &Topology, task: impl FnOnce(&Network)) {
    let _turn = super::turn();
    match topology.build() {
        Ok(network) => task(&network),
        Err(reason @ (LabError::NotRoot | LabError::OneCpu | LabError::Missing { .. })) => {
            println!("skipped: {reason}");
        }
        Err(error) => panic!("{error}"),
    }
}

fn rate(megabits: u64) -> Rate {
    Rate::new(megabits * 1_000_000).unwrap()
}

fn payload(bytes: u32) -> Payload {
    Payload::new(bytes).unwrap()
}

/// Returns two hosts and a cable.
fn direct(ethernet: Ethernet) -> Topology {
    Topology::direct(Neighbours::Static, Offloads::Off).over(&Medium::Ethernet(ethernet))
}

/// Returns two hosts and a router that forwards both protocols.
fn routed(ethernet: Ethernet) -> Topology {
    without_cables().over(&Medium::Ethernet(ethernet))
}

/// The same with links that take no time.
fn without_cables() -> Topology {
    Topology::dual_stack(Neighbours::Static, Offloads::Off)
}

fn pair(network: &Network, near: impl Into<IpAddr>, far: impl Into<IpAddr>) -> Result<Pair> {
    Ok(Pair::new(
        Host::new(network, HOST6, HOST_INTERFACE, near)?,
        Host::new(network, HOST4, HOST_INTERFACE, far)?,
    ))
}

/// Returns the hosts of [`direct`].
fn neighbours(network: &Network) -> Pair {
    pair(network, plan::HOST6_AS_IPV4, plan::GATEWAY6_AS_IPV4).unwrap()
}

/// Returns the hosts of [`routed`], by protocol, with the name of the path in the bound.
fn strangers(network: &Network) -> [(&'static str, Pair); 2] {
    let v4 = pair(network, plan::HOST6_AS_IPV4, plan::HOST4).unwrap();
    let v6 = pair(network, plan::HOST6, plan::HOST4_AS_IPV6).unwrap();
    [("native-ipv4", v4), ("native-ipv6", v6)]
}

/// Returns the bound's path between them.
fn path(name: &str, rate: Rate) -> bound::Path {
    let mechanism = bound::Mechanism::named(name).unwrap();
    mechanism.path(rate, Mtu::ETHERNET)
}

/// Returns the transport of the hosts here: Linux has timestamps in TCP.
fn transport(protocol: Protocol) -> Transport {
    match protocol {
        Protocol::Udp => Transport::Udp,
        Protocol::Tcp => Transport::Tcp(TcpOptions::Timestamps),
    }
}

/// A game in which nothing is lost because a machine is busy.
fn patient(protocol: Protocol, payload: Payload) -> PingPong {
    PingPong {
        timeout: Duration::from_secs(10),
        ..PingPong::new(protocol, payload)
    }
}

/// The outcome of a measurement.
enum Attempt {
    /// It is as the test expects.
    Good,
    /// It is not as expected: other work on this machine may have disturbed it.
    Bad,
    /// It cannot be told: the cables did not keep time, or hosts and the cables' ends take too much of it on this machine.
    Void,
}

/// Measures until it is good: what a path is to reach, it has to reach once. It is not reached if four measurements say
/// so that are not void. Says that the test is skipped if there are not so many.
fn measure(what: &str, mut once: impl FnMut() -> Attempt) {
    let mut bad = 0;
    for _ in 0..6 {
        match once() {
            Attempt::Good => return,
            Attempt::Bad => bad += 1,
            Attempt::Void => {}
        }
        assert!(bad < 4, "{what}");
    }
    println!("skipped: this machine is too busy or too slow to tell: {what}");
}

/// The exchanges in which the cables kept time, if these are the better half.
fn punctual(series: &Series, tolerance: Duration) -> Option<Vec<Exchange>> {
    let in_time =
        |exchange: &&Exchange| exchange.wires_error.is_some_and(|error| error < tolerance);
    let exchanges: Vec<_> = series.exchanges.iter().filter(in_time).copied().collect();
    (exchanges.len() * 2 > series.exchanges.len()).then_some(exchanges)
}

/// The least, in seconds: other work on the machine adds to a time and takes nothing away.
fn least(times: impl Iterator<Item = Duration>) -> f64 {
    times.min().expect("a time").as_secs_f64()
}

/// The least delay at the sockets of a path without cables, there and back, in seconds: what hosts and devices take on
/// this machine as it is now, and a gateway that wakes up a thread for one direction and not for the other.
fn bare(game: &PingPong, pair: &Pair) -> [f64; 2] {
    let exchanges = game.play(pair).unwrap().exchanges;
    let ways = [
        |exchange: &Exchange| exchange.forth.sockets,
        |exchange: &Exchange| exchange.back.sockets,
    ];
    ways.map(|way| least(exchanges.iter().map(way)))
}

/// The same of a path that takes as long there as back.
fn bare_either_way(game: &PingPong, pair: &Pair) -> f64 {
    let [forth, back] = bare(game, pair);
    forth.min(back)
}

/// Returns the time that a path with cables may take, given the time that it takes without: a cable's ends are TAP devices, which
/// cost more than those of a veth.
fn at_most(bound: f64, bare: f64) -> f64 {
    bound * 1.02 + 3.0 * bare
}

/// The delays of a path, in seconds.
///
/// Other work on the machine adds to a time, so that the least is the path's own. An end of a cable hands a frame over
/// by the time that this costs as a rule: one hand-over in ten is cheaper and the frame early by the difference, so
/// that only a median shows that no time is missing.
struct Delays {
    /// The least at the sockets.
    sockets: f64,
    /// The least between the cables' ends.
    wires: f64,
    /// The median of what the hosts add: the delay at the sockets without that between the cables' ends.
    hosts: f64,
}

impl Delays {
    /// Both ways together.
    fn of(exchanges: &[Exchange]) -> Self {
        Self::new(
            exchanges
                .iter()
                .flat_map(|exchange| [exchange.forth, exchange.back]),
        )
    }

    fn new(ways: impl Iterator<Item = Delay> + Clone) -> Self {
        let wires = |delay: Delay| {
            delay
                .wires
                .expect("both hosts have a cable with a line rate")
        };
        let hosts = |delay: Delay| delay.sockets.as_secs_f64() - wires(delay).as_secs_f64();
        Self {
            sockets: least(ways.clone().map(|delay| delay.sockets)),
            wires: least(ways.clone().map(wires)),
            hosts: median(&mut ways.map(hosts).collect::<Vec<_>>()),
        }
    }
}

/// Prints a value and the bound, and returns their ratio.
fn report(what: &str, seen: f64, bound: f64) -> f64 {
    let ratio = seen / bound;
    println!("{what}: {seen:.6e} of {bound:.6e}, ratio {ratio:.4}");
    ratio
}

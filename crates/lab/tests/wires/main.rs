//! Links with line rates in network namespaces (netns), and measurements over them. Needs root; without it a test
//! reports why it is skipped.
//!
//! The expectations are arithmetic: the lengths of frames and the line rate. The lab's own clocks for a single frame
//! are compared with the time stamps that the kernel gives to captured packets.

mod delay;
mod faults;
mod kernel_clock;
mod subjects;
mod throughput;

use std::{
    net::IpAddr,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use isthmus_lab::{
    LabError, Result,
    bound::{self, Mtu, Payload, Rate, TcpOptions, Transport},
    plan,
    sockets::{
        Host, Pair,
        pingpong::{Delay, Exchange, Protocol, Series},
    },
    topology::{HOST_INTERFACE, HOST4, HOST6, Neighbours, Network, Offloads, Topology},
    wire::{Ethernet, Medium},
};

/// Two networks at once would disturb each other's timing on a small machine.
static ALONE: Mutex<()> = Mutex::new(());

/// Builds a network and uses it alone, or prints why it cannot be built here.
fn with(topology: &Topology, task: impl FnOnce(&Network)) {
    let _turn = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
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
    Topology::dual_stack(Neighbours::Static, Offloads::Off).over(&Medium::Ethernet(ethernet))
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

/// The result of a measurement.
enum Attempt {
    /// It is as expected.
    Good,
    /// It is not as expected: other work on this machine may have disturbed it.
    Bad,
    /// The cables did not keep time.
    Void,
}

/// Measures until the result is good, a few times at most: one good result is enough. If the cables never kept time,
/// it prints why the test is skipped.
fn measure(what: &str, mut once: impl FnMut() -> Attempt) {
    let mut bad = false;
    for _ in 0..4 {
        match once() {
            Attempt::Good => return,
            Attempt::Bad => bad = true,
            Attempt::Void => {}
        }
    }
    assert!(!bad, "{what}");
    println!("skipped: this machine is too busy for the cables to keep time: {what}");
}

/// A ratio is good if it is at most 5 % below one. A ratio above the bound is never right: it occurs if the sockets'
/// thread was delayed at the first message.
fn full(ratio: f64) -> Attempt {
    if (0.95..1.005).contains(&ratio) {
        Attempt::Good
    } else {
        Attempt::Bad
    }
}

/// Returns the exchanges in which the cables kept time, if these are the majority.
fn punctual(series: &Series, tolerance: Duration) -> Option<Vec<Exchange>> {
    let in_time =
        |exchange: &&Exchange| exchange.wires_error.is_some_and(|error| error < tolerance);
    let exchanges: Vec<_> = series.exchanges.iter().filter(in_time).copied().collect();
    (exchanges.len() * 2 > series.exchanges.len()).then_some(exchanges)
}

/// Returns the median, in seconds.
fn median(times: impl Iterator<Item = Duration>) -> f64 {
    let mut times: Vec<f64> = times.map(|time| time.as_secs_f64()).collect();
    isthmus_lab::measure::median(&mut times)
}

/// Returns the medians of both directions together: at the sockets, and between the cables' ends.
fn delays(exchanges: &[Exchange]) -> (f64, f64) {
    let ways = || {
        exchanges
            .iter()
            .flat_map(|exchange| [exchange.forth, exchange.back])
    };
    let wires = |delay: Delay| {
        delay
            .wires
            .expect("both hosts have a cable with a line rate")
    };
    (
        median(ways().map(|delay| delay.sockets)),
        median(ways().map(wires)),
    )
}

/// Prints a value and the bound, and returns their ratio.
fn report(what: &str, seen: f64, bound: f64) -> f64 {
    let ratio = seen / bound;
    println!("{what}: {seen:.6e} of {bound:.6e}, ratio {ratio:.4}");
    ratio
}

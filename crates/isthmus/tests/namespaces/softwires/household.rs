//! Hosts of one household, of which one opens flows as fast as it can: what becomes of the others, where programs make
//! the sessions.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use isthmus_lab::experiments::attack::{Flood, Packets, Rate, datagram};
use isthmus_lab::subjects::provider::{self, Mechanism};
use isthmus_lab::traffic::packet::Ends;

use super::net::Net;
use super::traffic;
use crate::gateway::Gateway;
use crate::net::text;

/// The flows that the attacker opens in a second: ten times as many as a host may.
const RATE: u32 = 10_000;
/// A second's worth of flows has come before anything is asked.
const SETTLE: Duration = Duration::from_secs(1);
/// The counter of flows for which no port was left.
const EXHAUSTED: &str = "pool-exhausted";
/// The attacker, which sends from the link of the victim.
const ATTACKER: Ipv4Addr = Ipv4Addr::new(192, 168, 1, 77);
/// Where nobody answers (RFC 2544 appendix C.2.2).
const NOWHERE: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
/// Ports of the attacker.
const PORTS: u64 = 60_000;

/// A CLAT and its PLAT with room for all that the attacker may open in a test.
const ROOMY: Mechanism = Mechanism {
    ce: &[r#"mechanism = "clat"
prefix = "2001:db8:ffff::/96"
local = "2001:db8:12::464"
inside = ["192.168.0.0/16"]
max-sessions = 65536
max-bindings = 65536"#],
    br: &[r#"mechanism = "nat64"
prefix = "2001:db8:ffff::/96"
pool = [{ addresses = "203.0.113.0/28" }]
pooling = "soft"
subscriber-session-rate = 1000000000
max-sessions = 65536
max-bindings = 65536"#],
    ..provider::CLAT
};

/// Packets of one flow after another.
fn flows(number: u64) -> Vec<u8> {
    let port = 1024 + (number % PORTS) as u16;
    datagram(Ends::V4(ATTACKER, NOWHERE), (port, 9), &[0; 18])
}

/// The outcome of an attack.
struct Outcome {
    /// The share of the victim's pings that were answered.
    answered: f64,
    /// Flows of the attacker that were refused because it opens too many, in a second.
    refused: f64,
    /// Packets that took the slow path, in a second.
    slow: f64,
}

impl Outcome {
    /// The victim lost little, which a busy machine may have done, and user space had little to do with the attack.
    fn held(&self, said: &str) {
        let Self {
            answered,
            refused,
            slow,
        } = self;
        let told = format!("{answered} answered, {refused:.0}/s refused, {slow:.0}/s slow\n{said}");
        println!("{told}");
        assert!(*answered >= 0.8, "{told}");
        assert!(*refused > f64::from(RATE) / 10.0, "{told}");
        assert!(*slow < f64::from(RATE) / 20.0, "{told}");
    }
}

/// Runs the pings of the victim beside the attack, once no port is left if `full`.
fn beside(net: &Net, ce: &Gateway, full: bool, pings: impl FnOnce() -> f64) -> Outcome {
    let packets: Packets = Arc::new(flows);
    let rate = Rate::PerSecond(RATE);
    let flood = Flood::start(&net.client, &packets, 0, rate).unwrap();
    std::thread::sleep(SETTLE);
    if full {
        ce.wait_until(|ce| crate::counted(&ce.json("counters"), EXHAUSTED) > 0);
    }
    let count = || {
        let counters = ce.json("counters");
        ["subscriber-rate", "slow-path"].map(|name| crate::counted(&counters, name) as f64)
    };
    let (before, began) = (count(), Instant::now());
    let answered = pings();
    let (after, seconds) = (count(), began.elapsed().as_secs_f64());
    flood.stop().unwrap();
    let [refused, slow] = [0, 1].map(|at| (after[at] - before[at]) / seconds);
    Outcome {
        answered,
        refused,
        slow,
    }
}

/// The share of `count` pings that are answered, each of which opens a session if `new`.
fn answered(net: &Net, to: &str, count: u32, new: bool) -> f64 {
    let ping = |count: u32| {
        let count = count.to_string();
        let said = traffic::ping(net.hosts(), to, 56, &count, &["-q", "-i", "0.02"]);
        let received = said
            .split(", ")
            .find_map(|part| part.strip_suffix(" received"));
        received.map_or(0, |number| number.parse::<u32>().unwrap())
    };
    let got = match new {
        true => (0..count).map(|_| ping(1)).sum(),
        false => ping(count),
    };
    f64::from(got) / f64::from(count)
}

/// Another host opens sessions while the attacker does.
pub(super) fn opens(engine: &str) {
    runs(&ROOMY, engine, true);
}

/// Another host goes on while the attacker has taken all ports.
pub(super) fn goes_on(row: &Mechanism, engine: &str) {
    runs(row, engine, false);
}

fn runs(row: &Mechanism, engine: &str, new: bool) {
    let Some(net) = Net::new(row) else {
        return;
    };
    let (ce, br) = net.start(row, engine);
    let server = row.server.address;
    // The first packets wait for neighbours.
    traffic::pings(net.hosts(), server, 56).unwrap();
    let outcome = beside(&net, &ce, !new, || answered(&net, server, 100, new));
    outcome.held(&text(&ce.client("counters")));
    let exhausted = crate::counted(&ce.json("counters"), EXHAUSTED);
    assert_eq!(exhausted > 0, !new, "{exhausted}");
    assert!(ce.stop().success() && br.stop().success());
}

//! Measuring: packets per second through a path, repetitions in turn, medians and ratios.
//!
//! A softirq path (the kernel's, XDP, tc) runs on the generator's own core, in one NAPI chain from
//! the first frame to the sink, so all such rows share what the tester costs. A user-space process
//! has the other core. Subject and baseline take turns, so a change in the machine's mood meets
//! both; a row is the median of its repetitions.

use std::time::{Duration, Instant};

use crate::{
    LabError, Result,
    generator::{Addresses, Generator, Order, Pace, Stream, Vary},
    plan,
    sink::{Counts, Sink, Verify},
    subject::{Started, Subject},
    topology::{self, HOST_INTERFACE, HOST4, HOST6, Neighbours, Network, Offloads, Topology},
};

/// The core of the generator and of every softirq path.
pub const TESTER_CPU: usize = 0;
/// The core of user-space gateways.
pub const GATEWAY_CPU: usize = 1;

/// Frames of a self-check.
const CHECKED: u32 = 512;
/// Seconds that a generator takes to begin, at most.
const START: f64 = 0.1;
/// How many more runs than needed a measurement begins with.
const SPARE: f64 = 1.2;
/// Runs of the generator per second, to begin with.
const RUNS_PER_SECOND: f64 = 1e6;
/// Where the search for the best delivery begins, in packets per second.
const SEARCH_START: f64 = 80e3;
/// How often a burst looks for arrivals.
const POLL: Duration = Duration::from_micros(200);
/// How long a burst waits for another arrival.
const PATIENCE: Duration = Duration::from_millis(500);

/// A family of packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

impl Family {
    /// The datagrams of this family.
    fn of(self, counts: &Counts) -> u64 {
        match self {
            Self::V4 => counts.ipv4,
            Self::V6 => counts.ipv6,
        }
    }
}

/// The end of the topology that sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// `host6`.
    Six,
    /// `host4`.
    Four,
}

/// What goes in and what must come out.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    /// Who sends.
    pub side: Side,
    /// What is sent.
    pub addresses: Addresses,
    /// The family that must arrive.
    pub arrives: Family,
    /// Number of flows.
    pub flows: u32,
    /// Flows of one host.
    pub flows_per_host: u32,
    /// Their order.
    pub order: Order,
}

impl Load {
    /// IPv6 from host6, arriving as IPv4 at host4, in so many flows of one host.
    pub fn six_to_four(flows: u32) -> Self {
        Self {
            side: Side::Six,
            addresses: Addresses::V6 {
                source: plan::HOST6,
                destination: plan::embed(plan::HOST4),
                vary: Vary::Interface,
            },
            arrives: Family::V4,
            flows,
            flows_per_host: 50_000,
            order: Order::Sequence,
        }
    }

    /// IPv4 from host4 to the mapped address of host6, arriving as IPv6.
    pub fn four_to_six(flows: u32) -> Self {
        Self {
            side: Side::Four,
            addresses: Addresses::V4 {
                source: plan::HOST4,
                destination: plan::HOST6_AS_IPV4,
            },
            arrives: Family::V6,
            ..Self::six_to_four(flows)
        }
    }

    /// IPv6 from host6, routed to host4.
    pub fn routed6(flows: u32) -> Self {
        Self {
            addresses: Addresses::V6 {
                source: plan::HOST6,
                destination: plan::HOST4_AS_IPV6,
                vary: Vary::Interface,
            },
            arrives: Family::V6,
            ..Self::six_to_four(flows)
        }
    }

    /// IPv4 from host6, routed to host4.
    pub fn routed4(flows: u32) -> Self {
        Self {
            addresses: Addresses::V4 {
                source: plan::HOST6_AS_IPV4,
                destination: plan::HOST4,
            },
            arrives: Family::V4,
            ..Self::six_to_four(flows)
        }
    }

    fn stream(&self) -> Stream {
        // Link 0 is host6 (side 0) to the gateway, link 1 the gateway to host4 (side 1).
        let (to, from) = match self.side {
            Side::Six => (topology::mac_octets(0, 1), topology::mac_octets(0, 0)),
            Side::Four => (topology::mac_octets(1, 0), topology::mac_octets(1, 1)),
        };
        Stream {
            addresses: self.addresses,
            flows: self.flows,
            flows_per_host: self.flows_per_host,
            order: self.order,
            to,
            from,
        }
    }
}

/// Tester, network and subject, ready to measure.
pub struct Path {
    // Fields are dropped in this order: the network goes last.
    started: Started,
    generator: Generator,
    sink: Sink,
    name: String,
    arrives: Family,
    runs_per_second: f64,
    network: Network,
}

/// One measurement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    /// Frames sent per second.
    pub sent: f64,
    /// Datagrams arrived per second.
    pub received: f64,
}

impl Path {
    /// Builds a network of its own, starts the subject in it and checks that packets come through
    /// whole: all of a slow trickle must arrive, in the right family, with right checksums.
    pub fn build(subject: &dyn Subject, load: &Load) -> Result<Self> {
        let network = Topology::dual_stack(Neighbours::Static, Offloads::Off).build()?;
        let (sender, receiver) = match load.side {
            Side::Six => (HOST6, HOST4),
            Side::Four => (HOST4, HOST6),
        };
        // The way back to sources that no route of the standard topology covers.
        network.gateway()?.ip(&[format!(
            "route add {}/48 via {}",
            "2001:db8:5::",
            plan::HOST6
        )])?;
        let started = subject.start(&network, GATEWAY_CPU)?;
        let sink = Sink::attach(network.node(receiver)?, HOST_INTERFACE)?;
        let generator = Generator::new(
            network.node(sender)?,
            HOST_INTERFACE,
            &load.stream(),
            TESTER_CPU,
        )?;
        let mut path = Self {
            started,
            generator,
            sink,
            name: subject.name(),
            arrives: load.arrives,
            runs_per_second: RUNS_PER_SECOND,
            network,
        };
        path.self_check()?;
        path.generator.rewind()?;
        Ok(path)
    }

    /// What stands in the middle.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What is running there.
    pub fn started(&self) -> &Started {
        &self.started
    }

    /// The network, for tools that run in it.
    pub fn network(&self) -> &Network {
        &self.network
    }

    fn self_check(&mut self) -> Result<()> {
        self.sink.verify(Verify::Checksums)?;
        let before = self.sink.counts()?;
        for _ in 0..CHECKED / 64 {
            self.generator.run(64)?;
        }
        let counts = self.settle(&before, u64::from(CHECKED))?;
        self.sink.verify(Verify::Nothing)?;
        if self.count(&counts) == u64::from(CHECKED) && counts.invalid == 0 {
            return Ok(());
        }
        Err(LabError::SelfCheck {
            what: self.name.clone(),
            sent: u64::from(CHECKED),
            received: self.count(&counts),
            invalid: counts.invalid,
        })
    }

    /// Waits until `expected` datagrams have arrived or no more do.
    fn settle(&mut self, before: &Counts, expected: u64) -> Result<Counts> {
        let mut counts = self.sink.counts()?.since(before);
        let deadline = Instant::now() + Duration::from_millis(300);
        while self.count(&counts) < expected && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
            counts = self.sink.counts()?.since(before);
        }
        Ok(counts)
    }

    fn count(&self, counts: &Counts) -> u64 {
        self.arrives.of(counts)
    }

    /// Sends for `warm_up`, then measures over `window`.
    pub fn rate(&mut self, warm_up: Duration, window: Duration, pace: Pace) -> Result<Rate> {
        loop {
            self.started.check()?;
            let seconds = (warm_up + window).as_secs_f64() + START;
            let times = (self.runs_per_second * seconds * SPARE).min(f64::from(u32::MAX)) as u32;
            self.generator.pace(pace)?;
            let Self {
                generator,
                sink,
                arrives,
                ..
            } = self;
            let begun = Instant::now();
            let ((rate, until), ended) = generator.run_while(times, |controls| {
                std::thread::sleep(warm_up);
                let (start, sent, before) = (Instant::now(), controls.sent()?, sink.counts()?);
                std::thread::sleep(window);
                let (until, after) = (Instant::now(), sink.counts()?);
                let sent = controls.sent()? - sent;
                controls.stop()?;
                let seconds = until.duration_since(start).as_secs_f64();
                let rate = Rate {
                    sent: sent as f64 / seconds,
                    received: arrives.of(&after.since(&before)) as f64 / seconds,
                };
                Ok((rate, until))
            })?;
            if ended > until {
                return Ok(rate);
            }
            // The runs were over before the window was: the machine is faster than thought.
            let took = ended.duration_since(begun).as_secs_f64();
            self.runs_per_second = (f64::from(times) / took).max(self.runs_per_second * 1.5);
        }
    }

    /// Sends the same flows in another order from now on.
    pub fn set_order(&mut self, order: Order) -> Result<()> {
        self.generator.set_order(order)
    }

    /// Sends exactly `frames` frames, and returns how many arrived and the time from the first
    /// arrival to the last.
    pub fn burst(&mut self, frames: u32) -> Result<(u64, Duration)> {
        let Self {
            generator,
            sink,
            arrives,
            ..
        } = self;
        generator.pace(Pace::Full)?;
        let before = sink.counts()?;
        let arrived = || Ok(arrives.of(&sink.counts()?.since(&before)));
        let ((count, took), _) = generator.run_while(frames, |_| {
            let mut start = Instant::now();
            let mut last = (0, start);
            while last.0 < u64::from(frames) && last.1.elapsed() < PATIENCE {
                std::thread::sleep(POLL);
                let count = arrived()?;
                if last.0 == 0 {
                    start = last.1;
                    last.1 = Instant::now();
                }
                if count > last.0 {
                    last = (count, Instant::now());
                }
            }
            Ok((last.0, last.1.duration_since(start)))
        })?;
        Ok((count, took))
    }

    /// The most that arrives per second at any offered load: the load rises by a quarter until two loads in a row lose more than a tenth. For paths across two cores,
    /// where overload itself costs throughput.
    pub fn best_delivery(&mut self, window: Duration) -> Result<f64> {
        let mut best: f64 = 0.0;
        let mut offered = SEARCH_START;
        let mut overloaded = 0;
        while overloaded < 2 {
            let rate = self.rate(window / 4, window, Pace::PerSecond(offered))?;
            best = best.max(rate.received);
            if rate.received < rate.sent * 0.9 {
                overloaded += 1;
            }
            offered *= 1.25;
        }
        Ok(best)
    }
}

/// How often and how long to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effort {
    /// Repetitions of subject and baseline, 1 or more.
    pub repetitions: usize,
    /// Sent before each measurement.
    pub warm_up: Duration,
    /// Length of each measurement.
    pub window: Duration,
}

/// Medians of subject and baseline.
#[derive(Debug, Clone, PartialEq)]
pub struct Compared {
    /// The subject's.
    pub value: f64,
    /// The baseline's.
    pub baseline: f64,
}

/// Measures both in turn, `repetitions` times, and takes the medians.
pub fn interleave(
    repetitions: usize,
    mut subject: impl FnMut() -> Result<f64>,
    mut baseline: impl FnMut() -> Result<f64>,
) -> Result<Compared> {
    let mut values = Vec::with_capacity(repetitions);
    let mut baselines = Vec::with_capacity(repetitions);
    for _ in 0..repetitions {
        baselines.push(baseline()?);
        values.push(subject()?);
    }
    Ok(Compared {
        value: median(&mut values),
        baseline: median(&mut baselines),
    })
}

/// The median; of an even number of values, the mean of the middle two. Zero of none.
pub fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        length if length % 2 == 1 => values[length / 2],
        length => (values[length / 2 - 1] + values[length / 2]) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_of_odd_and_even() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&mut [4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(median(&mut []), 0.0);
    }

    #[test]
    fn baseline_and_subject_take_turns() {
        let order = std::cell::RefCell::new(Vec::new());
        let note = |name| {
            order.borrow_mut().push(name);
            Ok(1.0)
        };
        interleave(2, || note("subject"), || note("baseline")).unwrap();
        assert_eq!(
            *order.borrow(),
            ["baseline", "subject", "baseline", "subject"]
        );
    }
}

//! Packets per second through a path.
//!
//! A softirq path (the kernel's, XDP, tc) runs on the generator's own core, in one NAPI chain from the first frame to
//! the sink, so all such rates include the same cost of the tester. A user-space process has the other core.

use std::time::{Duration, Instant};

use crate::{
    LabError, Result,
    network::{
        cores::{GATEWAY_CPU, TESTER_CPU},
        device::{Device, Started},
        plan,
        topology::{self, HOST_INTERFACE, HOST4, HOST6, Neighbours, Network, Offloads, Topology},
    },
    traffic::{
        generator::{BATCH, Content, FIRST_PORT, Generator, Order, PORT, Pace, Stream},
        packet::{Ends, Form, Packet},
        sink::{Counts, Sink, Verify, arrived},
    },
};

/// Frames of a self-check: one of each flow within these bounds.
const CHECKED: u32 = 512;
const MOST_CHECKED: u32 = 1024;
/// The longest time until a generator sends, in seconds.
const START: f64 = 0.1;
/// The factor by which the first number of runs exceeds the need.
const SPARE: f64 = 1.2;
/// The first estimate of the generator's runs per second.
const RUNS_PER_SECOND: f64 = 1e6;
/// The rate at which the search for the best delivery begins, in packets per second.
const SEARCH_START: f64 = 80e3;
/// The interval at which a burst looks for arrivals.
const POLL: Duration = Duration::from_micros(200);
/// The time for which a burst waits for another arrival.
const PATIENCE: Duration = Duration::from_millis(500);

/// The end of the topology that sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// `host6`.
    Six,
    /// `host4`.
    Four,
}

/// A load: the packets sent, and the form in which they must arrive.
#[derive(Debug, Clone)]
pub struct Load {
    /// The end that sends.
    pub side: Side,
    /// One packet of each flow, 1 or more.
    pub packets: Vec<Packet>,
    /// The form in which they must arrive.
    pub arrives: Form,
}

/// Returns the ports of a flow between one host and the generator's.
fn port(flow: u32) -> (u16, u16) {
    (FIRST_PORT + (flow % 64_000) as u16, PORT)
}

impl Load {
    /// Returns a load of this many flows from one host to another.
    fn between(side: Side, ends: Ends, arrives: Form, flows: u32) -> Self {
        Self {
            side,
            packets: (0..flows)
                .map(|flow| Packet::new(ends, port(flow)))
                .collect(),
            arrives,
        }
    }

    /// Returns IPv6 from host6, arriving as IPv4 at host4, in this many flows.
    pub fn six_to_four(flows: u32) -> Self {
        let ends = Ends::V6(plan::HOST6, plan::embed(plan::HOST4));
        Self::between(Side::Six, ends, Form::V4, flows)
    }

    /// Returns IPv4 from host4 to the mapped address of host6, arriving as IPv6.
    pub fn four_to_six(flows: u32) -> Self {
        let ends = Ends::V4(plan::HOST4, plan::HOST6_AS_IPV4);
        Self::between(Side::Four, ends, Form::V6, flows)
    }

    /// Returns IPv6 from host6, routed to host4.
    pub fn routed6(flows: u32) -> Self {
        let ends = Ends::V6(plan::HOST6, plan::HOST4_AS_IPV6);
        Self::between(Side::Six, ends, Form::V6, flows)
    }

    /// Returns IPv4 from host6, routed to host4. Flows beyond 64,000 come from another host.
    pub fn routed4(flows: u32) -> Self {
        let packet = |flow: u32| {
            let host = plan::HOST6_AS_IPV4.to_bits() + flow / 64_000;
            Packet::new(Ends::V4(host.into(), plan::HOST4), port(flow))
        };
        Self {
            side: Side::Six,
            packets: (0..flows).map(packet).collect(),
            arrives: Form::V4,
        }
    }

    fn stream(&self) -> Stream {
        // Link 0 is host6 (side 0) to the gateway, link 1 the gateway to host4 (side 1).
        let (to, from) = match self.side {
            Side::Six => (topology::mac_octets(0, 1), topology::mac_octets(0, 0)),
            Side::Four => (topology::mac_octets(1, 0), topology::mac_octets(1, 1)),
        };
        Stream {
            packets: self.packets.clone(),
            to,
            from,
            content: Content::Number,
        }
    }
}

/// A load with its generator and its sink, on a network.
struct Tester {
    generator: Generator,
    sink: Sink,
    arrives: Form,
    flows: u32,
}

impl Tester {
    fn new(network: &Network, load: &Load) -> Result<Self> {
        let (sender, receiver) = match load.side {
            Side::Six => (HOST6, HOST4),
            Side::Four => (HOST4, HOST6),
        };
        let sink = Sink::attach(network.node(receiver)?, HOST_INTERFACE)?;
        let sender = network.node(sender)?;
        Ok(Self {
            generator: Generator::new(sender, HOST_INTERFACE, load.stream(), TESTER_CPU)?,
            sink,
            arrives: load.arrives,
            flows: load.packets.len() as u32,
        })
    }

    /// Waits until `expected` datagrams have arrived or no more do.
    fn settle(&self, before: Counts, expected: u64) -> Result<Counts> {
        let mut counts = self.sink.counts()?.since(before);
        let deadline = Instant::now() + Duration::from_millis(300);
        while arrived(&counts, self.arrives) < expected && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
            counts = self.sink.counts()?.since(before);
        }
        Ok(counts)
    }
}

/// A tester, a network and a device, ready to measure.
pub struct Path {
    // Fields are dropped in this order: the network goes last.
    started: Started,
    tester: Tester,
    name: String,
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
    /// Builds a network of its own, starts the device in it and checks that packets come through whole: all of a slow
    /// trickle must arrive, in the right family, with right checksums.
    pub fn build(device: &dyn Device, load: &Load) -> Result<Self> {
        let network = Topology::dual_stack(Neighbours::Static, Offloads::Off).build()?;
        network.gateway()?.ip(&plan::routes())?;
        let started = device.start(&network, GATEWAY_CPU)?;
        let mut path = Self {
            started,
            tester: Tester::new(&network, load)?,
            name: device.name(),
            runs_per_second: RUNS_PER_SECOND,
            network,
        };
        path.self_check()?;
        Ok(path)
    }

    /// Replaces the load by another one, which may come from the other end, and checks that its packets come through.
    pub fn turn(self, load: &Load) -> Result<Self> {
        let Self {
            started,
            tester,
            name,
            runs_per_second,
            network,
        } = self;
        // There is one sink at an interface.
        drop(tester);
        let mut path = Self {
            started,
            tester: Tester::new(&network, load)?,
            name,
            runs_per_second,
            network,
        };
        path.self_check()?;
        Ok(path)
    }

    /// Returns the name of the device.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the running device.
    pub fn started(&self) -> &Started {
        &self.started
    }

    /// Returns the network, for tools that run in it.
    pub fn network(&self) -> &Network {
        &self.network
    }

    fn self_check(&mut self) -> Result<()> {
        let tester = &mut self.tester;
        tester.sink.verify(Verify::Checksums)?;
        let before = tester.sink.counts()?;
        let batches = tester.flows.clamp(CHECKED, MOST_CHECKED).div_ceil(BATCH);
        for batch in 1..=batches {
            tester.generator.run(BATCH)?;
            // What opens sessions in user space takes its time.
            tester.settle(before, u64::from(batch * BATCH))?;
        }
        let sent = u64::from(batches * BATCH);
        let counts = tester.settle(before, sent)?;
        tester.sink.verify(Verify::Nothing)?;
        tester.generator.rewind()?;
        let received = arrived(&counts, tester.arrives);
        if received == sent && counts.invalid == 0 {
            return Ok(());
        }
        Err(LabError::SelfCheck {
            what: self.name.clone(),
            sent,
            received,
            invalid: counts.invalid,
        })
    }

    /// Sends for `warm_up`, then measures over `window`.
    pub fn rate(&mut self, warm_up: Duration, window: Duration, pace: Pace) -> Result<Rate> {
        loop {
            self.started.check()?;
            let seconds = (warm_up + window).as_secs_f64() + START;
            let times = (self.runs_per_second * seconds * SPARE).min(f64::from(u32::MAX)) as u32;
            let Tester {
                generator,
                sink,
                arrives,
                ..
            } = &mut self.tester;
            generator.pace(pace)?;
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
                    received: arrived(&after.since(before), *arrives) as f64 / seconds,
                };
                Ok((rate, until))
            })?;
            if ended > until {
                return Ok(rate);
            }
            // The runs ended before the window did: the machine is faster than estimated.
            let took = ended.duration_since(begun).as_secs_f64();
            self.runs_per_second = (f64::from(times) / took).max(self.runs_per_second * 1.5);
        }
    }

    /// Changes the order of the flows.
    pub fn set_order(&mut self, order: Order) -> Result<()> {
        self.tester.generator.set_order(order)
    }

    /// Sends exactly `frames` frames. Returns how many arrived, and the time from the first arrival to the last.
    pub fn burst(&mut self, frames: u32) -> Result<(u64, Duration)> {
        let Tester {
            generator,
            sink,
            arrives,
            ..
        } = &mut self.tester;
        generator.pace(Pace::Full)?;
        let before = sink.counts()?;
        let arrived = || Ok(arrived(&sink.counts()?.since(before), *arrives));
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

    /// Sends exactly `frames` frames, waits for `wait`, and returns how many have arrived. It does as much itself for many
    /// frames as for few, and looks once.
    pub fn send(&mut self, frames: u32, wait: Duration) -> Result<u64> {
        let tester = &mut self.tester;
        tester.generator.pace(Pace::Full)?;
        let before = tester.sink.counts()?;
        tester.generator.run(frames)?;
        std::thread::sleep(wait);
        Ok(arrived(
            &tester.sink.counts()?.since(before),
            tester.arrives,
        ))
    }

    /// Returns the highest rate of arrivals at any offered load, for paths across two cores, where overload itself
    /// costs throughput. The load rises by a quarter until two loads in a row lose more than a tenth.
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

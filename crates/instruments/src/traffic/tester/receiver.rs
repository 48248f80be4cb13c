//! The receiver, which reads the counters of a stream from the XDP program at an interface.

use std::time::Duration;

use aya::{
    Ebpf, EbpfLoader,
    maps::{Array, MapData, PerCpuArray},
};
use bytemuck::Zeroable as _;
use isthmus_abi::lab::receiver::{
    DELAYS, Expected, LONGER, RECEIVED, RECEIVER, Received, SHORTER, TUPLES, Trial,
};
use isthmus_engine::bpf::Plain;

use super::{
    observed::{Family, Tuples},
    result::{Arrivals, Delay, Variation},
};
use crate::{
    Result,
    figures::histogram::Histogram,
    network::{
        place::Place,
        programs::{self, Attached, bpf, on_every_cpu},
    },
    traffic::{
        generator::{FrameSize, StreamId},
        packet::Form,
    },
};

/// The longest timeout of a frame: the longest time of the histogram.
pub const LONGEST_TIMEOUT: Duration = Duration::from_secs(4);

/// A receiver of one stream at an interface.
pub struct Receiver {
    expected: Array<MapData, Plain<Expected>>,
    received: PerCpuArray<MapData, Plain<Received>>,
    stream: StreamId,
    size: FrameSize,
    _attached: Attached,
}

/// The result of a trial at the receiver.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Seen {
    pub(super) arrivals: Arrivals,
    pub(super) delay: Option<Delay>,
    pub(super) variation: Option<Variation>,
    /// The time from the first frame to the last, in nanoseconds.
    pub(super) took: u64,
    /// The time of sending of the frame that ended the last gap.
    pub(super) gap: Option<u64>,
}

impl Receiver {
    /// Attaches a receiver of a stream, whose frames arrive in this form and size, to an interface.
    pub fn attach(
        place: &Place,
        interface: &str,
        stream: StreamId,
        form: Form,
        size: FrameSize,
    ) -> Result<Self> {
        let program = match form {
            Form::V4 => "receive4",
            Form::V6 => "receive6",
            Form::SixInFour => "receive_six_in_four",
            Form::FourInSix => "receive_four_in_six",
        };
        Self::run(place, interface, program, programs::load()?, stream, size)
    }

    /// Attaches a receiver of frames in no tunnel that also keeps addresses and ports of the first frames of a trial,
    /// this many.
    pub fn observe(
        place: &Place,
        interface: &str,
        stream: StreamId,
        family: Family,
        size: FrameSize,
        frames: u32,
    ) -> Result<(Self, Tuples)> {
        let mut object =
            programs::load_by(EbpfLoader::new().map_max_entries(TUPLES, frames.max(1)))?;
        let tuples = Tuples {
            family,
            observed: programs::array(&mut object, TUPLES)?,
        };
        let program = match family {
            Family::V4 => "observe4",
            Family::V6 => "observe6",
        };
        let receiver = Self::run(place, interface, program, object, stream, size)?;
        Ok((receiver, tuples))
    }

    fn run(
        place: &Place,
        interface: &str,
        program: &'static str,
        mut object: Ebpf,
        stream: StreamId,
        size: FrameSize,
    ) -> Result<Self> {
        Ok(Self {
            expected: programs::array(&mut object, RECEIVER)?,
            received: programs::per_cpu(&mut object, RECEIVED)?,
            stream,
            size,
            _attached: Attached::attach_at(object, program, place, interface)?,
        })
    }

    /// Begins a trial: frames count from this number on, if they take no longer than `timeout`, which is 4 seconds at
    /// most.
    pub fn expect(&mut self, first: u64, timeout: Duration) -> Result<()> {
        let timeout = timeout.min(LONGEST_TIMEOUT).as_nanos() as u64;
        let trial = Trial {
            stream: self.stream.in_place(),
            first,
            length: self.size.seen() as u64,
            timeout,
        };
        let expected = Expected { trial, next: first };
        self.expected
            .set(0, Plain(expected), 0)
            .map_err(|problem| bpf(RECEIVER, problem))?;
        let nothing = on_every_cpu(Plain(Received::zeroed()), RECEIVED)?;
        self.received
            .set(0, nothing, 0)
            .map_err(|problem| bpf(RECEIVED, problem))
    }

    /// Returns the number of frames that have come in time.
    pub fn count(&self) -> Result<u64> {
        Ok(self.cpus()?.iter().map(|cpu| cpu.received).sum())
    }

    /// Returns the result since the trial began.
    pub(super) fn seen(&self) -> Result<Seen> {
        let cpus = self.cpus()?;
        let mut arrivals = Arrivals::default();
        for cpu in &cpus {
            arrivals.received += cpu.received;
            arrivals.corrupt += cpu.corrupt;
            arrivals.resized += cpu.resized;
            arrivals.strange += cpu.strange;
            arrivals.duplicates += cpu.duplicates;
            arrivals.expired += cpu.expired;
            arrivals.reordered += cpu.reordered;
            arrivals.other += cpu.other;
        }
        let busy = || cpus.iter().filter(|cpu| cpu.received > 0);
        arrivals.silence_ns = busy().map(|cpu| cpu.silence).max().unwrap_or(0);
        let first = busy().map(|cpu| cpu.first_arrival).min().unwrap_or(0);
        let last = busy().map(|cpu| cpu.last_arrival).max().unwrap_or(0);
        let gap = cpus.iter().map(|cpu| cpu.gap).max();
        Ok(Seen {
            delay: delay(&cpus),
            variation: Variation::of(&histogram(&cpus, LONGER), &histogram(&cpus, SHORTER)),
            took: last - first,
            gap: gap.filter(|gap| *gap > 0),
            arrivals,
        })
    }

    fn cpus(&self) -> Result<Vec<Received>> {
        let values = self.received.get(&0, 0);
        let values = values.map_err(|problem| bpf(RECEIVED, problem))?;
        Ok(values.iter().map(|Plain(received)| *received).collect())
    }
}

/// One of the histograms, of all CPUs.
fn histogram(cpus: &[Received], number: usize) -> Histogram {
    let mut histogram = Histogram::default();
    for cpu in cpus {
        histogram.add(&cpu.histograms[number].map(u64::from));
    }
    histogram
}

fn delay(cpus: &[Received]) -> Option<Delay> {
    let histogram = histogram(cpus, DELAYS);
    let at = |share| histogram.percentile(share);
    let busy: Vec<&Received> = cpus.iter().filter(|cpu| cpu.received > 0).collect();
    let total = busy.iter().map(|cpu| cpu.received).sum::<u64>() as f64;
    // Each CPU has the jitter of what came to it: their mean counts each frame alike.
    let jitter = |cpu: &&Received| cpu.jitter as f64 / 16.0 * cpu.received as f64 / total;
    Some(Delay {
        least: busy.iter().map(|cpu| cpu.shortest).min()? as f64,
        mean: busy.iter().map(|cpu| cpu.sum).sum::<u64>() as f64 / total,
        p1: at(0.01)?,
        median: at(0.5)?,
        p99: at(0.99)?,
        p999: at(0.999)?,
        most: busy.iter().map(|cpu| cpu.longest).max()? as f64,
        jitter: busy.iter().map(jitter).sum(),
        steps: histogram.steps(),
    })
}

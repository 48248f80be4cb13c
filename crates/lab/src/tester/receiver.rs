//! The receiver, which reads the counters of a stream from the XDP program at an interface.

use std::time::Duration;

use aya::{
    Ebpf, EbpfLoader,
    maps::{Array, MapData, PerCpuArray},
};

use super::{
    observed::{Family, Tuples},
    result::{Arrivals, Delay, Variation},
};
use crate::{
    Result,
    generator::{FrameSize, StreamId},
    histogram::{Histogram, STEPS},
    packet::Form,
    place::Place,
    programs::{self, Attached, bpf, on_every_cpu},
};

/// The longest timeout of a frame: the longest time of the histogram.
pub const LONGEST_TIMEOUT: Duration = Duration::from_secs(4);

/// The counters of one CPU, in the order of the BPF program: 18 numbers, and histograms with 32 bits for each bin.
type Numbers = [u64; COUNTS + 3 * STEPS / 2];
const COUNTS: usize = 18;

/// A receiver of one stream at an interface.
pub struct Receiver {
    expected: Array<MapData, [u64; 5]>,
    received: PerCpuArray<MapData, Numbers>,
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
            programs::load_by(EbpfLoader::new().map_max_entries("TUPLES", frames.max(1)))?;
        let tuples = Tuples {
            family,
            observed: array(&mut object, "TUPLES")?,
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
            expected: array(&mut object, "RECEIVER")?,
            received: per_cpu(&mut object, "RECEIVED")?,
            stream,
            size,
            _attached: Attached::attach_at(object, program, place, interface)?,
        })
    }

    /// Begins a trial: frames count from this number on, if they take no longer than `timeout`, which is 4 seconds at
    /// most.
    pub fn expect(&mut self, first: u64, timeout: Duration) -> Result<()> {
        let timeout = timeout.min(LONGEST_TIMEOUT).as_nanos() as u64;
        let expected = [
            self.stream.in_place(),
            first,
            self.size.seen() as u64,
            timeout,
            first,
        ];
        let problem = |problem| bpf("the receiver's maps", problem);
        self.expected.set(0, expected, 0).map_err(problem)?;
        let nothing = on_every_cpu([0; COUNTS + 3 * STEPS / 2], "RECEIVED")?;
        self.received.set(0, nothing, 0).map_err(problem)?;
        Ok(())
    }

    /// Returns the number of frames that have come in time.
    pub fn count(&self) -> Result<u64> {
        Ok(self.numbers()?.iter().map(|[received, ..]| received).sum())
    }

    /// Returns the result since the trial began.
    pub(super) fn seen(&self) -> Result<Seen> {
        let cpus = self.numbers()?;
        let mut arrivals = Arrivals::default();
        for [
            received,
            corrupt,
            resized,
            strange,
            duplicates,
            expired,
            reordered,
            other,
            ..,
        ] in &cpus
        {
            arrivals.received += received;
            arrivals.corrupt += corrupt;
            arrivals.resized += resized;
            arrivals.strange += strange;
            arrivals.duplicates += duplicates;
            arrivals.expired += expired;
            arrivals.reordered += reordered;
            arrivals.other += other;
        }
        let busy = || cpus.iter().filter(|[received, ..]| *received > 0);
        let longest_silence = busy().map(|numbers| numbers[16]).max();
        arrivals.silence_ns = longest_silence.unwrap_or(0);
        let first = busy().map(|numbers| numbers[14]).min().unwrap_or(0);
        let last = busy().map(|numbers| numbers[15]).max().unwrap_or(0);
        Ok(Seen {
            delay: delay(&cpus),
            variation: Variation::of(&histogram(&cpus, 1), &histogram(&cpus, 2)),
            took: last - first,
            gap: cpus
                .iter()
                .map(|numbers| numbers[17])
                .max()
                .filter(|gap| *gap > 0),
            arrivals,
        })
    }

    fn numbers(&self) -> Result<Vec<Numbers>> {
        let values = self.received.get(&0, 0);
        let values = values.map_err(|problem| bpf("RECEIVED", problem))?;
        Ok(values.to_vec())
    }
}

/// Returns one of the histograms, summed over all CPUs.
fn histogram(cpus: &[Numbers], number: usize) -> Histogram {
    let mut histogram = Histogram::default();
    for numbers in cpus {
        let both = numbers[COUNTS + number * STEPS / 2..][..STEPS / 2].iter();
        // The lower half of a word is the bin before.
        let counts: Vec<u64> = both
            .flat_map(|both| [both & u64::from(u32::MAX), both >> 32])
            .collect();
        histogram.add(&counts);
    }
    histogram
}

fn delay(cpus: &[Numbers]) -> Option<Delay> {
    let histogram = histogram(cpus, 0);
    let at = |share| histogram.percentile(share);
    let busy: Vec<&Numbers> = cpus.iter().filter(|[received, ..]| *received > 0).collect();
    let total = busy.iter().map(|numbers| numbers[0]).sum::<u64>() as f64;
    // Each CPU has the jitter of its own frames. The mean is weighted by frames.
    let jitter = |numbers: &&Numbers| numbers[11] as f64 / 16.0 * numbers[0] as f64 / total;
    Some(Delay {
        least: busy.iter().map(|numbers| numbers[9]).min()? as f64,
        mean: busy.iter().map(|numbers| numbers[8]).sum::<u64>() as f64 / total,
        p1: at(0.01)?,
        median: at(0.5)?,
        p99: at(0.99)?,
        p999: at(0.999)?,
        most: busy.iter().map(|numbers| numbers[10]).max()? as f64,
        jitter: busy.iter().map(jitter).sum(),
        steps: histogram.steps(),
    })
}

fn array<T: aya::Pod>(object: &mut Ebpf, name: &'static str) -> Result<Array<MapData, T>> {
    Array::try_from(programs::map(object, name)?).map_err(|problem| bpf(name, problem))
}

fn per_cpu<T: aya::Pod>(object: &mut Ebpf, name: &'static str) -> Result<PerCpuArray<MapData, T>> {
    PerCpuArray::try_from(programs::map(object, name)?).map_err(|problem| bpf(name, problem))
}

//! The packet generator: UDP datagrams from an XDP program, as fast as one core can.
//!
//! `BPF_PROG_TEST_RUN` with live frames runs the program over recycled pages in batches of 64 and
//! lets its redirects happen. What follows in the same softirq (the path under test and the sink)
//! runs on the same core, so a figure is packets per second of one core for the whole chain.
//!
//! The frames are made in advance and lie in a map in the order in which they are sent. A million frames cost the
//! generator as little as a few, because the processor prefetches them. Where there are many, the map holds only the
//! words that differ: whole frames would evict the data of the path under test from the caches. A network card does
//! not do that, since it writes to the same few buffers again and again.

mod runner;
mod size;
mod stream;
mod tag;
mod timed;

use std::{io::ErrorKind, sync::Arc, time::Instant};

use aya::{
    Ebpf, EbpfLoader, TestRun, TestRunAttrs, TestRunOptions,
    maps::{Array, MapData, MapError, PerCpuArray},
    programs::{ProgramError, Xdp},
};
use bytemuck::Zeroable as _;
use isthmus_abi::lab::generator::{self as abi, Configuration, Differences, FINE, Frame, Progress};
use isthmus_engine::bpf::Plain;

use crate::{
    Result,
    network::{
        cores::pin,
        netns::Namespace,
        place::Place,
        programs::{self, bpf},
        threads::join,
    },
};

use runner::{End, Runner};
pub use size::{BadFrameSize, FrameSize, RFC_8219};
pub use stream::{Content, Order, Stream};
pub use tag::{StreamId, Tag};
pub use timed::{Flush, Leg, Sent};

/// The UDP port of the correspondent of every generated datagram (discard, RFC 863).
pub const PORT: u16 = 9;
/// Lowest UDP port of a flow's own end.
pub const FIRST_PORT: u16 = 1024;

/// Frames of one NAPI poll, and well below the 256 slots of a veth's ring.
pub const BATCH: u32 = 64;
/// A frame that is later than so many nanoseconds is not made up for.
const FORGIVEN: u64 = 1_000_000;

/// How fast to send.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pace {
    /// As fast as the core can.
    Full,
    /// Frames per second, evenly. A frame that is late by less than a millisecond is made up for: the load does not
    /// depend on the capacity of the path.
    PerSecond(f64),
    /// Nothing is sent.
    Stopped,
}

/// Returns the interval between frames in fractions of a nanosecond.
fn interval(rate: f64) -> u64 {
    (1e9 * FINE as f64 / rate).round().max(1.0) as u64
}

/// A generator at an interface, on one CPU.
pub struct Generator {
    place: Place,
    object: Ebpf,
    program: &'static str,
    frames: Frames,
    controls: Controls,
    stream: Stream,
}

/// The part of a generator that can be read and set while it runs.
pub struct Controls {
    target: Target,
    configuration: Array<MapData, Plain<Configuration>>,
    progress: PerCpuArray<MapData, Plain<Progress>>,
    cpu: usize,
}

/// A program that is being run.
struct Live<'a> {
    /// Whether it is.
    is_on: &'a dyn Fn() -> bool,
    runner: &'a Runner,
}

/// The frames in the program's maps.
struct Frames {
    whole: Array<MapData, Frame>,
    differences: Array<MapData, Differences>,
    /// The differences of all frames in the stream's sequence, if they are many.
    many: Option<Vec<Differences>>,
}

impl Frames {
    /// Puts a frame of the stream, by its number there, at a place.
    fn set(
        &mut self,
        place: u32,
        stream: &Stream,
        number: usize,
    ) -> std::result::Result<(), MapError> {
        let Some(many) = &self.many else {
            return self.whole.set(place, stream.words(number), 0);
        };
        if place == 0 {
            self.whole.set(0, stream.words(number), 0)?;
        }
        self.differences.set(place, many[number], 0)
    }
}

/// The program's configuration, without the pace.
#[derive(Debug, Clone, Copy)]
struct Target {
    interface: u32,
    frames: u32,
    /// The stream, in its place in a tag.
    stream: u64,
}

impl Generator {
    /// Prepares to send `stream` out of `interface` of a namespace, working on `cpu`.
    pub fn new(
        namespace: &Arc<Namespace>,
        interface: &str,
        stream: Stream,
        cpu: usize,
    ) -> Result<Self> {
        Self::at(namespace.into(), interface, stream, cpu)
    }

    /// Prepares to send out of an interface of a namespace or of the machine itself.
    pub fn at(place: Place, interface: &str, stream: Stream, cpu: usize) -> Result<Self> {
        let program = stream.program();
        let target = Target {
            interface: place.interface_index(interface)?,
            frames: stream.packets.len() as u32,
            stream: stream.in_tag(),
        };
        let mut loader = EbpfLoader::new();
        let many = if stream.are_many() {
            let too_many = || bpf(abi::DIFFERENCES, "the frames differ in too many places");
            Some(stream.differences().ok_or_else(too_many)?)
        } else {
            None
        };
        let map = if let Some((places, _)) = &many {
            loader.override_global(abi::PLACES, places, true);
            abi::DIFFERENCES
        } else {
            abi::FRAMES
        };
        let mut object = programs::load_by(loader.map_max_entries(map, target.frames))?;
        programs::program(&mut object, program)?
            .load()
            .map_err(|problem| bpf(program, problem))?;
        let mut generator = Self {
            place,
            program,
            frames: Frames {
                whole: programs::array(&mut object, abi::FRAMES)?,
                differences: programs::array(&mut object, abi::DIFFERENCES)?,
                many: many.map(|(_, differences)| differences),
            },
            controls: Controls {
                target,
                configuration: programs::array(&mut object, abi::GENERATOR)?,
                progress: programs::per_cpu(&mut object, abi::PROGRESS)?,
                cpu,
            },
            object,
            stream,
        };
        generator.set_order(Order::Sequence)?;
        Ok(generator)
    }

    /// Restarts the stream's sequence.
    pub fn rewind(&mut self) -> Result<()> {
        self.controls.set_progress(Progress::zeroed())
    }

    /// Sends the same frames in another order, from the beginning.
    pub fn set_order(&mut self, order: Order) -> Result<()> {
        for (place, number) in self.stream.numbers(order).into_iter().enumerate() {
            self.frames
                .set(place as u32, &self.stream, number as usize)
                .map_err(|problem| bpf(abi::FRAMES, problem))?;
        }
        self.rewind()?;
        self.pace(Pace::Full)
    }

    /// Sets the interval between frames, also while they are being sent.
    pub fn pace(&mut self, pace: Pace) -> Result<()> {
        self.controls.pace(pace)
    }

    /// Runs the program this many times on its CPU, and returns when that is done. At full pace each run sends a
    /// frame.
    pub fn run(&mut self, times: u32) -> Result<()> {
        self.run_while(times, |_| Ok(())).map(drop)
    }

    /// Runs the program and `task` on this thread at the same time; also returns when the runs ended.
    pub fn run_while<T>(
        &mut self,
        times: u32,
        task: impl FnOnce(&mut Controls) -> Result<T>,
    ) -> Result<(T, Instant)> {
        self.live(times, BATCH, |controls, _| task(controls))
    }

    /// Runs the program in batches of frames, with a task that can ask whether the program still runs, and end that.
    fn live<T>(
        &mut self,
        times: u32,
        batch: u32,
        task: impl FnOnce(&mut Controls, Live<'_>) -> Result<T>,
    ) -> Result<(T, Instant)> {
        let Self {
            place,
            object,
            program,
            controls,
            stream,
            ..
        } = self;
        let program = &*programs::program(object, program)?;
        let frame = vec![0; stream.length()];
        let cpu = controls.cpu;
        let runner = Runner::default();
        let runs = || {
            place.enter(|| {
                pin(cpu)?;
                runner.run(|| live_frames(program, &frame, times, batch))
            })
        };
        std::thread::scope(|scope| {
            let sender = scope.spawn(runs);
            let live = Live {
                is_on: &|| !sender.is_finished(),
                runner: &runner,
            };
            let value = task(controls, live);
            let ended = join(sender)?;
            Ok((value?, ended))
        })
    }
}

impl Controls {
    /// Frames sent since the sequence began.
    pub fn sent(&self) -> Result<u64> {
        Ok(self.progress()?.sent)
    }

    /// Stops sending. The remaining runs pass quickly.
    pub fn stop(&mut self) -> Result<()> {
        self.pace(Pace::Stopped)
    }

    fn pace(&mut self, pace: Pace) -> Result<()> {
        let (interval, until) = match pace {
            Pace::Full => (0, u64::MAX),
            Pace::PerSecond(rate) => (interval(rate), u64::MAX),
            Pace::Stopped => (0, 0),
        };
        self.write([interval, until, u64::MAX, FORGIVEN])
    }

    /// Writes the interval, the last number, and two limits of lateness: that of frames on time, and that of frames
    /// to be made up for.
    fn write(&mut self, timing: [u64; 4]) -> Result<()> {
        let [interval, until, tolerated, forgiven] = timing;
        let Target {
            interface,
            frames,
            stream,
        } = self.target;
        let configuration = Configuration {
            interface,
            frames,
            interval,
            until,
            tolerated,
            forgiven,
            stream,
        };
        self.configuration
            .set(0, Plain(configuration), 0)
            .map_err(|problem| bpf(abi::GENERATOR, problem))
    }

    /// The progress of the CPU that sends.
    fn progress(&self) -> Result<Progress> {
        let values = self
            .progress
            .get(&0, 0)
            .map_err(|problem| bpf(abi::PROGRESS, problem))?;
        let here = values.get(self.cpu).map(|Plain(progress)| *progress);
        here.ok_or_else(|| bpf(abi::PROGRESS, format!("there is no CPU {}", self.cpu)))
    }

    /// Writes it.
    fn set_progress(&mut self, progress: Progress) -> Result<()> {
        let values = programs::on_every_cpu(Plain(progress), abi::PROGRESS)?;
        self.progress
            .set(0, values, 0)
            .map_err(|problem| bpf(abi::PROGRESS, problem))
    }
}

/// Runs a program this many times, in batches, over frames that begin with this one, and lets the kernel carry out
/// its redirects.
fn live_frames(program: &Xdp, frame: &[u8], times: u32, batch: u32) -> Result<End> {
    let options = TestRunOptions {
        data_in: Some(frame),
        repeat: times,
        attrs: TestRunAttrs::new().xdp_live_frames(batch),
        ..TestRunOptions::new()
    };
    match program.test_run(options) {
        Ok(_) => Ok(End::Complete),
        Err(ProgramError::SyscallError(error))
            if error.io_error.kind() == ErrorKind::Interrupted =>
        {
            Ok(End::Interrupted)
        }
        Err(problem) => Err(bpf("live frames", problem)),
    }
}

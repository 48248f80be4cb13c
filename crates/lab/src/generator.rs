//! The packet generator: small UDP datagrams from an XDP program, as fast as one core can.
//!
//! `BPF_PROG_TEST_RUN` with live frames runs the program over recycled pages in batches of 64 and
//! lets its redirects happen. What follows in the same softirq (the path under test and the sink)
//! runs on the same core, so a figure is packets per second of one core for the whole chain.
//!
//! The frames are made here and lie in a map in the order in which they are sent, so a million of
//! them cost the generator as little as a few: the processor sees what comes next. Of so many only
//! what differs lies there: whole frames would sweep the caches of what the path under test keeps in
//! them, as no network card does, which writes to the same few buffers again and again.

use std::{sync::Arc, time::Instant};

use aya::{
    Ebpf, EbpfLoader, TestRun, TestRunAttrs, TestRunOptions,
    maps::{Array, MapData, MapError, PerCpuArray, PerCpuValues},
};
use rustix::thread::{CpuSet, sched_setaffinity};

use crate::{
    Result,
    netns::Namespace,
    packet::{Form, Packet},
    programs::{self, bpf},
};

/// The UDP port of the correspondent of every generated datagram (discard, RFC 863).
pub const PORT: u16 = 9;
/// Lowest UDP port of a flow's own end.
pub const FIRST_PORT: u16 = 1024;

/// Frames of one NAPI poll, and well below the 256 slots of a veth's ring.
pub const BATCH: u32 = 64;
/// 32-bit words that the BPF program has for a frame.
const ROOM: usize = 32;
/// 32-bit words that it has for what differs.
const VARYING: usize = 8;
/// More frames than these are not kept as a whole: 512 KiB.
const WHOLE: usize = 4096;
/// 32-bit words of the program's configuration.
const CONFIGURATION: usize = 3;

type Configuration = Array<MapData, [u32; CONFIGURATION]>;
type Progress = PerCpuArray<MapData, [u64; 3]>;

/// In which order frames take turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// As they were given.
    Sequence,
    /// Pseudorandom, the same from run to run. Each has one turn before any has another.
    Random,
}

/// What to generate.
#[derive(Debug, Clone)]
pub struct Stream {
    /// The packets, 1 or more, all of one form.
    pub packets: Vec<Packet>,
    /// Ethernet destination: the gateway's end of the link.
    pub to: [u8; 6],
    /// Ethernet source: the sending end of the link.
    pub from: [u8; 6],
}

/// How fast to send.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pace {
    /// As fast as the core can.
    Full,
    /// So many frames per second, evenly. A frame that is late by less than a millisecond is made
    /// up for: the load does not bend to what the path under test can do.
    PerSecond(f64),
    /// Not at all.
    Stopped,
}

impl Pace {
    /// Nanoseconds from frame to frame, as the program takes them.
    fn interval(self) -> u32 {
        match self {
            Self::Full => 0,
            Self::PerSecond(rate) => (1e9 / rate).round().clamp(1.0, 1e9) as u32,
            Self::Stopped => u32::MAX,
        }
    }
}

impl Stream {
    /// The program that sends such frames.
    fn program(&self) -> &'static str {
        match (self.packets[0].form(), self.are_many()) {
            (Form::V4, false) => "generate4",
            (Form::V4, true) => "vary4",
            (Form::V6, false) => "generate6",
            (Form::V6, true) => "vary6",
            (Form::SixInFour | Form::FourInSix, false) => "generate46",
            (Form::SixInFour | Form::FourInSix, true) => "vary46",
        }
    }

    /// Whether only their differences are kept.
    fn are_many(&self) -> bool {
        self.packets.len() > WHOLE
    }

    /// One of the frames.
    fn frame(&self, number: usize) -> Vec<u8> {
        self.packets[number].frame(number as u32, self.to, self.from)
    }

    /// The same as the program has it.
    fn words(&self, number: usize) -> [u32; ROOM] {
        let mut words = [0; ROOM];
        let frame = self.frame(number);
        for (word, octets) in words.iter_mut().zip(frame.chunks_exact(4)) {
            *word = u32::from_ne_bytes([octets[0], octets[1], octets[2], octets[3]]);
        }
        words
    }

    /// The places of the words that are not the same in all frames; more than once if they are few.
    /// `None` if there are too many of them.
    fn places(&self) -> Option<[u8; VARYING]> {
        let first = self.words(0);
        let mut differs = [false; ROOM];
        for number in 1..self.packets.len() {
            for ((differs, word), first) in differs.iter_mut().zip(self.words(number)).zip(first) {
                *differs |= word != first;
            }
        }
        let mut places = (0..ROOM as u8).filter(|place| differs[usize::from(*place)]);
        let mut last = 0;
        let all = [(); VARYING].map(|()| {
            last = places.next().unwrap_or(last);
            last
        });
        places.next().is_none().then_some(all)
    }

    /// The numbers of the frames in an order.
    fn numbers(&self, order: Order) -> Vec<u32> {
        let mut numbers: Vec<u32> = (0..self.packets.len() as u32).collect();
        if order == Order::Random {
            // Fisher and Yates, with splitmix64.
            let mut state = 0;
            for last in (1..numbers.len()).rev() {
                let other = (u128::from(splitmix(&mut state)) * (last as u128 + 1)) >> 64;
                numbers.swap(last, other as usize);
            }
        }
        numbers
    }
}

/// Pseudorandom numbers: the next one after `state`.
pub(crate) fn splitmix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// A generator in a namespace, on one CPU.
pub struct Generator {
    namespace: Arc<Namespace>,
    target: Target,
    object: Ebpf,
    program: &'static str,
    frames: Frames,
    configuration: Configuration,
    progress: Progress,
    stream: Stream,
    cpu: usize,
}

/// The frames, where the program finds them.
struct Frames {
    whole: Array<MapData, [u32; ROOM]>,
    differences: Array<MapData, [u32; VARYING]>,
    /// Where they differ, if they are many.
    places: Option<[u8; VARYING]>,
}

impl Frames {
    /// Writes a frame.
    fn set(&mut self, place: u32, words: [u32; ROOM]) -> std::result::Result<(), MapError> {
        let Some(places) = self.places else {
            return self.whole.set(place, words, 0);
        };
        if place == 0 {
            self.whole.set(0, words, 0)?;
        }
        let differences = places.map(|place| words[usize::from(place)]);
        self.differences.set(place, differences, 0)
    }
}

/// What the program's configuration has beside the pace.
#[derive(Debug, Clone, Copy)]
struct Target {
    interface: u32,
    frames: u32,
}

impl Generator {
    /// Prepares to send `stream` out of `interface`, working on `cpu`.
    pub fn new(
        namespace: &Arc<Namespace>,
        interface: &str,
        stream: Stream,
        cpu: usize,
    ) -> Result<Self> {
        let program = stream.program();
        let target = Target {
            interface: namespace.interface_index(interface)?,
            frames: stream.packets.len() as u32,
        };
        let mut loader = EbpfLoader::new();
        let places = if stream.are_many() {
            let too_many = || bpf("DIFFERENCES", "the frames differ in too many places");
            Some(stream.places().ok_or_else(too_many)?)
        } else {
            None
        };
        let map = if let Some(places) = &places {
            loader.override_global("PLACES", places, true);
            "DIFFERENCES"
        } else {
            "FRAMES"
        };
        let mut object = programs::load_by(loader.map_max_entries(map, target.frames))?;
        programs::program(&mut object, program)?
            .load()
            .map_err(|problem| bpf(program, problem))?;
        let array = |problem| bpf("the generator's maps", problem);
        let mut generator = Self {
            namespace: Arc::clone(namespace),
            target,
            program,
            frames: Frames {
                whole: Array::try_from(programs::map(&mut object, "FRAMES")?).map_err(array)?,
                differences: Array::try_from(programs::map(&mut object, "DIFFERENCES")?)
                    .map_err(array)?,
                places,
            },
            configuration: Array::try_from(programs::map(&mut object, "GENERATOR")?)
                .map_err(array)?,
            progress: PerCpuArray::try_from(programs::map(&mut object, "PROGRESS")?)
                .map_err(array)?,
            object,
            stream,
            cpu,
        };
        generator.set_order(Order::Sequence)?;
        Ok(generator)
    }

    /// Begins the stream's sequence anew.
    pub fn rewind(&mut self) -> Result<()> {
        let problem = |problem: &dyn ToString| bpf("PROGRESS", problem.to_string());
        let cpus = aya::util::nr_cpus().map_err(|(_, error)| problem(&error))?;
        let zero = PerCpuValues::try_from(vec![[0; 3]; cpus]).map_err(|error| problem(&error))?;
        self.progress
            .set(0, zero, 0)
            .map_err(|error| problem(&error))
    }

    /// Sends the same frames in another order, from the beginning.
    pub fn set_order(&mut self, order: Order) -> Result<()> {
        for (place, number) in self.stream.numbers(order).into_iter().enumerate() {
            let words = self.stream.words(number as usize);
            self.frames
                .set(place as u32, words)
                .map_err(|problem| bpf("FRAMES", problem))?;
        }
        self.rewind()?;
        self.pace(Pace::Full)
    }

    /// Sets how fast frames follow each other, also while they are being sent.
    pub fn pace(&mut self, pace: Pace) -> Result<()> {
        self.target.set(&mut self.configuration, pace)
    }

    /// Runs the program so many times, on its CPU, and returns when that is done. At full pace
    /// each run sends a frame.
    pub fn run(&mut self, times: u32) -> Result<()> {
        self.run_while(times, |_| Ok(())).map(drop)
    }

    /// The same, with `task` on this thread while the program runs; also tells when the runs ended.
    pub fn run_while<T>(
        &mut self,
        times: u32,
        task: impl FnOnce(&mut Controls<'_>) -> Result<T>,
    ) -> Result<(T, Instant)> {
        let Self {
            namespace,
            target,
            object,
            program,
            configuration,
            progress,
            stream,
            cpu,
            ..
        } = self;
        let xdp = &*programs::program(object, program)?;
        let frame = vec![0; stream.frame(0).len()];
        let runs = || {
            namespace.enter(|| {
                pin(*cpu)?;
                let options = TestRunOptions {
                    data_in: Some(&frame),
                    repeat: times,
                    attrs: TestRunAttrs::new().xdp_live_frames(BATCH),
                    ..TestRunOptions::new()
                };
                xdp.test_run(options)
                    .map_err(|problem| bpf("live frames", problem))?;
                Ok(Instant::now())
            })
        };
        std::thread::scope(|scope| {
            let sender = scope.spawn(runs);
            let value = task(&mut Controls {
                target: *target,
                configuration,
                progress,
            });
            let ended = match sender.join() {
                Ok(ended) => ended?,
                Err(panic) => std::panic::resume_unwind(panic),
            };
            Ok((value?, ended))
        })
    }
}

/// What can be read and set while a generator runs.
pub struct Controls<'a> {
    target: Target,
    configuration: &'a mut Configuration,
    progress: &'a Progress,
}

impl Controls<'_> {
    /// Frames sent since the sequence began.
    pub fn sent(&self) -> Result<u64> {
        sent(self.progress)
    }

    /// Sends no more frames: what is left of the runs goes by quickly.
    pub fn stop(&mut self) -> Result<()> {
        self.target.set(self.configuration, Pace::Stopped)
    }
}

fn sent(progress: &Progress) -> Result<u64> {
    let values = progress
        .get(&0, 0)
        .map_err(|problem| bpf("PROGRESS", problem))?;
    Ok(values.iter().map(|[sent, ..]| sent).sum())
}

impl Target {
    fn set(self, configuration: &mut Configuration, pace: Pace) -> Result<()> {
        let words = [self.interface, pace.interval(), self.frames];
        configuration
            .set(0, words, 0)
            .map_err(|problem| bpf("GENERATOR", problem))
    }
}

/// Binds this thread to one CPU.
pub fn pin(cpu: usize) -> Result<()> {
    let mut set = CpuSet::new();
    set.set(cpu);
    sched_setaffinity(None, &set).map_err(|errno| bpf("CPU affinity", errno))
}

#[cfg(test)]
mod tests {
    use std::{
        collections::BTreeSet,
        net::{Ipv4Addr, Ipv6Addr},
    };

    use super::*;
    use crate::packet::Ends;

    #[test]
    fn in_random_order_each_frame_has_one_turn() {
        let ends = Ends::V4(Ipv4Addr::LOCALHOST, Ipv4Addr::LOCALHOST);
        let stream = Stream {
            packets: vec![Packet::new(ends, (FIRST_PORT, PORT)); 1000],
            to: [0; 6],
            from: [0; 6],
        };
        let numbers = stream.numbers(Order::Random);
        assert_ne!(numbers, stream.numbers(Order::Sequence));
        assert_eq!(numbers.len(), 1000);
        let all: BTreeSet<u32> = numbers.into_iter().collect();
        assert!(all.into_iter().eq(0..1000));
    }

    #[test]
    fn of_many_frames_only_what_differs_is_kept() {
        let many = |packet: &dyn Fn(u32) -> Packet| Stream {
            packets: (0..5000).map(packet).collect(),
            to: [0; 6],
            from: [0; 6],
        };
        let one = Ipv4Addr::LOCALHOST;
        let more = many(&|n| {
            let ends = Ends::V4(one, Ipv4Addr::from_bits(0xc612_0000 + n));
            Packet::new(ends, (FIRST_PORT, PORT))
        });
        assert_eq!(more.program(), "vary4");
        // The checksum of the header; the lower half of the destination; the UDP checksum and the number of
        // the frame, which has the upper half of the last word.
        assert_eq!(more.places(), Some([6, 8, 10, 11, 11, 11, 11, 11]));
        let (first, words) = (more.words(0), more.words(4999));
        let same = |place: usize| first[place] == words[place];
        assert!((0..ROOM).all(|place| same(place) || [6, 8, 10, 11].contains(&place)));

        let mixed = many(&|n| {
            let address = Ipv6Addr::from_bits((u128::from(n) * u128::from(u64::MAX)) << 32);
            Packet::new(Ends::V6(address, address), (n as u16, n as u16))
        });
        assert_eq!(mixed.places(), None);
    }
}

//! The packet generator: small UDP datagrams from an XDP program, as fast as one core can.
//!
//! `BPF_PROG_TEST_RUN` with live frames runs the program over recycled pages in batches of 64 and
//! lets its redirects happen. What follows in the same softirq (the path under test and the sink)
//! runs on the same core, so a figure is packets per second of one core for the whole chain.

use std::{
    net::{Ipv4Addr, Ipv6Addr},
    sync::Arc,
    time::Instant,
};

use aya::{
    Ebpf, TestRun, TestRunAttrs, TestRunOptions,
    maps::{Array, MapData, PerCpuArray, PerCpuValues},
};
use rustix::thread::{CpuSet, sched_setaffinity};

use crate::{
    Result,
    netns::Namespace,
    programs::{self, bpf},
};

/// The UDP destination port of every generated datagram (discard, RFC 863).
pub const PORT: u16 = 9;

/// Frames of one NAPI poll, and well below the 256 slots of a veth's ring.
const BATCH: u32 = 64;
/// Octets of payload after the UDP header; the first four are a sequence number.
const PAYLOAD: usize = 18;
const ETHERNET: usize = 14;
const UDP: usize = 8;
/// Octets that the templates in the BPF program hold.
const TEMPLATE: usize = 80;
/// 32-bit words of the program's configuration: template and ten numbers.
const CONFIGURATION: usize = TEMPLATE / 4 + 10;

/// Source and destination, and which 16 bits of the source tell the hosts apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Addresses {
    /// IPv4; the last 16 bits of the source vary.
    V4 {
        /// The first host.
        source: Ipv4Addr,
        /// Where all frames go.
        destination: Ipv4Addr,
    },
    /// IPv6.
    V6 {
        /// The first host.
        source: Ipv6Addr,
        /// Where all frames go.
        destination: Ipv6Addr,
        /// What varies from host to host.
        vary: Vary,
    },
}

/// The 16 bits of an IPv6 source address that vary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vary {
    /// Bits 48..63: every host has a /64 of its own.
    Subnet,
    /// Bits 112..127: all hosts share a /64.
    Interface,
}

/// In which order flows take turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// One after the other: after `flows` frames every flow has had one.
    Sequence,
    /// Pseudorandom and uniform; the sequence repeats from run to run.
    Random,
}

/// What to generate.
#[derive(Debug, Clone, Copy)]
pub struct Stream {
    /// Sender and receiver.
    pub addresses: Addresses,
    /// Number of flows, 1 or more.
    pub flows: u32,
    /// Flows (source ports) of one host, 1..=64512.
    pub flows_per_host: u32,
    /// Their order.
    pub order: Order,
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

/// Lowest source port of a flow.
const FIRST_PORT: u16 = 1024;

/// A stream's frame and the numbers that the program needs beside it.
struct Frame {
    octets: Vec<u8>,
    first_host: u16,
    vary: u32,
    header_sum: u32,
    datagram_sum: u32,
}

impl Stream {
    /// Length of the frame without FCS: 60 for IPv4, 80 for IPv6.
    pub fn frame_length(&self) -> usize {
        self.frame().octets.len()
    }

    fn frame(&self) -> Frame {
        let mut octets = Vec::with_capacity(TEMPLATE);
        octets.extend(self.to);
        octets.extend(self.from);
        let length = (UDP + PAYLOAD) as u16;
        let (first_host, vary, addresses) = match self.addresses {
            Addresses::V4 {
                source,
                destination,
            } => {
                octets.extend([0x08, 0x00, 0x45, 0]);
                octets.extend((20 + length).to_be_bytes());
                // Identification 0, DF set, TTL 64, UDP, checksum zero for now.
                octets.extend([0, 0, 0x40, 0, 64, 17, 0, 0]);
                let [a, b, c, d] = source.octets();
                octets.extend([a, b, 0, 0]);
                octets.extend(destination.octets());
                (u16::from_be_bytes([c, d]), 0, ETHERNET + 12..ETHERNET + 20)
            }
            Addresses::V6 {
                source,
                destination,
                vary,
            } => {
                octets.extend([0x86, 0xdd, 0x60, 0, 0, 0]);
                octets.extend(length.to_be_bytes());
                octets.extend([17, 64]);
                let mut segments = source.segments();
                let varied = match vary {
                    Vary::Subnet => 3,
                    Vary::Interface => 7,
                };
                let first = std::mem::take(&mut segments[varied]);
                octets.extend(Ipv6Addr::from(segments).octets());
                octets.extend(destination.octets());
                let flag = u32::from(vary == Vary::Subnet);
                (first, flag, ETHERNET + 8..ETHERNET + 40)
            }
        };
        let header = octets.len();
        octets.extend([0, 0]);
        octets.extend(PORT.to_be_bytes());
        octets.extend(length.to_be_bytes());
        octets.extend([0; 2 + PAYLOAD]);
        let pseudo = sum(&octets[addresses]) + sum(&length.to_be_bytes()) + sum(&[0, 17]);
        Frame {
            first_host,
            vary,
            header_sum: sum(&octets[ETHERNET..header]),
            datagram_sum: pseudo + sum(&octets[header..]),
            octets,
        }
    }

    fn configuration(&self, interface: u32, pace: Pace) -> [u32; CONFIGURATION] {
        let frame = self.frame();
        let mut words = [0; CONFIGURATION];
        for (word, octets) in words.iter_mut().zip(frame.octets.chunks_exact(4)) {
            *word = u32::from_ne_bytes([octets[0], octets[1], octets[2], octets[3]]);
        }
        words[TEMPLATE / 4..].copy_from_slice(&[
            interface,
            self.flows,
            u32::from(self.order == Order::Random),
            self.flows_per_host,
            u32::from(FIRST_PORT),
            u32::from(frame.first_host),
            frame.vary,
            frame.header_sum,
            frame.datagram_sum,
            pace.interval(),
        ]);
        words
    }
}

/// Sum of 16-bit words as they lie in memory, which is how the program adds to it.
fn sum(octets: &[u8]) -> u32 {
    octets
        .chunks_exact(2)
        .map(|pair| u32::from(u16::from_ne_bytes([pair[0], pair[1]])))
        .sum()
}

/// A generator in a namespace, on one CPU.
pub struct Generator {
    namespace: Arc<Namespace>,
    interface: u32,
    object: Ebpf,
    program: &'static str,
    configuration: Array<MapData, [u32; CONFIGURATION]>,
    progress: PerCpuArray<MapData, [u64; 3]>,
    stream: Stream,
    cpu: usize,
}

impl Generator {
    /// Prepares to send `stream` out of `interface`, working on `cpu`.
    pub fn new(
        namespace: &Arc<Namespace>,
        interface: &str,
        stream: &Stream,
        cpu: usize,
    ) -> Result<Self> {
        let program = match stream.addresses {
            Addresses::V4 { .. } => "generate4",
            Addresses::V6 { .. } => "generate6",
        };
        let mut object = programs::load()?;
        programs::program(&mut object, program)?
            .load()
            .map_err(|problem| bpf(program, problem))?;
        let configuration = Array::try_from(programs::map(&mut object, "GENERATOR")?)
            .map_err(|problem| bpf("GENERATOR", problem))?;
        let progress = PerCpuArray::try_from(programs::map(&mut object, "PROGRESS")?)
            .map_err(|problem| bpf("PROGRESS", problem))?;
        let mut generator = Self {
            namespace: Arc::clone(namespace),
            interface: namespace.interface_index(interface)?,
            object,
            program,
            configuration,
            progress,
            stream: *stream,
            cpu,
        };
        generator.rewind()?;
        generator.pace(Pace::Full)?;
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

    /// Sends the same flows in another order, from the beginning.
    pub fn set_order(&mut self, order: Order) -> Result<()> {
        self.stream.order = order;
        self.rewind()?;
        self.pace(Pace::Full)
    }

    /// Sets how fast frames follow each other, also while they are being sent.
    pub fn pace(&mut self, pace: Pace) -> Result<()> {
        let words = self.stream.configuration(self.interface, pace);
        set(&mut self.configuration, words)
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
            interface,
            object,
            program,
            configuration,
            progress,
            stream,
            cpu,
        } = self;
        let xdp = &*programs::program(object, program)?;
        let frame = vec![0; stream.frame_length()];
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
                interface: *interface,
                stream,
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
    interface: u32,
    stream: &'a Stream,
    configuration: &'a mut Array<MapData, [u32; CONFIGURATION]>,
    progress: &'a PerCpuArray<MapData, [u64; 3]>,
}

impl Controls<'_> {
    /// Frames sent since the sequence began.
    pub fn sent(&self) -> Result<u64> {
        sent(self.progress)
    }

    /// Sends no more frames: what is left of the runs goes by quickly.
    pub fn stop(&mut self) -> Result<()> {
        let words = self.stream.configuration(self.interface, Pace::Stopped);
        set(self.configuration, words)
    }
}

fn sent(progress: &PerCpuArray<MapData, [u64; 3]>) -> Result<u64> {
    let values = progress
        .get(&0, 0)
        .map_err(|problem| bpf("PROGRESS", problem))?;
    Ok(values.iter().map(|[sequence, ..]| sequence).sum())
}

fn set(
    configuration: &mut Array<MapData, [u32; CONFIGURATION]>,
    words: [u32; CONFIGURATION],
) -> Result<()> {
    configuration
        .set(0, words, 0)
        .map_err(|problem| bpf("GENERATOR", problem))
}

/// Binds this thread to one CPU.
pub fn pin(cpu: usize) -> Result<()> {
    let mut set = CpuSet::new();
    set.set(cpu);
    sched_setaffinity(None, &set).map_err(|errno| bpf("CPU affinity", errno))
}

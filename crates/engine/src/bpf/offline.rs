//! The BPF programs on packets of a file. The kernel runs them for one packet at a time
//! (`BPF_PROG_TEST_RUN`), in a network namespace without routes. Packets for the slow path go to the user-space
//! engine on the same memory.

use std::fs::File;
use std::io;
use std::sync::atomic::Ordering;

use aya::programs::{SchedClassifier, TestRun as _, TestRunOptions, Xdp};
use isthmus_abi::programs::Slot;
use isthmus_core::reason::Counter;
use isthmus_core::table::Memory as _;

use super::{Clock, Error, Hook, Programs, map};
use crate::counters::Snapshot;
use crate::memory::Region;
use crate::offline::{Send, Translator, UserTranslator};
use crate::ruleset::Ruleset;
use crate::sys;

const ETHERNET: usize = 14;
/// The kernel tests no packet shorter than an IP header. The largest packet of a test run is a page less
/// headroom. Larger packets take the slow path, as on a driver without room.
const LARGEST: usize = 3400;
/// The largest growth of a packet.
const GROWTH: usize = 256;

/// Lines of memory for sessions that are there at least: most configurations that [`KernelTranslator::restart`] is called with
/// fit.
const SPARE_LINES: u32 = 1 << 15;

/// A BPF engine without its links.
#[derive(Debug)]
pub struct KernelTranslator {
    programs: Programs,
    hook: Hook,
    /// A network namespace without routes.
    network: File,
    slow: UserTranslator,
    /// Set until the first packet.
    seed: Option<u64>,
    /// Number of packets that the programs have passed to the slow path.
    handed_on: u64,
    /// The counts of the programs before this run.
    before: Snapshot,
    /// The number of instances, which are the owners of these counts.
    instances: u32,
}

impl KernelTranslator {
    /// Loads the programs of a hook for this configuration. Moves the calling thread to a new network namespace, so
    /// that the programs find no routes.
    ///
    /// # Errors
    /// [`Error`], for example without the rights.
    pub fn new(hook: Hook, ruleset: Ruleset, state_lines: u32, seed: u64) -> Result<Self, Error> {
        let rules = ruleset.tables().lines();
        let room = state_lines.max(SPARE_LINES);
        let programs = Programs::new(&[hook], room, rules, Clock::Packets, None)?;
        let network = sys::leave_network()?;
        Self::begin(programs, hook, network, ruleset, state_lines, seed)
    }

    /// Starts again with another configuration, empty tables and zero counters. The programs stay loaded if the
    /// memory is large enough, because the kernel takes time to verify them. Moves the calling thread to the same network
    /// namespace then.
    ///
    /// # Errors
    /// [`Error`]. The programs are unloaded then.
    pub fn restart(self, ruleset: Ruleset, state_lines: u32, seed: u64) -> Result<Self, Error> {
        let Self {
            programs,
            hook,
            network,
            slow,
            ..
        } = self;
        if !programs.has_room(state_lines, ruleset.tables().lines()) {
            return Self::new(hook, ruleset, state_lines, seed);
        }
        clear(slow.state());
        sys::enter_network(&network)?;
        Self::begin(programs, hook, network, ruleset, state_lines, seed)
    }

    fn begin(
        mut programs: Programs,
        hook: Hook,
        network: File,
        ruleset: Ruleset,
        state_lines: u32,
        seed: u64,
    ) -> Result<Self, Error> {
        programs.put(&ruleset)?;
        let state = programs.state(state_lines)?;
        let instances = ruleset.instances().len() as u32;
        let before = counted(&programs, instances)?;
        Ok(Self {
            hook,
            network,
            slow: UserTranslator::new(ruleset, state, seed),
            seed: Some(seed),
            handed_on: before.get(Counter::SlowPath),
            before,
            instances,
            programs,
        })
    }

    /// The memory for bindings, sessions and fragments.
    #[must_use]
    pub fn state(&self) -> &Region {
        self.slow.state()
    }

    /// Runs the program on a packet. Returns `None` if the packet has to take the slow path.
    fn run(&mut self, packet: &[u8], now: u64) -> Result<Option<Vec<u8>>, Error> {
        let kind: u16 = match packet.first().map(|byte| byte >> 4) {
            Some(4) => 0x0800,
            Some(6) => 0x86dd,
            _ => return Ok(None),
        };
        let least = if kind == 0x0800 { 20 } else { 40 };
        if packet.len() > LARGEST || packet.len() < least {
            return Ok(None);
        }
        map::set_clock(&mut self.programs.ebpf, now, self.seed.take())?;
        let mut frame = vec![0; 12];
        frame.extend(kind.to_be_bytes());
        frame.extend(packet);
        let mut sent = vec![0; frame.len() + GROWTH];
        let mut options = TestRunOptions::new();
        options.data_in = Some(&frame);
        options.data_out = Some(&mut sent);
        let name = Slot::Base.name(self.hook);
        let program = self.programs.ebpf.program(name);
        let program = program.ok_or(Error::Missing(name))?;
        let (result, dropped) = match self.hook {
            Hook::Xdp => {
                let program: &Xdp = program.try_into()?;
                (program.test_run(options)?, XDP_DROP)
            }
            Hook::Tc => {
                let program: &SchedClassifier = program.try_into()?;
                (program.test_run(options)?, TC_ACT_SHOT)
            }
        };
        if result.return_value == dropped {
            return Ok(Some(Vec::new()));
        }
        let end = (result.data_size_out as usize).min(sent.len());
        let sent = sent.get(ETHERNET..end).unwrap_or_default();
        if sent != packet {
            return Ok(Some(sent.to_vec()));
        }
        // Without a route a translated packet also comes back, but changed. An unchanged packet has to take the slow
        // path, or is not ours. The counter tells which; reading it is the most expensive step here.
        let handed_on = counted(&self.programs, self.instances)?.get(Counter::SlowPath);
        if handed_on == self.handed_on {
            return Ok(Some(Vec::new()));
        }
        self.handed_on = handed_on;
        Ok(None)
    }
}

/// Returns the counts of the programs since they were loaded, of the gateway and so many instances together.
fn counted(programs: &Programs, instances: u32) -> Result<Snapshot, Error> {
    let mut total = Snapshot::default();
    for (_, counted) in map::counters(&programs.ebpf, instances)? {
        total += &counted;
    }
    Ok(total)
}

/// Sets all lines to zero.
fn clear(memory: &Region) {
    for line in (0..memory.lines()).filter_map(|index| memory.line(index)) {
        for word in line {
            word.store(0, Ordering::Relaxed);
        }
    }
}

const XDP_DROP: u32 = 1;
const TC_ACT_SHOT: u32 = 2;

impl Translator for KernelTranslator {
    fn translate(&mut self, packet: &[u8], now: u64, send: &mut Send<'_>) -> io::Result<()> {
        self.slow.pass_time(now, send);
        match self.run(packet, now).map_err(io::Error::other)? {
            None => self.slow.translate(packet, now, send),
            Some(sent) => {
                if let Some(sent) = trimmed(&sent) {
                    send(sent, &[]);
                }
                Ok(())
            }
        }
    }

    /// Returns the counts of both engines. The user-space engine counts the packets of the slow path.
    fn counters(&self) -> io::Result<Snapshot> {
        let mut total = self.slow.counters()?;
        let counted = counted(&self.programs, self.instances).map_err(io::Error::other)?;
        total += &counted.since(&self.before);
        Ok(total)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.slow.finish()
    }
}

/// Returns the packet without the padding of its frame.
fn trimmed(packet: &[u8]) -> Option<&[u8]> {
    let number = |at: usize| {
        Some(usize::from(u16::from_be_bytes([
            *packet.get(at)?,
            *packet.get(at + 1)?,
        ])))
    };
    let length = match packet.first()? >> 4 {
        4 => number(2)?,
        _ => number(4)? + 40,
    };
    packet.get(..length)
}

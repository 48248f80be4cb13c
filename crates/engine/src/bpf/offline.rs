//! The BPF programs on packets of a file: the kernel runs them for one packet at a time
//! (`BPF_PROG_TEST_RUN`), in a network namespace without routes, and what they leave to the slow
//! path goes to the user-space engine on the same memory.

use std::io;

use aya::programs::{SchedClassifier, Xdp};
use aya::programs::{TestRun as _, TestRunOptions};
use isthmus_core::reason::Counter;

use super::{Clock, Error, Programs, map};
use crate::counters::Snapshot;
use crate::memory::Region;
use crate::offline::{Send, Translator, UserTranslator};
use crate::ruleset::Ruleset;

/// Where in the kernel a program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    /// In the driver.
    Xdp,
    /// In the traffic control layer.
    Tc,
}

const ETHERNET: usize = 14;
/// The kernel tests nothing shorter than an IP header. The
/// largest packet that a test run takes is a page less headroom; larger ones go to the slow
/// path, as they would where a driver has no room.
const LARGEST: usize = 3400;
/// What a packet grows by at most.
const GROWTH: usize = 256;

/// A BPF engine without its links.
#[derive(Debug)]
pub struct KernelTranslator {
    programs: Programs,
    hook: Hook,
    slow: UserTranslator,
    /// Set until the first packet.
    seed: Option<u64>,
}

impl KernelTranslator {
    /// Loads the programs for this configuration. Moves the calling thread to a network namespace
    /// of its own, so that the programs find no routes.
    ///
    /// # Errors
    /// [`Error`]; not having the rights, for one.
    pub fn new(hook: Hook, ruleset: Ruleset, state_lines: u32, seed: u64) -> Result<Self, Error> {
        crate::sys::leave_network()?;
        let rules = ruleset.tables().lines();
        let mut programs = Programs::load(state_lines, rules, Clock::Packets)?;
        programs.put(&ruleset)?;
        let state = programs.state(state_lines)?;
        let slow = UserTranslator::new(ruleset, state, seed);
        Ok(Self {
            programs,
            hook,
            slow,
            seed: Some(seed),
        })
    }

    /// The memory for bindings, sessions and fragments.
    #[must_use]
    pub fn state(&self) -> &Region {
        self.slow.state()
    }

    /// Runs the program on a packet; `None` if it has to take the slow path.
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
        let before = self.handed_on()?;
        let mut frame = vec![0; 12];
        frame.extend(kind.to_be_bytes());
        frame.extend(packet);
        let mut sent = vec![0; frame.len() + GROWTH];
        let mut options = TestRunOptions::new();
        options.data_in = Some(&frame);
        options.data_out = Some(&mut sent);
        let (result, dropped) = match self.hook {
            Hook::Xdp => {
                let program: &Xdp = self
                    .programs
                    .ebpf
                    .program("isthmus_xdp")
                    .ok_or(Error::Missing("isthmus_xdp"))?
                    .try_into()?;
                (program.test_run(options)?, XDP_DROP)
            }
            Hook::Tc => {
                let program: &SchedClassifier = self
                    .programs
                    .ebpf
                    .program("isthmus_tc")
                    .ok_or(Error::Missing("isthmus_tc"))?
                    .try_into()?;
                (program.test_run(options)?, TC_ACT_SHOT)
            }
        };
        let after = self.handed_on()?;
        if after.get(Counter::SlowPath) != before.get(Counter::SlowPath) {
            return Ok(None);
        }
        let untouched = after.get(Counter::NotOurs) != before.get(Counter::NotOurs);
        if result.return_value == dropped || untouched {
            return Ok(Some(Vec::new()));
        }
        let end = (result.data_size_out as usize).min(sent.len());
        Ok(Some(sent.get(ETHERNET..end).unwrap_or_default().to_vec()))
    }

    fn handed_on(&self) -> Result<Snapshot, Error> {
        let mut total = Snapshot::default();
        for (_, counted) in self.programs.counters()? {
            total += &counted;
        }
        Ok(total)
    }
}

const XDP_DROP: u32 = 1;
const TC_ACT_SHOT: u32 = 2;

impl Translator for KernelTranslator {
    fn translate(&mut self, packet: &[u8], now: u64, send: &mut Send<'_>) -> io::Result<()> {
        self.slow.sweep(now);
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

    /// Both engines together; a packet that took the slow path is counted there.
    fn counters(&self) -> io::Result<Snapshot> {
        let mut total = self.slow.counters()?;
        total += &self.handed_on().map_err(io::Error::other)?;
        Ok(total)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.slow.finish()
    }
}

/// The packet without the bytes that padded its frame.
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

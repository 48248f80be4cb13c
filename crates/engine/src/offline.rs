//! A gateway on a capture file: the rules of the running gateway, with the times of the packets as its clock.
//! Anyone can test the gateway in this way.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use chacha20::ChaCha8Rng;
use chacha20::rand_core::SeedableRng;

use crate::buffer::{Buffer, HEADROOM};
use crate::counters::{Counters, Owner, Snapshot};
use crate::host::UserHost;
use crate::memory::Region;
use crate::pcap::{self, Reader, Record, Writer};
use crate::ruleset::Ruleset;
use crate::slowpath::{Output, SlowPath};
use crate::sweeper::sweep_all;

/// Nanoseconds of the packets' clock between two sweeps.
const SWEEP: u64 = 1_000_000_000;

/// An engine that takes single packets instead of those of a link.
pub trait Translator {
    /// Processes one IP packet at the time `now`, in nanoseconds, which never decreases. Passes every resulting
    /// packet to `send`, in order, as a head and a tail.
    ///
    /// # Errors
    /// The engine itself failed. A refused packet is no error.
    fn translate(&mut self, packet: &[u8], now: u64, send: &mut Send<'_>) -> io::Result<()>;

    /// Returns the counters up to now.
    ///
    /// # Errors
    /// The counters cannot be read.
    fn counters(&self) -> io::Result<Snapshot>;

    /// Ends the input: drops the packets that still wait for others.
    ///
    /// # Errors
    /// The engine itself failed.
    fn finish(&mut self) -> io::Result<()>;
}

/// Receives a packet that consists of a head and a tail.
pub type Send<'a> = dyn FnMut(&[u8], &[u8]) + 'a;

/// The reason why a run stopped.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The input cannot be read.
    #[error(transparent)]
    Input(#[from] pcap::Error),
    /// The output cannot be written.
    #[error("{file}: {error}")]
    Output {
        /// The file.
        file: PathBuf,
        /// The error from the system.
        error: io::Error,
    },
    /// The engine failed.
    #[error("the engine failed at packet {packet}: {error}")]
    Engine {
        /// Number of the packet in the input, from 1.
        packet: u64,
        /// The error from the system.
        error: io::Error,
    },
}

/// The summary of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// IP packets read.
    pub read: u64,
    /// Frames without an IP packet.
    pub other: u64,
    /// Packets written.
    pub written: u64,
    /// All counters at the end of the run.
    pub counters: Snapshot,
}

/// Processes every packet of `input` and writes the results to `output`, as raw IP, with the time of the packet
/// that caused them. `-` is the standard input, or the standard output. They must be different files.
///
/// # Errors
/// [`Error`]. The output then holds the packets written before.
pub fn run(
    translator: &mut impl Translator,
    input: &Path,
    output: &Path,
) -> Result<Summary, Error> {
    let mut reader = Reader::open(input)?;
    let output_error = |error| Error::Output {
        file: output.to_owned(),
        error,
    };
    let file: Box<dyn Write> = match output == Path::new("-") {
        true => Box::new(io::stdout()),
        false => Box::new(File::create(output).map_err(output_error)?),
    };
    let writer = Writer::new(BufWriter::new(file), reader.resolution());
    let mut writer = writer.map_err(output_error)?;
    let (mut read, mut other, mut written) = (0, 0, 0);
    let mut clock = 0;
    while let Some(record) = reader.read()? {
        let Record::Ip { time, packet } = record else {
            other += 1;
            continue;
        };
        read += 1;
        clock = time.max(clock);
        let mut result = Ok(());
        let mut send = |head: &[u8], tail: &[u8]| {
            written += 1;
            if result.is_ok() {
                result = writer.write(time, head, tail);
            }
        };
        translator
            .translate(&packet, clock, &mut send)
            .map_err(|error| Error::Engine {
                packet: read,
                error,
            })?;
        result.map_err(output_error)?;
    }
    writer.finish().map_err(output_error)?;
    let counters = translator
        .finish()
        .and_then(|()| translator.counters())
        .map_err(|error| Error::Engine {
            packet: read,
            error,
        })?;
    Ok(Summary {
        read,
        other,
        written,
        counters,
    })
}

/// The user-space engine without its links.
#[derive(Debug)]
pub struct UserTranslator {
    ruleset: Ruleset,
    state: Region,
    random: ChaCha8Rng,
    counters: Counters,
    slowpath: SlowPath,
    /// Time of the next sweep.
    sweep_at: u64,
    storage: Vec<u8>,
}

impl UserTranslator {
    /// Returns an engine with this configuration and memory for its state. The same seed gives the same choices
    /// for the same packets.
    #[must_use]
    pub fn new(ruleset: Ruleset, state: Region, seed: u64) -> Self {
        Self {
            ruleset,
            state,
            random: ChaCha8Rng::seed_from_u64(seed),
            counters: Counters::default(),
            slowpath: SlowPath::default(),
            sweep_at: 0,
            storage: Vec::new(),
        }
    }
}

/// The engine without the buffer that holds the packet.
macro_rules! host {
    ($engine:ident, $now:expr) => {
        UserHost {
            ruleset: &$engine.ruleset,
            state: &$engine.state,
            now: $now,
            random: &mut $engine.random,
            counters: &$engine.counters,
            owner: Owner::Gateway,
        }
    };
}

impl UserTranslator {
    /// The memory for bindings, sessions and fragments.
    #[must_use]
    pub(crate) fn state(&self) -> &Region {
        &self.state
    }

    /// Removes expired state if a sweep is due, and expires waiting packets.
    pub(crate) fn pass_time(&mut self, now: u64, send: &mut Send<'_>) {
        if now >= self.sweep_at {
            sweep_all(&self.ruleset, &self.state, now, &self.counters);
            self.sweep_at = now + SWEEP;
        }
        if self.slowpath.is_waiting() {
            let mut host = host!(self, now);
            self.slowpath.expire(&mut host, &mut Sender(send));
        }
    }
}

impl Translator for UserTranslator {
    fn translate(&mut self, packet: &[u8], now: u64, send: &mut Send<'_>) -> io::Result<()> {
        self.pass_time(now, send);
        self.storage.resize(HEADROOM, 0);
        self.storage.extend_from_slice(packet);
        let mut host = host!(self, now);
        let mut buffer = Buffer::new(&mut self.storage, HEADROOM);
        let mut out = Sender(send);
        self.slowpath.handle(&mut buffer, &mut host, &mut out);
        Ok(())
    }

    fn counters(&self) -> io::Result<Snapshot> {
        Ok(self.counters.total())
    }

    fn finish(&mut self) -> io::Result<()> {
        let mut host = host!(self, u64::MAX);
        // The input has ended, so that nobody receives an ICMP error.
        self.slowpath.expire(&mut host, &mut Sender(&mut |_, _| {}));
        Ok(())
    }
}

struct Sender<'a, 'b>(&'a mut Send<'b>);

impl Output for Sender<'_, '_> {
    fn packet(&mut self, packet: &mut Buffer<'_>) {
        (self.0)(packet.packet(), &[]);
    }

    fn parts(&mut self, head: &[u8], tail: &[u8]) {
        (self.0)(head, tail);
    }
}

//! A node that is an emulated machine: slower than this one, and always as slow.
//!
//! The emulator gives each instruction the same time, so that the machine is the same one on every computer that can
//! keep up with it (`tests/guest/run --pace`).

use std::{
    fs, io,
    os::fd::{AsRawFd as _, OwnedFd},
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use super::{
    cores::{self, GATEWAY_CPU},
    process::{self, Process},
    sources,
    wire::Port,
};
use crate::{LabError, Result};

/// The power of two of the nanoseconds that an instruction takes: 125 million in a second.
const PACE: u32 = 3;
/// The time that the machine has to boot and to set itself up: some six thousand million instructions.
const PATIENCE: Duration = Duration::from_secs(180);
/// The longest life of a machine, in seconds: one that outlives this program ends then.
const LIFE: &str = "7200";
/// The line with which its command says that it is ready.
pub const READY: &str = "ready";
/// The script that starts it, from the folder of the sources.
const RUN: &str = "tests/guest/run";

/// A network card of an emulated node.
#[derive(Debug)]
pub struct Card {
    /// The interface of its neighbour, whose other end it is.
    pub(super) port: Port,
    /// Its Ethernet address.
    pub(super) address: String,
}

/// An emulated machine that runs until this is dropped.
#[derive(Debug)]
pub struct Emulated {
    process: Process,
    /// The interfaces of its neighbours last as long as it does.
    _cards: Vec<Card>,
}

impl Emulated {
    /// Starts a machine with these cards and programs, and waits until its command has printed [`READY`].
    ///
    /// # Errors
    /// There is no emulator, or the command fails.
    pub fn start(cards: Vec<Card>, programs: &[PathBuf], command: &[&str]) -> Result<Self> {
        process::require("qemu-system-x86_64", "qemu-system-x86")?;
        // It is in no namespace that is swept: it ends with the thread that has started it.
        let mut run = Command::new("setpriv");
        run.args([
            "--pdeathsig",
            "TERM",
            "taskset",
            "-c",
            &cores::cpu(GATEWAY_CPU).to_string(),
        ])
        .arg(sources::folder(RUN)?.join(RUN))
        .args(["--pace", &PACE.to_string(), "--timeout", LIFE]);
        for program in programs {
            run.arg("--program").arg(program);
        }
        let handles = cards.iter().map(|card| card.port.handle());
        let handles = handles.collect::<io::Result<Vec<OwnedFd>>>();
        let handles = handles.map_err(LabError::file("/dev/net/tun"))?;
        for (card, handle) in cards.iter().zip(&handles) {
            let handle = handle.as_raw_fd();
            run.args(["--card", &format!("{handle},{}", card.address)]);
        }
        let process = Process::start("the emulated machine", run.arg("--").args(command))?;
        let mut machine = Self {
            process,
            _cards: cards,
        };
        let log = machine.process.log().to_owned();
        machine
            .process
            .wait_until(PATIENCE, || printed(&log).lines().any(|line| line == READY))?;
        Ok(machine)
    }

    /// Returns all that its command has printed so far.
    pub fn printed(&self) -> String {
        printed(self.process.log())
    }

    /// Checks that it runs.
    ///
    /// # Errors
    /// It has ended.
    pub fn check(&mut self) -> Result<()> {
        self.process.check()
    }
}

fn printed(log: &Path) -> String {
    fs::read_to_string(log).unwrap_or_default()
}

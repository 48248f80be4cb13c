//! The device under test: ours, the kernel's, or another gateway, in the middle of a topology.

use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::{
    Result,
    network::{process::Process, programs::Attached, topology::Network},
};

/// A gateway that the lab can start.
pub trait Device {
    /// Returns its name in reports, with its version where it has one.
    fn name(&self) -> String;

    /// Sets it up in the gateway's namespace and waits until it works. User-space processes are bound to `cpu`.
    ///
    /// # Errors
    /// It cannot run here.
    fn start(&self, network: &Network, cpu: usize) -> Result<Started>;

    /// Removes all of its connections at once, by the command that its users have, and returns the time that this
    /// took. It works on with an empty table. A device without such a command is ended and started again; only the
    /// end is timed.
    fn tear_down(&self, network: &Network, cpu: usize, started: &mut Started) -> Result<Duration> {
        let begun = Instant::now();
        *started = Started::default();
        let took = begun.elapsed();
        *started = self.start(network, cpu)?;
        Ok(took)
    }
}

/// A running device; dropping it ends its processes and removes its files. Its settings in namespaces go with the
/// network.
#[derive(Debug, Default)]
pub struct Started {
    /// Its processes; the first one is the gateway itself.
    pub processes: Vec<Process>,
    /// XDP programs that forward in its place or help it.
    pub programs: Vec<Attached>,
    /// Its configuration.
    pub files: Option<TempDir>,
}

impl Started {
    /// Checks that its processes are running.
    ///
    /// # Errors
    /// One of its processes has ended.
    pub fn check(&mut self) -> Result<()> {
        self.processes.iter_mut().try_for_each(Process::check)
    }
}

//! What can stand in the middle of a topology: ours, the kernel, or somebody else's gateway.

use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::{Result, process::Process, programs::Attached, topology::Network};

/// A gateway that the lab can start.
pub trait Device {
    /// What reports call it, with its version where it has one.
    fn name(&self) -> String;

    /// Sets it up in the gateway's namespace and waits until it works. User-space processes are
    /// bound to `cpu`. An error says why it cannot run here.
    fn start(&self, network: &Network, cpu: usize) -> Result<Started>;

    /// Removes all of its connections at once, in the way that its users have, and tells how long it was
    /// until they were gone; it works on with an empty table. Whoever has no better way ends and
    /// starts again, of which only the end counts.
    fn tear_down(&self, network: &Network, cpu: usize, started: &mut Started) -> Result<Duration> {
        let begun = Instant::now();
        *started = Started::default();
        let took = begun.elapsed();
        *started = self.start(network, cpu)?;
        Ok(took)
    }
}

/// A running subject; dropping it ends its processes and removes its files. What it set in the
/// namespaces goes with the network.
#[derive(Debug, Default)]
pub struct Started {
    /// Its processes, the first one being the gateway itself.
    pub processes: Vec<Process>,
    /// XDP programs that stand for it or help it.
    pub programs: Vec<Attached>,
    /// Its configuration.
    pub files: Option<TempDir>,
}

impl Started {
    /// An error if one of its processes has ended.
    pub fn check(&mut self) -> Result<()> {
        self.processes.iter_mut().try_for_each(Process::check)
    }
}

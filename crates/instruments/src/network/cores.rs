//! The places of testers, hosts and gateways on the cores of this machine.

use rustix::thread::{CpuSet, sched_setaffinity};

use crate::{LabError, Result};

/// The core of the generator and of every softirq path.
pub const TESTER_CPU: usize = 0;
/// The core of user-space gateways.
pub const GATEWAY_CPU: usize = 1;

/// Returns the CPU of this number, or the last one if the machine has fewer.
pub fn cpu(number: usize) -> usize {
    let last = std::thread::available_parallelism().map_or(number, |cpus| cpus.get() - 1);
    number.min(last)
}

/// Binds this thread to one CPU.
///
/// # Errors
/// The machine does not have the CPU.
pub fn pin(cpu: usize) -> Result<()> {
    let mut set = CpuSet::new();
    set.set(cpu);
    sched_setaffinity(None, &set).map_err(|errno| LabError::Pin {
        cpu,
        source: errno.into(),
    })
}

//! How busy the machine is.

use std::{fs, path::Path};

use crate::{LabError, Result};

/// What `/proc/stat` has counted, in clock ticks of all cores together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticks {
    busy: u64,
    all: u64,
}

impl Ticks {
    /// Until now.
    pub fn now() -> Result<Self> {
        let path = Path::new("/proc/stat");
        let text = fs::read_to_string(path).map_err(|source| LabError::File {
            path: path.into(),
            source,
        })?;
        Self::read(&text).ok_or(LabError::Output {
            tool: "/proc/stat",
            output: text,
        })
    }

    /// The first line: user, nice, system, idle, iowait, irq, softirq, steal (proc(5)).
    fn read(text: &str) -> Option<Self> {
        let words = text.lines().next()?.strip_prefix("cpu ")?;
        let ticks: Vec<u64> = words
            .split_whitespace()
            .take(8)
            .map_while(|word| word.parse().ok())
            .collect();
        let [user, nice, system, idle, iowait, irq, softirq, steal] = ticks[..] else {
            return None;
        };
        let busy = user + nice + system + irq + softirq;
        Some(Self {
            busy,
            all: busy + idle + iowait + steal,
        })
    }

    /// Cores that have been busy since, 0 to as many as there are.
    pub fn cores_since(self, earlier: Self) -> f64 {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let all = self.all.saturating_sub(earlier.all).max(1);
        let busy = self.busy.saturating_sub(earlier.busy);
        busy as f64 / all as f64 * cores as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_waiting_and_stolen_time_is_not_busy() {
        let ticks = |line| Ticks::read(line).unwrap();
        let before = ticks("cpu  10 1 20 300 5 6 7 8 9 9\ncpu0 1");
        assert_eq!((before.busy, before.all), (44, 357));
        let after = ticks("cpu  60 1 70 300 5 6 7 8 9 9");
        let cores = std::thread::available_parallelism().unwrap().get();
        assert_eq!(after.cores_since(before), cores as f64);
        assert_eq!(Ticks::read("cpu  1 2 3"), None);
    }
}

//! The machine's counters of the work of others.
//!
//! A process counts its own time and that of the children that it has waited for. The sum over all processes therefore
//! loses nothing when one ends, and a short one is found in its parent.

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    time::{Duration, Instant},
};

use super::{CORES, Disturbance, threads};
use crate::{LabError, Result, figures::results::Thread};

/// The ticks of a second in `/proc` (`USER_HZ`, the same for all architectures of Linux here).
const TICKS: u64 = 100;
/// The parent of all threads of the kernel, whose work for the network is the path's own.
const KTHREADD: u32 = 2;

/// The counters at one time.
#[derive(Debug, Clone)]
pub struct Snapshot {
    at: Instant,
    processes: BTreeMap<u32, Process>,
    /// Ticks that a hypervisor has taken, of all cores in use.
    stolen: u64,
    /// Interrupts of devices, of each core in use.
    interrupts: Vec<u64>,
}

/// A process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Process {
    parent: u32,
    /// The core on which it ran last.
    core: usize,
    /// Its ticks, and those of the children that it has waited for.
    ticks: u64,
}

impl Snapshot {
    /// Reads the counters.
    ///
    /// # Errors
    /// `/proc` cannot be read.
    pub fn now() -> Result<Self> {
        let processes = entries()?.filter_map(|id| {
            // It may have ended since.
            let text = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
            Some((id, Process::parse(&text)?))
        });
        Ok(Self {
            at: Instant::now(),
            processes: processes.collect(),
            stolen: stolen(&read("/proc/stat")?),
            interrupts: interrupts(&read("/proc/interrupts")?),
        })
    }

    /// Returns the work of others since an earlier time. This process and all that it has started are not others.
    pub fn since(&self, earlier: &Self) -> Disturbance {
        let own = std::process::id();
        let foreign = self.foreign(own).saturating_sub(earlier.foreign(own));
        let most = self.interrupts.iter().zip(&earlier.interrupts);
        Disturbance {
            elapsed: self.at.duration_since(earlier.at),
            foreign: time(foreign),
            stolen: time(self.stolen.saturating_sub(earlier.stolen)),
            interrupts: most
                .map(|(now, before)| now.saturating_sub(*before))
                .max()
                .unwrap_or(0),
        }
    }

    /// Returns the threads of this process and of all that it has started, with the cores that they may use.
    pub fn threads(&self) -> Vec<Thread> {
        let own = std::process::id();
        let ours = self.processes.keys().filter(|id| self.descends(**id, own));
        ours.flat_map(|id| threads::of(*id)).collect()
    }

    /// Returns the ticks of all processes of others whose place is a core in use.
    fn foreign(&self, own: u32) -> u64 {
        let others = self.processes.iter().filter(|(id, process)| {
            CORES.contains(&process.core)
                && !self.descends(**id, own)
                && !self.descends(**id, KTHREADD)
        });
        others.map(|(_, process)| process.ticks).sum()
    }

    /// Returns whether a process is another one or descends from it.
    fn descends(&self, mut id: u32, from: u32) -> bool {
        loop {
            if id == from {
                return true;
            }
            match self.processes.get(&id) {
                Some(process) if process.parent != 0 => id = process.parent,
                _ => return false,
            }
        }
    }
}

impl Process {
    /// Parses `/proc/PID/stat` (proc_pid_stat(5)): the name, in brackets, may have blanks.
    fn parse(text: &str) -> Option<Self> {
        let (_, rest) = text.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        // Field 3, the state, is the first one here.
        let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
        Some(Self {
            parent: field(4)? as u32,
            core: field(39)? as usize,
            ticks: (14..=17).map(field).sum::<Option<u64>>()?,
        })
    }
}

fn time(ticks: u64) -> Duration {
    Duration::from_millis(ticks * 1000 / TICKS)
}

fn read(path: &str) -> Result<String> {
    fs::read_to_string(path).map_err(LabError::file(path))
}

/// Returns the numbers of all processes.
fn entries() -> Result<impl Iterator<Item = u32>> {
    let path = Path::new("/proc");
    let entries = fs::read_dir(path).map_err(LabError::file(path))?;
    Ok(entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()))
}

/// Parses the stolen ticks of the cores in use: the eighth number of a core's line (proc_stat(5)).
fn stolen(text: &str) -> u64 {
    let of = |core: usize| {
        let mut words = text.lines().map(str::split_whitespace);
        let mut line =
            words.find_map(|mut words| (words.next()? == format!("cpu{core}")).then_some(words))?;
        line.nth(7)?.parse::<u64>().ok()
    };
    CORES.into_iter().filter_map(of).sum()
}

/// Parses the interrupts of devices on each core in use (proc_interrupts(5)): those with a number. The others are
/// the kernel's own: timers, and calls from core to core.
fn interrupts(text: &str) -> Vec<u64> {
    let mut lines = text.lines();
    let cores: Vec<&str> = lines
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .collect();
    let mut sums = vec![0; CORES.len()];
    for line in lines {
        let mut words = line.split_whitespace();
        let number = words.next().and_then(|word| word.strip_suffix(':'));
        if number.is_none_or(|number| number.parse::<u32>().is_err()) {
            continue;
        }
        for (core, count) in cores.iter().zip(words) {
            let place = CORES.iter().position(|used| *core == format!("CPU{used}"));
            if let Some((place, count)) = place.zip(count.parse::<u64>().ok()) {
                sums[place] += count;
            }
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn process(parent: u32, core: usize, ticks: u64) -> Process {
        Process {
            parent,
            core,
            ticks,
        }
    }

    fn snapshot(processes: &[(u32, Process)]) -> Snapshot {
        Snapshot {
            at: Instant::now(),
            processes: processes.iter().copied().collect(),
            stolen: 0,
            interrupts: vec![0; CORES.len()],
        }
    }

    #[test]
    fn a_line_of_a_process_is_read_behind_its_name() {
        let text = "42 (a (strange) name) R 7 42 42 0 -1 4194304 1 2 3 4 500 60 7000 8 20 0 1 0 9 10 11 12 0 0 0 0 0 0 0 \
            0 0 0 0 0 17 1 0 0 0";
        assert_eq!(Process::parse(text), Some(process(7, 1, 7568)));
        assert_eq!(Process::parse("42 (short) R 7"), None);
    }

    #[test]
    fn descendants_and_the_kernel_are_not_others_and_ended_children_are_not_lost() {
        let before = snapshot(&[
            (1, process(0, 0, 10)),
            (2, process(0, 0, 0)),
            (9, process(2, 0, 100)),
            (50, process(1, 1, 40)),
            (51, process(50, 1, 30)),
            (60, process(1, 0, 5)),
            (61, process(60, 0, 20)),
        ]);
        // 61 has ended, and 60 has waited for it: 25 ticks more of another's. All else is of 50 and of the kernel.
        let after = snapshot(&[
            (1, process(0, 0, 10)),
            (2, process(0, 0, 0)),
            (9, process(2, 0, 900)),
            (50, process(1, 1, 80)),
            (51, process(50, 1, 90)),
            (60, process(1, 0, 50)),
        ]);
        assert_eq!(after.foreign(50) - before.foreign(50), 25);
        // What runs elsewhere disturbs nobody here.
        let elsewhere = snapshot(&[(1, process(0, 7, 500))]);
        assert_eq!(elsewhere.foreign(50), 0);
    }

    #[test]
    fn only_devices_and_cores_in_use_count() {
        let text = "            CPU0       CPU1       CPU2\n  24:  5  7  100   IO-APIC  5-edge  disk\n \
            31:  1  0  200  PCI-MSI  net\n LOC:  9000 9000 9000  Local timer interrupts\n ERR:  3\n";
        assert_eq!(interrupts(text), [6, 7]);
        let text = "cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 2 3 4 5 6 7 30 9 10\ncpu1 1 2 3 4 5 6 7 12 9 10\ncpu2 0 0 0 0 0 \
            0 0 99 0 0\n";
        assert_eq!(stolen(text), 42);
    }

    /// A process that is nobody's child here spins on the gateways' core. Whatever else the machine does disturbs the
    /// measurement as well.
    #[test]
    fn behind_a_disturbed_core_a_measurement_is_void() {
        // The shell ends at once, so that init adopts the other one.
        let spin = "taskset -c 1 timeout 60 sh -c 'while :; do :; done' >/dev/null 2>&1 & echo $!";
        let started = Command::new("setsid")
            .args(["sh", "-c", spin])
            .output()
            .unwrap();
        let id: u32 = String::from_utf8(started.stdout)
            .unwrap()
            .trim()
            .parse()
            .unwrap();
        let before = Snapshot::now().unwrap();
        std::thread::sleep(Duration::from_secs(2));
        let disturbance = Snapshot::now().unwrap().since(&before);
        let ended = Command::new("kill").arg(id.to_string()).status().unwrap();
        assert!(ended.success());
        let why = disturbance.verdict().unwrap();
        assert!(
            why.contains("other processes") || why.contains("hypervisor"),
            "{why}"
        );
    }
}

//! Processor time, and its attribution.
//!
//! The clock ticks of `/proc/stat` are samples, a hundred in a second, and miss all work between them. The counters
//! here are exact: the scheduler counts the time of each thread, and the kernel counts the time in each BPF program
//! on request, at a cost of some ten nanoseconds per run of a program.
//!
//! Work in softirq is counted as the time of the thread that was running. A packet that a host sends over veth pairs
//! is forwarded in the sender's time, by the kernel as by programs in XDP and tc. The time of such a gateway is
//! therefore in no process of its own: it is the difference to a path without the gateway.

use std::{
    collections::BTreeMap,
    fs, io,
    ops::Sub,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    time::Duration,
};

use aya::sys::{Stats, enable_stats};

use crate::{LabError, Result, network::programs::bpf};

/// The kernel's accounting of BPF programs; dropping this ends it.
#[derive(Debug)]
pub struct Counting(#[expect(dead_code, reason = "it counts while this is open")] OwnedFd);

impl Counting {
    /// Begins the accounting.
    pub fn begin() -> Result<Self> {
        let counting = enable_stats(Stats::RunTime);
        counting
            .map(Self)
            .map_err(|problem| bpf("statistics", problem))
    }
}

/// Processor time that was used, in seconds of one core.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Used {
    /// The time of the gateways' processes, and of the kernel's threads that take packets from them.
    pub gateways: f64,
    /// The time of the kernel's threads that finish softirqs.
    pub kernel: f64,
    /// The time of the gateways' BPF programs, which is part of another thread's time.
    pub programs: f64,
}

impl Used {
    /// Returns the times so far, for gateways with these processes. No other process may use the network, as the
    /// kernel's threads do not say whose packets they take.
    pub fn now(gateways: &[u32]) -> Result<Self> {
        let mut used = Self::default();
        let mut programs = BTreeMap::new();
        for process in gateways {
            let directory = PathBuf::from(format!("/proc/{process}"));
            used.gateways += ran(&directory)?;
            programs.extend(programs_of(&directory)?);
        }
        used.programs = programs.values().sum();
        for process in entries(Path::new("/proc"))? {
            // A missing process has ended in the meantime.
            let name = fs::read_to_string(process.join("comm")).unwrap_or_default();
            if name.starts_with("ksoftirqd/") {
                used.kernel += ran(&process)?;
            } else if name.starts_with("napi/") && !gateways.is_empty() {
                used.gateways += ran(&process)?;
            }
        }
        Ok(used)
    }
}

impl Sub for Used {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        Self {
            gateways: self.gateways - earlier.gateways,
            kernel: self.kernel - earlier.kernel,
            programs: self.programs - earlier.programs,
        }
    }
}

fn entries(directory: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(directory).and_then(|entries| {
        let paths = entries.map(|entry| entry.map(|entry| entry.path()));
        paths.collect::<io::Result<_>>()
    });
    entries.map_err(LabError::file(directory))
}

/// Returns the time of all threads of a process, in seconds.
fn ran(process: &Path) -> Result<f64> {
    Ok(scheduled(process, 0)? as f64 / 1e9)
}

/// Returns the time for which all threads of a process were ready to run and had no processor.
pub(super) fn waited(process: u32) -> Result<Duration> {
    let process = Path::new("/proc").join(process.to_string());
    scheduled(&process, 1).map(Duration::from_nanos)
}

/// Returns the sum over all threads of a process of a number in `schedstat`, which has nanoseconds in its first two
/// (Documentation/scheduler/sched-stats.rst).
fn scheduled(process: &Path, number: usize) -> Result<u64> {
    let mut nanoseconds = 0;
    for thread in entries(&process.join("task"))? {
        let path = thread.join("schedstat");
        // A thread that has ended since is left out.
        let Ok(text) = fs::read_to_string(&path) else {
            continue;
        };
        let word = text
            .split(' ')
            .nth(number)
            .and_then(|word| word.parse::<u64>().ok());
        nanoseconds += word.ok_or(LabError::Output {
            tool: "schedstat",
            output: text,
        })?;
    }
    Ok(nanoseconds)
}

/// Returns the time in each BPF program that a process has open, by the program's number.
fn programs_of(process: &Path) -> Result<BTreeMap<u64, f64>> {
    let mut programs = BTreeMap::new();
    for file in entries(&process.join("fdinfo"))? {
        let text = fs::read_to_string(file).unwrap_or_default();
        let number = |key: &str| -> Option<u64> {
            let value = text.lines().find_map(|line| line.strip_prefix(key))?;
            value.trim().parse().ok()
        };
        if let Some((program, time)) = number("prog_id:").zip(number("run_time_ns:")) {
            programs.insert(program, time as f64 / 1e9);
        }
    }
    Ok(programs)
}

#[cfg(test)]
mod tests {
    use std::{process::Command, time::Duration};

    use super::*;

    /// Two threads run for a known time. The referee is the shell's own `times`, in hundredths of a second.
    #[test]
    fn the_time_of_a_process_agrees_with_its_own_count() {
        let script = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; times; read stop";
        let mut child = Command::new("sh")
            .args(["-c", script])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = String::new();
        let mut output = io::BufReader::new(child.stdout.take().unwrap());
        io::BufRead::read_line(&mut output, &mut said).unwrap();
        let told = Used::now(&[child.id()]).unwrap() - Used::now(&[]).unwrap();
        drop(child.stdin.take());
        child.wait().unwrap();
        // "0m0.25s 0m0.01s": user and system time.
        let seconds: f64 = said
            .split_whitespace()
            .map(|word| {
                let (minutes, seconds) = word.trim_end_matches('s').split_once('m').unwrap();
                60.0 * minutes.parse::<f64>().unwrap() + seconds.parse::<f64>().unwrap()
            })
            .sum();
        assert!(seconds > 0.05, "{said}");
        let difference = (told.gateways - seconds).abs();
        assert!(difference < 0.05 + 0.1 * seconds, "{told:?}, {said}");
    }

    #[test]
    fn a_sleeping_process_uses_no_time() {
        // It sleeps until it has read a line, and works from then on.
        let mut child = Command::new("sh")
            .args(["-c", "read line; while :; do :; done"])
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let place = PathBuf::from(format!("/proc/{}", child.id()));
        let mut used = f64::NAN;
        // A busy machine may take long to start it, and to give it time.
        let mut until = |reached: fn(f64, f64) -> bool| {
            (0..100).any(|_| {
                let before = std::mem::replace(&mut used, ran(&place).unwrap());
                std::thread::sleep(Duration::from_millis(100));
                reached(before, used)
            })
        };
        let slept = until(|before, now| now == before);
        io::Write::write_all(&mut child.stdin.take().unwrap(), b"\n").unwrap();
        let worked = until(|before, now| now > before);
        // Before anything may fail: it would disturb all tests that follow.
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(slept, "it sleeps");
        assert!(worked, "it works");
    }
}

//! Processor time: whose it is, as exactly as the kernel knows it.
//!
//! The clock ticks of `/proc/stat` are samples, a hundred in a second, and miss whoever works between them. These
//! are not: the scheduler counts what each thread has run, and the kernel counts the time in each BPF program as long
//! as somebody has asked for that, which costs some ten nanoseconds for each run of a program.
//!
//! What is done in softirq is the time of the thread that was running. A packet that a host sends over veth pairs is
//! forwarded in the sender's time, by the kernel as by programs in XDP and tc. So what a gateway of that kind takes is
//! no process's: it is the difference to a path without it.

use std::{
    collections::BTreeMap,
    fs, io,
    ops::Sub,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};

use aya::sys::{Stats, enable_stats};

use crate::{LabError, Result, programs::bpf};

/// Until this is dropped, the kernel counts the time in BPF programs.
#[derive(Debug)]
pub struct Counting(#[expect(dead_code, reason = "it counts while this is open")] OwnedFd);

impl Counting {
    /// Begins.
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
    /// By the gateways' processes, and by the kernel's threads that take packets from them.
    pub gateways: f64,
    /// By the kernel's threads that do what softirqs have left.
    pub kernel: f64,
    /// In the gateways' BPF programs, which is part of somebody else's time.
    pub programs: f64,
}

impl Used {
    /// Until now, by gateways that have these processes. Nobody else's may work on the machine, as the kernel's
    /// threads do not say whose packets they take.
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
            // Most have ended in the meantime if they are not there.
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
    entries.map_err(|source| LabError::File {
        path: directory.into(),
        source,
    })
}

/// What all threads of a process have run, in seconds: the first number of `schedstat` has nanoseconds
/// (Documentation/scheduler/sched-stats.rst).
fn ran(process: &Path) -> Result<f64> {
    let mut nanoseconds = 0;
    for thread in entries(&process.join("task"))? {
        let path = thread.join("schedstat");
        // A thread that has ended since is not asked.
        let Ok(text) = fs::read_to_string(&path) else {
            continue;
        };
        let first = text
            .split(' ')
            .next()
            .and_then(|word| word.parse::<u64>().ok());
        nanoseconds += first.ok_or(LabError::Output {
            tool: "schedstat",
            output: text,
        })?;
    }
    Ok(nanoseconds as f64 / 1e9)
}

/// The time in each BPF program that a process has open, by the program's number.
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
    use std::{
        process::{Command, id},
        time::{Duration, Instant},
    };

    use super::*;

    /// Two threads that work until so much of their own time is over are told as that much: the referee is what the
    /// shell's `times` says of itself, in hundredths of a second.
    #[test]
    fn the_time_of_a_process_is_what_it_says_itself() {
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
    fn who_sleeps_uses_nothing() {
        let before = ran(Path::new(&format!("/proc/{}", id()))).unwrap();
        let mut sleeper = Command::new("sleep").arg("10").spawn().unwrap();
        let place = PathBuf::from(format!("/proc/{}", sleeper.id()));
        std::thread::sleep(Duration::from_millis(100));
        let first = ran(&place).unwrap();
        std::thread::sleep(Duration::from_millis(200));
        assert_eq!(ran(&place).unwrap(), first);
        sleeper.kill().unwrap();
        sleeper.wait().unwrap();
        // And who works, something.
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(50) {}
        assert!(ran(Path::new(&format!("/proc/{}", id()))).unwrap() > before);
    }
}

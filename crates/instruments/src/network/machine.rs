//! The machine that the laboratory runs on.

use std::{fs, path::PathBuf, process::Command};

use serde::Serialize;

use crate::network::process;

/// A machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Machine {
    /// Processor model.
    pub cpu: String,
    /// Number of cores.
    pub cores: usize,
    /// Memory in MiB.
    pub memory_mib: u64,
    /// Kernel release.
    pub kernel: String,
}

impl Machine {
    /// Returns this machine.
    pub fn here() -> Self {
        Self {
            cpu: field("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown".into()),
            cores: cores(),
            memory_mib: field("/proc/meminfo", "MemTotal")
                .and_then(|size| size.split(' ').next()?.parse::<u64>().ok())
                .map_or(0, |kib| kib / 1024),
            kernel: kernel(),
        }
    }
}

/// Returns the release of the running kernel.
pub fn kernel() -> String {
    printed(Command::new("uname").arg("-r"))
}

/// Returns the time, in UTC (RFC 3339).
pub fn now() -> String {
    printed(Command::new("date").args(["-u", "+%Y-%m-%dT%H:%M:%SZ"]))
}

/// Returns the SHA-256 of files, one after the other, in hexadecimal digits.
pub fn digest(files: &[PathBuf]) -> String {
    let script = "for file; do test -r \"$file\" || exit 1; done; cat -- \"$@\" | sha256sum";
    let printed = printed(Command::new("sh").args(["-c", script, "sh"]).args(files));
    printed.split(' ').next().unwrap_or_default().into()
}

fn printed(command: &mut Command) -> String {
    process::run(command).map_or_else(|_| "unknown".into(), |output| output.trim().to_owned())
}

/// Returns the number of cores, with those that this process may not use.
fn cores() -> usize {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let lines = text.lines().filter(|line| line.starts_with("processor"));
    lines.count().max(1)
}

/// Returns the value after `key:` in a file of such lines.
fn field(path: &str, key: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    text.lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.trim() == key)
        .map(|(_, value)| value.trim().to_owned())
}

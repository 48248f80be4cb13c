//! The row of memory: the kernel's memory for a gateway whose table of sessions is full.

use std::{collections::BTreeMap, fs};

use super::{Figure, Measurement, packets::subscribers, turns::Effort};
use crate::{
    LabError, Result,
    network::{device::Started, process::Process},
    subjects::isthmus::{self, Engine, Isthmus, Mechanism},
    traffic::path::Path,
};

/// Sessions in the table, each with a binding of its own: the most expensive case.
const SESSIONS: u32 = 300_000;
/// The most bytes of a session over all tables.
const ALLOWED: f64 = 256.0;
const BYTES: &str = "bytes";
/// The least number of sessions in a table of this size. A few find both of their places taken when the table is
/// nearly full.
const HELD: u64 = SESSIONS as u64 / 1000 * 999;

/// Measures the bytes of all BPF maps of the gateway for each session in them, when its tables are full.
pub(super) fn per_session(_: &Effort) -> Result<Measurement> {
    let gateway = Isthmus {
        sessions: SESSIONS,
        ..Isthmus::new(Engine::Xdp, Mechanism::Nat64)
    };
    let mut path = Path::build(&gateway, &subscribers(SESSIONS))?;
    let (received, _) = path.burst(SESSIONS)?;
    if received < HELD {
        return Err(LabError::SelfCheck {
            what: format!("{}, a full table", path.name()),
            sent: SESSIONS.into(),
            received,
            invalid: 0,
        });
    }
    let sessions = sessions(path.started())? as f64;
    let bytes: u64 = path.started().processes.iter().map(map_bytes).sum();
    let bytes = bytes as f64;
    Ok(Measurement {
        subject: Figure::new(path.name(), bytes / sessions, BYTES),
        baseline: Figure::new("allowed", ALLOWED, BYTES),
        beside: vec![
            Figure::new("all BPF maps", bytes, BYTES),
            Figure::new("in a table for 300,000", sessions, "sessions"),
        ],
    })
}

/// Returns the number of sessions in the table, by walking it.
fn sessions(gateway: &Started) -> Result<u64> {
    let output = isthmus::ask(gateway, &["sessions", "--count"])?;
    output.trim().parse().map_err(|_| LabError::Output {
        tool: "isthmus sessions",
        output,
    })
}

/// Returns the memory of all BPF maps that a process holds, each counted once, in bytes.
fn map_bytes(process: &Process) -> u64 {
    let Ok(entries) = fs::read_dir(format!("/proc/{}/fdinfo", process.id())) else {
        return 0;
    };
    let maps: BTreeMap<u64, u64> = entries
        .flatten()
        .filter_map(|entry| map(&fs::read_to_string(entry.path()).ok()?))
        .collect();
    maps.values().sum()
}

/// Returns number and size of the BPF map in a file of `/proc/PID/fdinfo`; `None` if the file is of something else.
fn map(text: &str) -> Option<(u64, u64)> {
    let value = |wanted: &str| {
        let mut lines = text.lines().filter_map(|line| line.split_once(':'));
        let (_, value) = lines.find(|(key, _)| *key == wanted)?;
        value.trim().parse().ok()
    };
    Some((value("map_id")?, value("memlock")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_is_told_from_other_descriptors() {
        // The format of Linux 6.18.
        let array = "pos:\t0\nflags:\t02000002\nmnt_id:\t17\nino:\t1049\nmap_type:\t2\n\
                     key_size:\t4\nvalue_size:\t64\nmax_entries:\t1024\nmap_flags:\t0x400\n\
                     map_extra:\t0x0\nmemlock:\t65856\nmap_id:\t42\nfrozen:\t0\n";
        assert_eq!(map(array), Some((42, 65856)));
        let program = "pos:\t0\nprog_type:\t6\nprog_jited:\t1\nmemlock:\t8192\nprog_id:\t7\n";
        assert_eq!(map(program), None);
        assert_eq!(map("pos:\t0\nflags:\t0100000\n"), None);
    }
}

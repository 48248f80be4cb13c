//! The removal of what a lab has left behind that was killed: processes, namespaces, files, settings of the machine.

use std::{
    fs::{self, DirEntry},
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    LabError, Result,
    network::{
        leftovers::{name, owner},
        process,
    },
};

const NAMESPACES: &str = "/run/netns";
const CONNTRACK: &str = "/proc/sys/net/netfilter/nf_conntrack_max";
/// The end of the name of the file that keeps the old bound on tracked connections.
const CONNTRACK_FILE: &str = "conntrack";

/// Removes the leftovers of labs that are gone, with the processes that still run in their namespaces. Returns the
/// names of what it removed.
pub fn sweep() -> Vec<String> {
    sweep_of(|pid| !Path::new("/proc").join(pid.to_string()).exists())
}

/// Removes everything of this process at once, before an interrupted lab ends.
pub fn sweep_own() -> Vec<String> {
    sweep_of(|pid| pid == std::process::id())
}

fn sweep_of(wanted: impl Fn(u32) -> bool) -> Vec<String> {
    let mut swept = Vec::new();
    for (name, _) in entries(Path::new(NAMESPACES), &wanted) {
        end_processes(&name);
        remove_namespace(&name);
        swept.push(name);
    }
    for (name, entry) in entries(&std::env::temp_dir(), &wanted) {
        let path = entry.path();
        if name.ends_with(CONNTRACK_FILE) {
            restore_conntrack(&path);
        }
        // Another sweep may have removed it already.
        let _ = match path.is_dir() {
            true => fs::remove_dir_all(&path),
            false => fs::remove_file(&path),
        };
        swept.push(name);
    }
    swept
}

fn entries(directory: &Path, wanted: impl Fn(u32) -> bool) -> Vec<(String, DirEntry)> {
    let Ok(entries) = fs::read_dir(directory) else {
        return Vec::new();
    };
    entries
        .flatten()
        .map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry))
        .filter(|(name, _)| owner(name).is_some_and(&wanted))
        .collect()
}

fn end_processes(namespace: &str) {
    let Ok(pids) = process::run(Command::new("ip").args(["netns", "pids", namespace])) else {
        return;
    };
    for pid in pids.split_whitespace() {
        // It may have ended in the meantime.
        let _ = process::run(Command::new("kill").args(["-9", pid]));
    }
}

/// Removes a namespace and its files under `/etc/netns`.
pub fn remove_namespace(name: &str) {
    // A failure here has no remedy; the next sweep tries again.
    let _ = process::run(Command::new("ip").args(["netns", "del", name]));
    let _ = fs::remove_dir_all(Path::new("/etc/netns").join(name));
}

/// Raises the machine's bound on tracked connections, which namespaces share; dropping it restores the old one.
#[derive(Debug)]
pub struct ConntrackLimit {
    saved: PathBuf,
}

impl ConntrackLimit {
    /// Allows at least `entries` tracked connections. A higher bound stays as it is.
    pub fn raise(entries: u64) -> Result<Self> {
        let problem = LabError::file(CONNTRACK);
        let saved = std::env::temp_dir().join(name(CONNTRACK_FILE));
        let before = fs::read_to_string(CONNTRACK).map_err(&problem)?;
        fs::write(&saved, &before).map_err(&problem)?;
        if before.trim().parse().unwrap_or(0) < entries {
            fs::write(CONNTRACK, entries.to_string()).map_err(&problem)?;
        }
        Ok(Self { saved })
    }
}

impl Drop for ConntrackLimit {
    fn drop(&mut self) {
        restore_conntrack(&self.saved);
        let _ = fs::remove_file(&self.saved);
    }
}

fn restore_conntrack(saved: &Path) {
    if let Ok(before) = fs::read_to_string(saved) {
        // The file was writable a moment ago. A failure cannot be reported from here.
        let _ = fs::write(CONNTRACK, before.trim());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::leftovers::file;

    #[test]
    fn files_are_found_by_their_owner() {
        let kept = file().unwrap();
        let found = entries(&std::env::temp_dir(), |pid| pid == std::process::id());
        assert!(found.iter().any(|(_, entry)| entry.path() == kept.path()));
        let none = entries(&std::env::temp_dir(), |_| false);
        assert!(none.is_empty());
    }
}

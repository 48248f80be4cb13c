//! What a process has of the machine.

use std::fs;

use crate::gateway::Gateway;

/// KiB by which the memory of a gateway may differ from one quiet moment to another: what the allocator keeps.
const SLACK: u64 = 8 << 10;

/// Memory in KiB, and numbers of files, threads, and BPF maps and programs.
#[derive(Debug)]
pub(crate) struct Usage {
    memory: u64,
    files: usize,
    threads: usize,
    bpf: usize,
}

impl Usage {
    pub(crate) fn of(gateway: &Gateway) -> Self {
        let process = format!("/proc/{}", gateway.id());
        let entries = |folder: &str| fs::read_dir(format!("{process}/{folder}")).unwrap().count();
        let status = fs::read_to_string(format!("{process}/status")).unwrap();
        let memory = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))
            .unwrap();
        let memory = memory.trim().trim_end_matches(" kB").parse().unwrap();
        Self {
            memory,
            files: entries("fd"),
            threads: entries("task"),
            bpf: bpf(&process),
        }
    }

    /// In which way this is more than it was at the beginning.
    pub(crate) fn more_than(&self, first: &Self) -> Option<&'static str> {
        if self.memory > first.memory + SLACK {
            Some("more memory")
        } else if self.files > first.files {
            Some("more files")
        } else if self.threads > first.threads {
            Some("more threads")
        } else if self.bpf > first.bpf {
            Some("more BPF maps, programs or links")
        } else {
            None
        }
    }
}

/// Open BPF maps, programs and links of a process.
fn bpf(process: &str) -> usize {
    let files = fs::read_dir(format!("{process}/fdinfo")).unwrap();
    let of_bpf = |text: &String| {
        let mut lines = text.lines();
        lines.any(|line| {
            ["map_id:", "prog_id:", "link_id:"]
                .iter()
                .any(|of| line.starts_with(of))
        })
    };
    files
        .filter_map(|file| fs::read_to_string(file.ok()?.path()).ok())
        .filter(of_bpf)
        .count()
}

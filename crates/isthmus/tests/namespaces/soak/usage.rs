//! What a process has of the machine.

use std::fs;
use std::thread;
use std::time::Duration;

use crate::gateway::Gateway;

/// KiB by which the memory of a gateway may differ from one quiet moment to another: what the allocator keeps.
const SLACK: u64 = 8 << 10;

/// How often a gateway is looked at. It looks after the machine every second, with sockets that it closes again.
const LOOKS: u32 = 8;
const BETWEEN_LOOKS: Duration = Duration::from_millis(130);

/// Memory in KiB, what each open file is, and numbers of threads and of BPF maps and programs.
#[derive(Debug)]
pub(crate) struct Usage {
    memory: u64,
    files: Vec<String>,
    threads: usize,
    bpf: usize,
}

impl Usage {
    /// The look with the fewest files.
    pub(crate) fn of(gateway: &Gateway) -> Self {
        let looks = (0..LOOKS).map(|_| {
            thread::sleep(BETWEEN_LOOKS);
            Self::now(gateway)
        });
        looks.min_by_key(|usage| usage.files.len()).unwrap()
    }

    fn now(gateway: &Gateway) -> Self {
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
            files: files(&process),
            threads: entries("task"),
            bpf: bpf(&process),
        }
    }

    /// In which way this is more than it was at the beginning.
    pub(crate) fn more_than(&self, first: &Self) -> Option<&'static str> {
        if self.memory > first.memory + SLACK {
            Some("more memory")
        } else if self.files.len() > first.files.len() {
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

/// The open files of a process, sorted.
fn files(process: &str) -> Vec<String> {
    let entries = fs::read_dir(format!("{process}/fd")).unwrap();
    // One that has been closed by now cannot be read.
    let targets = entries.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
    let mut files: Vec<String> = targets.map(|target| target.display().to_string()).collect();
    files.sort();
    files
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

//! The threads of a process, and the cores that they may use.

use std::{fs, path::Path};

use crate::figures::results::Thread;

/// Returns the threads of a process; none if it has ended.
pub(super) fn of(process: u32) -> Vec<Thread> {
    let directory = Path::new("/proc").join(process.to_string());
    let read = |path: &Path| Some(fs::read_to_string(path).ok()?.trim_end().to_owned());
    let Some(name) = read(&directory.join("comm")) else {
        return Vec::new();
    };
    let tasks = fs::read_dir(directory.join("task")).into_iter().flatten();
    let thread = |task: &Path| {
        Some(Thread {
            process: name.clone(),
            thread: read(&task.join("comm"))?,
            cores: allowed(&read(&task.join("status"))?)?.into(),
        })
    };
    // A thread that has ended since is left out.
    tasks
        .filter_map(|task| thread(&task.ok()?.path()))
        .collect()
}

/// Parses the list of cores in `/proc/PID/status` (proc_pid_status(5)).
fn allowed(status: &str) -> Option<&str> {
    let mut lines = status.lines();
    lines.find_map(|line| Some(line.strip_prefix("Cpus_allowed_list:")?.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::cores::pin;

    #[test]
    fn a_bound_thread_is_on_its_core() {
        let name = "bound-to-0";
        let found = std::thread::Builder::new()
            .name(name.into())
            .spawn(|| {
                pin(0).unwrap();
                of(std::process::id())
            })
            .unwrap();
        let found = found.join().unwrap();
        let cores: Vec<&str> = found
            .iter()
            .filter(|thread| thread.thread == name)
            .map(|thread| thread.cores.as_str())
            .collect();
        assert_eq!(cores, ["0"]);
    }

    #[test]
    fn a_list_of_cores_is_read() {
        let status =
            "Name:\tisthmus\nCpus_allowed:\t3\nCpus_allowed_list:\t0-1\nMems_allowed:\t1\n";
        assert_eq!(allowed(status), Some("0-1"));
        assert_eq!(allowed("Name:\tisthmus\n"), None);
    }
}

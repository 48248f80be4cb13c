//! Commands and long-running processes, with their output kept for error messages.

use std::{
    fs,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

use rustix::{
    io::Errno,
    process::{Pid, Signal, getuid, kill_process},
    thread::{CpuSet, sched_setaffinity},
};
use tempfile::NamedTempFile;

use crate::{
    LabError, Result,
    error::ProcessProblem,
    network::{cores, leftovers},
};

/// The length of a program's output in an error message, in bytes.
const TAIL: usize = 1500;

/// The time that a process has to end after SIGTERM.
const PATIENCE: Duration = Duration::from_secs(3);

/// Checks that this process runs as root.
///
/// # Errors
/// This process does not run as root.
pub fn require_root() -> Result<()> {
    if getuid().is_root() {
        Ok(())
    } else {
        Err(LabError::NotRoot)
    }
}

/// Checks that a program is on the path.
///
/// # Errors
/// The program is not on the path. The error names the Debian package.
pub fn require(program: &str, package: &str) -> Result<()> {
    locate(program, package).map(drop)
}

/// Returns the file of a program on the path.
///
/// # Errors
/// As of [`require`].
pub fn locate(program: &str, package: &str) -> Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin".into(), "/sbin".into()])
        .map(|directory| directory.join(program))
        .find(|file| file.is_file())
        .ok_or_else(|| LabError::Missing {
            program: program.into(),
            package: package.into(),
        })
}

/// Runs a command to its end and returns its standard output.
///
/// # Errors
/// It failed.
pub fn run(command: &mut Command) -> Result<String> {
    let output = output(command)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let mut printed = output.stdout;
    printed.extend_from_slice(&output.stderr);
    Err(LabError::Command {
        command: line(command),
        status: output.status.to_string(),
        output: tail(&printed),
    })
}

/// Runs a command to its end and returns its output and status.
pub fn output(command: &mut Command) -> Result<Output> {
    command
        .stdin(Stdio::null())
        .output()
        .map_err(|source| LabError::Start {
            command: line(command),
            source,
        })
}

/// Returns the command as one would type it.
pub fn line(command: &Command) -> String {
    let mut line = command.get_program().to_string_lossy().into_owned();
    for argument in command.get_args() {
        line.push(' ');
        line.push_str(&argument.to_string_lossy());
    }
    line
}

fn tail(printed: &[u8]) -> String {
    let start = printed.len().saturating_sub(TAIL);
    String::from_utf8_lossy(&printed[start..]).trim().to_owned()
}

/// A process in the background; dropping this value ends it.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    log: NamedTempFile,
}

impl Process {
    /// Starts `command`. Its output goes to a file that errors quote.
    pub fn start(name: &str, command: &mut Command) -> Result<Self> {
        let file = LabError::file(std::env::temp_dir());
        let log = leftovers::file()?;
        let out = log.reopen().map_err(&file)?;
        let err = out.try_clone().map_err(&file)?;
        // Its own process group: Ctrl-C reaches the lab alone, which then ends its children in order.
        let child = command
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(err)
            .process_group(0)
            .spawn()
            .map_err(|source| LabError::Start {
                command: line(command),
                source,
            })?;
        Ok(Self {
            name: name.into(),
            child,
            log,
        })
    }

    /// Returns its process identifier.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns the file with all of its output.
    pub fn log(&self) -> &Path {
        self.log.path()
    }

    /// Waits until `ready` returns true.
    ///
    /// # Errors
    /// The process ends first, or takes longer than `limit`.
    pub fn wait_until(&mut self, limit: Duration, mut ready: impl FnMut() -> bool) -> Result<()> {
        let deadline = Instant::now() + limit;
        loop {
            if let Ok(Some(_)) = self.child.try_wait() {
                return Err(self.problem(ProcessProblem::Ended));
            }
            if ready() {
                return Ok(());
            }
            if Instant::now() > deadline {
                return Err(self.problem(ProcessProblem::NotReady));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Checks that the process is running.
    ///
    /// # Errors
    /// The process has ended.
    pub fn check(&mut self) -> Result<()> {
        match self.child.try_wait() {
            Ok(None) => Ok(()),
            _ => Err(self.problem(ProcessProblem::Ended)),
        }
    }

    /// Binds its present and future threads to one CPU: to the last one if the machine has fewer.
    pub fn pin(&self, cpu: usize) -> Result<()> {
        let mut set = CpuSet::new();
        set.set(cores::cpu(cpu));
        let threads = PathBuf::from(format!("/proc/{}/task", self.id()));
        let file = LabError::file(&threads);
        for thread in threads.read_dir().map_err(&file)? {
            let name = thread.map_err(&file)?.file_name();
            let number = name.to_str().and_then(|name| name.parse().ok());
            let Some(thread) = number.and_then(Pid::from_raw) else {
                continue;
            };
            match sched_setaffinity(Some(thread), &set) {
                // Some threads are short-lived.
                Ok(()) | Err(Errno::SRCH) => {}
                Err(errno) => return Err(file(errno.into())),
            }
        }
        Ok(())
    }

    /// Sends a signal.
    pub fn signal(&self, signal: Signal) {
        if let Some(pid) = Pid::from_raw(self.child.id().cast_signed()) {
            // It may have ended already: there is no process to signal then.
            let _ = kill_process(pid, signal);
        }
    }

    /// Ends it at once by SIGKILL, as a crash would.
    pub fn kill(&mut self) {
        self.signal(Signal::KILL);
        let _ = self.child.wait();
    }

    /// Asks it to end and waits; sends SIGKILL if it does not. Returns whether it ended by itself.
    pub fn stop(&mut self) -> bool {
        self.signal(Signal::TERM);
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return true;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        self.kill();
        false
    }

    fn problem(&self, problem: ProcessProblem) -> LabError {
        LabError::Process {
            name: self.name.clone(),
            problem,
            output: tail(&fs::read(self.log.path()).unwrap_or_default()),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.stop();
        }
    }
}

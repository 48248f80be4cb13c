//! The errors of the laboratory.

use std::{io, net::SocketAddr, path::PathBuf};

/// An error of the laboratory.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// A program that the lab calls is not installed.
    #[error("{program} is not installed (Debian package: {package})")]
    Missing {
        /// The program's name.
        program: String,
        /// The Debian package that contains it.
        package: String,
    },
    /// A program of ours was built before its sources were changed.
    #[error("{program} is older than {source_file}: build it again")]
    Stale {
        /// The program.
        program: PathBuf,
        /// A newer source.
        source_file: PathBuf,
    },
    /// The kernel does not have a module.
    #[error("the kernel has no {module} ({from})")]
    NoModule {
        /// The module, which may also be built in.
        module: &'static str,
        /// Its origin: an option of the kernel, or a package.
        from: &'static str,
    },
    /// An application cannot be tried here, for this reason.
    #[error("{0}")]
    Unasked(String),
    /// A program could not be started.
    #[error("cannot start `{command}`: {source}")]
    Start {
        /// The command line.
        command: String,
        /// The cause.
        source: io::Error,
    },
    /// A command ended with an error.
    #[error("`{command}` failed ({status}): {output}")]
    Command {
        /// The command line.
        command: String,
        /// The exit status or the signal.
        status: String,
        /// The end of what it printed.
        output: String,
    },
    /// A process that should be running has ended, or never became ready.
    #[error("{name} {problem}: {output}")]
    Process {
        /// Its name in the lab.
        name: String,
        /// The problem with it.
        problem: ProcessProblem,
        /// The end of what it printed.
        output: String,
    },
    /// A file could not be read or written.
    #[error("{path}: {source}")]
    File {
        /// Its path.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A namespace could not be entered.
    #[error("cannot enter namespace {name}: {source}")]
    Enter {
        /// Its name.
        name: String,
        /// The cause.
        source: io::Error,
    },
    /// A topology does not have the node that was named.
    #[error("the topology has no node {0}")]
    NoNode(String),
    /// The BPF object has no such program or map, or the kernel refused it.
    #[error("tester's BPF {what}: {problem}")]
    Bpf {
        /// The program or map.
        what: &'static str,
        /// The message of aya or of the kernel.
        problem: String,
    },
    /// A tool's output does not have the expected form.
    #[error("cannot read the output of {tool}: {output}")]
    Output {
        /// The tool.
        tool: &'static str,
        /// Its output.
        output: String,
    },
    /// The tester's check of itself, or of the path under test, failed.
    #[error("self-check of {what}: sent {sent}, received {received}, of these {invalid} invalid")]
    SelfCheck {
        /// The path.
        what: String,
        /// Frames sent.
        sent: u64,
        /// Frames that arrived.
        received: u64,
        /// Frames with wrong checksums.
        invalid: u64,
    },
    /// No two counts of a row in a row agree.
    #[error(
        "{row}: no two of {counts} counts in a row agree, the last was {last:.0} ns for a packet: the clock of this machine does not count instructions; run this in `tests/guest/run --exact`"
    )]
    InexactClock {
        /// The row.
        row: String,
        /// The number of counts.
        counts: u32,
        /// The last one, in nanoseconds for a packet.
        last: f64,
    },
    /// A link does not carry the frames of a test.
    #[error(
        "frames of {size} octets do not fit {interface}, whose MTU is {mtu}: it has to be {needed}"
    )]
    FrameTooLarge {
        /// Octets of the frames, with FCS.
        size: u16,
        /// The interface.
        interface: String,
        /// Its MTU.
        mtu: u32,
        /// The MTU that the frames need.
        needed: u32,
    },
    /// Each stream needs a core to send from.
    #[error("streams in {needed} directions need {needed} cores, and this machine has {present}")]
    TooFewCores {
        /// Cores needed.
        needed: usize,
        /// Cores that this machine has.
        present: usize,
    },
    /// A TAP device could not be made.
    #[error("cannot make the TAP device {interface}: {source}")]
    Tap {
        /// Its name.
        interface: String,
        /// The cause.
        source: io::Error,
    },
    /// The thread of the wires needs a CPU of its own.
    #[error("links with a line rate need two CPUs, and this machine has one")]
    OneCpu,
    /// A thread could not be bound to a CPU.
    #[error("cannot bind a thread to CPU {cpu}: {source}")]
    Pin {
        /// The CPU.
        cpu: usize,
        /// The cause.
        source: io::Error,
    },
    /// A socket of the tester failed.
    #[error("cannot {action} {address}: {source}")]
    Socket {
        /// The action that failed.
        action: &'static str,
        /// The address that it is bound or sends to.
        address: SocketAddr,
        /// The cause.
        source: io::Error,
    },
    /// The tester missed its own schedule, so the trial says nothing about the device.
    #[error("{0}")]
    Tester(String),
    /// Only root can make namespaces.
    #[error("needs root: network namespaces and BPF")]
    NotRoot,
}

impl LabError {
    /// Returns what makes the error of this file from its cause.
    pub fn file(path: impl Into<PathBuf>) -> impl Fn(io::Error) -> Self {
        let path = path.into();
        move |source| Self::File {
            path: path.clone(),
            source,
        }
    }
}

/// A problem with a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ProcessProblem {
    /// It ended before it was ready, or while it was needed.
    #[error("ended early")]
    Ended,
    /// It runs, but did not become ready in time.
    #[error("did not become ready in time")]
    NotReady,
}

//! What can go wrong in the laboratory.

use std::{io, net::SocketAddr, path::PathBuf};

/// Why something in the laboratory failed.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// A program that the lab calls is not there.
    #[error("{program} is not installed (Debian package: {package})")]
    Missing {
        /// The program's name.
        program: String,
        /// The Debian package that has it.
        package: String,
    },
    /// The gateway was built before its sources were changed: it is not what they say.
    #[error("{program} is older than {source_file}: build it again")]
    Stale {
        /// The gateway's program.
        program: PathBuf,
        /// A source that is newer.
        source_file: PathBuf,
    },
    /// The kernel has nothing of this kind.
    #[error("the kernel has no {module} ({from})")]
    NoModule {
        /// The module, which may also be built in.
        module: &'static str,
        /// Where it comes from: an option of the kernel, or a package.
        from: &'static str,
    },
    /// A program could not be started.
    #[error("cannot start `{command}`: {source}")]
    Start {
        /// The command line.
        command: String,
        /// Why.
        source: io::Error,
    },
    /// A command ended with an error.
    #[error("`{command}` failed ({status}): {output}")]
    Command {
        /// The command line.
        command: String,
        /// Exit status or signal.
        status: String,
        /// The end of what it printed.
        output: String,
    },
    /// A process that should be running has ended, or never became ready.
    #[error("{name} {problem}: {output}")]
    Process {
        /// What the lab calls it.
        name: String,
        /// What happened to it.
        problem: ProcessProblem,
        /// The end of what it printed.
        output: String,
    },
    /// A file could not be read or written.
    #[error("{path}: {source}")]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A namespace could not be entered.
    #[error("cannot enter namespace {name}: {source}")]
    Enter {
        /// Which.
        name: String,
        /// Why.
        source: io::Error,
    },
    /// The topology names a node that it does not have.
    #[error("the topology has no node {0}")]
    NoNode(String),
    /// The BPF object has no such program or map, or the kernel refused it.
    #[error("tester's BPF {what}: {problem}")]
    Bpf {
        /// Which program or map.
        what: &'static str,
        /// What aya or the kernel says.
        problem: String,
    },
    /// A tool's output does not have the form that the lab reads.
    #[error("cannot read the output of {tool}: {output}")]
    Output {
        /// Which tool.
        tool: &'static str,
        /// What it printed.
        output: String,
    },
    /// The tester's check of itself, or of the path under test, failed.
    #[error("self-check of {what}: sent {sent}, received {received}, of these {invalid} invalid")]
    SelfCheck {
        /// Which path.
        what: String,
        /// Frames sent.
        sent: u64,
        /// Frames that arrived.
        received: u64,
        /// Frames with wrong checksums.
        invalid: u64,
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
        /// The MTU that they need.
        needed: u32,
    },
    /// Each stream needs a core to send from.
    #[error("streams in {needed} directions need {needed} cores, and this machine has {present}")]
    TooFewCores {
        /// Cores needed.
        needed: usize,
        /// Cores that there are.
        present: usize,
    },
    /// A TAP device could not be made.
    #[error("cannot make the TAP device {interface}: {source}")]
    Tap {
        /// Its name.
        interface: String,
        /// Why.
        source: io::Error,
    },
    /// The thread of the wires has no CPU for itself.
    #[error("links with a line rate need two CPUs, and this machine has one")]
    OneCpu,
    /// A socket of the tester could not do its work.
    #[error("cannot {action} {address}: {source}")]
    Socket {
        /// What it should have done.
        action: &'static str,
        /// With or at which address.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// The tester did not do what it should have done, so that there is nothing to be said of what it tested.
    #[error("{0}")]
    Tester(String),
    /// Only root can make namespaces.
    #[error("needs root: network namespaces and BPF")]
    NotRoot,
}

/// What can happen to a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ProcessProblem {
    /// It ended before it was ready, or while it was needed.
    #[error("ended early")]
    Ended,
    /// It runs, but did not become ready in time.
    #[error("did not become ready in time")]
    NotReady,
}

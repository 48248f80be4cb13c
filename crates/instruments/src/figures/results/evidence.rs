//! The evidence: all by which a stranger can judge the values of a run again.

use serde::{Deserialize, Serialize};

/// The rules of a run, which are the same for all trials. A run of format 1 has none of them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Rules {
    /// The files beside `run.json`.
    pub files: Vec<Files>,
    /// The places of processes and threads.
    pub pinning: Vec<Pinned>,
    /// The limits beyond which a measurement is void.
    pub tolerances: Option<Tolerances>,
}

/// Files of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Files {
    /// Their path from the run's directory.
    pub path: String,
    /// Their content, in words.
    pub holds: String,
}

/// The work of a core.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Pinned {
    /// The core, counted from 0.
    pub core: usize,
    /// The processes and threads that are bound to it, in words.
    pub work: String,
}

/// The limits beyond which a measurement is void. Those of [`Attempt`] are compared with them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Tolerances {
    /// The number of times that something void is tried, 1 or more.
    pub tries: u32,
    /// The share of a measurement's time for which others may run, or a hypervisor may have a core: 0 to 1.
    pub foreign_share: f64,
    /// The seconds for which they always may.
    pub foreign_seconds: f64,
    /// The interrupts of devices in a second that a core may have.
    pub interrupts_per_second: f64,
}

/// A network interface that is up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Interface {
    /// The node of the network: its role, such as `gateway`. Each has a network namespace of its own.
    pub node: String,
    /// Its name there.
    pub name: String,
    /// The largest packet in octets, without the Ethernet header.
    pub mtu: u32,
    /// The offloads that are on. Those of [`Offload`] that are not here are off.
    pub offloads: Vec<Offload>,
    /// The congestion control of TCP in its node, such as `cubic`; absent in runs of programs that left it to the machine.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub congestion_control: Option<String>,
}

/// An offload, as `ethtool -k` shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Offload {
    /// Checksums of arriving packets are taken for right.
    RxChecksumming,
    /// Packets leave with unfinished checksums.
    TxChecksumming,
    /// TSO: segments of TCP larger than the MTU leave whole.
    TcpSegmentation,
    /// GSO: packets larger than the MTU pass the stack whole.
    GenericSegmentation,
    /// GRO: packets that arrive are joined. A veth whose end has it polls.
    GenericReceive,
}

/// The evidence of a trial.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Evidence {
    /// The index of its network in `networks` of `run.json`; absent if it had none, or several.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub network: Option<usize>,
    /// The reasons for which the whole trial was void and was begun again, in order.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub retries: Vec<String>,
    /// The measurements under watch, in order, with those that were void. One that serves several experiments of a
    /// subject is in the first of their trials.
    pub attempts: Vec<Attempt>,
    /// The threads of this program and of all that it has started, as they were at the ends of attempts: each once.
    pub threads: Vec<Thread>,
}

/// A measurement under watch, and the work of others meanwhile on the cores in use.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Attempt {
    /// The series of its values; absent if there are several.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub series: Option<String>,
    /// Their place on the axis; absent if there are several, or none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub at: Option<f64>,
    /// Its length in seconds, with the waits around it.
    pub seconds: f64,
    /// Seconds for which processes of others ran, of all cores in use together; to a hundredth.
    pub foreign: f64,
    /// Seconds for which a hypervisor had a core in use; to a hundredth.
    pub stolen: f64,
    /// The interrupts of devices on the core in use that had the most.
    pub interrupts: u64,
    /// The load, if it was the tester's frames.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub load: Option<Load>,
    /// The reason why it says nothing about the subject, if so: it was repeated, or there is no value.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub void: Option<String>,
}

/// Frames that were sent, of all streams together where nothing else is said.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Load {
    /// Frames per second that each stream should offer; absent if it sends as fast as it can.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rate: Option<f64>,
    /// Frames sent.
    pub sent: u64,
    /// Those of them that did not arrive whole and in time.
    pub lost: u64,
}

/// The limits of a search, in the unit of the quantity.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SearchLimits {
    /// The lower end, 0 or more. No lower value is tried.
    pub least: f64,
    /// The upper end; absent if values are doubled until one is too much.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub most: Option<f64>,
    /// The greatest distance from the value to the next one that was too much.
    pub width: Width,
    /// The share of frames, queries or connections that a trial may lose: 0 to 1.
    pub loss: f64,
    /// The share of the time of trials at one load in which they may lose more: 0 to 1, and not 1.
    pub exceed: f64,
    /// The length in seconds of a trial that decides; absent if it is a number of frames or connections.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub seconds: Option<f64>,
}

/// A distance between two values of a search.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Width {
    /// A share of the greater one: 0 to 1.
    Share(f64),
    /// A difference, in the unit of the quantity.
    Difference(f64),
}

/// A thread and the cores that it may use.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Thread {
    /// The name of its process, at most 15 octets.
    pub process: String,
    /// Its own name, at most 15 octets.
    pub thread: String,
    /// The cores, as the kernel lists them: `1` is one, `0-3` are four. A thread of one core ran there.
    pub cores: String,
}

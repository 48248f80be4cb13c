//! Looks for everything on a machine that silently defeats a gateway: `isthmus doctor`. `isthmus up` and `isthmus
//! check` use the same checks, as far as these need no other programs.
//!
//! A check is a file beside this one, and a line in [`CHECKS`]; `docs/doctor.md` has the list (`make docs`).

mod accept_ra;
mod facts;
mod firewall;
mod forwarding;
mod frames;
mod kernel;
mod machine;
mod managed_link;
mod mtu;
mod own_addresses;
mod pool_ports;
mod programs;
mod routes;
mod rp_filter;
mod second_clat;
mod status;
pub(crate) mod vlan_tags;
mod xdp;

use serde::Serialize;

use crate::config::{Document, Forward, Interface, Loaded, XdpMode};
use crate::control::Status;

pub use facts::Facts;

/// A check.
#[derive(Clone, Copy, Debug)]
pub struct Check {
    /// Its name in findings.
    pub name: &'static str,
    /// The trouble that it looks for, in a few words.
    pub about: &'static str,
    /// Who looks.
    pub depth: Depth,
    look: fn(&Case<'_>) -> Result<Vec<Defect>, Unseen>,
}

/// The depth of an examination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    /// `isthmus up` and `isthmus check` look as well.
    Start,
    /// `isthmus doctor` alone looks: other programs have to be asked, or a gateway that runs.
    Whole,
}

/// All checks, in the order in which they are made.
pub const CHECKS: &[Check] = &[
    machine::CHECK,
    kernel::CHECK,
    kernel::TUN,
    kernel::RIGHTS,
    forwarding::CHECK,
    accept_ra::CHECK,
    rp_filter::CHECK,
    xdp::CHECK,
    frames::CHECK,
    programs::CHECK,
    vlan_tags::CHECK,
    mtu::CHECK,
    own_addresses::ADDRESSES,
    pool_ports::CHECK,
    second_clat::CHECK,
    routes::CHECK,
    managed_link::CHECK,
    firewall::DROPS,
    firewall::BYPASSED,
    status::CHECK,
];

/// A configuration, the machine that it is for, and the gateway if it runs.
#[derive(Debug)]
pub struct Case<'a> {
    /// The configuration.
    pub loaded: &'a Loaded,
    /// The machine.
    pub facts: &'a Facts,
    /// The state of the gateway, if it runs.
    pub status: Option<&'a Status>,
}

impl Case<'_> {
    const fn document(&self) -> &Document {
        &self.loaded.document
    }

    const fn is_running(&self) -> bool {
        self.status.is_some()
    }
}

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Defect {
    /// The value that was found.
    pub wrong: String,
    /// The consequence.
    pub why: String,
    /// The change that mends it.
    pub remedy: Remedy,
}

/// A change that mends a [`Defect`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Remedy {
    /// A command for a shell.
    Command(String),
    /// A line of the configuration, and where it belongs.
    Configuration {
        /// The heading of its table.
        table: String,
        /// The line.
        line: String,
    },
}

impl Defect {
    fn new(wrong: impl Into<String>, why: impl Into<String>, remedy: Remedy) -> Self {
        Self {
            wrong: wrong.into(),
            why: why.into(),
            remedy,
        }
    }
}

impl Remedy {
    fn command(line: impl Into<String>) -> Self {
        Self::Command(line.into())
    }

    fn configuration(table: impl Into<String>, line: impl Into<String>) -> Self {
        Self::Configuration {
            table: table.into(),
            line: line.into(),
        }
    }

    /// Another engine for an `[[interface]]`, which may have keys that only its own understands.
    fn engine(interface: &Interface, engine: &str) -> Self {
        let mut table = format!("[[interface]] of \"{}\"", interface.name.value);
        if interface.mode != XdpMode::Auto || interface.forward == Forward::Kernel {
            table.push_str(", without `mode` and `forward`");
        }
        Self::configuration(table, format!("engine = \"{engine}\""))
    }

    /// A line for the `[[interface]]` of this name.
    fn interface(name: &str, line: &str) -> Self {
        Self::configuration(format!("[[interface]] of \"{name}\""), line)
    }
}

impl std::fmt::Display for Remedy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Command(line) => write!(f, "run: {line}"),
            Self::Configuration { table, line } => write!(f, "write in {table}: {line}"),
        }
    }
}

/// The reason why a check could not look.
#[derive(Debug)]
struct Unseen(String);

impl Unseen {
    fn new(what: &str, error: &dyn std::fmt::Display) -> Self {
        Self(format!("{what}: {error}"))
    }
}

/// The outcome of an examination.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Diagnosis {
    /// Everything that is wrong, in the order of the checks.
    pub findings: Vec<Finding>,
    /// Checks that could not look.
    pub unseen: Vec<Blank>,
}

/// A defect with the name of the check that found it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Finding {
    /// The name of the check.
    pub check: &'static str,
    /// The defect.
    #[serde(flatten)]
    pub defect: Defect,
}

/// A check that could not look.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Blank {
    /// The name of the check.
    pub check: &'static str,
    /// Why not.
    pub reason: String,
}

/// Makes all checks of a depth.
#[must_use]
pub fn examine(case: &Case<'_>, depth: Depth) -> Diagnosis {
    let mut diagnosis = Diagnosis::default();
    for check in CHECKS.iter().filter(|check| check.depth <= depth) {
        let name = check.name;
        match (check.look)(case) {
            Ok(defects) => {
                let finding = |defect| Finding {
                    check: name,
                    defect,
                };
                diagnosis.findings.extend(defects.into_iter().map(finding));
            }
            Err(Unseen(reason)) => diagnosis.unseen.push(Blank {
                check: name,
                reason,
            }),
        }
    }
    diagnosis
}

/// Looks at the machine for a gateway that is about to start, and writes what is wrong to the log.
pub(crate) async fn warn(loaded: &Loaded) {
    let facts = match Facts::gather().await {
        Ok(facts) => facts,
        Err(error) => {
            tracing::debug!(%error, "the machine was not examined");
            return;
        }
    };
    let case = Case {
        loaded,
        facts: &facts,
        status: None,
    };
    let diagnosis = examine(&case, Depth::Start);
    for Finding { check, defect } in diagnosis.findings {
        let Defect { wrong, why, remedy } = defect;
        tracing::warn!(check, "{wrong}. {why}; {remedy}");
    }
    for Blank { check, reason } in diagnosis.unseen {
        tracing::debug!(check, "could not look: {reason}");
    }
}

//! The interface of engines.

mod attached;
mod kernel;
mod user;

use std::sync::Arc;

use isthmus_engine::bpf;
use isthmus_engine::counters::{Owner, Snapshot};
use isthmus_engine::ruleset::Ruleset;
use isthmus_engine::trace::{Filter, Sink};

use crate::control::EngineStatus;

pub use kernel::KernelEngine;
pub use user::UserEngine;

/// Something that moves packets through the core. It works from its making until it stops.
pub trait Engine: Send + Sync {
    /// Makes it as fast as it can be for all packets. It works before that, but leaves rare ones to another engine.
    ///
    /// # Errors
    ///
    /// If it cannot. It works as before then.
    fn complete(&self) -> Result<(), EngineError> {
        Ok(())
    }

    /// Its name in counters.
    fn name(&self) -> &'static str;

    /// Where it works, and how.
    fn status(&self) -> Vec<EngineStatus>;

    /// Lets packets from now on see `ruleset` and nothing of the one before. The memory of
    /// sessions stays the same.
    ///
    /// # Errors
    ///
    /// If it cannot; the one before stays in force then.
    fn swap(&self, ruleset: &Arc<Ruleset>) -> Result<(), EngineError>;

    /// Its counters since the start, for the gateway and for every instance.
    fn counters(&self) -> Vec<(Owner, Snapshot)>;

    /// Puts its programs back on links that have lost them. Returns what is not as configured.
    fn heal(&self) -> Vec<String> {
        Vec::new()
    }

    /// Shows packets to `sink` that meet the conditions, as they came and as they left, up to `snap` bytes of each,
    /// until the answer is dropped.
    ///
    /// # Errors
    ///
    /// If it cannot.
    fn follow(&self, filter: &Filter, snap: u32, sink: &Sink)
    -> Result<Box<dyn Send>, EngineError>;

    /// Whether it does its work. One that fails does not recover.
    fn is_running(&self) -> bool;

    /// Ends: no thread, program or link of its own is left. What it counted is lost.
    fn stop(&self);
}

/// Why an engine does not start or does not take a configuration.
#[derive(Debug, thiserror::Error)]
#[error("{engine} engine on {interface}: {reason}")]
pub struct EngineError {
    /// `xdp`, `tc`, `BPF` for both, or `user`.
    pub engine: &'static str,
    /// The links that it works on.
    pub interface: String,
    /// The reason.
    pub reason: String,
}

impl EngineError {
    /// An error of the programs on these links, without the verifier's log, which has a line for every instruction.
    fn of_programs(engine: &'static str, interface: &str, error: &bpf::Error) -> Self {
        let text = error.to_string();
        let mut lines = text.lines();
        let first = lines.next().unwrap_or_default();
        let reason = match lines.rfind(|line| !line.trim().is_empty()) {
            Some(last) => {
                tracing::debug!("{text}");
                format!("{first} … {last}")
            }
            None => first.to_owned(),
        };
        Self {
            engine,
            interface: interface.to_owned(),
            reason,
        }
    }
}

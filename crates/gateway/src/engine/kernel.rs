//! The engines in the kernel: XDP and tc programs on the links of the machine.
//!
//! They share one set of programs and maps, and their memory of sessions is the user-space
//! engine's as well, which does what they cannot.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use isthmus_core::slow::shares::Shares;
use isthmus_core::table::Seed;
use isthmus_engine::bpf::{Clock, Programs};
use isthmus_engine::counters::{Owner, Snapshot};
use isthmus_engine::keeper::Keeper;
use isthmus_engine::memory::Region;
use isthmus_engine::ruleset::Ruleset;
use isthmus_engine::trace::{Filter, Sink};

use super::attached::{self, Attached};
use super::{Engine, EngineError};
use crate::config::{self, Forward, Interface, Side};
use crate::control::EngineStatus;

/// The programs and the links that they are attached to.
#[derive(Debug)]
pub struct KernelEngine {
    // Taken when it stops: the kernel detaches a program when its last holder drops it.
    programs: Mutex<Option<Programs>>,
    links: Mutex<Vec<Attached>>,
    /// All links of the configuration.
    interfaces: Vec<Interface>,
    /// Their names, for errors.
    names: String,
}

impl KernelEngine {
    /// Makes the maps, with memory for this many lines of sessions and of rules, or takes those that `keeper` has. No
    /// link is touched yet.
    ///
    /// # Errors
    ///
    /// If the kernel does not take them.
    pub fn new(
        interfaces: &[Interface],
        state_lines: u32,
        rule_lines: u32,
        keeper: Option<Arc<dyn Keeper>>,
    ) -> Result<(Self, Region), EngineError> {
        let names = names(interfaces);
        let failed = |error| failed(&names, &error);
        // Which hook a link gets is known when it is attached.
        let mut programs =
            Programs::new(&[], state_lines, rule_lines, Clock::Kernel, keeper).map_err(failed)?;
        let in_kernel = |interface: &&Interface| interface.engine.value != config::Engine::User;
        let those = |which: fn(&&Interface) -> bool| -> Vec<&str> {
            let some = interfaces.iter().filter(in_kernel).filter(which);
            some.map(|interface| interface.name.value.as_str())
                .collect()
        };
        let by_kernel = those(|interface| interface.forward == Forward::Kernel);
        let outside = those(|interface| interface.side == Side::Outside);
        programs
            .watch_kernel(&by_kernel, &outside)
            .map_err(failed)?;
        let state = programs.state(state_lines).map_err(failed)?;
        let engine = Self {
            programs: Mutex::new(Some(programs)),
            links: Mutex::default(),
            interfaces: interfaces.to_vec(),
            names,
        };
        Ok((engine, state))
    }

    /// The shares of the slow path, with a secret of their own.
    ///
    /// # Errors
    ///
    /// If the kernel does not map them, or gives no random numbers.
    pub fn shares(&self) -> Result<Option<Shares<Region>>, EngineError> {
        let mut secret = Seed::default();
        getrandom::fill(bytemuck::bytes_of_mut(&mut secret)).map_err(|error| EngineError {
            engine: "BPF",
            interface: self.names.clone(),
            reason: format!("random numbers: {error}"),
        })?;
        let programs = self.lock();
        let shares = programs.as_ref().map(|programs| programs.shares(&secret));
        shares
            .transpose()
            .map_err(|error| failed(&self.names, &error))
    }

    /// Puts `ruleset` in force and attaches the programs. Those of rare packets come with [`complete`](Engine::complete).
    ///
    /// # Errors
    ///
    /// If the kernel refuses a program or a link; others are let go again when this engine is
    /// dropped.
    pub fn attach(&mut self, ruleset: &Arc<Ruleset>) -> Result<(), EngineError> {
        self.swap(ruleset)?;
        let in_kernel = |interface: &&Interface| interface.engine.value != config::Engine::User;
        let deaf = attached::deaf(&self.interfaces);
        for interface in self.interfaces.iter().filter(in_kernel) {
            let attached = match &mut *self.lock() {
                Some(programs) => Attached::new(programs, interface, deaf)?,
                None => continue,
            };
            self.links().push(attached);
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Option<Programs>> {
        self.programs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn links(&self) -> MutexGuard<'_, Vec<Attached>> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An error of the programs on these links.
fn failed(names: &str, error: &isthmus_engine::bpf::Error) -> EngineError {
    EngineError::of_programs("BPF", names, error)
}

fn names(interfaces: &[Interface]) -> String {
    let names: Vec<&str> = interfaces
        .iter()
        .map(|interface| interface.name.value.as_str())
        .collect();
    names.join(", ")
}

impl Engine for KernelEngine {
    fn complete(&self) -> Result<(), EngineError> {
        match &mut *self.lock() {
            Some(programs) => programs
                .load_rest()
                .map_err(|error| failed(&self.names, &error)),
            None => Ok(()),
        }
    }

    fn name(&self) -> &'static str {
        let links = self.links();
        let has = |engine: &str| links.iter().any(|link| link.status.engine == engine);
        match (has("xdp"), has("tc")) {
            (true, true) => "xdp+tc",
            (false, true) => "tc",
            _ => "xdp",
        }
    }

    fn status(&self) -> Vec<EngineStatus> {
        self.links()
            .iter()
            .map(|link| link.status.clone())
            .collect()
    }

    fn heal(&self) -> Vec<String> {
        let Some(programs) = &mut *self.lock() else {
            return Vec::new();
        };
        let deaf = attached::deaf(&self.interfaces);
        let mut links = self.links();
        links
            .iter_mut()
            .filter_map(|link| link.heal(programs, deaf))
            .collect()
    }

    fn swap(&self, ruleset: &Arc<Ruleset>) -> Result<(), EngineError> {
        let Some(programs) = &mut *self.lock() else {
            return Ok(());
        };
        programs
            .put(ruleset)
            .map_err(|error| failed(&self.names, &error))
    }

    fn counters(&self) -> Vec<(Owner, Snapshot)> {
        match self.lock().as_ref().map(Programs::counters) {
            Some(Ok(counters)) => counters,
            Some(Err(error)) => {
                tracing::warn!(%error, "the counters of the BPF programs cannot be read");
                Vec::new()
            }
            None => Vec::new(),
        }
    }

    fn follow(
        &self,
        filter: &Filter,
        snap: u32,
        sink: &Sink,
    ) -> Result<Box<dyn Send>, EngineError> {
        let tracer = match &*self.lock() {
            Some(programs) => programs.follow(*filter, snap, Arc::clone(sink)),
            None => return Ok(Box::new(())),
        };
        let tracer = tracer.map_err(|error| failed(&self.names, &error))?;
        Ok(Box::new(tracer))
    }

    fn is_running(&self) -> bool {
        self.lock().is_some()
    }

    fn stop(&self) {
        *self.lock() = None;
    }
}

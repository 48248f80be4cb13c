//! The user-space engine on its TUN link.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use isthmus_core::mechanism::instances::MOST_INSTANCES;
use isthmus_engine::counters::{Owner, Snapshot};
use isthmus_engine::memory::Region;
use isthmus_engine::own::Services;
use isthmus_engine::ruleset::Ruleset;
use isthmus_engine::user;

use super::{Engine, EngineError};
use crate::config::Tun;
use crate::control::EngineStatus;

/// The engine and the link that it holds open.
#[derive(Debug)]
pub struct UserEngine {
    interface: String,
    queues: usize,
    // Taken when it stops.
    engine: Mutex<Option<user::Engine>>,
}

impl UserEngine {
    /// Creates the TUN link and starts to translate its packets. The link is down and has no addresses yet.
    /// `services` are those of the gateway for hosts in its softwires.
    ///
    /// # Errors
    ///
    /// If the link cannot be had, or no threads.
    pub fn start(
        tun: &Tun,
        ruleset: &Arc<Ruleset>,
        state: &Arc<Region>,
        services: Arc<dyn Services>,
    ) -> Result<Self, EngineError> {
        let failed = |reason: String| EngineError {
            engine: "user",
            interface: tun.name.value.clone(),
            reason,
        };
        let link = user::Tun::open(&tun.name.value, tun.queues.into())
            .map_err(|error| failed(error.to_string()))?;
        match link.delivery() {
            user::Delivery::Batched => {}
            user::Delivery::Threaded => tracing::info!(
                link = link.name(),
                "small packets are slower: without CAP_SYS_NICE, or if /proc hides them, the link's \
                 kernel threads interrupt ours"
            ),
            user::Delivery::Direct => tracing::info!(
                link = link.name(),
                "small packets are slower: the link has no kernel threads, because /sys cannot \
                 be written or belongs to another network namespace"
            ),
        }
        let mut seed = [0; 32];
        getrandom::fill(&mut seed).map_err(|error| failed(error.to_string()))?;
        let (ruleset, state) = (Arc::clone(ruleset), Arc::clone(state));
        let engine = user::Engine::start(link.queues, ruleset, state, seed, services)
            .map_err(|error: io::Error| failed(error.to_string()))?;
        Ok(Self {
            interface: tun.name.value.clone(),
            queues: tun.queues.into(),
            engine: Mutex::new(Some(engine)),
        })
    }

    fn with<T>(&self, act: impl FnOnce(&user::Engine) -> T) -> Option<T> {
        self.engine
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .as_ref()
            .map(act)
    }
}

impl Engine for UserEngine {
    fn name(&self) -> &'static str {
        "user"
    }

    fn status(&self) -> Vec<EngineStatus> {
        let queues = match self.queues {
            1 => "1 queue".into(),
            many => format!("{many} queues"),
        };
        vec![EngineStatus {
            engine: "user".into(),
            interface: self.interface.clone(),
            detail: queues,
        }]
    }

    fn swap(&self, ruleset: &Arc<Ruleset>) -> Result<(), EngineError> {
        self.with(|engine| engine.swap(Arc::clone(ruleset)));
        Ok(())
    }

    fn counters(&self) -> Vec<(Owner, Snapshot)> {
        let owners =
            || std::iter::once(Owner::Gateway).chain((0..MOST_INSTANCES).map(Owner::Instance));
        self.with(|engine| owners().map(|owner| (owner, engine.read(owner))).collect())
            .unwrap_or_default()
    }

    fn is_running(&self) -> bool {
        self.with(user::Engine::is_running).unwrap_or(false)
    }

    fn stop(&self) {
        let engine = self
            .engine
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(Err(error)) = engine.map(user::Engine::stop) {
            tracing::error!(link = self.interface, %error, "a queue failed");
        }
    }
}

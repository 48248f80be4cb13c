//! The user-space engine on its TUN link.

use std::error::Error;
use std::fmt::Display;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use isthmus_core::slow::shares::Shares;
use isthmus_engine::counters::{Owner, Snapshot};
use isthmus_engine::memory::Region;
use isthmus_engine::own::Services;
use isthmus_engine::ruleset::Ruleset;
use isthmus_engine::trace::{Filter, Sink};
use isthmus_engine::user;
use nix::net::if_::if_nametoindex;

use super::{Engine, EngineError};
use crate::config::{self, Document};
use crate::control::EngineStatus;

/// The engine and the link that it holds open.
#[derive(Debug)]
pub struct UserEngine {
    interface: String,
    queues: usize,
    /// The links of the configuration whose packets this engine was chosen for.
    chosen: Vec<EngineStatus>,
    running: Mutex<Running>,
}

#[derive(Debug)]
struct Running {
    // Taken when it stops.
    engine: Option<user::Engine>,
    /// The number of the link; `None` while there is none.
    link: Option<u32>,
}

impl UserEngine {
    /// Creates the TUN link and starts to translate its packets. The link is down and has no addresses yet.
    /// `services` are those of the gateway for hosts in its softwires, `shares` those of the slow path where programs hand
    /// packets up.
    ///
    /// # Errors
    ///
    /// If the link cannot be had, or no threads.
    pub fn start(
        document: &Document,
        ruleset: &Arc<Ruleset>,
        state: &Arc<Region>,
        services: Arc<dyn Services>,
        shares: Option<Shares<Region>>,
    ) -> Result<Self, EngineError> {
        let tun = &document.tun;
        let queues = tun.queues.into();
        let failed = |error: &dyn Display| EngineError {
            engine: "user",
            interface: tun.name.value.clone(),
            reason: error.to_string(),
        };
        let opened = open(&tun.name.value, queues).map_err(|error| failed(&error))?;
        let (ruleset, state) = (Arc::clone(ruleset), Arc::clone(state));
        let seed = seed().map_err(|error| failed(&error))?;
        let engine = user::Engine::start(opened, ruleset, state, seed, services, shares)
            .map_err(|error| failed(&error))?;
        Ok(Self {
            interface: tun.name.value.clone(),
            queues,
            chosen: chosen(document),
            running: Mutex::new(Running {
                engine: Some(engine),
                link: if_nametoindex(tun.name.value.as_str()).ok(),
            }),
        })
    }

    fn lock(&self) -> MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T>(&self, act: impl FnOnce(&user::Engine) -> T) -> Option<T> {
        self.lock().engine.as_ref().map(act)
    }
}

impl Running {
    /// Makes the link again, if somebody deleted it.
    fn heal(&mut self, name: &str, queues: usize) -> Result<(), Box<dyn Error>> {
        let Some(engine) = self.engine.as_mut().filter(|engine| !engine.is_running()) else {
            return Ok(());
        };
        let now = if_nametoindex(name).ok();
        if now.is_some() && now == self.link {
            // A queue that fails while its link is there does not recover.
            return Ok(());
        }
        engine.move_to(open(name, queues)?, seed()?)?;
        self.link = if_nametoindex(name).ok();
        tracing::warn!(link = name, "was deleted, and is there again");
        Ok(())
    }
}

/// The links that the gateway leaves to this engine, with the reasons.
fn chosen(document: &Document) -> Vec<EngineStatus> {
    let tun = &document.tun.name.value;
    let links = document.interfaces.iter();
    let of_user = links.filter(|one| one.engine.value == config::Engine::User);
    let row = |one: &config::Interface| {
        let why = one.chosen.as_ref()?;
        Some(EngineStatus {
            engine: "user".into(),
            interface: one.name.value.clone(),
            detail: format!("through {tun}, because {why}"),
        })
    };
    of_user.filter_map(row).collect()
}

/// Opens the link, and creates it if it does not exist.
fn open(name: &str, queues: usize) -> Result<Vec<user::Queue>, user::OpenError> {
    let link = user::Tun::open(name, queues)?;
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
    Ok(link.queues)
}

fn seed() -> Result<[u8; 32], getrandom::Error> {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed)?;
    Ok(seed)
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
        let own = EngineStatus {
            engine: "user".into(),
            interface: self.interface.clone(),
            detail: queues,
        };
        [own].into_iter().chain(self.chosen.clone()).collect()
    }

    fn swap(&self, ruleset: &Arc<Ruleset>) -> Result<(), EngineError> {
        self.with(|engine| engine.swap(Arc::clone(ruleset)));
        Ok(())
    }

    fn counters(&self) -> Vec<(Owner, Snapshot)> {
        self.with(|engine| {
            Owner::all()
                .map(|owner| (owner, engine.read(owner)))
                .collect()
        })
        .unwrap_or_default()
    }

    fn heal(&self) -> Vec<String> {
        let healed = self.lock().heal(&self.interface, self.queues);
        healed
            .err()
            .map(|error| error.to_string())
            .into_iter()
            .collect()
    }

    fn follow(
        &self,
        filter: &Filter,
        snap: u32,
        sink: &Sink,
    ) -> Result<Box<dyn Send>, EngineError> {
        let follower = self.with(|engine| engine.follow(*filter, snap, Arc::clone(sink)));
        Ok(Box::new(follower))
    }

    fn is_running(&self) -> bool {
        self.with(user::Engine::is_running).unwrap_or(false)
    }

    fn stop(&self) {
        let engine = self.lock().engine.take();
        if let Some(Err(error)) = engine.map(user::Engine::stop) {
            tracing::error!(link = self.interface, %error, "a queue failed");
        }
    }
}

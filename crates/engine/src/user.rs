//! The user-space engine on a live TUN link: one thread per queue, super-packets kept whole.

mod device;
mod follow;
mod napi;
mod turn;
mod vnet;
mod worker;

use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use arc_swap::ArcSwap;
use chacha20::ChaCha8Rng;
use chacha20::rand_core::SeedableRng;
use isthmus_core::slow::shares::Shares;

use crate::counters::{Counters, Owner, Snapshot};
use crate::memory::Region;
use crate::own::Services;
use crate::ruleset::Ruleset;
use crate::slowpath::SlowPath;
use crate::sys;
use crate::trace::{Filter, Sink};
use turn::HandedUp;

pub use device::{Delivery, NameError, OpenError, Queue, Tun};
pub use follow::Follower;

/// State that all threads of an engine share.
#[derive(Debug)]
struct Shared {
    ruleset: ArcSwap<Ruleset>,
    state: Arc<Region>,
    slowpath: SlowPath,
    stopping: AtomicBool,
    followers: follow::Followers,
    /// Whose packets programs hand up, if there are programs.
    handed_up: Option<HandedUp>,
    /// Stays readable once the engine is stopping.
    stop: File,
}

/// Load figures of one queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Packets read. A super-packet counts once.
    pub packets: u64,
    /// Super-packets among them.
    pub super_packets: u64,
    /// Number of times that the queue was found empty.
    pub idle: u64,
}

/// Load figures of one thread. Only this thread writes them.
#[derive(Debug, Default)]
struct Figures {
    counters: Counters,
    packets: AtomicU64,
    super_packets: AtomicU64,
    idle: AtomicU64,
}

/// A running engine. Dropping it stops it.
#[derive(Debug)]
pub struct Engine {
    shared: Arc<Shared>,
    figures: Vec<Arc<Figures>>,
    threads: Vec<JoinHandle<io::Result<()>>>,
}

impl Engine {
    /// Starts one thread for each queue of a link. `seed` determines every random choice and must be
    /// unpredictable (RFC 6056). `services` are those of the gateway itself, `shares` those of the slow path where programs
    /// hand packets up.
    ///
    /// # Errors
    /// A thread or its event descriptor cannot be made.
    pub fn start(
        queues: Vec<Queue>,
        ruleset: Arc<Ruleset>,
        state: Arc<Region>,
        seed: [u8; 32],
        services: Arc<dyn Services>,
        shares: Option<Shares<Region>>,
    ) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            ruleset: ArcSwap::new(ruleset),
            state,
            slowpath: SlowPath::default().serving(services),
            stopping: AtomicBool::new(false),
            followers: follow::Followers::default(),
            handed_up: shares.map(HandedUp::new),
            stop: sys::event()?,
        });
        let mut engine = Self {
            shared,
            figures: queues.iter().map(|_| Arc::default()).collect(),
            threads: Vec::new(),
        };
        engine.run(queues, seed)?;
        Ok(engine)
    }

    /// Goes on with the queues of another link, as many as before. That of before is gone, and with it its threads.
    ///
    /// # Errors
    /// A thread cannot be made.
    pub fn move_to(&mut self, queues: Vec<Queue>, seed: [u8; 32]) -> io::Result<()> {
        for thread in self.threads.drain(..) {
            // It has ended with an error, which is why there is another link.
            let _failed = thread.join();
        }
        self.run(queues, seed)
    }

    fn run(&mut self, queues: Vec<Queue>, seed: [u8; 32]) -> io::Result<()> {
        for (index, (queue, figures)) in queues.into_iter().zip(&self.figures).enumerate() {
            let mut random = ChaCha8Rng::from_seed(seed);
            random.set_stream(index as u64);
            let worker =
                worker::Worker::new(queue, Arc::clone(&self.shared), Arc::clone(figures), random);
            let thread = thread::Builder::new().name(format!("isthmus-tun-{index}"));
            self.threads.push(thread.spawn(move || worker.run())?);
        }
        Ok(())
    }

    /// Replaces the configuration. Every packet sees either the old or the new one as a whole. Sessions stay.
    pub fn swap(&self, ruleset: Arc<Ruleset>) {
        self.shared.ruleset.store(ruleset);
    }

    /// Shows packets to `sink` that meet the conditions, as they came and as they left, up to `snap` bytes of each,
    /// until the answer is dropped.
    #[must_use]
    pub fn follow(&self, filter: Filter, snap: u32, sink: Sink) -> Follower {
        Follower::new(Arc::clone(&self.shared), filter, snap as usize, sink)
    }

    /// Returns the counters of all threads together.
    #[must_use]
    pub fn counters(&self) -> Snapshot {
        let mut total = Snapshot::default();
        for figures in &self.figures {
            total += &figures.counters.total();
        }
        total
    }

    /// Returns the counters of all threads for one owner.
    #[must_use]
    pub fn read(&self, owner: Owner) -> Snapshot {
        let mut total = Snapshot::default();
        for figures in &self.figures {
            total += &figures.counters.read(owner);
        }
        total
    }

    /// Returns the load of each queue.
    #[must_use]
    pub fn load(&self) -> Vec<Load> {
        let read = |figures: &Arc<Figures>| Load {
            packets: figures.packets.load(Ordering::Relaxed),
            super_packets: figures.super_packets.load(Ordering::Relaxed),
            idle: figures.idle.load(Ordering::Relaxed),
        };
        self.figures.iter().map(read).collect()
    }

    /// Whether all threads run. A thread ends early only if its queue fails.
    #[must_use]
    pub fn is_running(&self) -> bool {
        !self.threads.iter().any(JoinHandle::is_finished)
    }

    /// Stops all threads and waits for them.
    ///
    /// # Errors
    /// The first failure of a queue, if there was one.
    pub fn stop(mut self) -> io::Result<()> {
        self.end()
    }

    fn end(&mut self) -> io::Result<()> {
        self.shared.stopping.store(true, Ordering::Relaxed);
        (&self.shared.stop).write_all(&1_u64.to_ne_bytes())?;
        let mut result = Ok(());
        for thread in self.threads.drain(..) {
            let ended = thread.join();
            result = result.and(ended.unwrap_or_else(|_| Err(io::Error::other("thread panicked"))));
        }
        result
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // A caller that needs the failure has called `stop`.
        let _ = self.end();
    }
}

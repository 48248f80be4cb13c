//! Everything that a connection depends on. A reload makes a new one; connections keep theirs.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use isthmus_dns64::{Client, Resolver, Share, Shares};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::config::Config;
use crate::counter::{Counter, Counters};
use crate::dial::Dialer;
use crate::journal::Journal;
use crate::reach::Reach;

/// Time between two lines in the log about clients that are turned away.
const QUIET: Duration = Duration::from_secs(10);

/// A connection's place among all, and among those of its client. Both are free when it is dropped.
pub(crate) struct Place {
    _permit: OwnedSemaphorePermit,
    _share: Share,
}

/// What outlives a configuration.
pub(crate) struct Lasting {
    pub(crate) counters: Arc<Counters>,
    shares: Shares,
    pseudonym: String,
    epoch: Instant,
    noted: AtomicU64,
}

/// The configuration in force, with what it needs.
pub(crate) struct Engine {
    pub(crate) config: Config,
    pub(crate) counters: Arc<Counters>,
    pub(crate) dialer: Dialer,
    pub(crate) journal: Journal,
    /// Our name in `Via`.
    pub(crate) pseudonym: String,
    places: Arc<Semaphore>,
    lasting: Arc<Lasting>,
}

impl Lasting {
    pub(crate) fn new() -> Self {
        let mut chance = [0; 4];
        // Without chance it is the name that all have, and a loop of two gateways looks like one of its own.
        let _ = getrandom::fill(&mut chance);
        Self {
            counters: Arc::default(),
            shares: Shares::default(),
            pseudonym: format!("isthmus-{:08x}", u32::from_be_bytes(chance)),
            epoch: Instant::now(),
            noted: AtomicU64::new(0),
        }
    }

    /// Whether the log may be told again.
    fn is_due(&self) -> bool {
        let now = self.epoch.elapsed().as_millis() as u64 + 1;
        let quiet = QUIET.as_millis() as u64;
        let again = |last: u64| (last == 0 || now - last.min(now) >= quiet).then_some(now);
        self.noted
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, again)
            .is_ok()
    }
}

impl Engine {
    /// An engine for a checked configuration. It takes over what it can of the one before.
    pub(crate) fn new(
        config: &Config,
        journal: Journal,
        lasting: &Arc<Lasting>,
        before: Option<&Self>,
    ) -> Self {
        let resolver = before
            .filter(|old| old.config.resolvers == config.resolvers)
            .map(|old| old.dialer.resolver.clone());
        let places = before
            .filter(|old| old.config.connections == config.connections)
            .map(|old| old.places.clone());
        Self {
            config: config.clone(),
            counters: lasting.counters.clone(),
            dialer: Dialer {
                reach: Reach::new(config),
                resolver: resolver.unwrap_or_else(|| Arc::new(Resolver::new(&config.resolvers))),
                told: config.proxy_protocol.clone(),
                timeout: config.connect_timeout,
                counters: lasting.counters.clone(),
            },
            journal,
            pseudonym: lasting.pseudonym.clone(),
            places: places.unwrap_or_else(|| Arc::new(Semaphore::new(config.connections))),
            lasting: lasting.clone(),
        }
    }

    /// A place for a connection of this client, if it may have one.
    pub(crate) fn admit(&self, client: IpAddr) -> Option<Place> {
        self.counters.count(Counter::Connection);
        if !self.config.allow.iter().any(|net| net.contains(&client)) {
            self.refuse(Counter::Stranger, client, "`allow` does not name it");
            return None;
        }
        let most = self.config.client_connections;
        let Some(share) = self.lasting.shares.take(Client::of(client), most) else {
            let why = "it has as many connections as it may";
            self.refuse(Counter::ClientConnections, client, why);
            return None;
        };
        let Ok(permit) = self.places.clone().try_acquire_owned() else {
            let why = "there are as many connections as there may be";
            self.refuse(Counter::ConnectionsFull, client, why);
            return None;
        };
        Some(Place {
            _permit: permit,
            _share: share,
        })
    }

    fn refuse(&self, counter: Counter, client: IpAddr, why: &str) {
        self.counters.count(counter);
        if self.lasting.is_due() {
            tracing::warn!(%client, "the proxy turns a client away: {why}");
        }
    }
}

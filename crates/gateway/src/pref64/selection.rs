//! Which prefix is used, and when to look for one: no sockets, and the time is a parameter.
//!
//! One source counts at a time: router advertisements before the DNS (RFC 8781 section 5.1), which is
//! not asked while a router announces a prefix. Of several prefixes of a source the one in use stays, else
//! it is the first (RFC 7050 section 3: "in the order received"); a translator can use only one.

use std::net::Ipv6Addr;
use std::time::{Duration, Instant};

use isthmus_core::address::pref64::believable;
use isthmus_core::address::rfc6052::Prefix;
use isthmus_core::wire::pref64::Pref64;

/// Time between the first two solicitations (RFC 4861 section 10, RTR_SOLICITATION_INTERVAL).
const SOLICITATION: Duration = Duration::from_secs(4);
/// The longest time between solicitations (RFC 7559 section 2, SOL_MAX_RT).
const LONGEST_SOLICITATION: Duration = Duration::from_secs(3600);
/// For how long routers may answer before the DNS is asked.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long before the end of a TTL the question is repeated (RFC 7050 section 3).
const AHEAD: Duration = Duration::from_secs(10);
/// The least lifetime of a prefix: one that is shorter is extended, so that there is time to ask again.
const SHORTEST_TTL: Duration = Duration::from_secs(20);
/// The longest time between two questions, however long the lifetime.
const LONGEST_TTL: Duration = Duration::from_secs(86_400);
/// How long "no such name" holds if the reply has no TTL for it, and at most (RFC 2308 section 5).
const NEGATIVE_TTL: Duration = Duration::from_secs(60);
const LONGEST_NEGATIVE_TTL: Duration = Duration::from_secs(10_800);
/// Time between an unanswered question and its first repetition, and at most.
const RETRY: Duration = Duration::from_secs(1);
const LONGEST_RETRY: Duration = Duration::from_secs(64);
/// Prefixes that are remembered of router advertisements: more are a mistake, or an attack.
const MOST_ADVERTISED: usize = 16;

/// Where prefixes may come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sources {
    /// Router advertisements.
    pub advertisements: Source,
    /// The DNS.
    pub dns: Source,
}

/// Whether a source is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// It is.
    Used,
    /// It is not.
    Unused,
}

/// The source of a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A router, by its link-local address.
    Router(Ipv6Addr),
    /// The DNS.
    Dns,
}

/// The prefix to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Selected {
    /// The prefix.
    pub prefix: Prefix,
    /// Its source.
    pub origin: Origin,
    /// Until when it holds unless it is announced again.
    pub expires: Instant,
}

/// The thing to do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// Send a router solicitation.
    Solicit,
    /// Ask the DNS. One of [`Selection::answered`], [`denied`](Selection::denied) and
    /// [`unanswered`](Selection::unanswered) follows.
    Ask,
}

/// The known prefixes, and when to look again.
#[derive(Debug)]
pub struct Selection {
    sources: Sources,
    advertised: Vec<Selected>,
    resolved: Vec<Selected>,
    in_use: Option<Prefix>,
    solicit: Timer,
    ask: Timer,
}

/// A repetition whose intervals grow.
#[derive(Debug)]
struct Timer {
    /// `None` while its task runs.
    next: Option<Instant>,
    interval: Duration,
}

impl Selection {
    /// Nothing is known. The first solicitation is sent after `delay`, which is random up to a second
    /// (RFC 4861 section 6.3.7).
    #[must_use]
    pub fn new(now: Instant, sources: Sources, delay: Duration) -> Self {
        let listens = sources.advertisements == Source::Used;
        let patience = if listens {
            delay + PATIENCE
        } else {
            Duration::ZERO
        };
        Self {
            sources,
            advertised: Vec::new(),
            resolved: Vec::new(),
            in_use: None,
            solicit: Timer {
                next: Some(now + delay),
                interval: SOLICITATION,
            },
            ask: Timer {
                next: Some(now + patience),
                interval: RETRY,
            },
        }
    }

    /// A router advertised prefixes. Says how many of them cannot be that of a translator.
    pub fn advertised(&mut self, now: Instant, router: Ipv6Addr, options: &[Pref64]) -> usize {
        let mut refused = 0;
        let origin = Origin::Router(router);
        for Pref64 { prefix, lifetime } in options.iter().copied() {
            if believable(prefix).is_err() {
                refused += 1;
                continue;
            }
            let expires = now + Duration::from_secs(lifetime.secs().into());
            let known = |entry: &&mut Selected| entry.prefix == prefix && entry.origin == origin;
            let room = self.advertised.len() < MOST_ADVERTISED;
            match self.advertised.iter_mut().find(known) {
                Some(entry) => entry.expires = expires,
                None if room => self.advertised.push(Selected {
                    prefix,
                    origin,
                    expires,
                }),
                None => refused += 1,
            }
        }
        self.forget(now);
        refused
    }

    /// The link is another one: prefixes from the one before do not count.
    pub fn moved(&mut self, now: Instant) {
        self.advertised.clear();
        self.solicit = Timer {
            next: Some(now),
            interval: SOLICITATION,
        };
    }

    /// The DNS has prefixes, at least one, for so long.
    pub fn answered(&mut self, now: Instant, prefixes: &[Prefix], ttl: Duration) {
        let holds = ttl.clamp(SHORTEST_TTL, LONGEST_TTL);
        self.resolved = prefixes
            .iter()
            .map(|&prefix| Selected {
                prefix,
                origin: Origin::Dns,
                expires: now + holds,
            })
            .collect();
        self.ask = Timer {
            next: Some(now + (holds - AHEAD)),
            interval: RETRY,
        };
    }

    /// The DNS has no prefix, for so long. An earlier one holds until it expires.
    pub fn denied(&mut self, now: Instant, ttl: Option<Duration>) {
        let holds = ttl
            .unwrap_or(NEGATIVE_TTL)
            .clamp(RETRY, LONGEST_NEGATIVE_TTL);
        self.ask = Timer {
            next: Some(now + holds),
            interval: RETRY,
        };
    }

    /// No resolver answered. An earlier prefix holds until it expires.
    pub fn unanswered(&mut self, now: Instant) {
        self.ask.next = Some(now + self.ask.interval);
        self.ask.interval = (2 * self.ask.interval).min(LONGEST_RETRY);
    }

    /// The next thing to do now, if there is one. Call it again until there is none.
    pub fn task(&mut self, now: Instant) -> Option<Task> {
        self.forget(now);
        let (solicit, ask) = self.wanted();
        let due = |timer: &Timer| timer.next.is_some_and(|next| next <= now);
        if solicit && due(&self.solicit) {
            self.solicit.next = Some(now + self.solicit.interval);
            self.solicit.interval = (2 * self.solicit.interval).min(LONGEST_SOLICITATION);
            return Some(Task::Solicit);
        }
        if ask && due(&self.ask) {
            self.ask.next = None;
            return Some(Task::Ask);
        }
        None
    }

    /// When something is to be done, or a prefix ends, if nothing is heard before.
    #[must_use]
    pub fn next(&self) -> Option<Instant> {
        let (solicit, ask) = self.wanted();
        let ends = self.advertised.iter().chain(&self.resolved);
        let ends = ends.map(|entry| entry.expires);
        let timers = [(solicit, &self.solicit), (ask, &self.ask)];
        let timers = timers.into_iter().filter(|(wanted, _)| *wanted);
        ends.chain(timers.filter_map(|(_, timer)| timer.next)).min()
    }

    /// The prefix to use now; `None` while there is none.
    pub fn selected(&mut self, now: Instant) -> Option<Selected> {
        self.forget(now);
        let source = if self.advertised.is_empty() {
            &self.resolved
        } else {
            &self.advertised
        };
        let of = |prefix: Prefix| {
            let same = source.iter().filter(move |entry| entry.prefix == prefix);
            same.max_by_key(|entry| entry.expires)
        };
        let stays = self.in_use.and_then(of);
        let selected = stays.or_else(|| of(source.first()?.prefix)).copied();
        self.in_use = selected.map(|selected| selected.prefix);
        selected
    }

    /// Whether to solicit, and whether to ask: neither while a router announces a prefix.
    fn wanted(&self) -> (bool, bool) {
        let quiet = self.advertised.is_empty();
        let used = |source| source == Source::Used && quiet;
        (used(self.sources.advertisements), used(self.sources.dns))
    }

    fn forget(&mut self, now: Instant) {
        let any = !self.advertised.is_empty();
        self.advertised.retain(|entry| entry.expires > now);
        self.resolved.retain(|entry| entry.expires > now);
        if any && self.advertised.is_empty() {
            // The routers have fallen silent, or have withdrawn their prefixes: look anew.
            self.solicit = Timer {
                next: Some(now + SOLICITATION),
                interval: SOLICITATION,
            };
        }
    }
}

/// For status and logs.
impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Router(router) => write!(f, "router {router}"),
            Self::Dns => f.write_str("DNS"),
        }
    }
}

#[cfg(test)]
mod tests;

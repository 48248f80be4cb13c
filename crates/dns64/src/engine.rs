//! One query through the server: cache, answers of our own, or one of the questions in flight.
//!
//! Identical questions are asked once: the first one starts a flight, later ones wait for it.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use tokio::runtime::Handle;

use crate::access::Access;
use crate::answer::{self, Answer, Rendered, Transport};
use crate::cache::{Cache, Seconds};
use crate::client::Share;
use crate::config::Config;
use crate::counter::{Counter, Counters};
use crate::guard::{Admission, Guard, Origin};
use crate::policy::Policy;
use crate::query::Query;
use crate::resolution::{Hurry, Resolution, Step};
use crate::triage::{self, Triage};
use crate::upstream::Upstreams;
use crate::wire::rcode;

/// Clients waiting for all flights, for each flight that there may be.
const WAITING_PER_FLIGHT: usize = 16;

/// The treatment of a message from a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Served {
    /// The response is in the buffer.
    Now,
    /// It will come through the function that was given.
    Later,
    /// There will be none.
    Never,
}

/// Sends the answer to a client that waits for it. Called once.
pub(crate) type Respond = Box<dyn FnOnce(Vec<u8>) + Send>;

struct Waiting {
    query: Query,
    transport: Transport,
    /// One of the questions that its client may have under way.
    share: Share,
    respond: Respond,
}

#[derive(Default)]
struct Flights {
    by_key: HashMap<Box<[u8]>, Vec<Waiting>>,
    waiting: usize,
}

/// Everything that answers depend on. A reload makes a new one.
pub(crate) struct Engine {
    policy: Arc<Policy>,
    access: Access,
    guard: Arc<Guard>,
    upstreams: Upstreams,
    cache: Arc<Cache>,
    counters: Arc<Counters>,
    flights: Mutex<Flights>,
    runtime: Handle,
    epoch: Instant,
    config: Config,
}

impl Engine {
    /// An engine for a checked configuration, that takes over the cache of the one before it if
    /// its answers are still right.
    pub(crate) fn new(
        config: &Config,
        counters: Arc<Counters>,
        guard: Arc<Guard>,
        runtime: Handle,
        before: Option<&Self>,
    ) -> Self {
        let policy = Arc::new(Policy::new(config));
        let same = |old: &&Self| {
            *old.policy == *policy
                && old.config.upstream == config.upstream
                && old.config.cache_entries == config.cache_entries
        };
        let (cache, epoch) = match before.filter(same) {
            Some(old) => (old.cache.clone(), old.epoch),
            None => (Arc::new(Cache::new(config.cache_entries)), Instant::now()),
        };
        Self {
            policy,
            access: Access::new(&config.allow),
            guard,
            upstreams: Upstreams::new(&config.upstream, config.upstream_timeout, counters.clone()),
            cache,
            counters,
            flights: Mutex::default(),
            runtime,
            epoch,
            config: config.clone(),
        }
    }

    /// The clock of the cache.
    pub(crate) fn now(&self) -> Seconds {
        self.epoch.elapsed().as_secs() as Seconds
    }

    /// A connection that was accepted, if the client may have it.
    pub(crate) fn connection(&self, client: IpAddr) -> Option<Share> {
        self.guard.connection(&self.access, &self.config, client)
    }

    /// Waits until a client over TCP may have another query answered.
    pub(crate) async fn wait(&self, client: IpAddr) {
        self.guard.wait(&self.config, client).await;
    }

    /// Serves a message. The response is in `out`, or goes through `respond` later.
    pub(crate) fn serve(
        self: &Arc<Self>,
        message: &[u8],
        origin: Origin,
        now: Seconds,
        out: &mut Vec<u8>,
        respond: impl FnOnce() -> Respond,
    ) -> Served {
        let Origin { client, transport } = origin;
        if transport == Transport::Udp {
            match self
                .guard
                .query(&self.access, &self.config, client, message)
            {
                Admission::Admitted => {}
                Admission::Silence => return Served::Never,
                refused => return turn_away(refused, message, out),
            }
        }
        let query = match triage::sort(&self.policy, message) {
            Triage::Ask(query) => query,
            Triage::Ignore => {
                self.counters.count(Counter::Ignored);
                return Served::Never;
            }
            Triage::Refuse { counter, refusal } => {
                self.counters.count(counter);
                refusal.render(out);
                return Served::Now;
            }
            Triage::Answer { query, answer } => {
                self.counters.count(Counter::AnsweredLocal);
                self.render(&answer, &query, 0, transport, out);
                return Served::Now;
            }
        };
        if let Some((answer, age)) = self.cache.get(query.key(), now) {
            self.counters.count(Counter::AnsweredCache);
            self.render(&answer, &query, age, transport, out);
            return Served::Now;
        }
        let Some(share) = self.guard.question(&self.config, client) else {
            answer::render_error(&query, rcode::SERVFAIL, out);
            return Served::Now;
        };
        self.fly(query, transport, share, out, respond)
    }

    fn render(
        &self,
        answer: &Answer,
        query: &Query,
        age: u32,
        transport: Transport,
        out: &mut Vec<u8>,
    ) {
        if answer.render(query, age, transport, out) == Rendered::Truncated {
            self.counters.count(Counter::Truncated);
        }
    }

    /// Joins the flight for this question, or starts it.
    fn fly(
        self: &Arc<Self>,
        query: Query,
        transport: Transport,
        share: Share,
        out: &mut Vec<u8>,
        respond: impl FnOnce() -> Respond,
    ) -> Served {
        let mut flights = self.flights.lock().unwrap_or_else(PoisonError::into_inner);
        let full = flights.by_key.len() >= self.config.max_in_flight;
        let crowded = flights.waiting >= self.config.max_in_flight * WAITING_PER_FLIGHT;
        let known = flights.by_key.contains_key(query.key());
        if crowded || (full && !known) {
            drop(flights);
            self.counters.count(Counter::Overload);
            answer::render_error(&query, rcode::SERVFAIL, out);
            return Served::Now;
        }
        flights.waiting += 1;
        let first = query.clone();
        let waiting = Waiting {
            query,
            transport,
            share,
            respond: respond(),
        };
        match flights.by_key.entry(first.key().into()) {
            Entry::Occupied(mut flight) => {
                self.counters.count(Counter::Coalesced);
                flight.get_mut().push(waiting);
            }
            Entry::Vacant(place) => {
                place.insert(vec![waiting]);
                let engine = self.clone();
                self.runtime
                    .spawn(async move { engine.fly_on(first).await });
            }
        }
        Served::Later
    }

    /// Finds the answer and gives it to all waiting clients.
    async fn fly_on(self: Arc<Self>, first: Query) {
        let flight = Flight {
            engine: &self,
            key: first.key(),
            ended: Ended::No,
        };
        // The flight before this one may have ended between the look into the cache and now.
        let cached = self.cache.get(first.key(), self.now());
        let (answer, age) = match cached {
            Some(found) => found,
            None => {
                let answer = Arc::new(self.resolve(first.clone()).await);
                self.cache.put(first.key(), &answer, self.now());
                (answer, 0)
            }
        };
        let landed = flight.land();
        self.counters
            .add(Counter::AnsweredUpstream, landed.len() as u64);
        for Waiting {
            query,
            transport,
            share,
            respond,
        } in landed
        {
            drop(share);
            let mut out = Vec::new();
            self.render(&answer, &query, age, transport, &mut out);
            respond(out);
        }
    }

    async fn resolve(&self, query: Query) -> Answer {
        let begun = tokio::time::Instant::now();
        let (mut resolution, mut ask) =
            Resolution::begin(self.policy.clone(), self.counters.clone(), query);
        loop {
            // RFC 6147 section 5.1.3: when AAAA gets no answer, there must be time left for A.
            let share = match resolution.hurry() {
                Hurry::LeaveHalf => self.config.deadline / 2,
                Hurry::TakeAll => self.config.deadline,
            };
            let reply = self.upstreams.exchange(&ask, begun + share).await;
            match resolution.proceed(reply) {
                Step::Ask(next) => ask = next,
                Step::Done(answer) => return answer,
            }
        }
    }
}

/// Writes the response to a query that is not served, if it has a question.
fn turn_away(admission: Admission, message: &[u8], out: &mut Vec<u8>) -> Served {
    let Ok(query) = Query::parse(message) else {
        return Served::Never;
    };
    match admission {
        Admission::Stranger => answer::render_error(&query, rcode::REFUSED, out),
        _ => answer::render_truncated(&query, out),
    }
    Served::Now
}

/// A flight that must end, whatever becomes of the task: later clients would wait for ever.
struct Flight<'a> {
    engine: &'a Engine,
    key: &'a [u8],
    ended: Ended,
}

#[derive(PartialEq, Eq)]
enum Ended {
    No,
    Yes,
}

impl Flight<'_> {
    /// Ends the flight and returns the waiting clients. From now on, a client with this question starts another
    /// one.
    fn land(mut self) -> Vec<Waiting> {
        self.end()
    }

    fn end(&mut self) -> Vec<Waiting> {
        self.ended = Ended::Yes;
        let mut flights = self
            .engine
            .flights
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let landed = flights.by_key.remove(self.key).unwrap_or_default();
        flights.waiting -= landed.len();
        landed
    }
}

impl Drop for Flight<'_> {
    fn drop(&mut self) {
        if self.ended == Ended::No {
            self.end();
        }
    }
}

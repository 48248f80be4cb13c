//! The share of the service that a client may take, so that there is enough for all others.
//!
//! A list says who may ask at all. Of those, each has a rate of queries, a number of questions under way
//! and a number of TCP connections, by [`Client`].

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::access::Access;
use crate::answer::Transport;
use crate::client::{Buckets, Client, Share, Shares};
use crate::config::Config;
use crate::counter::{Counter, Counters};

/// Times in a second that strangers are told REFUSED, all together: what is sent to them may be what
/// somebody else is flooded with.
const REFUSALS: u32 = 1_000;
/// Time between two lines in the log about the same.
const QUIET: Duration = Duration::from_secs(10);

/// The treatment of a query, before it is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// It is answered.
    Admitted,
    /// The client may not ask, and is told so.
    Stranger,
    /// The client asks too much, and is told to come back over TCP, where its address cannot be forged.
    UseTcp,
    /// Nothing is sent.
    Silence,
}

/// The account of all clients. It lives as long as the server; the numbers are those of the configuration in
/// force.
pub(crate) struct Guard {
    epoch: Instant,
    counters: Arc<Counters>,
    /// Over TCP a client has a bucket of its own, which nobody empties in its name.
    udp: Buckets,
    tcp: Buckets,
    strangers: Buckets,
    questions: Shares,
    connections: Shares,
    notices: Notices,
}

/// When the log was last told, in nanoseconds.
#[derive(Default)]
struct Notices {
    stranger: AtomicU64,
    rate: AtomicU64,
    questions: AtomicU64,
    connections: AtomicU64,
}

impl Guard {
    pub(crate) fn new(counters: Arc<Counters>) -> Self {
        Self {
            epoch: Instant::now(),
            counters,
            udp: Buckets::default(),
            tcp: Buckets::default(),
            strangers: Buckets::default(),
            questions: Shares::default(),
            connections: Shares::default(),
            notices: Notices::default(),
        }
    }

    /// Decides about a query over UDP.
    pub(crate) fn query(
        &self,
        access: &Access,
        config: &Config,
        client: IpAddr,
        message: &[u8],
    ) -> Admission {
        if !access.admits(client) {
            self.note_stranger(client);
            let all = Client::of(IpAddr::V4([0; 4].into()));
            return match self.strangers.take(all, REFUSALS, self.now()) {
                Ok(()) => Admission::Stranger,
                Err(_) => Admission::Silence,
            };
        }
        if self
            .udp
            .take(Client::of(client), config.client_rate, self.now())
            .is_ok()
        {
            return Admission::Admitted;
        }
        self.note_rate(client);
        // Every second query gets a response, by the last bit of its ID: never more than came in.
        match message.get(1) {
            Some(id) if id & 1 == 1 => Admission::UseTcp,
            _ => Admission::Silence,
        }
    }

    /// Waits until a client over TCP may have another query answered.
    pub(crate) async fn wait(&self, config: &Config, client: IpAddr) {
        while let Err(nanoseconds) =
            self.tcp
                .take(Client::of(client), config.client_rate, self.now())
        {
            self.note_rate(client);
            tokio::time::sleep(Duration::from_nanos(nanoseconds)).await;
        }
    }

    /// A connection that was accepted, if the client may have it.
    pub(crate) fn connection(
        &self,
        access: &Access,
        config: &Config,
        client: IpAddr,
    ) -> Option<Share> {
        if !access.admits(client) {
            self.note_stranger(client);
            return None;
        }
        self.share(
            (&self.connections, config.client_connections),
            client,
            (Counter::ClientConnections, &self.notices.connections),
            "a client has as many TCP connections to the DNS64 as it may",
        )
    }

    /// A question that has to be asked upstream, if the client may have one more under way.
    pub(crate) fn question(&self, config: &Config, client: IpAddr) -> Option<Share> {
        self.share(
            (&self.questions, config.client_questions),
            client,
            (Counter::ClientQuestions, &self.notices.questions),
            "a client waits for as many answers of the DNS64 as it may",
        )
    }

    /// One more of the things of which a client may have so many; a refusal is counted, and noted now and then.
    fn share(
        &self,
        (shares, most): (&Shares, usize),
        client: IpAddr,
        (counter, notice): (Counter, &AtomicU64),
        refusal: &str,
    ) -> Option<Share> {
        let share = shares.take(Client::of(client), most);
        if share.is_none() {
            self.counters.count(counter);
            if self.due(notice) {
                tracing::warn!(%client, "{refusal}");
            }
        }
        share
    }

    fn note_stranger(&self, client: IpAddr) {
        self.counters.count(Counter::Stranger);
        if self.due(&self.notices.stranger) {
            tracing::warn!(%client, "a client asks the DNS64 that `allow` does not name");
        }
    }

    fn note_rate(&self, client: IpAddr) {
        self.counters.count(Counter::RateLimited);
        if self.due(&self.notices.rate) {
            tracing::warn!(%client, "a client asks the DNS64 more than `client-rate` allows");
        }
    }

    /// Whether the log may be told something again.
    fn due(&self, last: &AtomicU64) -> bool {
        let now = self.now();
        let quiet = QUIET.as_nanos() as u64;
        let again = |last: u64| (last == 0 || now - last.min(now) >= quiet).then_some(now.max(1));
        last.fetch_update(Ordering::Relaxed, Ordering::Relaxed, again)
            .is_ok()
    }

    fn now(&self) -> u64 {
        self.epoch.elapsed().as_nanos() as u64
    }
}

/// How a query came, and from whom.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    pub(crate) client: IpAddr,
    pub(crate) transport: Transport,
}

//! A task that looks for the prefix of one instance.

use std::future::{Future, pending};
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use isthmus_core::address::pref64::prefix_of;
use isthmus_core::wire::router::{Advertisement, RouterError, solicitation};
use isthmus_dns64::lookup::{self, Ipv4Only};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::counter::{Counter, Counters};
use super::selection::{Selected, Selection, Source, Sources, Task};
use super::socket::{ALL_ROUTERS, LOOK, Message, RouterSocket};
use super::system;
use crate::config::{Discovery, Resolvers};

/// The task, ended when it is dropped.
#[derive(Debug)]
pub struct Seeker {
    task: JoinHandle<()>,
    latest: Latest,
    counters: Arc<Counters>,
}

/// The prefix that a task has found, for others to read.
#[derive(Clone, Debug, Default)]
pub struct Latest(Arc<Mutex<Option<Selected>>>);

impl Latest {
    /// The prefix; `None` while there is none.
    #[must_use]
    pub fn get(&self) -> Option<Selected> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn replace(&self, selected: Option<Selected>) -> Option<Selected> {
        std::mem::replace(
            &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner),
            selected,
        )
    }
}

/// The sockets of a task, opened before anything else changes.
#[derive(Debug)]
pub struct Ear(Option<(String, RouterSocket)>);

impl Ear {
    /// A socket where routers are listened to.
    ///
    /// # Errors
    /// See [`RouterSocket::open`].
    pub fn open(discovery: &Discovery) -> io::Result<Self> {
        Ok(Self(match &discovery.interface {
            Some(link) => Some((link.value.clone(), RouterSocket::open(&link.value)?)),
            None => None,
        }))
    }
}

impl Seeker {
    /// Starts to look in the places of `discovery`. Whenever another prefix is found, or none is left,
    /// `news` is notified.
    #[must_use]
    pub fn start(
        discovery: &Discovery,
        ear: Ear,
        counters: Arc<Counters>,
        news: Arc<Notify>,
    ) -> Self {
        let used = |used: bool| if used { Source::Used } else { Source::Unused };
        let sources = Sources {
            advertisements: used(ear.0.is_some()),
            dns: used(discovery.resolvers != Resolvers::These(Vec::new())),
        };
        let latest = Latest::default();
        let search = Search {
            selection: Selection::new(Instant::now(), sources, delay()),
            ear,
            resolvers: discovery.resolvers.clone(),
            latest: latest.clone(),
            counters: Arc::clone(&counters),
            news,
        };
        Self {
            task: tokio::spawn(search.run()),
            latest,
            counters,
        }
    }

    /// The prefix that was found; `None` while there is none.
    #[must_use]
    pub fn latest(&self) -> Option<Selected> {
        self.latest.get()
    }

    /// Where others find what was found.
    #[must_use]
    pub fn figures(&self) -> Latest {
        self.latest.clone()
    }

    /// Its counters.
    #[must_use]
    pub const fn counters(&self) -> &Arc<Counters> {
        &self.counters
    }
}

impl Drop for Seeker {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Up to a second, so that machines that start together do not speak together (RFC 4861 section 6.3.7).
fn delay() -> Duration {
    let word = getrandom::u32().unwrap_or_default();
    Duration::from_millis(u64::from(word % 1000))
}

struct Search {
    selection: Selection,
    ear: Ear,
    resolvers: Resolvers,
    latest: Latest,
    counters: Arc<Counters>,
    news: Arc<Notify>,
}

/// A lookup that waits for its answer.
type Lookup = Pin<Box<dyn Future<Output = Option<Ipv4Only>> + Send>>;

/// The next thing that happened.
enum Event {
    Heard(io::Result<Message>),
    Answer(Option<Ipv4Only>),
    Time,
}

impl Search {
    async fn run(mut self) {
        let mut lookup: Option<Lookup> = None;
        loop {
            let now = Instant::now();
            while let Some(task) = self.selection.task(now) {
                match task {
                    Task::Solicit => self.solicit(),
                    Task::Ask => {
                        self.counters.count(Counter::Asked);
                        lookup = Some(Box::pin(ask(self.resolvers.clone())));
                    }
                }
            }
            self.publish(now);
            match self.event(&mut lookup).await {
                Event::Heard(Ok(message)) => self.hear(&message),
                Event::Heard(Err(error)) => {
                    tracing::debug!(%error, "router advertisements cannot be received");
                    tokio::time::sleep(LOOK).await;
                }
                Event::Answer(answer) => {
                    lookup = None;
                    self.learn(answer);
                }
                Event::Time => {}
            }
            self.renew();
        }
    }

    async fn event(&self, lookup: &mut Option<Lookup>) -> Event {
        let answer = async {
            match lookup {
                Some(lookup) => lookup.await,
                None => pending().await,
            }
        };
        let heard = async {
            match &self.ear.0 {
                Some((_, socket)) => socket.receive().await,
                None => pending().await,
            }
        };
        let look = self.ear.0.is_some().then(|| Instant::now() + LOOK);
        let time = async {
            match self.selection.next().into_iter().chain(look).min() {
                Some(next) => tokio::time::sleep_until(next.into()).await,
                None => pending().await,
            }
        };
        tokio::select! {
            message = heard => Event::Heard(message),
            answer = answer => Event::Answer(answer),
            () = time => Event::Time,
        }
    }

    fn publish(&mut self, now: Instant) {
        let selected = self.selection.selected(now);
        let before = self.latest.replace(selected);
        let prefix = |selected: Option<Selected>| selected.map(|selected| selected.prefix);
        if prefix(before) != prefix(selected) {
            self.news.notify_one();
        }
    }

    fn solicit(&self) {
        let Some((link, socket)) = &self.ear.0 else {
            return;
        };
        match socket.send(&solicitation(), ALL_ROUTERS) {
            Ok(()) => self.counters.count(Counter::SolicitationSent),
            Err(error) => tracing::debug!(link, %error, "no router solicitation could be sent"),
        }
    }

    fn hear(&mut self, message: &Message) {
        let Message { envelope, bytes } = message;
        let advertisement = match Advertisement::parse(envelope, bytes) {
            Ok(advertisement) => advertisement,
            // The solicitation of another host.
            Err(RouterError::Kind) => return,
            Err(error) => {
                tracing::debug!(source = %envelope.source, %error, "a router advertisement is discarded");
                self.counters.count(match error {
                    RouterError::HopLimit(_) => Counter::AdvertisementHopLimit,
                    RouterError::Source(_) => Counter::AdvertisementSource,
                    RouterError::Malformed | RouterError::Kind => Counter::AdvertisementMalformed,
                });
                return;
            }
        };
        let mut options = Vec::new();
        for option in advertisement.prefixes() {
            match option {
                Ok(option) => options.push(option),
                Err(error) => {
                    tracing::debug!(source = %envelope.source, %error, "a PREF64 option is ignored");
                    self.counters.count(Counter::OptionIgnored);
                }
            }
        }
        if options.is_empty() {
            return;
        }
        self.counters.count(Counter::AdvertisementHeard);
        let router = envelope.source;
        let refused = self.selection.advertised(Instant::now(), router, &options);
        (0..refused).for_each(|_| self.counters.count(Counter::OptionIgnored));
    }

    fn learn(&mut self, answer: Option<Ipv4Only>) {
        let now = Instant::now();
        let (addresses, ttl) = match answer {
            Some(Ipv4Only::Addresses { addresses, ttl }) => (addresses, ttl),
            Some(Ipv4Only::Nothing { ttl }) => return self.selection.denied(now, ttl),
            None => {
                self.counters.count(Counter::AskedInVain);
                return self.selection.unanswered(now);
            }
        };
        let mut prefixes = Vec::new();
        for &address in &addresses {
            match prefix_of(address, &addresses) {
                Ok(prefix) if prefixes.contains(&prefix) => {}
                Ok(prefix) => prefixes.push(prefix),
                Err(reason) => {
                    tracing::debug!(%address, ?reason, "an address of ipv4only.arpa is ignored");
                    self.counters.count(Counter::AddressIgnored);
                }
            }
        }
        if prefixes.is_empty() {
            self.selection.denied(now, Some(ttl));
        } else {
            self.selection.answered(now, &prefixes, ttl);
        }
    }

    /// Listens to the link that has the name now.
    fn renew(&mut self) {
        if let Some((link, socket)) = &mut self.ear.0
            && let Some(renewed) = socket.renewed(link)
        {
            tracing::info!(
                link,
                "the link was replaced; its routers are asked for a prefix"
            );
            *socket = renewed;
            self.selection.moved(Instant::now());
        }
    }
}

async fn ask(resolvers: Resolvers) -> Option<Ipv4Only> {
    let resolvers: Vec<SocketAddr> = match resolvers {
        Resolvers::System => system::resolvers(),
        Resolvers::These(these) => these,
    };
    lookup::ipv4only(&resolvers).await
}

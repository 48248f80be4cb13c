//! A task that announces prefixes on one link.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use isthmus_core::address::rfc6052::Prefix;
use isthmus_core::wire::pref64::{Lifetime, Pref64};
use isthmus_core::wire::router::{Advertisement, RouterError, advertisement, check_solicitation};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::counter::{Counter, Counters};
use super::schedule::{Chance, Schedule};
use super::socket::{ALL_NODES, LOOK, Message, RouterSocket};

/// How often a prefix that is announced no more is withdrawn.
const WITHDRAWALS: u8 = 3;
/// How long the last advertisement may take.
const LAST: Duration = Duration::from_secs(4);

/// The announcement on a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Announcement {
    /// The prefixes.
    pub prefixes: Vec<Prefix>,
    /// For how long hosts may use them.
    pub lifetime: Lifetime,
    /// MaxRtrAdvInterval
    pub interval: Duration,
    /// Seconds for which this machine is a default router; 0: it is none.
    pub router_lifetime: u16,
}

/// The task. Dropped without [`stop`](Self::stop), it ends without a farewell.
#[derive(Debug)]
pub struct Announcer {
    task: JoinHandle<()>,
    /// `None`: nothing any more.
    wanted: watch::Sender<Option<Announcement>>,
}

impl Announcer {
    /// Starts to announce on a link.
    #[must_use]
    pub fn start(
        link: &str,
        socket: RouterSocket,
        announcement: Announcement,
        counters: Arc<Counters>,
    ) -> Self {
        let (wanted, updates) = watch::channel(Some(announcement.clone()));
        let voice = Voice {
            link: link.to_owned(),
            socket,
            schedule: Schedule::new(Instant::now(), announcement.interval),
            announcement,
            withdrawn: Vec::new(),
            strange: None,
            counters,
        };
        Self {
            task: tokio::spawn(voice.run(updates)),
            wanted,
        }
    }

    /// Announces this from now on. Prefixes that are not in it are withdrawn.
    pub fn change(&self, announcement: Announcement) {
        self.wanted.send_if_modified(|wanted| {
            let announcement = Some(announcement);
            let changed = *wanted != announcement;
            *wanted = announcement;
            changed
        });
    }

    /// Withdraws everything and ends, after a few seconds if it said something just now.
    pub async fn stop(mut self) {
        let _ = self.wanted.send(None);
        if tokio::time::timeout(LAST, &mut self.task).await.is_err() {
            tracing::warn!("the last router advertisement took too long");
        }
    }
}

impl Drop for Announcer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct Voice {
    link: String,
    socket: RouterSocket,
    schedule: Schedule,
    announcement: Announcement,
    /// Prefixes that hosts may have heard of, and how often their end is still announced.
    withdrawn: Vec<(Prefix, u8)>,
    /// Another router that announces other prefixes, if there was one.
    strange: Option<std::net::Ipv6Addr>,
    counters: Arc<Counters>,
}

impl Voice {
    async fn run(mut self, mut updates: watch::Receiver<Option<Announcement>>) {
        loop {
            tokio::select! {
                changed = updates.changed() => {
                    let wanted = updates.borrow_and_update().clone();
                    match wanted.filter(|_| changed.is_ok()) {
                        Some(wanted) => self.change(wanted),
                        None => return self.farewell().await,
                    }
                }
                message = self.socket.receive() => match message {
                    Ok(message) => self.hear(&message),
                    Err(error) => {
                        tracing::debug!(link = self.link, %error, "solicitations cannot be received");
                        tokio::time::sleep(LOOK).await;
                    }
                },
                () = tokio::time::sleep_until(self.schedule.next().into()) => self.advertise(),
                () = tokio::time::sleep(LOOK) => {}
            }
            self.renew();
        }
    }

    fn change(&mut self, wanted: Announcement) {
        let gone = self.announcement.prefixes.iter();
        let gone = gone.filter(|prefix| !wanted.prefixes.contains(prefix));
        let gone = gone.map(|&prefix| (prefix, WITHDRAWALS));
        self.withdrawn.extend(gone);
        self.withdrawn
            .retain(|(prefix, _)| !wanted.prefixes.contains(prefix));
        self.schedule.changed(Instant::now(), wanted.interval);
        self.announcement = wanted;
    }

    fn advertise(&mut self) {
        let now = Instant::now();
        let Announcement {
            lifetime,
            router_lifetime,
            ..
        } = self.announcement;
        match self.send(router_lifetime, lifetime) {
            Ok(()) => {
                self.schedule.sent(now, chance());
                for (_, left) in &mut self.withdrawn {
                    *left -= 1;
                }
                self.withdrawn.retain(|(_, left)| *left > 0);
            }
            Err(error) => {
                self.schedule.failed(now);
                self.counters.count(Counter::AdvertisementFailed);
                tracing::debug!(link = self.link, %error, "no router advertisement could be sent");
            }
        }
    }

    /// Sends the announced and the withdrawn prefixes.
    fn send(&self, router_lifetime: u16, lifetime: Lifetime) -> io::Result<()> {
        let announced = self.announcement.prefixes.iter();
        let announced = announced.map(|&prefix| Pref64 { prefix, lifetime });
        let gone = self.withdrawn.iter().map(|&(prefix, _)| Pref64 {
            prefix,
            lifetime: Lifetime::ZERO,
        });
        let mut message = advertisement(router_lifetime).to_vec();
        message.extend(announced.chain(gone).flat_map(|option| option.emit()));
        self.socket.send(&message, ALL_NODES)?;
        self.counters.count(Counter::AdvertisementSent);
        Ok(())
    }

    /// RFC 4861 section 6.2.5, RFC 8781 section 4.1.
    async fn farewell(self) {
        let earliest = self.schedule.earliest(Instant::now());
        tokio::time::sleep_until(earliest.into()).await;
        if let Err(error) = self.send(0, Lifetime::ZERO) {
            tracing::debug!(link = self.link, %error, "the prefixes could not be withdrawn");
        }
    }

    fn hear(&mut self, message: &Message) {
        let Message { envelope, bytes } = message;
        match check_solicitation(envelope, bytes) {
            Ok(()) => {
                self.counters.count(Counter::SolicitationHeard);
                self.schedule.solicited(Instant::now(), chance());
            }
            Err(RouterError::Kind) => self.compare(message),
            Err(_) => self.counters.count(Counter::SolicitationIgnored),
        }
    }

    /// RFC 8781 section 5.2: other routers of the link should announce the same prefixes, if any.
    fn compare(&mut self, message: &Message) {
        let router = message.envelope.source;
        let Ok(advertisement) = Advertisement::parse(&message.envelope, &message.bytes) else {
            return;
        };
        let mut theirs: Vec<Prefix> = Vec::new();
        let options = advertisement.prefixes().flatten();
        for option in options.filter(|option| option.lifetime != Lifetime::ZERO) {
            if !theirs.contains(&option.prefix) {
                theirs.push(option.prefix);
            }
        }
        let ours = &self.announcement.prefixes;
        let same = theirs.len() == ours.len() && theirs.iter().all(|prefix| ours.contains(prefix));
        if theirs.is_empty() || same {
            return;
        }
        self.counters.count(Counter::Inconsistent);
        if self.strange.replace(router) != Some(router) {
            let theirs: Vec<_> = theirs.iter().map(ToString::to_string).collect();
            tracing::warn!(
                link = self.link,
                %router,
                "another router announces other prefixes than this gateway: {}",
                theirs.join(", ")
            );
        }
    }

    /// Speaks to the link that has the name now.
    fn renew(&mut self) {
        if let Some(renewed) = self.socket.renewed(&self.link) {
            tracing::info!(
                link = self.link,
                "the link was replaced; the prefixes are announced on it"
            );
            self.socket = renewed;
            self.schedule
                .changed(Instant::now(), self.announcement.interval);
        }
    }
}

fn chance() -> Chance {
    Chance::of(getrandom::u32().unwrap_or_default())
}

//! Prefixes of NAT64s as a part of the gateway: discovery and announcement.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use isthmus_core::address::rfc6052::Prefix;
use isthmus_core::wire::pref64::Lifetime;
use tokio::sync::Notify;

use super::UpError;
use crate::config::{Announce, Discovery, Document};
use crate::control::{AnnouncementStatus, CounterRow, PrefixStatus};
use crate::pref64::socket::RouterSocket;
use crate::pref64::{Announcement, Announcer, Counter, Counters, Ear, Seeker};

/// The tasks, by instance and by link.
#[derive(Debug, Default)]
pub(super) struct Prefixes {
    seekers: BTreeMap<String, (Discovery, Seeker)>,
    announcers: BTreeMap<String, Announcer>,
    news: Arc<Notify>,
    figures: Arc<Mutex<Figures>>,
}

/// The figures, for the status and the metrics.
#[derive(Debug, Default)]
pub(super) struct Figures {
    seekers: BTreeMap<String, SeekerFigures>,
    announcements: Vec<AnnouncementStatus>,
    announced: Arc<Counters>,
}

#[derive(Debug)]
struct SeekerFigures {
    latest: crate::pref64::Latest,
    counters: Arc<Counters>,
}

/// Everything that a configuration needs of the system, at hand.
pub(super) struct Ready {
    ears: BTreeMap<String, Ear>,
    voices: BTreeMap<String, RouterSocket>,
}

impl Prefixes {
    /// Opens what a configuration needs and is not there yet. Nothing else changes.
    ///
    /// # Errors
    /// A link is not there, or may not be listened to.
    pub(super) fn prepare(&self, document: &Document) -> Result<Ready, UpError> {
        let mut ready = Ready {
            ears: BTreeMap::new(),
            voices: BTreeMap::new(),
        };
        for (instance, discovery) in document.discoveries() {
            if !self.seeks(instance, discovery) {
                let what = format!("prefix of \"{instance}\": router advertisements");
                let ear = Ear::open(discovery).map_err(UpError::system(what))?;
                ready.ears.insert(instance.to_owned(), ear);
            }
        }
        for announce in &document.announcements {
            let link = &announce.interface.value;
            if !self.announcers.contains_key(link) {
                let what = format!("router advertisements on {link}");
                let voice = RouterSocket::open(link).map_err(UpError::system(what))?;
                ready.voices.insert(link.clone(), voice);
            }
        }
        Ok(ready)
    }

    /// Gives the instances of a configuration the prefixes that are known.
    pub(super) fn fill_in(&self, document: &mut Document) {
        let wanted: Vec<(String, Option<Prefix>)> = document
            .discoveries()
            .map(|(instance, discovery)| {
                let known = self
                    .seeks(instance, discovery)
                    .then(|| self.known(instance));
                (instance.to_owned(), known.flatten())
            })
            .collect();
        for (instance, prefix) in wanted {
            document.set_found(&instance, prefix);
        }
    }

    /// Makes the tasks what `document` wants, which [`prepare`](Self::prepare) made `ready` for.
    pub(super) fn apply(&mut self, document: &Document, ready: Ready) {
        self.seek(document, ready.ears);
        self.announce(document, ready.voices);
        let seekers = self.seekers.iter().map(|(instance, (_, seeker))| {
            let figures = SeekerFigures {
                latest: seeker.figures(),
                counters: Arc::clone(seeker.counters()),
            };
            (instance.clone(), figures)
        });
        let announcements = document.announcements.iter();
        let announcements = announcements.map(|announce| {
            let prefixes = document.announced(announce);
            AnnouncementStatus {
                interface: announce.interface.value.clone(),
                prefixes: prefixes.iter().map(ToString::to_string).collect(),
            }
        });
        let mut figures = self.lock();
        figures.seekers = seekers.collect();
        figures.announcements = announcements.collect();
    }

    fn seek(&mut self, document: &Document, mut ears: BTreeMap<String, Ear>) {
        let mut before = std::mem::take(&mut self.seekers);
        for (instance, discovery) in document.discoveries() {
            let old = before.remove(instance);
            let seeker = match (ears.remove(instance), old) {
                (None, Some((_, seeker))) => seeker,
                (None, None) => continue,
                (Some(ear), old) => {
                    let counted = old.map(|(_, seeker)| Arc::clone(seeker.counters()));
                    let counters = counted.unwrap_or_default();
                    Seeker::start(discovery, ear, counters, Arc::clone(&self.news))
                }
            };
            let entry = (discovery.clone(), seeker);
            self.seekers.insert(instance.to_owned(), entry);
        }
    }

    fn announce(&mut self, document: &Document, mut voices: BTreeMap<String, RouterSocket>) {
        let announced = Arc::clone(&self.lock().announced);
        let mut before = std::mem::take(&mut self.announcers);
        for announce in &document.announcements {
            let link = &announce.interface.value;
            let announcement = announcement(document, announce);
            let announcer = match (voices.remove(link), before.remove(link)) {
                (_, Some(announcer)) => {
                    announcer.change(announcement);
                    announcer
                }
                (Some(voice), None) => {
                    Announcer::start(link, voice, announcement, Arc::clone(&announced))
                }
                (None, None) => continue,
            };
            self.announcers.insert(link.clone(), announcer);
        }
        for announcer in before.into_values() {
            tokio::spawn(announcer.stop());
        }
    }

    /// Notified when another prefix is known, or one has ended.
    pub(super) fn news(&self) -> Arc<Notify> {
        Arc::clone(&self.news)
    }

    /// The source of the prefix that an instance has now.
    pub(super) fn origin(&self, instance: &str) -> Option<String> {
        let (_, seeker) = self.seekers.get(instance)?;
        Some(seeker.latest()?.origin.to_string())
    }

    /// The figures, for the status and the metrics.
    pub(super) fn figures(&self) -> Arc<Mutex<Figures>> {
        Arc::clone(&self.figures)
    }

    /// Withdraws what was announced, and looks for nothing any more.
    pub(super) async fn stop(&mut self) {
        self.seekers.clear();
        let announcers = std::mem::take(&mut self.announcers);
        let farewells: Vec<_> = announcers
            .into_values()
            .map(|announcer| tokio::spawn(announcer.stop()))
            .collect();
        for farewell in farewells {
            // Whether it was received is not known anyway.
            let _ = farewell.await;
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Figures> {
        self.figures.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether an instance is looked for in these places already.
    fn seeks(&self, instance: &str, discovery: &Discovery) -> bool {
        let seeker = self.seekers.get(instance);
        seeker.is_some_and(|(places, _)| places.looks_like(discovery))
    }

    fn known(&self, instance: &str) -> Option<Prefix> {
        let (_, seeker) = self.seekers.get(instance)?;
        seeker.latest().map(|selected| selected.prefix)
    }
}

fn announcement(document: &Document, announce: &Announce) -> Announcement {
    Announcement {
        prefixes: document.announced(announce),
        lifetime: Lifetime::of_secs(announce.lifetime.value),
        interval: Duration::from_secs(announce.interval.into()),
        router_lifetime: announce.router_lifetime.value,
    }
}

impl Figures {
    /// The prefix of an instance that finds it out.
    pub(super) fn prefix(&self, instance: &str) -> Option<PrefixStatus> {
        let selected = self.seekers.get(instance)?.latest.get();
        Some(match selected {
            None => PrefixStatus::default(),
            Some(selected) => PrefixStatus {
                prefix: Some(selected.prefix.to_string()),
                origin: Some(selected.origin.to_string()),
                expires: Some((selected.expires - Instant::now()).as_secs()),
            },
        })
    }

    /// The instances that have found no prefix yet.
    pub(super) fn waiting(&self) -> impl Iterator<Item = &str> {
        let none = self
            .seekers
            .iter()
            .filter(|(_, it)| it.latest.get().is_none());
        none.map(|(instance, _)| instance.as_str())
    }

    /// The prefixes that are announced, by link.
    pub(super) fn announcements(&self) -> Vec<AnnouncementStatus> {
        self.announcements.clone()
    }

    /// All that was counted, for instances and for the gateway.
    pub(super) fn rows(&self) -> Vec<CounterRow> {
        let seekers = self.seekers.iter();
        let owners = seekers.map(|(instance, figures)| (instance.as_str(), &figures.counters));
        let announcers = (!self.announcements.is_empty()).then_some(("", &self.announced));
        owners
            .chain(announcers)
            .flat_map(|(instance, counters)| {
                Counter::ALL.iter().map(move |counter| CounterRow {
                    instance: instance.to_owned(),
                    engine: "pref64".to_owned(),
                    counter: counter.name().to_owned(),
                    kind: counter.kind().name().to_owned(),
                    value: counters.get(*counter),
                })
            })
            .collect()
    }
}

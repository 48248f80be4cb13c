//! From the data plane to the sinks: a bounded queue and one thread.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::broadcast;

use super::limiter::{Admission, Limiter};
use super::writer::Writer;
use super::{Record, Remark, Settings, Sink, Subject, Suppressed};
use crate::config::Destinations;
use crate::worker::Worker;

/// Sessions that may wait for the writer. As many bindings may wait beside them, and all port blocks, whose
/// number the pools bound.
const QUEUE: usize = 8192;
/// Records that a slow follower of the control socket may lag behind.
const FOLLOWERS: usize = 4096;

/// A message to the writer.
pub(super) enum Order {
    Write(Record),
    Remark(Remark),
    Reopen,
    Replace(Vec<Box<dyn Sink>>),
    Stop,
}

/// Takes records and hands them to the sinks.
#[derive(Debug)]
pub struct Recorder {
    orders: Sender<Order>,
    shared: Arc<Shared>,
    worker: Worker,
}

/// The part of a recorder that its writer sees, too.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) written: AtomicU64,
    suppressed: AtomicU64,
    suppressed_bindings: AtomicU64,
    followers: broadcast::Sender<Arc<Record>>,
    wanted: AtomicU64,
    /// Set if sessions are not written.
    omits_sessions: AtomicBool,
    limiter: Mutex<Limiter>,
    /// Records that wait for the writer.
    pub(super) waiting: AtomicUsize,
}

impl Recorder {
    /// Opens the sinks and starts the writer.
    ///
    /// # Errors
    ///
    /// Where a file or socket does not open.
    pub fn start(settings: &Settings) -> io::Result<Self> {
        let sinks = settings.open()?;
        let (orders, queue) = channel();
        let shared = Arc::new(Shared {
            written: AtomicU64::new(0),
            suppressed: AtomicU64::new(0),
            suppressed_bindings: AtomicU64::new(0),
            followers: broadcast::channel(FOLLOWERS).0,
            wanted: AtomicU64::new(sinks.len() as u64),
            omits_sessions: AtomicBool::new(settings.destinations == Destinations::Omit),
            limiter: Mutex::new(Limiter::new(settings.rate, Instant::now())),
            waiting: AtomicUsize::new(0),
        });
        let writer = Writer::new(sinks, Arc::clone(&shared));
        let worker = Worker::spawn("records", move || writer.run(&queue))?;
        Ok(Self {
            orders,
            shared,
            worker,
        })
    }

    /// Whether anyone reads records. Where not, making them can be saved.
    #[must_use]
    pub fn wanted(&self) -> bool {
        self.shared.wanted.load(Ordering::Relaxed) > 0 || self.shared.followers.receiver_count() > 0
    }

    /// Records one event. Never waits: where the queue is full, the record is suppressed and
    /// counted.
    pub fn record(&self, record: Record) {
        if self.shared.followers.receiver_count() > 0 {
            // A follower that no longer listens is no error.
            let _ = self.shared.followers.send(Arc::new(record.clone()));
        }
        if self.shared.wanted.load(Ordering::Relaxed) == 0 {
            return;
        }
        // RFC 6888 section 4, REQ-12: the binding is also recorded and shows whose port it was.
        if matches!(record.subject, Subject::Session(_))
            && self.shared.omits_sessions.load(Ordering::Relaxed)
        {
            return;
        }
        if self.shared.has_room(&record.subject)
            && self.limiter().admit(&record, Instant::now()) == Admission::Passed
        {
            self.shared.waiting.fetch_add(1, Ordering::Relaxed);
            self.order(Order::Write(record));
        } else {
            self.shared.suppress(&record.subject);
        }
    }

    /// Writes a remark, behind the records before it.
    pub fn remark(&self, remark: Remark) {
        self.order(Order::Remark(remark));
    }

    fn limiter(&self) -> MutexGuard<'_, Limiter> {
        let limiter = self.shared.limiter.lock();
        limiter.unwrap_or_else(PoisonError::into_inner)
    }

    /// A stream of all records from now on, not bound by the rate.
    #[must_use]
    pub fn follow(&self) -> broadcast::Receiver<Arc<Record>> {
        self.shared.followers.subscribe()
    }

    /// Records that were written.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.shared.written.load(Ordering::Relaxed)
    }

    /// Records that the rate or a full queue suppressed.
    #[must_use]
    pub fn suppressed(&self) -> u64 {
        self.shared.suppressed.load(Ordering::Relaxed)
    }

    /// Closes and opens the files again, for log rotation.
    pub fn reopen(&self) {
        self.order(Order::Reopen);
    }

    /// Replaces all sinks, or none if one of the new ones does not open.
    ///
    /// # Errors
    ///
    /// Where a file or socket does not open; nothing has changed then.
    pub fn replace(&self, settings: &Settings) -> io::Result<()> {
        let sinks = settings.open()?;
        self.shared
            .wanted
            .store(sinks.len() as u64, Ordering::Relaxed);
        self.shared.omits_sessions.store(
            settings.destinations == Destinations::Omit,
            Ordering::Relaxed,
        );
        *self.limiter() = Limiter::new(settings.rate, Instant::now());
        self.order(Order::Replace(sinks));
        Ok(())
    }

    /// Writes the queued records and ends the writer. Later records are lost.
    pub fn stop(&self) {
        self.order(Order::Stop);
        self.worker.join();
    }

    fn order(&self, order: Order) {
        // Fails only if the writer has ended, and then there is nothing to order.
        let _ = self.orders.send(order);
    }
}

impl Shared {
    /// Counts a record that is not written.
    fn suppress(&self, subject: &Subject) {
        if matches!(subject, Subject::Binding(_)) {
            self.suppressed_bindings.fetch_add(1, Ordering::Relaxed);
        }
        self.suppressed.fetch_add(1, Ordering::Relaxed);
    }

    /// The records that were not written so far.
    pub(super) fn suppressed(&self) -> Suppressed {
        Suppressed {
            count: self.suppressed.load(Ordering::Relaxed),
            bindings: self.suppressed_bindings.load(Ordering::Relaxed),
        }
    }

    /// Whether a record may wait for the writer.
    fn has_room(&self, subject: &Subject) -> bool {
        let waiting = self.waiting.load(Ordering::Relaxed);
        match subject {
            Subject::Session(_) => waiting < QUEUE,
            Subject::Binding(_) => waiting < 2 * QUEUE,
            Subject::Block(_) => true,
        }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.stop();
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::super::event::{Change, samples};
    use super::*;

    fn settings(json: PathBuf, rate: u32) -> Settings {
        Settings {
            gateway: "edge".into(),
            host: "gw".into(),
            domain: 1,
            json: Some(json),
            syslog: None,
            ipfix: None,
            carrier: crate::config::Carrier::Udp,
            rate,
            destinations: Destinations::Record,
        }
    }

    fn session(change: Change) -> Record {
        samples::record(change, Subject::Session(samples::session()))
    }

    fn block() -> Record {
        samples::record(Change::Began, Subject::Block(samples::block()))
    }

    #[test]
    fn what_is_over_the_rate_is_counted_and_the_count_is_written() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("records.jsonl");
        let recorder = Recorder::start(&settings(path.clone(), 100)).unwrap();
        let record = session(Change::Began);
        for _ in 0..50 {
            recorder.record(record.clone());
        }
        recorder.stop();
        let lines: Vec<serde_json::Value> = std::fs::read_to_string(path)
            .unwrap()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let written = lines
            .iter()
            .filter(|line| line["event"] == "session-created")
            .count() as u64;
        let last = lines.last().unwrap();
        assert_eq!(last["event"], "records-suppressed");
        // Half of the tenth that a subscriber has; more if the test takes its time.
        assert!((5..=15).contains(&written), "{written} written");
        assert_eq!(last["count"].as_u64().unwrap() + written, 50);
        assert_eq!(recorder.written(), written);
    }

    #[test]
    fn port_blocks_are_written_whatever_the_rate() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("records.jsonl");
        let recorder = Recorder::start(&settings(path.clone(), 0)).unwrap();
        recorder.record(session(Change::Began));
        recorder.record(block());
        recorder.stop();
        let text = std::fs::read_to_string(path).unwrap();
        assert!(text.contains("port-block-allocated"), "{text}");
        assert!(!text.contains("session-created"), "{text}");
    }

    /// A sink that does not keep up costs sessions first, then bindings, and no port block.
    #[test]
    fn a_full_queue_has_room_for_what_matters() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("records.jsonl");
        let recorder = Recorder::start(&settings(path.clone(), 1_000_000)).unwrap();
        let binding = Subject::Binding(samples::session().binding);
        let has_room = |waiting: usize| {
            recorder.shared.waiting.store(waiting, Ordering::Relaxed);
            let subjects = [session(Change::Began).subject, binding, block().subject];
            subjects.map(|subject| recorder.shared.has_room(&subject))
        };
        assert_eq!(has_room(QUEUE - 1), [true, true, true]);
        assert_eq!(has_room(QUEUE), [false, true, true]);
        assert_eq!(has_room(2 * QUEUE), [false, false, true]);
        recorder.record(session(Change::Began));
        recorder.record(block());
        recorder.stop();
        let text = std::fs::read_to_string(path).unwrap();
        assert!(text.contains("port-block-allocated") && !text.contains("session-created"));
        assert_eq!((recorder.written(), recorder.suppressed()), (1, 1));
    }

    /// Section 4, REQ-12.
    #[test]
    fn rfc6888_req12_destinations_can_be_left_out() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("records.jsonl");
        let recorder = Recorder::start(&Settings {
            destinations: Destinations::Omit,
            ..settings(path.clone(), 1000)
        })
        .unwrap();
        recorder.record(session(Change::Began));
        let binding = Subject::Binding(samples::session().binding);
        recorder.record(samples::record(Change::Began, binding));
        recorder.record(session(Change::Ended));
        recorder.stop();
        let text = std::fs::read_to_string(path).unwrap();
        assert!(text.contains("binding-created"), "{text}");
        assert!(!text.contains("192.0.2.80"), "{text}");
    }

    #[test]
    fn followers_get_what_sinks_do_not() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("records.jsonl");
        let recorder = Recorder::start(&settings(path, 0)).unwrap();
        let mut follower = recorder.follow();
        recorder.record(block());
        let heard = follower.try_recv().unwrap();
        assert_eq!(heard.change, Change::Began);
        assert_eq!(heard.subject, Subject::Block(samples::block()));
    }

    #[test]
    fn a_sink_that_does_not_open_leaves_the_others() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("records.jsonl");
        let recorder = Recorder::start(&settings(path.clone(), 1000)).unwrap();
        let missing = directory.path().join("none/records.jsonl");
        let error = recorder.replace(&settings(missing, 1000)).unwrap_err();
        assert!(error.to_string().contains("none/records.jsonl"), "{error}");
        recorder.record(session(Change::Ended));
        recorder.stop();
        assert_eq!(std::fs::read_to_string(path).unwrap().lines().count(), 1);
    }
}

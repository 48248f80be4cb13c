//! The way from the data plane to the sinks: a bounded queue and one thread.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use tokio::sync::broadcast;

use super::ipfix::Ipfix;
use super::json::Json;
use super::limiter::{Admission, Limiter};
use super::syslog::Syslog;
use super::{Record, Sink, Subject};
use crate::config::Destinations;
use crate::worker::Worker;

/// Records that may wait for the writer.
const QUEUE: usize = 8192;
/// Records that a slow follower of the control socket may lag behind.
const FOLLOWERS: usize = 4096;
/// How often kept records are sent and the count of suppressed ones is reported.
const TICK: Duration = Duration::from_secs(1);

/// Where records go and how many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Name of the gateway, which appears in every record.
    pub gateway: String,
    /// Name of this host, for syslog.
    pub host: String,
    /// Observation domain of IPFIX (RFC 7011 section 3.1).
    pub domain: u32,
    /// File of JSON lines.
    pub json: Option<PathBuf>,
    /// Syslog server.
    pub syslog: Option<SocketAddr>,
    /// IPFIX collector.
    pub ipfix: Option<SocketAddr>,
    /// Records per second, at most.
    pub rate: u32,
    /// Whether sessions are written, which have a destination.
    pub destinations: Destinations,
}

impl Settings {
    /// Opens every sink. All or none: a sink that does not open is an error that names it.
    fn open(&self) -> io::Result<Vec<Box<dyn Sink>>> {
        let mut sinks: Vec<Box<dyn Sink>> = Vec::new();
        if let Some(path) = &self.json {
            let sink = Json::open(self.gateway.clone(), path.clone()).map_err(|error| {
                io::Error::new(error.kind(), format!("{}: {error}", path.display()))
            })?;
            sinks.push(Box::new(sink));
        }
        if let Some(server) = self.syslog {
            let sink = Syslog::open(self.gateway.clone(), &self.host, server)
                .map_err(|error| io::Error::new(error.kind(), format!("{server}: {error}")))?;
            sinks.push(Box::new(sink));
        }
        if let Some(collector) = self.ipfix {
            let sink = Ipfix::open(self.domain, collector)
                .map_err(|error| io::Error::new(error.kind(), format!("{collector}: {error}")))?;
            sinks.push(Box::new(sink));
        }
        Ok(sinks)
    }
}

/// A socket that sends to `peer` from a port that the kernel chooses.
pub(super) fn udp_towards(peer: SocketAddr) -> io::Result<UdpSocket> {
    let local: SocketAddr = match peer {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let socket = UdpSocket::bind(local)?;
    socket.connect(peer)?;
    // A full socket buffer must not hold up the other sinks; what does not fit is lost, as on the
    // wire.
    socket.set_nonblocking(true)?;
    Ok(socket)
}

enum Order {
    Write(Record),
    Reopen,
    Replace(Vec<Box<dyn Sink>>, u32),
    Stop,
}

/// Takes records and hands them to the sinks.
#[derive(Debug)]
pub struct Recorder {
    orders: SyncSender<Order>,
    shared: Arc<Shared>,
    worker: Worker,
}

#[derive(Debug)]
struct Shared {
    written: AtomicU64,
    suppressed: AtomicU64,
    followers: broadcast::Sender<Arc<Record>>,
    wanted: AtomicU64,
    /// Set if sessions are not written.
    omits_sessions: AtomicBool,
}

impl Recorder {
    /// Opens the sinks and starts the writer.
    ///
    /// # Errors
    ///
    /// Where a file or socket does not open.
    pub fn start(settings: &Settings) -> io::Result<Self> {
        let sinks = settings.open()?;
        let (orders, queue) = sync_channel(QUEUE);
        let shared = Arc::new(Shared {
            written: AtomicU64::new(0),
            suppressed: AtomicU64::new(0),
            followers: broadcast::channel(FOLLOWERS).0,
            wanted: AtomicU64::new(sinks.len() as u64),
            omits_sessions: AtomicBool::new(settings.destinations == Destinations::Omit),
        });
        let writer = Writer {
            limiter: Limiter::new(settings.rate, Instant::now()),
            sinks,
            shared: Arc::clone(&shared),
            reported: 0,
            complained: None,
        };
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
            // Nobody listening any more is no error.
            let _ = self.shared.followers.send(Arc::new(record.clone()));
        }
        if self.shared.wanted.load(Ordering::Relaxed) == 0 {
            return;
        }
        // RFC 6888 section 4, REQ-12: the binding, which is recorded too, tells whose port it was.
        if matches!(record.subject, Subject::Session(_))
            && self.shared.omits_sessions.load(Ordering::Relaxed)
        {
            return;
        }
        if let Err(TrySendError::Full(_)) = self.orders.try_send(Order::Write(record)) {
            self.shared.suppressed.fetch_add(1, Ordering::Relaxed);
        }
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
        self.order(Order::Replace(sinks, settings.rate));
        Ok(())
    }

    /// Writes what is queued and ends the writer. Later records are lost.
    pub fn stop(&self) {
        self.order(Order::Stop);
        self.worker.join();
    }

    fn order(&self, order: Order) {
        // Fails only if the writer has ended, and then there is nothing to order.
        let _ = self.orders.send(order);
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.stop();
    }
}

struct Writer {
    limiter: Limiter,
    sinks: Vec<Box<dyn Sink>>,
    shared: Arc<Shared>,
    reported: u64,
    complained: Option<Instant>,
}

impl Writer {
    fn run(mut self, queue: &Receiver<Order>) {
        let mut tick = Instant::now() + TICK;
        loop {
            let wait = tick.saturating_duration_since(Instant::now());
            match queue.recv_timeout(wait) {
                Ok(Order::Write(record)) => self.write(&record),
                Ok(Order::Reopen) => self.each(|sink| sink.reopen()),
                Ok(Order::Replace(sinks, rate)) => {
                    self.tick();
                    self.sinks = sinks;
                    self.limiter = Limiter::new(rate, Instant::now());
                }
                Ok(Order::Stop) | Err(RecvTimeoutError::Disconnected) => return self.tick(),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if Instant::now() >= tick {
                self.tick();
                tick = Instant::now() + TICK;
            }
        }
    }

    fn write(&mut self, record: &Record) {
        // A port block stands for all sessions of a subscriber: it is not to be lost in a flood of
        // them.
        let admission = match record.subject {
            Subject::Block(_) => Admission::Passed,
            Subject::Session(_) | Subject::Binding(_) => self.limiter.admit(Instant::now()),
        };
        match admission {
            Admission::Passed => {
                self.each(|sink| sink.write(record));
                self.shared.written.fetch_add(1, Ordering::Relaxed);
            }
            Admission::Suppressed => {
                self.shared.suppressed.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    fn tick(&mut self) {
        let now = Timestamp::now();
        let suppressed = self.shared.suppressed.load(Ordering::Relaxed);
        if suppressed != self.reported {
            self.reported = suppressed;
            self.each(|sink| sink.suppressed(now, suppressed));
        }
        self.each(|sink| sink.flush(now));
    }

    fn each(&mut self, mut act: impl FnMut(&mut dyn Sink) -> io::Result<()>) {
        for sink in &mut self.sinks {
            if let Err(error) = act(sink.as_mut()) {
                let now = Instant::now();
                let due = self
                    .complained
                    .is_none_or(|last| now.duration_since(last) >= Duration::from_secs(60));
                if due {
                    self.complained = Some(now);
                    tracing::warn!(sink = sink.name(), %error, "records are being lost");
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
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
        let recorder = Recorder::start(&settings(path.clone(), 5)).unwrap();
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
        assert!((5..=10).contains(&written), "{written} written");
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

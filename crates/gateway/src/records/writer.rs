//! The thread that hands records to the sinks.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::recorder::{Order, Shared};
use super::{Record, Sink, Suppressed};

/// How often kept records are sent and the count of suppressed ones is reported.
const TICK: Duration = Duration::from_secs(1);

/// The sinks.
pub(super) struct Writer {
    sinks: Vec<Box<dyn Sink>>,
    shared: Arc<Shared>,
    reported: Suppressed,
    complained: Option<Instant>,
}

impl Writer {
    /// A writer to these sinks.
    pub(super) fn new(sinks: Vec<Box<dyn Sink>>, shared: Arc<Shared>) -> Self {
        Self {
            sinks,
            shared,
            reported: Suppressed::default(),
            complained: None,
        }
    }

    /// Carries out orders until one is to stop.
    pub(super) fn run(mut self, queue: &Receiver<Order>) {
        let mut tick = Instant::now() + TICK;
        loop {
            let wait = tick.saturating_duration_since(Instant::now());
            match queue.recv_timeout(wait) {
                Ok(Order::Write(record)) => self.write(&record),
                Ok(Order::Remark(remark)) => {
                    let now = Timestamp::now();
                    self.each(|sink| sink.remark(now, &remark));
                }
                Ok(Order::Reopen) => self.each(|sink| sink.reopen()),
                Ok(Order::Replace(sinks)) => {
                    self.tick();
                    self.sinks = sinks;
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
        self.shared.waiting.fetch_sub(1, Ordering::Relaxed);
        self.each(|sink| sink.write(record));
        self.shared.written.fetch_add(1, Ordering::Relaxed);
    }

    fn tick(&mut self) {
        let now = Timestamp::now();
        let suppressed = self.shared.suppressed();
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

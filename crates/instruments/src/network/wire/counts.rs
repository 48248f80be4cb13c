//! Counters of a direction of a cable, with its punctuality, and the times of single messages at its ends.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use super::{What, recorder::Recorder};
use crate::figures::histogram::Histogram;

/// Counters of a direction of a cable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counts {
    /// Frames that the sending end sent.
    pub frames: u64,
    /// Their bytes, with Ethernet's header, and without preamble, padding, check sequence and gap.
    pub bytes: u64,
    /// Frames that found the queue full.
    pub overflowed: u64,
    /// Frames that the receiving end did not take, because its device is down or gone.
    pub refused: u64,
    /// The lateness of each arrival.
    pub late: Histogram,
    /// The time for which each frame may have been there before it was seen, as far as that matters.
    pub unseen: Histogram,
    wrong: [u64; What::KINDS],
}

impl Counts {
    /// Returns the number of frames that had a fault. The time of [`What::Hold`] does not matter.
    pub fn wrong(&self, what: What) -> u64 {
        self.wrong[what.kind()]
    }

    /// Returns what was counted after `before`, an earlier state of the same direction.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            frames: self.frames - before.frames,
            bytes: self.bytes - before.bytes,
            overflowed: self.overflowed - before.overflowed,
            refused: self.refused - before.refused,
            late: self.late.since(&before.late),
            unseen: self.unseen.since(&before.unseen),
            wrong: std::array::from_fn(|kind| self.wrong[kind] - before.wrong[kind]),
        }
    }

    /// Returns the share of frames whose time was wrong by more than `limit`, 0 to 1: they came late, or may have
    /// been there before they were seen. A trial with too large a share is void.
    pub fn unpunctual(&self, limit: Duration) -> f64 {
        self.late.share_above(limit) + self.unseen.share_above(limit)
    }
}

/// The counters of a direction. One thread writes them.
#[derive(Debug, Default)]
pub(super) struct Track {
    frames: AtomicU64,
    bytes: AtomicU64,
    overflowed: AtomicU64,
    refused: AtomicU64,
    wrong: [AtomicU64; What::KINDS],
    late: Recorder,
    unseen: Recorder,
    /// The number of times that the sending end had no frame.
    empty: AtomicU64,
    /// Frames that waited in the queue then.
    waiting: AtomicUsize,
    /// The time of the first frame since this was set to [`NEVER`], in nanoseconds.
    first: AtomicU64,
    /// The time of the last arrival at the other end, in nanoseconds.
    last: AtomicU64,
    /// The greatest timing error since this was last taken, in nanoseconds.
    error: AtomicU64,
}

/// The mark for no time.
const NEVER: u64 = 0;

impl Track {
    /// Counts a frame that was seen at the time `now`, and may have been there for `unseen` before.
    pub(super) fn accepted(&self, bytes: usize, now: Duration, unseen: Duration) {
        self.frames.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        self.unseen.record(unseen);
        self.error.fetch_max(nanoseconds(unseen), Ordering::Relaxed);
        if self.first.load(Ordering::Relaxed) == NEVER {
            self.first.store(nanoseconds(now), Ordering::Release);
        }
    }

    /// Counts a frame that found no room.
    pub(super) fn overflowed(&self) {
        self.overflowed.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes that the sending end had no frame, and how many wait in the queue.
    pub(super) fn nothing(&self, waiting: usize) {
        self.waiting.store(waiting, Ordering::Relaxed);
        self.empty.fetch_add(1, Ordering::Release);
    }

    /// Counts a frame with a fault.
    pub(super) fn went_wrong(&self, what: What) {
        self.wrong[what.kind()].fetch_add(1, Ordering::Relaxed);
    }

    /// Counts an arrival that was due at the time `due`, and its lateness.
    pub(super) fn arrives(&self, due: Duration, late: Duration) {
        self.late.record(late);
        self.error.fetch_max(nanoseconds(late), Ordering::Relaxed);
        self.last.store(nanoseconds(due + late), Ordering::Release);
    }

    /// Counts a frame that the receiving end did not take.
    pub(super) fn refused(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn counts(&self) -> Counts {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counts {
            frames: get(&self.frames),
            bytes: get(&self.bytes),
            overflowed: get(&self.overflowed),
            refused: get(&self.refused),
            late: self.late.histogram(),
            unseen: self.unseen.histogram(),
            wrong: self.wrong.each_ref().map(get),
        }
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// An end of a cable, at which the frames of a message can be timed in both directions.
#[derive(Debug, Clone)]
pub struct Tap {
    pub(super) leaves: Arc<Track>,
    pub(super) arrives: Arc<Track>,
    /// The counters of all directions of all cables.
    pub(super) all: Arc<[Arc<Track>]>,
    /// The room of the queue in front of this end's frames, in frames.
    pub(super) room: usize,
    pub(super) epoch: Instant,
}

impl Tap {
    /// Returns the counters of the frames that left this end.
    pub fn left(&self) -> Counts {
        self.leaves.counts()
    }

    /// Returns the counters of the frames that arrived here.
    pub fn arrived(&self) -> Counts {
        self.arrives.counts()
    }

    /// Returns how many frames may wait in front of the wire here.
    pub fn room(&self) -> usize {
        self.room
    }

    /// Forgets the frames that left here before.
    pub fn forget(&self) {
        self.leaves.first.store(NEVER, Ordering::Release);
    }

    /// Returns when the first frame was ready to leave after [`Tap::forget`]; `None` if there was none.
    pub fn first_left(&self) -> Option<Instant> {
        match self.leaves.first.load(Ordering::Acquire) {
            NEVER => None,
            first => Some(self.epoch + Duration::from_nanos(first)),
        }
    }

    /// Returns when the last bit of the last frame arrived; the beginning of time if there was none.
    pub fn last_arrived(&self) -> Instant {
        self.epoch + Duration::from_nanos(self.arrives.last.load(Ordering::Acquire))
    }

    /// Returns the greatest timing error of a frame on any cable of the network since the last call: its lateness, or
    /// the time for which it may have been there before it was seen.
    pub fn error(&self) -> Duration {
        let errors = self.all.iter();
        let errors = errors.map(|track| track.error.swap(0, Ordering::Relaxed));
        Duration::from_nanos(errors.max().unwrap_or(0))
    }

    /// Returns a state of this end, for [`Tap::has_room_since`].
    pub fn now(&self) -> Moment {
        Moment(self.leaves.empty.load(Ordering::Acquire))
    }

    /// Returns whether all frames that this end had at a moment have come to the queue in front of the wire, and half
    /// of the queue is free. A socket's buffer has room again in the same way when its network card has sent.
    pub fn has_room_since(&self, moment: Moment) -> bool {
        // The first time may have been while the frames came.
        let seen = self.leaves.empty.load(Ordering::Acquire) >= moment.0 + 2;
        seen && self.leaves.waiting.load(Ordering::Relaxed) * 2 < self.room
    }
}

/// A state of the end of a cable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment(u64);

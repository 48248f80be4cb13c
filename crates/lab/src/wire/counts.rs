//! What passed a direction of a cable, and how punctually; and the times of single messages at its ends.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use super::{What, recorder::Recorder};
use crate::histogram::Histogram;

/// What passed a direction of a cable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counts {
    /// Frames that the sending end had.
    pub frames: u64,
    /// Their bytes, with Ethernet's header, and without preamble, padding, check sequence and gap.
    pub bytes: u64,
    /// Those of them that found the queue full.
    pub overflowed: u64,
    /// Frames that the receiving end did not take, because its device is down or gone.
    pub refused: u64,
    /// How much later than it was due each frame arrived.
    pub late: Histogram,
    /// How much earlier than it was seen each frame may have been there, as far as that matters.
    pub unseen: Histogram,
    wrong: [u64; What::KINDS],
}

impl Counts {
    /// To how many frames a fault happened. How long [`What::Hold`] is does not matter.
    pub fn wrong(&self, what: What) -> u64 {
        self.wrong[what.kind()]
    }

    /// What passed after `before`, an earlier state of the same direction.
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

    /// The share of frames whose time was wrong by more than `limit`, 0 to 1: they came late, or may have been
    /// there before they were seen. Beyond what the purpose tolerates, a trial is void.
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
    /// How often the sending end had no frame.
    empty: AtomicU64,
    /// Frames that waited in the queue then.
    waiting: AtomicUsize,
    /// When the first frame was there since somebody set this to [`NEVER`], in nanoseconds.
    first: AtomicU64,
    /// When the last frame arrived at the other end, in nanoseconds.
    last: AtomicU64,
    /// The greatest error of time since somebody took it away, in nanoseconds.
    error: AtomicU64,
}

/// No time.
const NEVER: u64 = 0;

impl Track {
    /// A frame was seen at the time `now`; it may have been there `unseen` before.
    pub(super) fn accepted(&self, bytes: usize, now: Duration, unseen: Duration) {
        self.frames.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        self.unseen.record(unseen);
        self.error.fetch_max(nanoseconds(unseen), Ordering::Relaxed);
        if self.first.load(Ordering::Relaxed) == NEVER {
            self.first.store(nanoseconds(now), Ordering::Release);
        }
    }

    /// There was no room for a frame.
    pub(super) fn overflowed(&self) {
        self.overflowed.fetch_add(1, Ordering::Relaxed);
    }

    /// The sending end had no frame, and so many wait in the queue.
    pub(super) fn nothing(&self, waiting: usize) {
        self.waiting.store(waiting, Ordering::Relaxed);
        self.empty.fetch_add(1, Ordering::Release);
    }

    /// A fault happened to a frame.
    pub(super) fn went_wrong(&self, what: What) {
        self.wrong[what.kind()].fetch_add(1, Ordering::Relaxed);
    }

    /// A frame arrives that was due at the time `due`, so much late.
    pub(super) fn arrives(&self, due: Duration, late: Duration) {
        self.late.record(late);
        self.error.fetch_max(nanoseconds(late), Ordering::Relaxed);
        self.last.store(nanoseconds(due + late), Ordering::Release);
    }

    /// The receiving end did not take a frame.
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

/// An end of a cable, where the frames of a message can be timed: what leaves it and what arrives.
#[derive(Debug, Clone)]
pub struct Tap {
    pub(super) leaves: Arc<Track>,
    pub(super) arrives: Arc<Track>,
    /// Of all directions of all cables.
    pub(super) all: Arc<[Arc<Track>]>,
    /// Of the queue in front of what leaves, in frames.
    pub(super) room: usize,
    pub(super) epoch: Instant,
}

impl Tap {
    /// What left this end.
    pub fn left(&self) -> Counts {
        self.leaves.counts()
    }

    /// What arrived here.
    pub fn arrived(&self) -> Counts {
        self.arrives.counts()
    }

    /// Forgets what left here before.
    pub fn forget(&self) {
        self.leaves.first.store(NEVER, Ordering::Release);
    }

    /// When the first frame was at this end after [`Tap::forget`], ready to leave; `None` if there was none.
    pub fn first_left(&self) -> Option<Instant> {
        match self.leaves.first.load(Ordering::Acquire) {
            NEVER => None,
            first => Some(self.epoch + Duration::from_nanos(first)),
        }
    }

    /// When the last bit of the last frame came in here; the beginning of time if there was none.
    pub fn last_arrived(&self) -> Instant {
        self.epoch + Duration::from_nanos(self.arrives.last.load(Ordering::Acquire))
    }

    /// The greatest error of time of a frame on any cable of the network since this was last asked: how late
    /// it arrived, or how much earlier than it was seen it may have been there.
    pub fn error(&self) -> Duration {
        let errors = self.all.iter();
        let errors = errors.map(|track| track.error.swap(0, Ordering::Relaxed));
        Duration::from_nanos(errors.max().unwrap_or(0))
    }

    /// A state of this end, to be asked about with [`Tap::has_room_since`].
    pub fn now(&self) -> Moment {
        Moment(self.leaves.empty.load(Ordering::Acquire))
    }

    /// Whether all frames that this end had at a moment have come to the queue in front of the wire, and half of that
    /// is free: so a socket's buffer has room again when its network card has sent.
    pub fn has_room_since(&self, moment: Moment) -> bool {
        // Once may have been while the frames came.
        let seen = self.leaves.empty.load(Ordering::Acquire) >= moment.0 + 2;
        seen && self.leaves.waiting.load(Ordering::Relaxed) * 2 < self.room
    }
}

/// A state of the end of a cable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment(u64);

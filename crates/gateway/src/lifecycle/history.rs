//! The configuration in force, the one before it, and whether somebody has still to confirm it.

use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;

use super::origin::{Origin, Watch};
use crate::config::{Document, Loaded};
use crate::control::InForceStatus;
use crate::health;

/// A configuration as it was read.
#[derive(Debug)]
pub(super) struct Version {
    pub(super) document: Document,
    pub(super) origin: Origin,
    pub(super) read: Timestamp,
}

impl Version {
    pub(super) fn of(loaded: Loaded) -> Self {
        Self {
            origin: Origin::of(&loaded),
            document: loaded.document,
            read: Timestamp::now(),
        }
    }
}

/// When a configuration is undone.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deadline {
    pub(super) at: Instant,
    /// The same for people.
    pub(super) wall: Timestamp,
}

impl Deadline {
    fn after(time: Duration) -> Self {
        let wall = Timestamp::now();
        Self {
            at: Instant::now() + time,
            wall: wall.checked_add(time).unwrap_or(wall),
        }
    }
}

/// The configurations that a gateway has, or may return to.
#[derive(Debug)]
pub(super) struct History {
    pub(super) now: Version,
    /// The one before the last reload; none after a return to it.
    before: Option<Version>,
    /// There is one before it then.
    deadline: Option<Deadline>,
    watch: Watch,
}

impl History {
    pub(super) fn new(now: Version) -> Self {
        Self {
            now,
            before: None,
            deadline: None,
            watch: Watch::default(),
        }
    }

    /// A reload has put this one in force. It is undone after `trial` unless it is confirmed. The same text as before
    /// is the same configuration.
    pub(super) fn moved(&mut self, version: Version, trial: Option<Duration>) {
        self.watch = Watch::default();
        if version.origin.is_like(&self.now.origin) {
            self.now = version;
            return;
        }
        self.before = Some(std::mem::replace(&mut self.now, version));
        self.deadline = trial.map(Deadline::after);
    }

    /// Puts off an undo until after this time.
    pub(super) fn put_off(&mut self, time: Duration) {
        self.deadline = Some(Deadline::after(time));
    }

    /// The configuration that a rollback returns to.
    pub(super) fn before(&self) -> Option<&Version> {
        self.before.as_ref()
    }

    /// The one before is in force again, and there is none before it.
    pub(super) fn returned(&mut self) {
        self.watch = Watch::default();
        self.deadline = None;
        if let Some(before) = self.before.take() {
            self.now = before;
        }
    }

    /// When the configuration in force is undone.
    pub(super) fn deadline(&self) -> Option<Deadline> {
        self.deadline
    }

    /// Nothing is undone any more. Returns whether something would have been.
    pub(super) fn confirm(&mut self) -> bool {
        self.deadline.take().is_some()
    }

    /// Describes it, after a look at the files.
    pub(super) fn status(&mut self) -> InForceStatus {
        InForceStatus {
            read: health::time(self.now.read),
            differs: self.watch.differ(&self.now.origin),
            before: self.before.as_ref().map(|it| health::time(it.read)),
            undone_at: self.deadline.map(|deadline| health::time(deadline.wall)),
        }
    }
}

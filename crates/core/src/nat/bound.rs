//! How many entries each table has, and may have (RFC 6146 section 5.3). The tables have more places than that, so
//! entries are counted: in one line, by one atomic addition for each that is made. The line after it counts those
//! that found no room.

use core::sync::atomic::Ordering;

use crate::table::{Line, Memory, Refused};

use super::capacity::Capacity;
use super::outcome::Outcome;

/// A table whose entries are counted, by its word in the two lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// Sessions.
    Sessions = 0,
    /// Bindings, static ones too.
    Bindings = 1,
    /// Subscribers.
    Subscribers = 2,
    /// Permissions of address-dependent filtering.
    Permissions = 3,
    /// Fragmented datagrams, which are never refused: an older one gives way.
    Fragments = 4,
}

impl Counted {
    /// All of them, in the order of their words.
    pub(super) const ALL: [Self; 5] = [
        Self::Sessions,
        Self::Bindings,
        Self::Subscribers,
        Self::Permissions,
        Self::Fragments,
    ];

    /// The name of the table.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sessions => "sessions",
            Self::Bindings => "bindings",
            Self::Subscribers => "subscribers",
            Self::Permissions => "permissions",
            Self::Fragments => "fragments",
        }
    }
}

/// The claim of a packet to state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Claim {
    /// To all that there is.
    Flow,
    /// To all but the last eighth, because the packet does without.
    Answer,
}

impl Claim {
    /// The part of an amount that there is for this claim.
    #[inline(always)]
    pub(super) const fn of(self, all: u64) -> u64 {
        all - (all >> 3) * self as u64
    }
}

/// The lines of counts, and the most of each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(super) struct Bound {
    line: u32,
    most: [u32; Counted::ALL.len()],
}

impl Bound {
    /// Lines that the counts take.
    pub(super) const LINES: u32 = 2;

    pub(super) const fn new(line: u32, capacity: &Capacity, fragments: u32) -> Self {
        Self {
            line,
            most: [
                capacity.sessions,
                capacity.bindings,
                capacity.subscribers,
                capacity.permissions,
                fragments,
            ],
        }
    }

    pub(super) const fn line(&self) -> u32 {
        self.line
    }

    pub(super) const fn moved(self, line: u32) -> Self {
        Self { line, ..self }
    }

    /// The most entries that there may be.
    pub(super) const fn most(&self, what: Counted) -> u32 {
        self.most[what as usize]
    }

    /// The entries that there are.
    pub(super) fn used<M: Memory + ?Sized>(&self, memory: &M, what: Counted) -> u64 {
        self.read(memory, self.line, what)
    }

    /// The entries that found no room since the table was made, modulo 2^64.
    pub(super) fn refused<M: Memory + ?Sized>(&self, memory: &M, what: Counted) -> u64 {
        self.read(memory, self.line.wrapping_add(1), what)
    }

    /// The entries that there is room for.
    pub(super) fn free<M: Memory + ?Sized>(&self, memory: &M, what: Counted) -> u64 {
        u64::from(self.most(what)).saturating_sub(self.used(memory, what))
    }

    fn read<M: Memory + ?Sized>(&self, memory: &M, line: u32, what: Counted) -> u64 {
        memory
            .line(line)
            .map_or(0, |line| line[what as usize].load(Ordering::Relaxed))
    }

    /// Counts one more, unless there are as many as there may be. Of several processors at the same moment
    /// none gets past the bound. One may be refused while another one, which will be refused too, is still
    /// counted.
    #[inline(always)]
    #[must_use]
    pub(super) fn take<M: Memory + ?Sized>(&self, memory: &M, what: Counted, claim: Claim) -> bool {
        let Some(line) = memory.line(self.line) else {
            return false;
        };
        let before = add(line, what, 1);
        if before < claim.of(u64::from(self.most[what as usize])) {
            return true;
        }
        add(line, what, u64::MAX);
        if matches!(claim, Claim::Flow) {
            self.refuse(memory, what);
        }
        false
    }

    /// Counts one more, whatever there is.
    pub(super) fn count<M: Memory + ?Sized>(&self, memory: &M, what: Counted) {
        if let Some(line) = memory.line(self.line) {
            add(line, what, 1);
        }
    }

    /// Sets a count, when all are counted anew.
    pub(super) fn set<M: Memory + ?Sized>(&self, memory: &M, what: Counted, count: u64) {
        if let Some(line) = memory.line(self.line) {
            line[what as usize].store(count, Ordering::Relaxed);
        }
    }

    /// Counts one less.
    #[inline(always)]
    pub(super) fn give<M: Memory + ?Sized>(&self, memory: &M, what: Counted) {
        if let Some(line) = memory.line(self.line) {
            add(line, what, u64::MAX);
        }
    }

    /// Counts an entry that found no place in its buckets, if that was the reason.
    #[inline(always)]
    pub(super) fn no_place<M: Memory + ?Sized>(
        &self,
        memory: &M,
        what: Counted,
        refused: Refused,
    ) -> Outcome {
        if matches!(refused, Refused::Full) {
            self.refuse(memory, what);
        }
        Outcome::no(refused.into())
    }

    /// Counts an entry that found no room.
    #[inline(always)]
    pub(super) fn refuse<M: Memory + ?Sized>(&self, memory: &M, what: Counted) {
        if let Some(line) = memory.line(self.line.wrapping_add(1)) {
            add(line, what, 1);
        }
    }
}

/// Adds to a count, modulo 2^64, and returns the old value.
#[inline(always)]
fn add(line: &Line, what: Counted, amount: u64) -> u64 {
    line[what as usize].fetch_add(amount, Ordering::Relaxed)
}

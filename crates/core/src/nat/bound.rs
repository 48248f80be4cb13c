//! How many sessions and bindings there are, and may be (RFC 6146 section 5.3). The tables have more
//! places than that, so they are counted: in one line, by one atomic addition for each that is made.

use core::sync::atomic::Ordering;

use crate::table::{Line, Memory};

use super::capacity::Capacity;

/// A count, by its word in the line of counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counted {
    /// Entries of the session table without permissions, which do not count.
    Sessions = 0,
    /// Bindings, static ones too.
    Bindings = 1,
}

/// The line of counts, and the most of each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(super) struct Bound {
    line: u32,
    most: [u32; 2],
}

impl Bound {
    pub(super) const fn new(line: u32, capacity: &Capacity) -> Self {
        Self {
            line,
            most: [capacity.sessions, capacity.bindings],
        }
    }

    pub(super) const fn line(&self) -> u32 {
        self.line
    }

    pub(super) const fn moved(self, line: u32) -> Self {
        Self { line, ..self }
    }

    /// Counts one more, unless there are as many as there may be. Of several processors at the same moment
    /// none gets past the bound. One may be refused while another one, which will be refused too, is still
    /// counted.
    #[inline(always)]
    #[must_use]
    pub(super) fn take<M: Memory + ?Sized>(&self, memory: &M, what: Counted) -> bool {
        let Some(line) = memory.line(self.line) else {
            return false;
        };
        let before = add(line, what, 1);
        if before < u64::from(self.most[what as usize]) {
            return true;
        }
        add(line, what, u64::MAX);
        false
    }

    /// Counts one less.
    #[inline(always)]
    pub(super) fn give<M: Memory + ?Sized>(&self, memory: &M, what: Counted) {
        if let Some(line) = memory.line(self.line) {
            add(line, what, u64::MAX);
        }
    }
}

/// Adds to a count, modulo 2^64, and returns the old value.
#[inline(always)]
fn add(line: &Line, what: Counted, amount: u64) -> u64 {
    line[what as usize].fetch_add(amount, Ordering::Relaxed)
}

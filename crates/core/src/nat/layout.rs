//! Where the tables of one instance lie in memory.

use super::bound::Bound;
use super::capacity::{Capacity, MOST_OWN_LIMITS};
use crate::table::{Buckets, Slots};

/// Lines of the shares of networks, where there are subscribers.
pub(super) const SHARE_LINES: u32 = 256;

/// Lines of the memory of refusals.
pub(super) const REFUSAL_LINES: u32 = 64;

/// Sessions for each line of what they carried.
pub(super) const CARRIED_PER_LINE: u32 = 2;

/// Sessions for each token bucket of an instance.
const SESSIONS_PER_BUCKET: u32 = 16;

/// Lines of the token buckets of an instance with so many sessions.
const fn rate_lines(sessions: u32) -> u32 {
    let lines = sessions / (8 * SESSIONS_PER_BUCKET);
    if lines < 64 { 64 } else { lines }
}

/// Some lines of memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(super) struct Lines {
    pub(super) first: u32,
    pub(super) count: u32,
}

/// Lines of all tables of one instance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Layout {
    /// Sessions, by inside and remote endpoint.
    pub(super) sessions: Slots,
    /// Sessions, by outside and remote endpoint.
    pub(super) returns: Buckets,
    /// Bindings, by inside endpoint.
    pub(super) bindings: Slots,
    /// Bindings, by outside endpoint; and port blocks.
    pub(super) claims: Buckets,
    /// Subscribers.
    pub(super) subscribers: Slots,
    /// Fragmented datagrams.
    pub(super) fragments: Slots,
    /// Limits of single subscribers.
    pub(super) own_limits: Slots,
    /// How many entries there may be.
    pub(super) bound: Bound,
    /// First line of the shares of networks.
    pub(super) shares: u32,
    /// First line of the refusals.
    pub(super) refusals: u32,
    /// The token buckets of subscribers.
    pub(super) rates: Lines,
    /// What each session carried; no lines where it is not counted.
    pub(super) traffic: Lines,
    end: u32,
}

impl Layout {
    /// Lays tables of this capacity out from line `first` on.
    #[must_use]
    pub fn new(first: u32, capacity: &Capacity) -> Self {
        let mut layout = Self {
            end: first,
            ..Self::default()
        };
        layout.sessions = layout.slots(capacity.sessions.saturating_add(capacity.permissions));
        layout.returns = layout.words(capacity.sessions);
        layout.bindings = layout.slots(capacity.bindings);
        layout.claims = layout.words(capacity.bindings);
        layout.subscribers = layout.slots(capacity.subscribers);
        layout.fragments = layout.slots(capacity.fragments);
        layout.own_limits = layout.slots(match capacity.subscribers {
            0 => 0,
            _ => MOST_OWN_LIMITS,
        });
        layout.bound = Bound::new(layout.end, capacity, layout.fragments.len());
        layout.shares = layout.end + Bound::LINES;
        layout.refusals = layout.shares;
        if !layout.subscribers.is_empty() {
            layout.refusals += SHARE_LINES;
        }
        layout.rates = Lines {
            first: layout.refusals + REFUSAL_LINES,
            count: rate_lines(capacity.sessions),
        };
        layout.traffic = Lines {
            first: layout.rates.first + layout.rates.count,
            count: match capacity.traffic {
                true => layout.sessions.len().div_ceil(CARRIED_PER_LINE),
                false => 0,
            },
        };
        layout.end = layout.traffic.first + layout.traffic.count;
        layout
    }

    /// Buckets that a sweeper has to visit.
    #[must_use]
    pub const fn buckets(&self) -> u32 {
        self.sessions.control.count
            + self.bindings.control.count
            + self.subscribers.control.count
            + self.fragments.control.count
    }

    /// The fragmented datagrams that the table was made for.
    #[must_use]
    pub const fn most_fragments(&self) -> u32 {
        self.fragments.control.entries()
    }

    /// The line after the last.
    #[must_use]
    pub const fn end(&self) -> u32 {
        self.end
    }

    /// The first line.
    #[must_use]
    pub const fn start(&self) -> u32 {
        self.sessions.control.first
    }

    /// Tables of the same sizes from line `first` on; `None` if there are not so many lines.
    #[must_use]
    pub fn moved(&self, first: u32) -> Option<Self> {
        let start = self.start();
        first.checked_add(self.end - start)?;
        let mut moved = *self;
        for buckets in [
            &mut moved.sessions.control,
            &mut moved.returns,
            &mut moved.bindings.control,
            &mut moved.claims,
            &mut moved.subscribers.control,
            &mut moved.fragments.control,
            &mut moved.own_limits.control,
        ] {
            buckets.first = first + (buckets.first - start);
        }
        for slots in [
            &mut moved.sessions,
            &mut moved.bindings,
            &mut moved.subscribers,
            &mut moved.fragments,
            &mut moved.own_limits,
        ] {
            slots.first = first + (slots.first - start);
        }
        moved.bound = self.bound.moved(first + (self.bound.line() - start));
        moved.shares = first + (self.shares - start);
        moved.refusals = first + (self.refusals - start);
        moved.rates.first = first + (self.rates.first - start);
        moved.traffic.first = first + (self.traffic.first - start);
        moved.end = first + (self.end - start);
        Some(moved)
    }

    fn words(&mut self, entries: u32) -> Buckets {
        let buckets = Buckets::for_entries(self.end, entries);
        self.end = buckets.end();
        buckets
    }

    fn slots(&mut self, entries: u32) -> Slots {
        let slots = Slots::for_entries(self.end, entries);
        self.end = slots.end();
        slots
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_takes_256_bytes_at_most() {
        let sessions = 1 << 20;
        let layout = Layout::new(
            0,
            &Capacity {
                sessions,
                bindings: sessions,
                permissions: 0,
                subscribers: sessions / 16,
                fragments: sessions / 64,
                traffic: false,
            },
        );
        let bytes = u64::from(layout.end()) * 64;
        assert!(bytes <= 256 * u64::from(sessions), "{bytes}");
    }

    #[test]
    fn tables_lie_one_after_the_other() {
        let layout = Layout::new(
            10,
            &Capacity {
                sessions: 6,
                bindings: 7,
                permissions: 0,
                subscribers: 0,
                fragments: 1,
                traffic: false,
            },
        );
        // Lines of control words, each table's with one of a bitmap, and of slots: sessions, returns,
        // bindings, claims, fragments; two of counts, those of the refusals and of the rates.
        let lines = (3 + 16) + 3 + (3 + 16) + 3 + (2 + 8) + 2 + REFUSAL_LINES + rate_lines(6);
        assert_eq!(layout.end(), 10 + lines);
        assert_eq!(layout.returns.first, 29);
        assert!(layout.subscribers.is_empty());
    }

    #[test]
    fn tables_that_move_are_those_that_were_made_there() {
        for subscribers in [0, 9] {
            let capacity = Capacity {
                sessions: 100,
                bindings: 70,
                permissions: 0,
                subscribers,
                fragments: 5,
                traffic: false,
            };
            let there = Layout::new(1000, &capacity);
            assert_eq!(Layout::new(3, &capacity).moved(1000), Some(there));
            assert_eq!(there.moved(3), Some(Layout::new(3, &capacity)));
            assert_eq!(there.moved(u32::MAX - 3), None);
        }
    }
}

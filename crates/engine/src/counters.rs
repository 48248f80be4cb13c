//! The counters of one thread, which others may read at any time.

use std::sync::atomic::{AtomicU64, Ordering};

use isthmus_core::mechanism::instances::MOST_INSTANCES;
use isthmus_core::reason::Counter;
use serde::{Serialize, Serializer};

const COUNTERS: usize = Counter::ALL.len();

/// The counters of one thread. Only this thread adds to them.
#[derive(Debug)]
pub struct Counters {
    rows: Box<[[AtomicU64; COUNTERS]]>,
}

/// The owner of a count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Owner {
    /// No instance: the packet belongs to none, or to none yet.
    #[default]
    Gateway,
    /// The instance with this number.
    Instance(u32),
}

impl Owner {
    /// The gateway and all instances that there can be.
    pub fn all() -> impl Iterator<Item = Self> {
        std::iter::once(Self::Gateway).chain((0..MOST_INSTANCES).map(Self::Instance))
    }

    fn row(self) -> usize {
        match self {
            Self::Gateway => 0,
            Self::Instance(index) => 1 + index.min(MOST_INSTANCES - 1) as usize,
        }
    }
}

impl Default for Counters {
    fn default() -> Self {
        let row = || std::array::from_fn(|_| AtomicU64::new(0));
        Self {
            rows: (0..=MOST_INSTANCES).map(|_| row()).collect(),
        }
    }
}

impl Counters {
    /// Adds `count`. Only the owning thread may call this; additions from another thread would be lost.
    #[inline(always)]
    pub fn add(&self, owner: Owner, counter: Counter, count: u64) {
        let cell = &self.rows[owner.row()][counter as usize];
        // A plain load and store, because an atomic addition costs a locked instruction per packet.
        cell.store(cell.load(Ordering::Relaxed) + count, Ordering::Relaxed);
    }

    /// Returns the current values of one owner.
    #[must_use]
    pub fn read(&self, owner: Owner) -> Snapshot {
        let row = &self.rows[owner.row()];
        Snapshot(std::array::from_fn(|i| row[i].load(Ordering::Relaxed)))
    }

    /// Returns the counters that are not what they were `before`, a [`copy`](Self::copy).
    pub(crate) fn changes(&self, before: &Self) -> Vec<(Owner, Counter)> {
        let mut changes = Vec::new();
        for owner in Owner::all() {
            let rows = [self, before].map(|counters| counters.read(owner));
            let counters = Counter::ALL.iter().copied();
            let changed = counters.filter(|counter| rows[0].get(*counter) != rows[1].get(*counter));
            changes.extend(changed.map(|counter| (owner, counter)));
        }
        changes
    }

    /// Returns them as they are now.
    pub(crate) fn copy(&self) -> Self {
        let row = |row: &[AtomicU64; COUNTERS]| {
            std::array::from_fn(|at| AtomicU64::new(row[at].load(Ordering::Relaxed)))
        };
        Self {
            rows: self.rows.iter().map(row).collect(),
        }
    }

    /// Returns the current values of all owners together.
    #[must_use]
    pub fn total(&self) -> Snapshot {
        let mut total = Snapshot::default();
        for row in &self.rows {
            for (sum, cell) in total.0.iter_mut().zip(row) {
                *sum += cell.load(Ordering::Relaxed);
            }
        }
        total
    }
}

/// Values of all counters at one time. Serializes as a map from name to value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot([u64; COUNTERS]);

impl Default for Snapshot {
    fn default() -> Self {
        Self([0; COUNTERS])
    }
}

impl Snapshot {
    /// Returns the value of one counter.
    #[must_use]
    pub fn get(&self, counter: Counter) -> u64 {
        self.0[counter as usize]
    }

    /// Sets the value of one counter.
    pub fn set(&mut self, counter: Counter, value: u64) {
        self.0[counter as usize] = value;
    }

    /// Returns the difference from `earlier`, a snapshot of the same counters.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self(std::array::from_fn(|i| {
            self.0[i].saturating_sub(earlier.0[i])
        }))
    }

    /// Returns every counter with its value, in the order of [`Counter::ALL`].
    pub fn iter(&self) -> impl Iterator<Item = (Counter, u64)> {
        Counter::ALL.iter().copied().zip(self.0)
    }
}

impl std::ops::AddAssign<&Self> for Snapshot {
    fn add_assign(&mut self, other: &Self) {
        for (sum, value) in self.0.iter_mut().zip(other.0) {
            *sum += value;
        }
    }
}

impl Serialize for Snapshot {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter().map(|(counter, value)| (counter.name(), value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_over_all_owners() {
        let counters = Counters::default();
        counters.add(Owner::Gateway, Counter::NotOurs, 1);
        counters.add(Owner::Instance(0), Counter::NotOurs, 2);
        counters.add(Owner::Instance(MOST_INSTANCES - 1), Counter::Loop, 4);
        assert_eq!(counters.total().get(Counter::NotOurs), 3);
        assert_eq!(counters.total().get(Counter::Loop), 4);
        assert_eq!(counters.read(Owner::Instance(0)).get(Counter::NotOurs), 2);
    }

    #[test]
    fn json_has_every_name() {
        let counters = Counters::default();
        counters.add(Owner::Gateway, Counter::Truncated, 7);
        let json = serde_json::to_value(counters.total()).unwrap();
        assert_eq!(json["truncated"], 7);
        assert_eq!(json["pool-exhausted"], 0);
        assert_eq!(json.as_object().unwrap().len(), Counter::ALL.len());
    }
}

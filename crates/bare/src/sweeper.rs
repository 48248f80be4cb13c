//! Idle state ends here: a step of the sweep between packets, so that the tables are looked through every few
//! seconds and no packet waits for it.

use core::ops::Range;

use isthmus_core::mechanism::instances::MOST_INSTANCES;
use isthmus_core::mechanism::{Instance, Mechanism as _};
use isthmus_core::nat;
use isthmus_core::table::Line;
use isthmus_core::time::Instant;

use crate::host::Counts;

/// Nanoseconds in which all buckets of a table have their turn, if they are not too many and the machine is quick enough.
const ROUND: u64 = 1_000_000_000;
/// Nanoseconds between two steps.
const STEP: u64 = 100_000;
/// Buckets that a step visits at most: packets wait for no more. Full of sessions that end, they take less than the packets that the
/// machine takes at once.
const MOST: u64 = 64;
/// The time that a step leaves to packets, as a multiple of what it took. Without it a slow machine would do nothing but
/// sweep.
const REST: u64 = 7;

/// Where the sweep of an instance is.
#[derive(Clone, Copy)]
struct Place {
    /// The next bucket.
    next: u32,
    /// When its last step began, in nanoseconds.
    last: u64,
}

/// Where the sweep of each instance is. They take turns, so that packets wait no longer for many instances than for one.
pub struct Sweeper {
    places: [Place; MOST_INSTANCES as usize],
    /// The instance whose turn it is.
    turn: usize,
    /// When the last step began, and when the next one may, in nanoseconds.
    last: u64,
    due: u64,
}

impl Sweeper {
    /// Begins with the first bucket of each.
    pub const fn new() -> Self {
        Self {
            places: [Place { next: 0, last: 0 }; MOST_INSTANCES as usize],
            turn: 0,
            last: 0,
            due: STEP,
        }
    }

    /// Whether it is time for a step, in nanoseconds.
    #[inline]
    pub const fn is_due(&self, now: u64) -> bool {
        now >= self.due
    }

    /// Sweeps the buckets of one instance whose turn it is at `now`, as long as [`ended`](Self::ended) tells of each step.
    pub fn step(&mut self, instances: &[Instance], state: &[Line], now: u64, counts: &mut Counts) {
        self.last = now;
        let has_state = |at: &usize| instances[*at].mechanism.nat().is_some();
        let later = (self.turn..instances.len()).find(has_state);
        let Some(at) = later.or_else(|| (0..self.turn.min(instances.len())).find(has_state)) else {
            return;
        };
        self.turn = at + 1;
        let (Some(place), Some(counts)) = (self.places.get_mut(at), counts.get_mut(at)) else {
            return;
        };
        let passed = now.saturating_sub(core::mem::replace(&mut place.last, now));
        sweep(&instances[at], state, now, counts, |buckets| {
            turn(&mut place.next, buckets, passed)
        });
    }

    /// The last step ended at `now`.
    pub const fn ended(&mut self, now: u64) {
        let rest = now.saturating_sub(self.last).saturating_mul(REST);
        self.due = now.saturating_add(if rest > STEP { rest } else { STEP });
    }

    /// Sweeps all buckets, however long that takes.
    pub fn all(instances: &[Instance], state: &[Line], now: u64, counts: &mut Counts) {
        for (instance, counts) in instances.iter().zip(counts) {
            sweep(instance, state, now, counts, |buckets| 0..buckets);
        }
    }
}

/// Sweeps those of an instance's buckets, by their number, whose turn it is.
fn sweep(
    instance: &Instance,
    state: &[Line],
    now: u64,
    counts: &mut [u64],
    turn: impl FnOnce(u32) -> Range<u32>,
) {
    let Some(nat) = instance.mechanism.nat() else {
        return;
    };
    let buckets = turn(nat.layout.buckets());
    nat::sweep(state, nat, Instant::from_nanos(now), buckets, |event| {
        if let Some(counter) = event.counter() {
            counts[counter as usize] += 1;
        }
    });
}

/// The buckets from `next` on whose turn it is after some nanoseconds, and moves `next` behind them.
fn turn(next: &mut u32, buckets: u32, passed: u64) -> Range<u32> {
    let due = u64::from(buckets).saturating_mul(passed) / ROUND + 1;
    let from = *next;
    let to = buckets.min(from.saturating_add(due.min(MOST) as u32));
    *next = if to == buckets { 0 } else { to };
    from..to
}

//! Idle state ends here: a step of the sweep between packets, so that the tables are looked through every few seconds.

use core::ops::Range;

use isthmus_core::mechanism::Mechanism as _;
use isthmus_core::mechanism::instances::MOST_INSTANCES;
use isthmus_core::nat;
use isthmus_core::table::Line;
use isthmus_core::time::Instant;
use isthmus_image::Member;

use crate::host::Counts;

/// Nanoseconds in which all buckets of a table have their turn.
const ROUND: u64 = 4_000_000_000;
/// Nanoseconds between two steps.
const STEP: u64 = 1_000_000;

/// Where the sweep of each instance is.
pub struct Sweeper {
    next: [u32; MOST_INSTANCES as usize],
    last: u64,
}

impl Sweeper {
    /// Begins with the first bucket of each.
    pub const fn new() -> Self {
        Self {
            next: [0; MOST_INSTANCES as usize],
            last: 0,
        }
    }

    /// Sweeps the buckets whose turn it is at `now`, in nanoseconds.
    #[inline]
    pub fn step(&mut self, members: &[Member], state: &[Line], now: u64, counts: &mut Counts) {
        if now - self.last >= STEP {
            self.sweep(members, state, now, counts);
        }
    }

    #[cold]
    fn sweep(&mut self, members: &[Member], state: &[Line], now: u64, counts: &mut Counts) {
        let passed = core::mem::replace(&mut self.last, now);
        let owners = members.iter().zip(counts).zip(&mut self.next);
        for ((member, counts), next) in owners {
            let Some(nat) = member.instance.mechanism.nat() else {
                continue;
            };
            let turn = turn(next, nat.layout.buckets(), now - passed);
            nat::sweep(state, nat, Instant::from_nanos(now), turn, |event| {
                if let Some(counter) = event.counter() {
                    counts[counter as usize] += 1;
                }
            });
        }
    }
}

/// The buckets from `next` on whose turn it is after some nanoseconds, and moves `next` behind them.
fn turn(next: &mut u32, buckets: u32, passed: u64) -> Range<u32> {
    // After a long time all have their turn at once.
    if passed >= ROUND {
        return 0..buckets;
    }
    let count = u64::from(buckets) * passed / ROUND + 1;
    let from = *next;
    let to = buckets.min(from + count as u32);
    *next = if to == buckets { 0 } else { to };
    from..to
}

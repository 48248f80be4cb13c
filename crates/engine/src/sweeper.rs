//! Removes expired sessions and bindings from all tables in one call, for engines without a thread for it. The
//! packet path removes no state.

use isthmus_core::mechanism::Mechanism as _;
use isthmus_core::nat::sweep;
use isthmus_core::time::Instant;

use crate::counters::{Counters, Owner};
use crate::memory::Region;
use crate::ruleset::Ruleset;

/// Sweeps the tables of all instances at the time `now`, in nanoseconds, and counts the expired entries.
pub fn sweep_all(ruleset: &Ruleset, state: &Region, now: u64, counters: &Counters) {
    let now = Instant::from_nanos(now);
    for (instance, number) in ruleset.instances().iter().zip(0..) {
        let Some(nat) = instance.mechanism.nat() else {
            continue;
        };
        let buckets = 0..nat.layout.buckets();
        sweep(state, nat, now, buckets, |event| {
            if let Some(counter) = event.counter() {
                counters.add(Owner::Instance(number), counter, 1);
            }
        });
    }
}

//! Removes expired sessions and bindings from all tables in one call, for engines without a thread for it. The
//! packet path removes no state.

use isthmus_core::mechanism::Mechanism as _;
use isthmus_core::nat::{Event, sweep};
use isthmus_core::reason::Counter;
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
            let counter = match event {
                Event::BindingRemoved(_) => Counter::BindingRemoved,
                Event::SessionRemoved(_) => Counter::SessionRemoved,
                // Other counters are counted where the event happens.
                _ => return,
            };
            counters.add(Owner::Instance(number), counter, 1);
        });
    }
}

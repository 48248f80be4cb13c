//! Ends sessions and bindings whose time is over, for all instances of a configuration. Every
//! engine needs one sweeper beside its packet path: nothing there removes state.

use isthmus_core::config::Mechanism;
use isthmus_core::nat::{Event, NatConfig, sweep};
use isthmus_core::reason::Counter;
use isthmus_core::time::Instant;

use crate::counters::{Counters, Owner};
use crate::memory::Region;
use crate::ruleset::Ruleset;

/// Goes round the tables, some buckets at a time.
#[derive(Debug, Default)]
pub struct Sweeper {
    counters: Counters,
    /// The bucket that is next, counted over all instances.
    next: u32,
}

/// Something that was made or has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// Number of the instance.
    pub instance: u32,
    /// What happened.
    pub event: Event,
}

impl Sweeper {
    /// What it counted: removals, per instance.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Sweeps the whole of all tables at the time `now`, in nanoseconds.
    pub fn sweep_all(
        &mut self,
        ruleset: &Ruleset,
        state: &Region,
        now: u64,
        on_found: impl FnMut(Found),
    ) {
        self.next = 0;
        self.sweep_some(ruleset, state, now, u32::MAX, on_found);
    }

    /// Sweeps the next `buckets` buckets, and stops at the end of the last table; the call after
    /// that begins anew. Says whether it stopped there.
    pub fn sweep_some(
        &mut self,
        ruleset: &Ruleset,
        state: &Region,
        now: u64,
        buckets: u32,
        mut on_found: impl FnMut(Found),
    ) -> Progress {
        let now = Instant::from_nanos(now);
        let end = self.next.saturating_add(buckets);
        let mut first = 0_u32;
        for (instance, nat) in stateful(ruleset) {
            let count = nat.layout.buckets();
            let from = self.next.saturating_sub(first).min(count);
            let to = end.saturating_sub(first).min(count);
            sweep(state, nat, now, from..to, |event| {
                self.count(instance, &event);
                on_found(Found { instance, event });
            });
            first = first.saturating_add(count);
        }
        if end >= first {
            self.next = 0;
            Progress::Round
        } else {
            self.next = end;
            Progress::Part
        }
    }

    fn count(&self, instance: u32, event: &Event) {
        let counter = match event {
            Event::BindingRemoved(_) => Counter::BindingRemoved,
            Event::SessionRemoved(_) => Counter::SessionRemoved,
            // Counted where they happen.
            Event::BindingCreated(_) | Event::SessionCreated(_) | Event::SessionIdle(_) => return,
        };
        self.counters.add(Owner::Instance(instance), counter, 1);
    }
}

/// How far a sweep has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// More buckets are left in this round.
    Part,
    /// All tables have been swept once.
    Round,
}

fn stateful(ruleset: &Ruleset) -> impl Iterator<Item = (u32, &NatConfig)> {
    ruleset
        .instances()
        .iter()
        .zip(0..)
        .filter_map(|(instance, index)| match &instance.mechanism {
            Mechanism::Nat64(nat64) => Some((index, &nat64.nat)),
            Mechanism::Siit(_) => None,
        })
}

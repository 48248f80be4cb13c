//! The sweeper: a thread that walks over the tables, a little at a time, so that every entry is
//! seen about once in [`ROUND`] and no walk shows as a spike.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use isthmus_core::nat::{self, Event};
use isthmus_core::table::Memory;
use isthmus_engine::counters::{Counters, Owner, Snapshot};
use isthmus_engine::memory::Region;

use super::clock;
use super::fixed;
use super::own_limits;
use super::tables::{Future, Table};
use crate::records::Recorder;
use crate::worker::Worker;

/// How long a walk over all tables takes.
const ROUND: Duration = Duration::from_millis(1500);
/// How often a part of it is done.
const TICK: Duration = Duration::from_millis(25);

/// The running sweeper.
pub(super) struct Sweeper {
    shared: Arc<Shared>,
    worker: Worker,
}

struct Shared {
    state: Arc<Region>,
    recorder: Arc<Recorder>,
    counters: Counters,
    /// Held for the time of one tick, so that a change of the tables is between two.
    tables: Mutex<Vec<Walk>>,
    stopping: AtomicBool,
    wake: Condvar,
}

struct Walk {
    table: Table,
    next: u32,
}

impl Sweeper {
    /// Ends the sessions of an earlier process in `tables`, which lie in `state`, that have no place there any more,
    /// makes their static bindings, and starts to walk over them.
    ///
    /// # Errors
    ///
    /// If there is no thread to be had.
    pub(super) fn start(
        state: Arc<Region>,
        recorder: Arc<Recorder>,
        tables: Vec<Table>,
    ) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            state,
            recorder,
            counters: Counters::default(),
            tables: Mutex::new(walks(tables.clone())),
            stopping: AtomicBool::new(false),
            wake: Condvar::new(),
        });
        for table in &tables {
            shared.end(table, |session| table.admits(session));
        }
        fixed::make(&shared.state, &[], &tables);
        own_limits::set(&shared.state, &tables);
        let worker = Worker::spawn("sweeper", {
            let shared = Arc::clone(&shared);
            move || shared.run()
        })?;
        Ok(Self { shared, worker })
    }

    /// Ends everything in tables that are not among `new`, so that it is recorded.
    pub(super) fn retire(&self, new: &[Table]) {
        let shared = &self.shared;
        let mut current = shared.lock();
        current.retain(|walk| {
            let table = &walk.table;
            let stays = matches!(table.future(new), Future::Stays(_));
            if !stays {
                let mut empty = table.clone();
                empty.fixed.clear();
                fixed::release(&shared.state, std::slice::from_ref(table), &[empty]);
                shared.end(table, |_| false);
            }
            stays
        });
    }

    /// Walks over other tables from now on, after ending the sessions in them that have no place
    /// under their new configuration, and making its static bindings.
    pub(super) fn change(&self, tables: Vec<Table>) {
        let shared = &self.shared;
        let mut current = shared.lock();
        let old: Vec<Table> = current.iter().map(|walk| walk.table.clone()).collect();
        fixed::release(&shared.state, &old, &tables);
        for table in &tables {
            shared.end(table, |session| table.admits(session));
        }
        fixed::make(&shared.state, &old, &tables);
        own_limits::set(&shared.state, &tables);
        *current = walks(tables);
    }

    /// Ends the sessions that are chosen, with the bindings and port blocks that nothing else uses, in all tables; a reload
    /// waits meanwhile. Returns the number of sessions.
    pub(super) fn delete(&self, chosen: impl Fn(&Table, &nat::Session) -> bool) -> u64 {
        let shared = &self.shared;
        let mut ended = 0;
        for Walk { table, .. } in shared.lock().iter() {
            let all = 0..table.config.layout.buckets();
            let keep = |session: &nat::Session| !chosen(table, session);
            nat::retain(&*shared.state, &table.config, all.clone(), keep, |event| {
                ended += u64::from(matches!(event, Event::SessionRemoved(_)));
                shared.event(table, &event);
            });
            // Bindings that lost their last session end with it; port blocks are given back here.
            sweep(&*shared.state, table, all, |event| {
                shared.event(table, &event)
            });
        }
        ended
    }

    /// The counters of the sweeper: ends of sessions and bindings.
    pub(super) fn counters(&self, owner: Owner) -> Snapshot {
        self.shared.counters.read(owner)
    }

    /// Ends the thread.
    pub(super) fn stop(&self) {
        self.shared.stopping.store(true, Ordering::Relaxed);
        self.shared.wake.notify_all();
        self.worker.join();
    }
}

impl Drop for Sweeper {
    fn drop(&mut self) {
        self.stop();
    }
}

fn walks(tables: Vec<Table>) -> Vec<Walk> {
    tables
        .into_iter()
        .map(|table| Walk { table, next: 0 })
        .collect()
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Walk>> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        while !self.stopping.load(Ordering::Relaxed) {
            let begun = Instant::now();
            let mut tables = self.lock();
            for walk in tables.iter_mut() {
                self.step(walk);
            }
            // Where one part takes long, the pause is never less than the work.
            let pause = TICK.max(begun.elapsed());
            drop(
                self.wake
                    .wait_timeout(tables, pause)
                    .unwrap_or_else(PoisonError::into_inner),
            );
        }
    }

    /// Sweeps the next part of a table.
    fn step(&self, walk: &mut Walk) {
        let buckets = walk.table.config.layout.buckets();
        let ticks = (ROUND.as_millis() / TICK.as_millis()) as u32;
        let from = if walk.next < buckets { walk.next } else { 0 };
        let to = from.saturating_add(buckets.div_ceil(ticks)).min(buckets);
        sweep(&*self.state, &walk.table, from..to, |event| {
            self.event(&walk.table, &event);
        });
        walk.next = to;
    }

    /// Ends the sessions that `keep` does not want, and the bindings that have none.
    fn end(&self, table: &Table, keep: impl FnMut(&nat::Session) -> bool) {
        let all = 0..table.config.layout.buckets();
        let record = |event| self.event(table, &event);
        nat::retain(&*self.state, &table.config, all.clone(), keep, record);
        sweep(&*self.state, table, all, record);
    }

    fn event(&self, table: &Table, event: &Event) {
        if let Some(counter) = event.counter() {
            self.counters.add(Owner::Instance(table.number), counter, 1);
        }
        if self.recorder.wanted()
            && let Some(record) = table.record(event)
        {
            self.recorder.record(record);
        }
    }
}

fn sweep(
    memory: &impl Memory,
    table: &Table,
    buckets: std::ops::Range<u32>,
    on_event: impl FnMut(Event),
) {
    nat::sweep(memory, &table.config, clock::now(), buckets, on_event);
}

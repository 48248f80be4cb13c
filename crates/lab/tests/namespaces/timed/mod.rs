//! Tests that measure time, or send so fast that other work on the machine would lose frames: one test at a time, and
//! nothing beside it. `scripts/tiers/timed` runs these.

mod outside;
mod tester;
mod wires;

use std::sync::{Mutex, MutexGuard, PoisonError};

static TURN: Mutex<()> = Mutex::new(());

/// Waits until no other of these tests is at work.
fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

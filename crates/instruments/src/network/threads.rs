//! Threads of a scope.

use std::{panic::resume_unwind, thread::ScopedJoinHandle};

/// Waits for a thread and returns its result. Its panic is the caller's.
pub fn join<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| resume_unwind(panic))
}

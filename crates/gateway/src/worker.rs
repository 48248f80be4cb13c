//! A thread of the daemon that is stopped once, from any place.

use std::io;
use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle};

/// A thread with a name.
#[derive(Debug)]
pub(crate) struct Worker {
    name: &'static str,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Worker {
    /// Starts it.
    ///
    /// # Errors
    /// There is no thread to be had.
    pub(crate) fn spawn(
        name: &'static str,
        work: impl FnOnce() + Send + 'static,
    ) -> io::Result<Self> {
        let thread = thread::Builder::new().name(name.into()).spawn(work)?;
        Ok(Self {
            name,
            thread: Mutex::new(Some(thread)),
        })
    }

    /// Waits for its end, which the caller has requested. Does nothing if that was done before.
    pub(crate) fn join(&self) {
        let thread = self
            .thread
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(thread) = thread
            && thread.join().is_err()
        {
            tracing::error!(thread = self.name, "a thread of the gateway panicked");
        }
    }
}

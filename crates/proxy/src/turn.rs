//! Turns of the tunnels that carry much, of which one thread has many.
//!
//! Where a thread is slower than the hosts at both ends, a socket is always ready, and its task would go on for as long
//! as the transfer lasts. So there is one turn at a time, and between two of them all others have theirs.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::yield_now;

thread_local! {
    static ONE: Arc<Semaphore> = Arc::new(Semaphore::new(1));
}

/// The only turn of this thread.
pub(crate) struct Turn(Option<OwnedSemaphorePermit>);

impl Turn {
    /// Waits until those who came before have had theirs.
    pub(crate) async fn begin() -> Self {
        let one = ONE.with(Arc::clone);
        // Nobody closes it.
        Self(one.acquire_owned().await.ok())
    }

    /// Ends it when all others that have something to do have done it: new connections, heads, small tunnels.
    pub(crate) async fn end(self) {
        yield_now().await;
        drop(self.0);
    }
}

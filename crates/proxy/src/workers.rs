//! Threads of the proxy's own, so that bulk traffic does not keep others of the process waiting.
//!
//! Each has a runtime and listening sockets of its own, and keeps a connection from its beginning to its end: no thread
//! wakes another.

use std::io;
use std::thread;
use std::time::Duration;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

/// Threads, at most: a gateway has other work, too.
const MOST: usize = 8;
/// Time between two beats of a runtime. A timer that ends before every other costs a system call when it is set; a beat
/// ends before those of connections.
const BEAT: Duration = Duration::from_secs(1);

/// The threads. They end when this is dropped, and nobody waits for them.
pub(crate) struct Workers(Vec<Worker>);

struct Worker {
    runtime: Handle,
    _end: oneshot::Sender<()>,
}

impl Workers {
    /// Starts one for each processor.
    pub(crate) fn start() -> io::Result<Self> {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        let workers = (0..processors.min(MOST)).map(|_| Worker::start());
        Ok(Self(workers.collect::<io::Result<_>>()?))
    }

    pub(crate) const fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Handle> {
        self.0.iter().map(|worker| &worker.runtime)
    }
}

impl Worker {
    fn start() -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (end, mut ended) = oneshot::channel::<()>();
        thread::Builder::new()
            .name("proxy".to_owned())
            .spawn(move || {
                runtime.block_on(async {
                    while tokio::time::timeout(BEAT, &mut ended).await.is_err() {}
                });
            })?;
        Ok(Self {
            runtime: handle,
            _end: end,
        })
    }
}

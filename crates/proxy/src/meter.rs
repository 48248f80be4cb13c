//! How much a connection carries, and whether it carries anything at all.

use std::future::Future;
use std::io::{self, IoSlice};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::sleep;

use crate::counter::{Counter, Counters};
use crate::interim::Interim;

/// The octets of one client's connection.
pub(crate) struct Meter {
    up: AtomicU64,
    down: AtomicU64,
    all: Arc<Counters>,
}

impl Meter {
    pub(crate) fn new(all: Arc<Counters>) -> Self {
        Self {
            up: AtomicU64::new(0),
            down: AtomicU64::new(0),
            all,
        }
    }

    /// One that begins after so many octets from the client, which another has counted.
    pub(crate) fn following(all: Arc<Counters>, up: usize) -> Self {
        Self {
            up: AtomicU64::new(up as u64),
            ..Self::new(all)
        }
    }

    /// So many came from the client.
    pub(crate) fn up(&self, octets: usize) {
        self.up.fetch_add(octets as u64, Ordering::Relaxed);
        self.all.add(Counter::OctetsUp, octets as u64);
    }

    /// So many went to the client.
    pub(crate) fn down(&self, octets: usize) {
        self.down.fetch_add(octets as u64, Ordering::Relaxed);
        self.all.add(Counter::OctetsDown, octets as u64);
    }

    /// What came from the client, and what went to it.
    pub(crate) fn octets(&self) -> (u64, u64) {
        let [up, down] = [&self.up, &self.down].map(|octets| octets.load(Ordering::Relaxed));
        (up, down)
    }

    fn total(&self) -> u64 {
        self.up.load(Ordering::Relaxed) + self.down.load(Ordering::Relaxed)
    }

    /// Waits for `task`, but no longer than nothing is carried for `idle`; `None` then.
    pub(crate) async fn unless_idle<T>(
        &self,
        idle: Duration,
        task: impl Future<Output = T>,
    ) -> Option<T> {
        let mut task = pin!(task);
        loop {
            let before = self.total();
            tokio::select! {
                done = &mut task => return Some(done),
                () = sleep(idle) => if self.total() == before {
                    self.all.count(Counter::Idle);
                    return None;
                }
            }
        }
    }
}

/// A client's connection with its meter.
pub(crate) struct Metered {
    pub(crate) stream: TcpStream,
    pub(crate) meter: Arc<Meter>,
    /// Octets that were read already.
    pub(crate) early: Vec<u8>,
    pub(crate) interim: Arc<Interim>,
}

impl Metered {
    /// The connection alone, and what was read of it beyond what hyper has taken, and what that has left.
    pub(crate) fn ended(self, left: &[u8]) -> (TcpStream, Vec<u8>) {
        (self.stream, [left, &self.early].concat())
    }
}

impl AsyncRead for Metered {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.early.is_empty() {
            let octets = self.early.len().min(buffer.remaining());
            buffer.put_slice(&self.early[..octets]);
            self.early.drain(..octets);
            self.meter.up(octets);
            return Poll::Ready(Ok(()));
        }
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        self.meter.up(buffer.filled().len() - before);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Metered {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.stream).poll_write(context, buffer))?;
        self.meter.down(written);
        Poll::Ready(Ok(written))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.stream).poll_write_vectored(context, buffers))?;
        self.meter.down(written);
        Poll::Ready(Ok(written))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    /// Writes what goes between two responses: hyper has nothing left of the one before when it flushes.
    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let written = ready!(self.interim.poll_write(&self.stream, context))?;
        self.meter.down(written);
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

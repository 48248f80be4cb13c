//! A response's content on its way, and the line of the access log at its end.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};

use crate::engine::Engine;
use crate::journal::Entry;

/// The content of a server's response.
pub(crate) struct Logged {
    incoming: Incoming,
    entry: Option<Entry>,
    engine: Arc<Engine>,
    octets: u64,
}

impl Logged {
    pub(crate) fn new(incoming: Incoming, entry: Entry, engine: Arc<Engine>) -> Self {
        Self {
            incoming,
            entry: Some(entry),
            engine,
            octets: 0,
        }
    }
}

impl Body for Logged {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let polled = Pin::new(&mut self.incoming).poll_frame(context);
        if let Poll::Ready(Some(Ok(frame))) = &polled {
            self.octets += frame.data_ref().map_or(0, |data| data.len() as u64);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}

impl Drop for Logged {
    fn drop(&mut self) {
        if let Some(mut entry) = self.entry.take() {
            entry.set("down", self.octets);
            self.engine.journal.write(entry);
        }
    }
}

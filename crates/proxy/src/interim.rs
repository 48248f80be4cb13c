//! Responses before the last one: a proxy passes them on (RFC 9110 section 15.2).
//!
//! hyper writes no such response as a server. They go out when it flushes, at which it has nothing of its own left to
//! write, and the last response waits for them.

use std::future::{Future, poll_fn};
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};

use hyper::body::Incoming;
use hyper::{HeaderMap, Request, StatusCode, Version};
use tokio::net::TcpStream;
use tokio::sync::mpsc::{Receiver, channel};

use crate::head;

/// Responses that may wait for a slow client; more of them are lost.
const AHEAD: usize = 8;

/// The responses before the last to one request, as the server sends them.
pub(crate) struct Hints(Receiver<Vec<u8>>);

impl Hints {
    /// Those to this request. `pseudonym` is our name in `Via`.
    pub(crate) fn of(request: &mut Request<Incoming>, pseudonym: &str) -> Self {
        let (sender, receiver) = channel(AHEAD);
        let pseudonym = pseudonym.to_owned();
        hyper::ext::on_informational(request, move |response| {
            // The first is between the server and us: the client has its own when we read its content.
            if response.status() != StatusCode::CONTINUE {
                let octets = written(response.status(), response.headers().clone(), &pseudonym);
                let _ = sender.try_send(octets);
            }
        });
        Self(receiver)
    }
}

fn written(status: StatusCode, mut headers: HeaderMap, pseudonym: &str) -> Vec<u8> {
    head::strip(&mut headers);
    head::add_via(&mut headers, Version::HTTP_11, pseudonym);
    let reason = status.canonical_reason().unwrap_or_default();
    let mut octets = format!("HTTP/1.1 {} {reason}\r\n", status.as_str()).into_bytes();
    for (name, value) in &headers {
        let line = [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"];
        octets.extend(line.concat());
    }
    octets.extend(b"\r\n");
    octets
}

/// The octets that a client's connection has to write before its next response.
#[derive(Default)]
pub(crate) struct Interim(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    octets: Vec<u8>,
    waker: Option<Waker>,
}

impl Interim {
    /// Passes on `hints` until `response` is there, and lets it wait for them.
    pub(crate) async fn pass<T>(
        &self,
        hints: &mut Option<Hints>,
        response: impl Future<Output = T>,
    ) -> T {
        let Some(Hints(hints)) = hints else {
            return response.await;
        };
        tokio::pin!(response);
        let response = loop {
            tokio::select! {
                biased;
                Some(octets) = hints.recv() => self.waiting().octets.extend(octets),
                response = &mut response => break response,
            }
        };
        poll_fn(|context| self.poll_empty(context)).await;
        response
    }

    fn poll_empty(&self, context: &Context<'_>) -> Poll<()> {
        let mut waiting = self.waiting();
        if waiting.octets.is_empty() {
            return Poll::Ready(());
        }
        waiting.waker = Some(context.waker().clone());
        Poll::Pending
    }

    /// Writes what waits, and returns how much that was.
    pub(crate) fn poll_write(
        &self,
        stream: &TcpStream,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        let mut waiting = self.waiting();
        let mut all = 0;
        while !waiting.octets.is_empty() {
            ready!(stream.poll_write_ready(context))?;
            match stream.try_write(&waiting.octets) {
                Ok(written) => {
                    waiting.octets.drain(..written);
                    all += written;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        if let Some(waker) = waiting.waker.take() {
            waker.wake();
        }
        Poll::Ready(Ok(all))
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

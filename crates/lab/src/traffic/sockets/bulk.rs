//! Throughput of TCP: one connection in one direction, with messages of one size.

use std::{
    io::{self, Read},
    net::{SocketAddr, TcpStream},
    time::{Duration, Instant},
};

use rustix::net::SendFlags;

use super::{Pair, message::Messages, problem, spin, unless_it_would_block};
use crate::{Result, figures::bound::Payload};

/// A TCP connection that always has data to send.
#[derive(Debug, Clone, Copy)]
pub struct Bulk {
    /// The size of each message. No segment has parts of two, so that a stream of small ones is one of small segments.
    pub message: Payload,
    /// The time that it has to find its rate; not measured.
    pub warm_up: Duration,
    /// The length of the measurement.
    pub duration: Duration,
}

/// The result of a transfer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Received {
    /// Bytes that the far host's application received after the first arrival after the warm-up.
    pub bytes: u64,
    /// The time from that arrival to the last.
    pub span: Duration,
}

impl Received {
    /// Returns the payload in bits per second; zero if nothing arrived.
    pub fn goodput(&self) -> f64 {
        if self.span.is_zero() {
            return 0.0;
        }
        self.bytes as f64 * 8.0 / self.span.as_secs_f64()
    }
}

impl Bulk {
    /// Sends from the near host to the far one.
    pub fn run(&self, pair: &Pair) -> Result<Received> {
        let (near, mut far) = pair.connection()?;
        let target = SocketAddr::new(pair.target, 0);
        let mut messages = Messages::new(self.message);
        spin(|| {
            let message = messages.write(0);
            let mut buffer = Messages::buffer();
            let begun = Instant::now();
            let mut rest = message;
            let mut first = None;
            let mut received = Received {
                bytes: 0,
                span: Duration::ZERO,
            };
            while begun.elapsed() < self.warm_up + self.duration {
                let written = unless_it_would_block(write(&near, rest));
                rest = &rest[written.map_err(problem("write to", target))?.unwrap_or(0)..];
                if rest.is_empty() {
                    rest = message;
                }
                let read = unless_it_would_block(far.read(&mut buffer));
                let Some(bytes) = read.map_err(problem("read from", target))? else {
                    continue;
                };
                let now = Instant::now();
                if now.duration_since(begun) < self.warm_up {
                    continue;
                }
                if let Some(first) = first {
                    received.bytes += bytes as u64;
                    received.span = now.duration_since(first);
                } else {
                    first = Some(now);
                }
            }
            Ok(received)
        })
    }
}

/// Writes the rest of a message, and has TCP send its end without the beginning of the next one.
fn write(near: &TcpStream, rest: &[u8]) -> io::Result<usize> {
    Ok(rustix::net::send(near, rest, SendFlags::EOR)?)
}

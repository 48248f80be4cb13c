//! Throughput of TCP: one connection in one direction, with messages of one size.

use std::{
    io::{self, Read},
    net::{SocketAddr, TcpStream},
    time::{Duration, Instant},
};

use rustix::net::SendFlags;

use super::{Pair, message::Messages, problem, spin, unless_it_would_block};
use crate::{Result, figures::bound::Payload, network::wire::Tap};

/// Octets of a segment at most: what each path of IPv6 carries (RFC 8200 section 5).
const SEGMENT: usize = 1220;
/// The share of a queue that one connection may fill: a segment is two frames where a tunnel fragments it.
const SHARE: usize = 4;

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
    ///
    /// Where links have a line rate, no more is on its way than fits into the queue in front of them. A network card holds
    /// TCP back before its own queue is full (TCP small queues), and the end of a cable here cannot. TCP would send what
    /// the queue dropped again, and all that waits for it behind would be read at once: more than the line carries, if that
    /// is after the warm-up and the drops before.
    pub fn run(&self, pair: &Pair) -> Result<Received> {
        let (near, mut far) = pair.connection()?;
        let target = SocketAddr::new(pair.target, 0);
        let mut messages = Messages::new(self.message);
        let window = pair
            .near
            .tap
            .as_ref()
            .map_or(usize::MAX, |tap| self.window(tap));
        spin(|| {
            let message = messages.write(0);
            let mut on_the_way = 0;
            let mut buffer = Messages::buffer();
            let begun = Instant::now();
            let mut rest = message;
            let mut first = None;
            let mut received = Received {
                bytes: 0,
                span: Duration::ZERO,
            };
            while begun.elapsed() < self.warm_up + self.duration {
                if on_the_way < window {
                    let written = unless_it_would_block(write(&near, rest));
                    let written = written.map_err(problem("write to", target))?.unwrap_or(0);
                    on_the_way += written;
                    rest = &rest[written..];
                    if rest.is_empty() {
                        rest = message;
                    }
                }
                let read = unless_it_would_block(far.read(&mut buffer));
                let Some(bytes) = read.map_err(problem("read from", target))? else {
                    continue;
                };
                on_the_way -= bytes;
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

    /// Returns the octets that may be on their way from this end of a cable.
    fn window(&self, tap: &Tap) -> usize {
        let segment = (self.message.bytes() as usize).min(SEGMENT);
        tap.room() / SHARE * segment
    }
}

/// Writes the rest of a message, and has TCP send its end without the beginning of the next one.
fn write(near: &TcpStream, rest: &[u8]) -> io::Result<usize> {
    Ok(rustix::net::send(near, rest, SendFlags::EOR)?)
}

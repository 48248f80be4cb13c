//! Throughput of UDP: datagrams of one size follow each other in one direction, and the payload that arrives is
//! counted.

use std::{
    net::{SocketAddr, UdpSocket},
    time::{Duration, Instant},
};

use super::{
    Pair,
    message::{Messages, Seen},
    port, problem, spin, unless_it_would_block,
};
use crate::{
    Result,
    figures::bound::Payload,
    network::wire::{Moment, Tap},
};

/// The silence after which nothing more is expected.
const SILENCE: Duration = Duration::from_millis(500);

/// The offered load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Offered {
    /// The rate of the first wire: the sender waits while half of the queue in front of it is full, as a socket waits
    /// for its network card. Without a line rate, the sender's own rate.
    Line,
    /// Messages per second, evenly. A late sender catches up.
    PerSecond(f64),
}

/// A stream of messages.
#[derive(Debug, Clone, Copy)]
pub struct Stream {
    /// The size of each message.
    pub payload: Payload,
    /// The offered load.
    pub offered: Offered,
    /// The length of the stream.
    pub duration: Duration,
}

/// The result of a stream.
#[derive(Debug, Clone, PartialEq)]
pub struct Arrivals {
    /// Messages sent.
    pub sent: u64,
    /// Messages received, each counted once.
    pub received: u64,
    /// Messages that arrived more than once.
    pub duplicates: u64,
    /// Messages that arrived after one that had been sent later.
    pub reordered: u64,
    /// Messages that differ from what was sent.
    pub corrupted: u64,
    /// The greatest lateness of the sender; zero if it had no schedule.
    pub late: Duration,
    /// The time from the first arrival to the last.
    pub span: Duration,
    payload: Payload,
}

impl Arrivals {
    /// Returns the payload in bits per second between the first arrival and the last, without the first message; zero
    /// for fewer than two messages.
    pub fn goodput(&self) -> f64 {
        if self.span.is_zero() {
            return 0.0;
        }
        let messages = self.received.saturating_sub(1) as f64;
        messages * 8.0 * f64::from(self.payload.bytes()) / self.span.as_secs_f64()
    }

    /// Returns the messages that did not arrive.
    pub fn lost(&self) -> u64 {
        self.sent - self.received
    }

    /// Returns their share of those that were sent, 0 to 1.
    pub fn loss(&self) -> f64 {
        self.lost() as f64 / self.sent.max(1) as f64
    }
}

impl Stream {
    /// Sends the stream from the near host to the far one.
    pub fn run(&self, pair: &Pair) -> Result<Arrivals> {
        let (near, far) = pair.datagrams()?;
        let target = SocketAddr::new(pair.target, port(&far)?);
        spin(|| {
            let mut sender = Sender {
                socket: near,
                target,
                offered: self.offered,
                tap: pair.near.tap.as_ref(),
                last: None,
                messages: Messages::new(self.payload),
                begun: Instant::now(),
                sent: 0,
                late: Duration::ZERO,
            };
            let mut receiver = Receiver {
                socket: far,
                here: SocketAddr::new(pair.far.address, target.port()),
                messages: Messages::new(self.payload),
                buffer: Messages::buffer(),
                seen: Vec::new(),
                counted: Counted::default(),
            };
            while sender.begun.elapsed() < self.duration {
                sender.step()?;
                receiver.step()?;
            }
            let mut last = Instant::now();
            while receiver.counted.received < sender.sent && last.elapsed() < SILENCE {
                if receiver.step()? {
                    last = Instant::now();
                }
            }
            let Counted {
                received,
                duplicates,
                reordered,
                corrupted,
                span,
                ..
            } = receiver.counted;
            Ok(Arrivals {
                sent: sender.sent,
                received,
                duplicates,
                reordered,
                corrupted,
                late: sender.late,
                span: span.map_or(Duration::ZERO, |(first, last)| last.duration_since(first)),
                payload: self.payload,
            })
        })
    }
}

struct Sender<'a> {
    socket: UdpSocket,
    target: SocketAddr,
    offered: Offered,
    tap: Option<&'a Tap>,
    /// The time after the last message was sent.
    last: Option<Moment>,
    messages: Messages,
    begun: Instant,
    sent: u64,
    late: Duration,
}

impl Sender<'_> {
    /// Sends a message if it is due.
    fn step(&mut self) -> Result<()> {
        let late = match self.offered {
            Offered::Line => match (self.tap, self.last) {
                (Some(tap), Some(last)) if !tap.has_room_since(last) => return Ok(()),
                _ => Duration::ZERO,
            },
            Offered::PerSecond(rate) => {
                let due = Duration::from_secs_f64(self.sent as f64 / rate);
                match self.begun.elapsed().checked_sub(due) {
                    Some(late) => late,
                    None => return Ok(()),
                }
            }
        };
        let sent = self.socket.send(self.messages.write(self.sent));
        if unless_it_would_block(sent)
            .map_err(problem("send to", self.target))?
            .is_some()
        {
            self.sent += 1;
            self.late = self.late.max(late);
            self.last = self.tap.map(Tap::now);
        }
        Ok(())
    }
}

struct Receiver {
    socket: UdpSocket,
    here: SocketAddr,
    messages: Messages,
    buffer: Vec<u8>,
    /// Whether each message has arrived, by number.
    seen: Vec<bool>,
    counted: Counted,
}

#[derive(Default)]
struct Counted {
    received: u64,
    duplicates: u64,
    reordered: u64,
    corrupted: u64,
    /// One more than the highest number that has arrived.
    next: u64,
    /// The times of the first arrival and the last.
    span: Option<(Instant, Instant)>,
}

impl Receiver {
    /// Takes a message if there is one.
    fn step(&mut self) -> Result<bool> {
        let received = unless_it_would_block(self.socket.recv_from(&mut self.buffer));
        let now = Instant::now();
        let Some((length, _)) = received.map_err(problem("receive at", self.here))? else {
            return Ok(false);
        };
        let counted = &mut self.counted;
        let Seen::Number(number) = self.messages.read(&self.buffer[..length], counted.next) else {
            counted.corrupted += 1;
            return Ok(true);
        };
        let place = number as usize;
        if self.seen.len() <= place {
            self.seen.resize(place + 1, false);
        }
        if std::mem::replace(&mut self.seen[place], true) {
            counted.duplicates += 1;
            return Ok(true);
        }
        counted.received += 1;
        if number < counted.next {
            counted.reordered += 1;
        }
        counted.next = counted.next.max(number + 1);
        let first = counted.span.map_or(now, |(first, _)| first);
        counted.span = Some((first, now));
        Ok(true)
    }
}

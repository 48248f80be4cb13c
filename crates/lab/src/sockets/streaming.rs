//! Throughput of UDP: datagrams of one size follow each other in one direction, and what arrives of their payload
//! is counted.

use std::{
    net::{SocketAddr, UdpSocket},
    time::{Duration, Instant},
};

use super::{
    Pair,
    message::{Messages, Seen},
    port, problem, spin, unless_it_would_block,
};
use crate::{Result, bound::Payload, wire::Tap};

/// How long nothing has to arrive until nothing more is expected.
const SILENCE: Duration = Duration::from_millis(500);

/// How much the near host sends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Offered {
    /// What the first wire takes: the sender waits while more than half of the queue in front of it is full, as a
    /// socket waits for its network card. Without a line rate, as much as the sender can.
    Line,
    /// So many messages per second, evenly. If the sender is late, it catches up.
    PerSecond(f64),
}

/// A stream of messages.
#[derive(Debug, Clone, Copy)]
pub struct Stream {
    /// The size of each message.
    pub payload: Payload,
    /// How many.
    pub offered: Offered,
    /// For how long.
    pub duration: Duration,
}

/// What came of a stream.
#[derive(Debug, Clone, PartialEq)]
pub struct Arrivals {
    /// Messages sent.
    pub sent: u64,
    /// Messages received, each counted once.
    pub received: u64,
    /// Messages that came again.
    pub duplicates: u64,
    /// Messages that came after one that had been sent later.
    pub reordered: u64,
    /// What arrived and was not what had been sent.
    pub corrupted: u64,
    /// How late the sender was at worst; zero if it had no time to keep.
    pub late: Duration,
    /// From the first arrival to the last.
    pub span: Duration,
    payload: Payload,
}

impl Arrivals {
    /// Bits of payload per second between the first arrival and the last: without those of the first message,
    /// which came before. Zero of less than two messages.
    pub fn goodput(&self) -> f64 {
        if self.span.is_zero() {
            return 0.0;
        }
        let messages = self.received.saturating_sub(1) as f64;
        messages * 8.0 * f64::from(self.payload.bytes()) / self.span.as_secs_f64()
    }

    /// Messages that did not arrive.
    pub fn lost(&self) -> u64 {
        self.sent - self.received
    }

    /// Their share of those that were sent, 0 to 1.
    pub fn loss(&self) -> f64 {
        self.lost() as f64 / self.sent.max(1) as f64
    }
}

impl Stream {
    /// Sends it from the near host to the far one.
    pub fn run(&self, pair: &Pair) -> Result<Arrivals> {
        let (near, far) = pair.datagrams()?;
        let target = SocketAddr::new(pair.target, port(&far)?);
        spin(|| {
            let mut sender = Sender {
                socket: near,
                target,
                offered: self.offered,
                tap: pair.near.tap.as_ref(),
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
    messages: Messages,
    begun: Instant,
    sent: u64,
    late: Duration,
}

impl Sender<'_> {
    /// Sends a message if it is time to.
    fn step(&mut self) -> Result<()> {
        let late = match self.offered {
            Offered::Line if self.tap.is_some_and(Tap::is_half_full) => return Ok(()),
            Offered::Line => Duration::ZERO,
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
        }
        Ok(())
    }
}

struct Receiver {
    socket: UdpSocket,
    here: SocketAddr,
    messages: Messages,
    buffer: Vec<u8>,
    /// Which have arrived, by number.
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

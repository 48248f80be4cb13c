//! Ping-pong: a message goes to the far host, which answers with another of the same size, and so on. Half of the
//! round trip is the one-way delay of the papers. One clock for both ends gives the delay of each direction as well.

use std::time::Duration;

use super::{
    Host, Pair,
    carrier::{Carrier, Delivery, Parcel, Passed, Protocol},
    message::Messages,
    spin,
};
use crate::{Result, figures::bound::Payload, network::wire::Direction};

/// The parameters of a ping-pong.
#[derive(Debug, Clone, Copy)]
pub struct PingPong {
    /// The transport.
    pub protocol: Protocol,
    /// The size of each message.
    pub payload: Payload,
    /// Exchanges that do not count: in them addresses are resolved, sessions open, and TCP finds the path MTU.
    pub warm_up: u32,
    /// Exchanges that count.
    pub exchanges: u32,
    /// A message that takes longer, in one direction, is lost.
    pub timeout: Duration,
}

/// The result of a ping-pong.
#[derive(Debug, Clone, Default)]
pub struct Series {
    /// Exchanges with both messages.
    pub exchanges: Vec<Exchange>,
    /// Messages to the far host that did not arrive in time. They are not sent again.
    pub lost_forth: u32,
    /// Answers that did not arrive in time.
    pub lost_back: u32,
    /// Messages that arrived twice, or after they had been given up.
    pub strays: u32,
    /// Messages that differ from what was sent.
    pub corrupted: u32,
}

/// A message and its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exchange {
    /// The delay of the message.
    pub forth: Delay,
    /// The delay of the answer.
    pub back: Delay,
    /// The time from before the message was sent until the answer had been received.
    pub round_trip: Duration,
    /// The greatest timing error of a cable in the meantime; `None` if no cable has a line rate. The caller decides
    /// which error makes the exchange void.
    pub wires_error: Option<Duration>,
}

/// The delay of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delay {
    /// The time from before it was given to one host's socket until it was taken from the other's. It includes the
    /// hosts' stacks and system calls.
    pub sockets: Duration,
    /// The time from when its first frame was ready at the first cable until the last bit of its last frame was at
    /// the end of the last cable. It includes nothing of the hosts. `None` if one of the hosts has no cable with a
    /// line rate.
    pub wires: Option<Duration>,
}

impl PingPong {
    /// Returns the parameters of 100 exchanges after 10 others, each within a second.
    pub fn new(protocol: Protocol, payload: Payload) -> Self {
        Self {
            protocol,
            payload,
            warm_up: 10,
            exchanges: 100,
            timeout: Duration::from_secs(1),
        }
    }

    /// Plays the exchanges.
    pub fn play(&self, pair: &Pair) -> Result<Series> {
        spin(|| {
            let mut table = Table {
                pair,
                protocol: self.protocol,
                carrier: Carrier::new(self.protocol, pair)?,
                messages: Messages::new(self.payload),
                timeout: self.timeout,
                series: Series::default(),
            };
            for number in 0..self.warm_up {
                table.exchange(number)?;
            }
            table.series = Series::default();
            for number in self.warm_up..self.warm_up + self.exchanges {
                table.exchange(number)?;
            }
            Ok(table.series)
        })
    }
}

struct Table<'a> {
    pair: &'a Pair,
    protocol: Protocol,
    carrier: Carrier,
    messages: Messages,
    timeout: Duration,
    series: Series,
}

impl Table<'_> {
    fn exchange(&mut self, number: u32) -> Result<()> {
        let Pair { near, far, .. } = self.pair;
        let number = u64::from(number) * 2;
        // Errors from before this exchange do not count.
        near.error();
        let Some((ping, forth)) = self.pass(Direction::Forth, number)? else {
            return Ok(());
        };
        let Some((pong, back)) = self.pass(Direction::Back, number + 1)? else {
            return Ok(());
        };
        let delay = |passed: Passed, wires| Delay {
            sockets: passed.taken.duration_since(passed.given),
            wires,
        };
        self.series.exchanges.push(Exchange {
            forth: delay(ping, forth),
            back: delay(pong, back),
            round_trip: pong.taken.duration_since(ping.given),
            wires_error: near.error().or(far.error()),
        });
        Ok(())
    }

    /// Passes a message. Returns its times at the sockets, and its time between the cables' ends.
    fn pass(
        &mut self,
        direction: Direction,
        number: u64,
    ) -> Result<Option<(Passed, Option<Duration>)>> {
        let (from, to) = match direction {
            Direction::Forth => (&self.pair.near, &self.pair.far),
            Direction::Back => (&self.pair.far, &self.pair.near),
        };
        self.messages.write(number);
        if let Some(tap) = &from.tap {
            tap.forget();
        }
        let Self {
            carrier,
            messages,
            series,
            ..
        } = self;
        let parcel = Parcel {
            direction,
            messages,
            number,
            timeout: self.timeout,
        };
        let outcome = carrier.pass(&parcel, &mut series.strays)?;
        let lost = match direction {
            Direction::Forth => &mut self.series.lost_forth,
            Direction::Back => &mut self.series.lost_back,
        };
        match outcome {
            Delivery::Arrived(passed) => return Ok(Some((passed, between(from, to)))),
            Delivery::Corrupted => self.series.corrupted += 1,
            Delivery::Lost => {
                *lost += 1;
                if self.protocol == Protocol::Tcp {
                    // The rest of the message in the connection would be taken for the next one.
                    self.carrier = Carrier::new(self.protocol, self.pair)?;
                }
            }
        }
        Ok(None)
    }
}

impl Host {
    fn error(&self) -> Option<Duration> {
        self.tap.as_ref().map(|tap| tap.error())
    }
}

/// Returns the time of the last message from cable to cable.
fn between(from: &Host, to: &Host) -> Option<Duration> {
    let first = from.tap.as_ref()?.first_left()?;
    Some(to.tap.as_ref()?.last_arrived().duration_since(first))
}

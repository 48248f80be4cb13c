//! The medium of a cable.

use std::{num::NonZeroU32, time::Duration};

use super::Fault;
use crate::figures::bound::Rate;

/// The default number of frames that wait in front of a wire: Linux's default for a network card.
const QUEUE: NonZeroU32 = NonZeroU32::new(1000).unwrap();

/// The medium between the two ends of a link.
#[derive(Debug, Clone, PartialEq)]
pub enum Medium {
    /// A veth pair: it has no delay, and its rate is that of its ends.
    Veth,
    /// A cable with a line rate.
    Ethernet(Ethernet),
}

/// A full-duplex Ethernet cable and the queues in front of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Ethernet {
    rate: Rate,
    delay: Duration,
    queue: NonZeroU32,
    faults: [Vec<Fault>; 2],
}

/// A direction of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the first of its ends to the second.
    Forth,
    /// From the second to the first.
    Back,
}

impl Ethernet {
    /// Returns a cable of no length and without faults, with room for 1000 frames in front of each direction.
    pub fn new(rate: Rate) -> Self {
        Self {
            rate,
            delay: Duration::ZERO,
            queue: QUEUE,
            faults: [Vec::new(), Vec::new()],
        }
    }

    /// Sets the propagation delay: the time that each bit takes from end to end.
    #[must_use]
    pub fn delay(self, delay: Duration) -> Self {
        Self { delay, ..self }
    }

    /// Sets the number of frames that can wait per direction while another is being sent. Frames that find no room
    /// are dropped.
    #[must_use]
    pub fn queue(self, frames: NonZeroU32) -> Self {
        Self {
            queue: frames,
            ..self
        }
    }

    /// Adds a fault in one direction.
    #[must_use]
    pub fn fault(mut self, direction: Direction, fault: Fault) -> Self {
        self.faults[direction as usize].push(fault);
        self
    }

    /// Returns its line rate.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// Returns its propagation delay.
    pub(super) fn propagation(&self) -> Duration {
        self.delay
    }

    /// Returns the number of frames that can wait.
    pub(super) fn room(&self) -> usize {
        self.queue.get() as usize
    }

    /// Returns the faults of a direction.
    pub(super) fn faults(&self, direction: Direction) -> &[Fault] {
        &self.faults[direction as usize]
    }
}

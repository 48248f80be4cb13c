//! The times at which frames begin and end on a wire.

use std::{collections::VecDeque, time::Duration};

use crate::figures::bound::{
    Rate,
    ethernet::{GAP, serialised_bytes},
};

/// One direction of a wire, and the queue in front of it. Times are since any common beginning.
#[derive(Debug)]
pub(super) struct Line {
    rate: Rate,
    delay: Duration,
    room: usize,
    /// The earliest time at which the next frame may begin.
    free: Duration,
    /// The begins of the frames that have not begun yet.
    waiting: VecDeque<Duration>,
}

impl Line {
    /// Returns an idle line, with room for this many waiting frames.
    pub(super) fn new(rate: Rate, delay: Duration, room: usize) -> Self {
        Self {
            rate,
            delay,
            room,
            free: Duration::ZERO,
            waiting: VecDeque::new(),
        }
    }

    /// Takes a frame at the time `now` whose packet (without Ethernet's header) has `length` bytes. Returns when the
    /// last of its bits is at the other end, or `None` if the queue is full.
    ///
    /// The frame begins when it is there and the gap after its predecessor is over.
    pub(super) fn carry(&mut self, now: Duration, length: u32) -> Option<Duration> {
        self.waiting(now);
        let begin = self.free.max(now);
        if begin > now {
            if self.waiting.len() == self.room {
                return None;
            }
            self.waiting.push_back(begin);
        }
        let end = begin + self.time(serialised_bytes(length));
        self.free = end + self.time(GAP);
        Some(end + self.delay)
    }

    /// Returns the number of frames that have not begun at the time `now`.
    pub(super) fn waiting(&mut self, now: Duration) -> usize {
        while self.waiting.front().is_some_and(|&begin| begin <= now) {
            self.waiting.pop_front();
        }
        self.waiting.len()
    }

    /// Returns the earliest time at which a frame that comes now or later may begin.
    pub(super) fn free(&self) -> Duration {
        self.free
    }

    fn time(&self, bytes: u32) -> Duration {
        Duration::from_secs_f64(self.rate.seconds(bytes))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn line(rate: u64, room: usize) -> Line {
        Line::new(Rate::new(rate).unwrap(), Duration::ZERO, room)
    }

    const fn ns(nanoseconds: u64) -> Duration {
        Duration::from_nanos(nanoseconds)
    }

    #[test]
    fn a_lone_frame_takes_its_serialisation_time() {
        // Preamble 8, header 14, packet, check sequence 4: 1526 and 72 bytes, at 0.8 µs and at 8 ns.
        assert_eq!(line(10_000_000, 9).carry(ns(0), 1500), Some(ns(1_220_800)));
        assert_eq!(line(10_000_000, 9).carry(ns(0), 46), Some(ns(57_600)));
        // Padded.
        assert_eq!(line(10_000_000, 9).carry(ns(5), 20), Some(ns(57_605)));
        assert_eq!(line(1_000_000_000, 9).carry(ns(0), 1500), Some(ns(12_208)));
    }

    #[test]
    fn a_frame_waits_for_the_gap_after_the_one_before() {
        let mut line = line(10_000_000, 9);
        assert_eq!(line.carry(ns(0), 1500), Some(ns(1_220_800)));
        // The gap of 12 bytes is 9.6 µs.
        assert_eq!(line.carry(ns(10), 46), Some(ns(1_220_800 + 9_600 + 57_600)));
        assert_eq!(line.free(), ns(1_220_800 + 9_600 + 57_600 + 9_600));
    }

    #[test]
    fn a_delay_is_added_and_delays_no_other_frame() {
        let delay = ns(1_000_000);
        let mut line = Line::new(Rate::ETHERNET, delay, 9);
        assert_eq!(line.carry(ns(0), 46), Some(delay + ns(57_600)));
        assert_eq!(line.carry(ns(0), 46), Some(delay + ns(57_600 + 67_200)));
    }

    #[test]
    fn a_full_queue_takes_nothing_until_a_frame_has_begun() {
        let mut line = line(10_000_000, 2);
        // One on the wire, two waiting.
        for _ in 0..3 {
            assert!(line.carry(ns(0), 46).is_some());
        }
        assert_eq!(line.carry(ns(67_199), 46), None);
        assert!(line.carry(ns(67_200), 46).is_some());
        assert_eq!(line.carry(ns(67_200), 46), None);
    }

    proptest! {
        /// For any arrivals: no frame is early, none overlaps another, and a busy line has no pause but the gap.
        #[test]
        fn frames_follow_each_other(
            frames in prop::collection::vec((0_u64..300_000, 0_u32..2000), 1..100),
            rate in prop::sample::select(vec![10_000_000_u64, 100_000_000, 1_000_000_000]),
        ) {
            let mut line = line(rate, usize::MAX);
            let byte = 8_000_000_000 / rate;
            let (mut now, mut free) = (0, 0);
            for (pause, length) in frames {
                now += pause;
                let begin = now.max(free);
                let end = begin + byte * (8 + 14 + u64::from(length.max(46)) + 4);
                prop_assert_eq!(line.carry(ns(now), length), Some(ns(end)));
                free = end + byte * 12;
            }
        }
    }
}

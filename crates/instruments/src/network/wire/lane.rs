//! One direction of a cable: the frames on their way, without devices and clocks.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use super::{
    counts::Track,
    fault::{self, Trigger, What},
    line::Line,
};

/// The length of an Ethernet header without a VLAN tag. A TAP device's frames have one, packets do not.
const HEADER: usize = 14;
/// The time that a frame waits for another one to overtake it.
const PATIENCE: Duration = Duration::from_millis(10);

/// A frame, in a buffer that is reused.
#[derive(Debug, Clone)]
pub(super) struct Frame {
    room: Box<[u8]>,
    length: usize,
}

impl Frame {
    /// Returns a buffer for frames of at most `room` bytes.
    pub(super) fn new(room: usize) -> Self {
        Self {
            room: vec![0; room].into(),
            length: 0,
        }
    }

    /// Returns the buffer. [`Frame::set_length`] sets the length of the frame afterwards.
    pub(super) fn room(&mut self) -> &mut [u8] {
        &mut self.room
    }

    /// Sets the frame to the first `length` bytes of the buffer.
    pub(super) fn set_length(&mut self, length: usize) {
        self.length = length.min(self.room.len());
    }

    /// Returns the frame.
    pub(super) fn octets(&self) -> &[u8] {
        &self.room[..self.length]
    }

    /// Returns the length of the packet in it.
    fn packet(&self) -> u32 {
        self.length.saturating_sub(HEADER) as u32
    }
}

/// A frame on its way.
#[derive(Debug)]
struct Pending {
    due: Duration,
    frame: Frame,
}

/// One direction of a cable.
#[derive(Debug)]
pub(super) struct Lane {
    line: Line,
    triggers: Vec<Trigger>,
    /// The frames on their way, in the order in which they arrive.
    pending: VecDeque<Pending>,
    /// The frame that waits to be overtaken.
    aside: Option<Pending>,
    track: Arc<Track>,
}

impl Lane {
    pub(super) fn new(line: Line, triggers: Vec<Trigger>, track: Arc<Track>) -> Self {
        Self {
            line,
            triggers,
            pending: VecDeque::new(),
            aside: None,
            track,
        }
    }

    /// Returns the counters.
    pub(super) fn track(&self) -> &Track {
        &self.track
    }

    /// Takes a frame that was there at the time `now`, and not yet at `before`. Returns its buffer if nothing of it
    /// will arrive.
    pub(super) fn accept(
        &mut self,
        mut frame: Frame,
        before: Duration,
        now: Duration,
    ) -> Option<Frame> {
        // An earlier arrival matters only if the wire was free.
        let unseen = now.saturating_sub(before.max(self.line.free()));
        self.track.accepted(frame.octets().len(), now, unseen);
        let Some(mut due) = self.line.carry(now, frame.packet()) else {
            self.track.overflowed();
            return Some(frame);
        };
        let (mut copies, mut aside) = (1, false);
        for trigger in &mut self.triggers {
            let Some(what) = trigger.next() else {
                continue;
            };
            match what {
                What::Drop => copies = 0,
                What::Duplicate => copies += 1,
                What::Reorder => aside = true,
                What::Corrupt if !fault::corrupt(&mut frame.room[..frame.length]) => continue,
                What::Corrupt => {}
                What::Hold(time) => due += time,
            }
            self.track.went_wrong(what);
        }
        if copies == 0 {
            return Some(frame);
        }
        for _ in 1..copies {
            self.insert(due, frame.clone());
        }
        if aside && self.aside.is_none() {
            due += PATIENCE;
            self.aside = Some(Pending { due, frame });
        } else {
            self.insert(due, frame);
            if let Some(overtaken) = self.aside.take() {
                self.insert(due, overtaken.frame);
            }
        }
        None
    }

    /// Notes that no frame was there at the time `now`, and how many wait in the queue.
    pub(super) fn nothing(&mut self, now: Duration) {
        self.track.nothing(self.line.waiting(now));
    }

    /// Returns when the next frame arrives.
    pub(super) fn due(&self) -> Option<Duration> {
        self.next().map(|next| next.due)
    }

    /// Removes the next frame and returns it, with the time when it is due.
    pub(super) fn take(&mut self) -> Option<(Duration, Frame)> {
        let due = self.due()?;
        let first = match self.pending.front() {
            Some(first) if first.due == due => self.pending.pop_front(),
            _ => self.aside.take(),
        };
        first.map(|Pending { due, frame }| (due, frame))
    }

    fn next(&self) -> Option<&Pending> {
        let both = self.pending.front().into_iter().chain(&self.aside);
        both.min_by_key(|pending| pending.due)
    }

    /// Inserts a frame after all that arrive earlier or at the same time.
    fn insert(&mut self, due: Duration, frame: Frame) {
        let later = self.pending.iter().rev();
        let later = later.take_while(|pending| pending.due > due).count();
        let place = self.pending.len() - later;
        self.pending.insert(place, Pending { due, frame });
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;
    use crate::{
        figures::bound::Rate,
        network::wire::{Fault, When},
    };

    /// The times of a frame of at most 46 bytes at 10 Mb/s, without and with the gap.
    const FRAME: u64 = 57_600;
    const SLOT: u64 = 67_200;

    fn lane(faults: &[(What, u32)]) -> Lane {
        let triggers = faults.iter().map(|&(what, nth)| {
            let when = When::EveryNth(NonZeroU32::new(nth).unwrap());
            Trigger::new(Fault { what, when })
        });
        let line = Line::new(Rate::ETHERNET, Duration::ZERO, 1000);
        Lane::new(line, triggers.collect(), Arc::default())
    }

    /// Sends frames with one byte after the header, all at once. Returns the bytes and times of the arrivals.
    fn send(lane: &mut Lane, bytes: &[u8]) -> Vec<(u8, u64)> {
        for &byte in bytes {
            let mut frame = Frame::new(HEADER + 1);
            frame.room()[HEADER] = byte;
            frame.set_length(HEADER + 1);
            let _ = lane.accept(frame, Duration::ZERO, Duration::ZERO);
        }
        std::iter::from_fn(|| lane.take())
            .map(|(due, frame)| (frame.octets()[HEADER], due.as_nanos() as u64))
            .collect()
    }

    #[test]
    fn frames_arrive_in_order_one_after_the_other() {
        let seen = send(&mut lane(&[]), &[1, 2, 3]);
        assert_eq!(seen, [(1, FRAME), (2, SLOT + FRAME), (3, 2 * SLOT + FRAME)]);
    }

    #[test]
    fn a_dropped_frame_takes_its_time_of_the_wire() {
        let mut lane = lane(&[(What::Drop, 2)]);
        let seen = send(&mut lane, &[1, 2, 3]);
        assert_eq!(seen, [(1, FRAME), (3, 2 * SLOT + FRAME)]);
        assert_eq!(lane.track().counts().wrong(What::Drop), 1);
    }

    #[test]
    fn a_duplicate_comes_with_the_frame() {
        let seen = send(&mut lane(&[(What::Duplicate, 2)]), &[1, 2]);
        assert_eq!(seen, [(1, FRAME), (2, SLOT + FRAME), (2, SLOT + FRAME)]);
    }

    #[test]
    fn a_frame_is_overtaken_by_the_next() {
        let seen = send(&mut lane(&[(What::Reorder, 3)]), &[1, 2, 3, 4, 5]);
        let bytes: Vec<u8> = seen.iter().map(|&(byte, _)| byte).collect();
        assert_eq!(bytes, [1, 2, 4, 3, 5]);
        assert_eq!(seen[3].1, seen[2].1);
    }

    #[test]
    fn a_frame_that_is_not_overtaken_arrives() {
        let seen = send(&mut lane(&[(What::Reorder, 1)]), &[1]);
        assert_eq!(seen, [(1, FRAME + 10_000_000)]);
        // Not all of them can wait for each other.
        let seen = send(&mut lane(&[(What::Reorder, 1)]), &[1, 2, 3]);
        assert_eq!(seen.len(), 3);
    }

    #[test]
    fn a_frame_that_is_held_back_arrives_behind_others() {
        let hold = What::Hold(Duration::from_nanos(2 * SLOT));
        let seen = send(&mut lane(&[(hold, 2)]), &[1, 2, 3]);
        let bytes: Vec<u8> = seen.iter().map(|&(byte, _)| byte).collect();
        assert_eq!(bytes, [1, 3, 2]);
        assert_eq!(seen[2].1, 3 * SLOT + FRAME);
    }

    #[test]
    fn faults_add_up() {
        let mut lane = lane(&[(What::Drop, 2), (What::Duplicate, 3)]);
        let seen = send(&mut lane, &[1, 2, 3, 4, 5, 6]);
        let bytes: Vec<u8> = seen.iter().map(|&(byte, _)| byte).collect();
        // The sixth is dropped and duplicated: one of it is left.
        assert_eq!(bytes, [1, 3, 3, 5, 6]);
    }

    #[test]
    fn what_does_not_fit_the_queue_is_counted() {
        let line = Line::new(Rate::ETHERNET, Duration::ZERO, 1);
        let mut lane = Lane::new(line, Vec::new(), Arc::default());
        assert_eq!(send(&mut lane, &[1, 2, 3, 4]).len(), 2);
        let counts = lane.track().counts();
        assert_eq!((counts.frames, counts.overflowed), (4, 2));
        assert_eq!(counts.bytes, 4 * 15);
    }
}

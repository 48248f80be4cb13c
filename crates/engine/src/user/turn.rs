//! The rounds of the [shares](isthmus_core::slow::shares): a thread has a turn from a packet until it finds its queue empty.
//! When the last thread ends its turn, nothing that programs have handed up waits any more, and the round ends.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use isthmus_core::slow::shares::{LONGEST_ROUND, Shares};

use crate::memory::Region;
use crate::sys;

/// The packets that programs hand up.
#[derive(Debug)]
pub(super) struct HandedUp {
    shares: Shares<Region>,
    /// The threads whose turn it is.
    threads: AtomicUsize,
}

impl HandedUp {
    pub(super) fn new(shares: Shares<Region>) -> Self {
        Self {
            shares,
            threads: AtomicUsize::new(0),
        }
    }

    fn begin(&self) {
        self.threads.fetch_add(1, Ordering::Relaxed);
    }

    fn end(&self) {
        if self.threads.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.shares.end_round();
        }
    }

    /// Whether programs have refused a packet in this round: somebody sends more than is carried.
    fn is_flooded(&self) -> bool {
        self.shares.refused(sys::coarse_clock())
    }
}

/// A thread's turn.
pub(super) struct Turn<'a> {
    of: Option<&'a HandedUp>,
    state: State,
}

#[derive(Clone, Copy)]
enum State {
    /// It is not the thread's turn.
    No,
    /// It is, since then.
    Since(Instant),
    /// The queue was empty, and the turn goes on until then.
    Until(Instant),
}

impl<'a> Turn<'a> {
    pub(super) fn new(of: Option<&'a HandedUp>) -> Self {
        Self {
            of,
            state: State::No,
        }
    }

    /// The thread has a packet.
    pub(super) fn with_packet(&mut self) {
        if let (Some(of), State::No) = (self.of, self.state) {
            of.begin();
            self.state = State::Since(Instant::now());
        }
    }

    /// The thread finds its queue empty. Returns how long its turn goes on: in a flood as long as it took, so that one who
    /// sends too much takes half of a processor at most, and not all that others need. It is no longer than a round, which
    /// the clock has ended otherwise.
    pub(super) fn without_packet(&mut self) -> Option<Duration> {
        let of = self.of?;
        let end = match self.state {
            State::No => return None,
            State::Since(begin) if of.is_flooded() => {
                Instant::now() + begin.elapsed().min(LONGEST_ROUND)
            }
            // At once.
            State::Since(begin) => begin,
            State::Until(end) => end,
        };
        let rest = end.saturating_duration_since(Instant::now());
        if rest.is_zero() {
            self.end();
            return None;
        }
        self.state = State::Until(end);
        Some(rest)
    }

    fn end(&mut self) {
        if let (Some(of), State::Since(_) | State::Until(_)) = (self.of, self.state) {
            of.end();
            self.state = State::No;
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use isthmus_core::customer::Customer;
    use isthmus_core::slow::shares;

    use super::*;

    fn handed_up() -> HandedUp {
        HandedUp::new(Shares(Region::anonymous(shares::LINES).unwrap()))
    }

    /// The round, as long as the clock does not end one.
    fn round(of: &HandedUp) -> u32 {
        of.shares.round(0)
    }

    /// A turn that began so long ago.
    fn since(of: &HandedUp, ago: Duration) -> Turn<'_> {
        let mut turn = Turn::new(Some(of));
        turn.with_packet();
        turn.state = State::Since(Instant::now().checked_sub(ago).unwrap());
        turn
    }

    /// A turn that began so long ago, in a flood, with its pause. The clock may end a round between refusal and look.
    fn paused(of: &HandedUp, ago: Duration) -> (Turn<'_>, Duration) {
        let try_it = |_| {
            let now = sys::coarse_clock();
            while of.shares.take(&Customer::NOBODY, now) {}
            let mut turn = since(of, ago);
            let pause = turn.without_packet()?;
            Some((turn, pause))
        };
        (0..3).find_map(try_it).unwrap()
    }

    #[test]
    fn a_round_ends_when_the_last_thread_has_no_packet() {
        let of = handed_up();
        let before = round(&of);
        let [mut one, mut other] = [Duration::ZERO; 2].map(|ago| since(&of, ago));
        assert_eq!(one.without_packet(), None);
        assert_eq!(one.without_packet(), None);
        assert_eq!(round(&of), before);
        assert_eq!(other.without_packet(), None);
        assert_eq!(round(&of), before + 1);
    }

    #[test]
    fn a_thread_that_ends_ends_its_turn() {
        let of = handed_up();
        let before = round(&of);
        drop(since(&of, Duration::ZERO));
        assert_eq!(round(&of), before + 1);
    }

    #[test]
    fn a_flood_lasts_twice_as_long_and_no_longer_than_a_round() {
        let of = handed_up();
        let ago = Duration::from_secs(60);
        let (_turn, pause) = paused(&of, ago);
        assert!(
            pause <= LONGEST_ROUND && pause > LONGEST_ROUND / 2,
            "{pause:?}"
        );
        let ago = LONGEST_ROUND / 4;
        let (_turn, pause) = paused(&of, ago);
        assert!(pause > ago / 2 && pause <= LONGEST_ROUND, "{pause:?}");
    }

    #[test]
    fn a_packet_in_a_pause_begins_no_turn() {
        let of = handed_up();
        let (mut turn, pause) = paused(&of, LONGEST_ROUND);
        turn.with_packet();
        let rest = turn.without_packet();
        assert!(
            rest.is_none_or(|rest| rest < pause),
            "{rest:?} of {pause:?}"
        );
        assert_eq!(
            of.threads.load(Ordering::Relaxed),
            usize::from(rest.is_some())
        );
    }
}

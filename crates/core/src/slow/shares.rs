//! Shares of the slow path. The packets that programs hand up wait in one queue; here it is decided whose do, so that
//! nobody's packets fill it.
//!
//! A customer may have as many packets in a queue as it has places free (dynamic thresholds; Choudhury and Hahne, IEEE/ACM
//! Transactions on Networking 6(2), 1998): one who sends too many has half of the places, two have a third each, and who
//! sends a few always finds one. Nothing is lost as long as the queue is served faster than it fills.
//!
//! Nobody counts packets out. Instead, all counts begin anew with each [round](Shares::round), which ends when the queue
//! was found empty.

use core::sync::atomic::Ordering;
use core::time::Duration;

use super::customer::{Customer, Queue};
use crate::table::{AtomicU64, KEY_WORDS, Memory, Seed, hash};

/// Customers that are told apart in a queue, as long as their hashes differ.
const CUSTOMERS: u32 = 4096;
/// Words in a line.
const WORDS: u32 = 8;
/// The line of the round and of the secret.
const ROUND: u32 = 0;
/// The word of that line that holds the last round in which a packet was refused.
const REFUSED: usize = KEY_WORDS + 1;
/// The first line of the totals of queues, a line for each.
const TOTALS: u32 = 1;
/// The first line of the counts of customers.
const COUNTS: u32 = TOTALS + Queue::ALL.len() as u32;
/// Lines that the shares take.
pub const LINES: u32 = COUNTS + Queue::ALL.len() as u32 * CUSTOMERS / WORDS;

/// The binary logarithm of [`LONGEST_ROUND`] in nanoseconds.
const LONGEST_ROUND_LOG2: u32 = 28;
/// The time after which a round ends that nobody has ended: packets that were handed up may be lost on the way, and then
/// nobody finds the queue empty.
pub const LONGEST_ROUND: Duration = Duration::from_nanos(1 << LONGEST_ROUND_LOG2);

const SECOND: u64 = 1_000_000_000;

/// How often a word is tried to be changed if others change it at the same moment.
const ATTEMPTS: u32 = 8;

/// The shares in a memory of [`LINES`] lines. Zeros are no packets of anybody.
#[derive(Clone, Copy, Debug)]
pub struct Shares<M>(pub M);

impl<M: Memory> Shares<M> {
    /// Sets the secret of the hash, so that nobody can aim at the count of another.
    pub fn set_secret(&self, secret: &Seed) {
        for (word, secret) in self.secret_words().zip(secret) {
            word.store(*secret, Ordering::Relaxed);
        }
    }

    /// The round at `now`, in nanoseconds. It differs from all before.
    #[inline(always)]
    pub fn round(&self, now: u64) -> u32 {
        let ended = self
            .0
            .line(ROUND)
            .map_or(0, |line| line[0].load(Ordering::Relaxed));
        // Neither ever falls, so that a sum does not come back.
        (ended as u32).wrapping_add((now >> LONGEST_ROUND_LOG2) as u32)
    }

    /// Whether a packet was refused in the round at `now`, in nanoseconds.
    pub fn refused(&self, now: u64) -> bool {
        let refused = self
            .0
            .line(ROUND)
            .map(|line| line[REFUSED].load(Ordering::Relaxed));
        refused == Some(self.round(now).into())
    }

    #[inline(always)]
    fn remember_refusal(&self, round: u32) {
        if let Some(line) = self.0.line(ROUND)
            && line[REFUSED].load(Ordering::Relaxed) != round.into()
        {
            line[REFUSED].store(round.into(), Ordering::Relaxed);
        }
    }

    /// Ends the round: the queue is empty.
    pub fn end_round(&self) {
        if let Some(line) = self.0.line(ROUND) {
            line[0].fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Takes a place in the customer's queue, which has this many, and returns whether the customer may have it.
    #[inline(always)]
    pub fn take(&self, customer: &Customer, round: u32, places: u32) -> bool {
        let queue = customer.queue as u32;
        let hash = hash(&self.secret(), &customer.words);
        let place = queue * CUSTOMERS + (hash % u64::from(CUSTOMERS)) as u32;
        let total = self.0.line(TOTALS + queue);
        let counts = self.0.line(COUNTS + place / WORDS);
        let (Some(total), Some(counts)) = (total, counts) else {
            return false;
        };
        let (total, own) = (&total[0], &counts[(place % WORDS) as usize]);
        let free = places.saturating_sub(taken(total.load(Ordering::Relaxed), round));
        if taken(own.load(Ordering::Relaxed), round) >= free {
            self.remember_refusal(round);
            return false;
        }
        count(total, round);
        count(own, round);
        true
    }

    fn secret_words(&self) -> impl Iterator<Item = &AtomicU64> {
        self.0
            .line(ROUND)
            .into_iter()
            .flat_map(|line| &line[1..=KEY_WORDS])
    }

    #[inline(always)]
    fn secret(&self) -> Seed {
        match self.0.line(ROUND) {
            Some([_, a, b, c, d, e, f, _]) => {
                [a, b, c, d, e, f].map(|word| word.load(Ordering::Relaxed))
            }
            None => [0; KEY_WORDS],
        }
    }
}

/// The round of what is limited by the second, at `now` in nanoseconds.
#[inline(always)]
#[must_use]
pub const fn second(now: u64) -> u32 {
    (now / SECOND) as u32
}

/// Packets in a word: the round in the upper half, their number in it in the lower.
#[inline(always)]
fn taken(word: u64, round: u32) -> u32 {
    if (word >> 32) as u32 == round {
        word as u32
    } else {
        0
    }
}

/// Counts a packet of this round.
#[inline(always)]
fn count(word: &AtomicU64, round: u32) {
    for _ in 0..ATTEMPTS {
        let before = word.load(Ordering::Relaxed);
        let after = u64::from(round) << 32 | u64::from(taken(before, round).wrapping_add(1));
        if word
            .compare_exchange(before, after, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
        {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use core::array;
    use std::vec::Vec;

    use super::*;
    use crate::table::Line;

    /// Memory of this many lines.
    struct Lines(Vec<Line>);

    impl Memory for Lines {
        fn line(&self, index: u32) -> Option<&Line> {
            self.0.get(index as usize)
        }
    }

    fn shares() -> Shares<Lines> {
        let line = || array::from_fn(|_| AtomicU64::new(0));
        let shares = Shares(Lines((0..LINES).map(|_| line()).collect()));
        shares.set_secret(&array::from_fn(|word| 0x9e37_79b9_7f4a_7c15 << word));
        shares
    }

    fn customer(number: u64) -> Customer {
        Customer {
            queue: Queue::Inside,
            words: [number, 0],
        }
    }

    const PLACES: u32 = 300;

    /// How many of so many packets a customer may hand up now.
    fn handed_up(shares: &Shares<Lines>, number: u64, packets: u32) -> u32 {
        let round = shares.round(0);
        (0..packets)
            .map(|_| u32::from(shares.take(&customer(number), round, PLACES)))
            .sum()
    }

    #[test]
    fn one_has_half_and_two_have_two_thirds() {
        let shares = shares();
        assert_eq!(handed_up(&shares, 1, 1000), 150);
        assert_eq!(handed_up(&shares, 2, 1000), 75);
        shares.end_round();
        for _ in 0..1000 {
            handed_up(&shares, 1, 1);
            handed_up(&shares, 2, 1);
        }
        shares.end_round();
        assert_eq!(handed_up(&shares, 3, 1000), 150, "a round is as any other");
    }

    #[test]
    fn who_sends_a_few_finds_places_beside_many_who_flood() {
        let shares = shares();
        let floods = 29;
        for _ in 0..1000 {
            for number in 0..floods {
                handed_up(&shares, number, 1);
            }
        }
        // A thirtieth is free still, and each of others may have half of what is.
        assert_eq!(handed_up(&shares, 1_000_000, 1000), 5);
    }

    #[test]
    fn the_queue_never_holds_more_than_its_places() {
        let shares = shares();
        let taken: u32 = (0..5000).map(|number| handed_up(&shares, number, 3)).sum();
        assert!(taken <= PLACES, "{taken}");
    }

    #[test]
    fn queues_are_apart() {
        let shares = shares();
        let round = shares.round(0);
        for queue in Queue::ALL {
            let customer = Customer {
                queue,
                words: [7, 7],
            };
            let taken = (0..100)
                .filter(|_| shares.take(&customer, round, 10))
                .count();
            assert_eq!(taken, 5, "{queue:?}");
        }
    }

    #[test]
    fn a_round_that_nobody_ends_ends_by_the_clock() {
        let shares = shares();
        assert_eq!(handed_up(&shares, 1, 1000), 150);
        let later = shares.round(1 << LONGEST_ROUND_LOG2);
        assert_ne!(later, shares.round(0));
        assert!(shares.take(&customer(1), later, PLACES));
    }

    #[test]
    fn a_refusal_is_known_until_the_round_ends() {
        let shares = shares();
        shares.end_round();
        handed_up(&shares, 1, 150);
        assert!(!shares.refused(0));
        handed_up(&shares, 1, 1);
        assert!(shares.refused(0));
        shares.end_round();
        assert!(!shares.refused(0));
    }

    #[test]
    fn one_place_is_for_one_packet_and_none_for_none() {
        let shares = shares();
        let take = |places| shares.take(&customer(1), shares.round(0), places);
        assert!(!take(0));
        assert!(take(1));
        assert!(!take(1));
    }
}

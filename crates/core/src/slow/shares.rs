//! Shares of the slow path. The packets that programs hand up wait in one queue; here it is decided whose do, so that
//! nobody's packets fill it.
//!
//! A customer may have as many packets in a queue as it has places free (dynamic thresholds; Choudhury and Hahne, IEEE/ACM
//! Transactions on Networking 6(2), 1998): one who sends too many has half of the places, two have a third each, and who
//! sends a few always finds one. Nothing is lost as long as the queue is served faster than it fills.
//!
//! While somebody floods, a customer has no more than [a few](Queue::each) all the same: others wait for them. A queue has [`BURST`] times
//! the places, and a customer half of them, until one has filled its part, and in the whole round in which it does: bursts
//! pass, and a flood delays others once. A flood of one queue is none of another.
//!
//! Nobody counts packets out. Instead, all counts begin anew with each [round](Shares::round), which ends when the queue
//! was found empty.

use core::sync::atomic::Ordering;
use core::time::Duration;

use crate::customer::{BURST, Customer, Queue};
use crate::table::{AtomicU64, KEY_WORDS, Line, Memory, Seed, hash};

/// Customers that are told apart in a queue, as long as their hashes differ.
const CUSTOMERS: u32 = 4096;
/// Words in a line.
const WORDS: u32 = 8;
/// The line of the round and of the secret.
const ROUND: u32 = 0;
/// The word of that line that holds the last round in which a packet was refused.
const REFUSED: usize = KEY_WORDS + 1;
/// The first line of queues, a line for each.
const QUEUES: u32 = 1;
/// The word of a queue's line that holds its packets.
const TOTAL: usize = 0;
/// The word that tells since which round the queue is flooded, in the lower half, and until when, in the upper.
const FLOOD: usize = 1;
/// The first line of the counts of customers.
const COUNTS: u32 = QUEUES + Queue::ALL.len() as u32;
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
        (ended as u32).wrapping_add(period(now))
    }

    /// Whether a packet was refused in the round at `now`, in nanoseconds.
    pub fn refused(&self, now: u64) -> bool {
        let refused = self
            .0
            .line(ROUND)
            .map(|line| line[REFUSED].load(Ordering::Relaxed));
        refused == Some(self.round(now).into())
    }

    /// Whether a queue was flooded already before the round at `now`.
    #[inline(always)]
    fn is_flooded(&self, queue: Queue, round: u32, now: u64) -> bool {
        let flood = self
            .queue(queue)
            .map_or(0, |line| line[FLOOD].load(Ordering::Relaxed));
        lasts(flood, now) && flood as u32 != round
    }

    #[inline(always)]
    fn queue(&self, queue: Queue) -> Option<&Line> {
        self.0.line(QUEUES + queue as u32)
    }

    #[inline(always)]
    fn remember_refusal(&self, queue: Queue, round: u32, now: u64) {
        let (Some(line), Some(queue)) = (self.0.line(ROUND), self.queue(queue)) else {
            return;
        };
        if line[REFUSED].load(Ordering::Relaxed) != round.into() {
            line[REFUSED].store(round.into(), Ordering::Relaxed);
        }
        let before = queue[FLOOD].load(Ordering::Relaxed);
        let since = if lasts(before, now) {
            before as u32
        } else {
            round
        };
        let after = u64::from(period(now).wrapping_add(1)) << 32 | u64::from(since);
        if before != after {
            queue[FLOOD].store(after, Ordering::Relaxed);
        }
    }

    /// Ends the round: the queue is empty.
    pub fn end_round(&self) {
        if let Some(line) = self.0.line(ROUND) {
            line[0].fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Takes a place in the customer's queue at `now`, in nanoseconds, and returns whether the customer may have it.
    #[inline(always)]
    pub fn take(&self, customer: &Customer, now: u64) -> bool {
        let round = self.round(now);
        let queue = customer.queue;
        let (places, most) = if self.is_flooded(queue, round, now) {
            (queue.places(), queue.each())
        } else {
            (queue.places() * BURST, u32::MAX)
        };
        let taken = self.take_of(customer, round, places, most);
        if !taken {
            self.remember_refusal(queue, round, now);
        }
        taken
    }

    /// Takes one of the ICMP errors of this second, of which there are so many, for a customer.
    #[inline(always)]
    pub fn take_error(&self, customer: &Customer, now: u64, rate: u32) -> bool {
        self.take_of(customer, second(now), rate, u32::MAX)
    }

    /// Takes one of so many places for a customer, who has `most` of them at most.
    #[inline(always)]
    fn take_of(&self, customer: &Customer, round: u32, places: u32, most: u32) -> bool {
        let queue = customer.queue as u32;
        let hash = hash(&self.secret(), &customer.words);
        let place = queue * CUSTOMERS + (hash % u64::from(CUSTOMERS)) as u32;
        let total = self.queue(customer.queue);
        let counts = self.0.line(COUNTS + place / WORDS);
        let (Some(total), Some(counts)) = (total, counts) else {
            return false;
        };
        let (total, own) = (&total[TOTAL], &counts[(place % WORDS) as usize]);
        let free = places.saturating_sub(taken(total.load(Ordering::Relaxed), round));
        if taken(own.load(Ordering::Relaxed), round) >= free.min(most) {
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
const fn second(now: u64) -> u32 {
    (now / SECOND) as u32
}

/// The time of [`LONGEST_ROUND`] that `now`, in nanoseconds, is in.
#[inline(always)]
const fn period(now: u64) -> u32 {
    (now >> LONGEST_ROUND_LOG2) as u32
}

/// Whether a flood lasts at `now`: somebody was refused a place in this period or the last one.
#[inline(always)]
const fn lasts(flood: u64, now: u64) -> bool {
    let refused = (flood >> 32) as u32;
    refused != 0 && (period(now).wrapping_add(1)).wrapping_sub(refused) <= 1
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

    /// Places of the queue while somebody floods, and else.
    const PLACES: u32 = Queue::Inside.places();
    const MOST: u32 = PLACES * BURST;
    /// Places of a customer while somebody floods.
    const EACH: u32 = Queue::Inside.each();

    /// How many of so many packets a customer may hand up now.
    fn handed_up(shares: &Shares<Lines>, number: u64, packets: u32) -> u32 {
        (0..packets)
            .map(|_| u32::from(shares.take(&customer(number), 0)))
            .sum()
    }

    /// The shares in a flood: the round in which it began has ended.
    fn flooded() -> Shares<Lines> {
        let shares = shares();
        handed_up(&shares, 0, MOST);
        shares.end_round();
        shares
    }

    #[test]
    fn one_has_half_and_two_have_two_thirds() {
        let shares = shares();
        assert_eq!(handed_up(&shares, 1, 1000), MOST / 2);
        assert_eq!(handed_up(&shares, 2, 1000), MOST / 4);
    }

    #[test]
    fn each_has_a_few_in_a_flood_and_so_have_many() {
        let shares = flooded();
        for _ in 0..2 {
            assert_eq!(handed_up(&shares, 1, 1000), EACH);
            assert_eq!(handed_up(&shares, 2, 1000), EACH);
            shares.end_round();
        }
        let accomplices = 100;
        for _ in 0..1000 {
            for number in 0..accomplices {
                handed_up(&shares, number, 1);
            }
        }
        assert_eq!(handed_up(&shares, 1_000_000, 1), 1);
    }

    #[test]
    fn strangers_have_half_of_their_places_in_a_flood() {
        let places = Queue::Fragments.places();
        let handed_up = |shares: &Shares<Lines>, number| {
            let customer = Customer {
                queue: Queue::Fragments,
                words: [number, 0],
            };
            (0..1000).filter(|_| shares.take(&customer, 0)).count() as u32
        };
        let shares = shares();
        handed_up(&shares, 0);
        for _ in 0..2 {
            shares.end_round();
            assert_eq!(handed_up(&shares, 1), places / 2);
            assert_eq!(handed_up(&shares, 2), places / 4);
        }
    }

    #[test]
    fn a_burst_is_no_flood_and_a_flood_has_one() {
        let shares = shares();
        for _ in 0..3 {
            assert_eq!(handed_up(&shares, 1, MOST / 2), MOST / 2);
            shares.end_round();
        }
        handed_up(&shares, 1, MOST);
        // Who comes in the round in which it begins finds places as well.
        assert_eq!(handed_up(&shares, 2, 10), 10);
        shares.end_round();
        assert_eq!(handed_up(&shares, 1, MOST), EACH);
    }

    #[test]
    fn a_flood_is_over_when_nobody_was_refused_for_a_while() {
        let shares = flooded();
        let period = 1 << LONGEST_ROUND_LOG2;
        let may_have = |at: u64| {
            let takes = |_: &u32| shares.take(&customer(1), at);
            (0..MOST).filter(takes).count() as u32
        };
        assert_eq!(may_have(period), EACH);
        assert_eq!(may_have(2 * period), EACH);
        assert_eq!(may_have(4 * period), MOST / 2);
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
        let free = MOST / 30;
        assert!((free / 2..=free).contains(&handed_up(&shares, 1_000_000, 1000)));
    }

    #[test]
    fn the_queue_never_holds_more_than_its_places() {
        for (shares, places) in [(shares(), MOST), (flooded(), PLACES)] {
            let taken: u32 = (0..5000).map(|number| handed_up(&shares, number, 3)).sum();
            assert!(taken <= places, "{taken}");
        }
    }

    #[test]
    fn queues_are_apart() {
        let shares = shares();
        for queue in Queue::ALL {
            let customer = Customer {
                queue,
                words: [7, 7],
            };
            let taken = (0..10_000).filter(|_| shares.take(&customer, 0)).count();
            assert_eq!(taken as u32, queue.places() * BURST / 2, "{queue:?}");
            shares.end_round();
        }
    }

    #[test]
    fn a_round_that_nobody_ends_ends_by_the_clock() {
        let shares = flooded();
        assert_eq!(handed_up(&shares, 1, 1000), EACH);
        let later = 1 << LONGEST_ROUND_LOG2;
        assert_ne!(shares.round(later), shares.round(0));
        assert!(shares.take(&customer(1), later));
    }

    #[test]
    fn a_refusal_is_known_until_the_round_ends() {
        let shares = shares();
        shares.end_round();
        handed_up(&shares, 1, MOST / 2);
        assert!(!shares.refused(0));
        handed_up(&shares, 1, 1);
        assert!(shares.refused(0));
        shares.end_round();
        assert!(!shares.refused(0));
    }

    #[test]
    fn errors_are_shared_by_the_second_and_are_no_flood() {
        let shares = shares();
        shares.end_round();
        let errors = |customer: &Customer, now| {
            let takes = |_: &u32| shares.take_error(customer, now, 100);
            (0..1000).filter(takes).count()
        };
        assert_eq!(errors(&customer(1), 0), 50);
        assert_eq!(errors(&customer(2), SECOND - 1), 25);
        assert_eq!(errors(&customer(1), SECOND), 50);
        assert!(!shares.refused(0) && !shares.refused(SECOND));
    }

    #[test]
    fn one_place_is_for_one_packet_and_none_for_none() {
        let shares = shares();
        let take = |places| shares.take_error(&customer(1), 0, places);
        assert!(!take(0));
        assert!(take(1));
        assert!(!take(1));
    }
}

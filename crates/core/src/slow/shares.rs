//! Shares of the slow path. The packets that programs hand up wait in one queue; here it is decided whose do, so that
//! nobody's packets fill it.
//!
//! A customer may have as many packets in a queue as it has places free (dynamic thresholds; Choudhury and Hahne, IEEE/ACM
//! Transactions on Networking 6(2), 1998): one who sends too many has half of the places, two have a third each, and who
//! sends a few always finds one. Nothing is lost as long as the queue is served faster than it fills.
//!
//! Who was refused a place has no more than [a few](Queue::each) for a while: others wait for them. A queue has [`BURST`] times
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
/// The first line of the words of customers. The lower half of such a word has the customer's packets below, and above them
/// when the customer was refused a place.
const COUNTS: u32 = QUEUES + Queue::ALL.len() as u32;
/// Lines that the shares take.
pub const LINES: u32 = COUNTS + Queue::ALL.len() as u32 * CUSTOMERS / WORDS;

/// The binary logarithm of [`LONGEST_ROUND`] in nanoseconds.
const LONGEST_ROUND_LOG2: u32 = 28;
/// The time after which a round ends that nobody has ended: packets that were handed up may be lost on the way, and then
/// nobody finds the queue empty.
pub const LONGEST_ROUND: Duration = Duration::from_nanos(1 << LONGEST_ROUND_LOG2);

const SECOND: u64 = 1_000_000_000;

/// The bits of packets in a word of a queue, and in one of a customer.
const OF_QUEUE: u64 = 0xffff_ffff;
const OF_CUSTOMER: u64 = 0xffff;
/// The bits of the [time](next_period) of a refusal: those of a queue are the upper half of its word, and those of a customer
/// begin at the bit [`REFUSED_AT`]. These come again after five hours: then somebody may be taken for one who was refused.
const TIME_OF_QUEUE: u64 = 0xffff_ffff;
const TIME_OF_CUSTOMER: u64 = 0xffff;
const REFUSED_AT: u32 = 16;

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
        let after = next_period(now, TIME_OF_QUEUE) << 32 | u64::from(since);
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
        let Some((total, own)) = self.counts(customer) else {
            return false;
        };
        let (places, most) = if !self.is_flooded(queue, round, now) {
            (queue.places() * BURST, u32::MAX)
        } else if was_refused(own, now) {
            (queue.places(), queue.each())
        } else {
            (queue.places(), u32::MAX)
        };
        let taken = take_of(total, own, round, places, most);
        if !taken {
            refuse(own, now);
            self.remember_refusal(queue, round, now);
        }
        taken
    }

    /// Takes one of the ICMP errors of this second, of which there are so many, for a customer.
    #[inline(always)]
    pub fn take_error(&self, customer: &Customer, now: u64, rate: u32) -> bool {
        self.counts(customer)
            .is_some_and(|(total, own)| take_of(total, own, second(now), rate, u32::MAX))
    }

    /// The words of a customer's queue and of the customer in it.
    #[inline(always)]
    fn counts(&self, customer: &Customer) -> Option<(&AtomicU64, &AtomicU64)> {
        let hash = hash(&self.secret(), &customer.words);
        let place = customer.queue as u32 * CUSTOMERS + (hash % u64::from(CUSTOMERS)) as u32;
        let total = self.queue(customer.queue)?;
        let counts = self.0.line(COUNTS + place / WORDS)?;
        Some((&total[TOTAL], &counts[(place % WORDS) as usize]))
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

/// The number of the period after that of `now`, in these bits: 0 is none.
#[inline(always)]
const fn next_period(now: u64, bits: u64) -> u64 {
    period(now).wrapping_add(1) as u64 & bits
}

/// Whether a refusal was in this period or the last one, by its [time](next_period) in these bits; 0: there was none.
#[inline(always)]
const fn is_recent(refused: u64, now: u64, bits: u64) -> bool {
    refused != 0 && next_period(now, bits).wrapping_sub(refused) & bits <= 1
}

/// Whether a flood lasts at `now`.
#[inline(always)]
const fn lasts(flood: u64, now: u64) -> bool {
    is_recent(flood >> 32, now, TIME_OF_QUEUE)
}

/// Whether a customer was refused a place a short while ago.
#[inline(always)]
fn was_refused(own: &AtomicU64, now: u64) -> bool {
    let refused = own.load(Ordering::Relaxed) >> REFUSED_AT & TIME_OF_CUSTOMER;
    is_recent(refused, now, TIME_OF_CUSTOMER)
}

/// Remembers that a customer was refused a place. Where somebody changes the word at the same moment, the next refusal is
/// remembered.
#[inline(always)]
fn refuse(own: &AtomicU64, now: u64) {
    let before = own.load(Ordering::Relaxed);
    let refused = next_period(now, TIME_OF_CUSTOMER) << REFUSED_AT;
    let after = before & !(TIME_OF_CUSTOMER << REFUSED_AT) | refused;
    if before != after {
        let _ = own.compare_exchange(before, after, Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// Takes one of so many places for a customer, who has `most` of them at most.
#[inline(always)]
fn take_of(total: &AtomicU64, own: &AtomicU64, round: u32, places: u32, most: u32) -> bool {
    let free = places.saturating_sub(taken(total, round, OF_QUEUE));
    let most = free.min(most).min(OF_CUSTOMER as u32);
    if taken(own, round, OF_CUSTOMER) >= most {
        return false;
    }
    count(total, round, OF_QUEUE);
    count(own, round, OF_CUSTOMER);
    true
}

/// Packets in a word, in these bits of it: those of the round that the upper half tells.
#[inline(always)]
fn taken(word: &AtomicU64, round: u32, bits: u64) -> u32 {
    of_round(word.load(Ordering::Relaxed), round, bits)
}

#[inline(always)]
const fn of_round(word: u64, round: u32, bits: u64) -> u32 {
    // Without a branch: the verifier of BPF would go on once for each outcome.
    let to_another_round = word >> 32 ^ round as u64;
    let all_if_none = to_another_round.wrapping_sub(1) >> 32;
    (word & bits & all_if_none) as u32
}

/// Counts a packet of this round in these bits of a word. The rest of its lower half stays.
#[inline(always)]
fn count(word: &AtomicU64, round: u32, bits: u64) {
    for _ in 0..ATTEMPTS {
        let before = word.load(Ordering::Relaxed);
        let packets = u64::from(of_round(before, round, bits).wrapping_add(1)) & bits;
        let after = u64::from(round) << 32 | before & OF_QUEUE & !bits | packets;
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
        handed_up_at(0, shares, number, packets)
    }

    /// The same at another time.
    fn handed_up_at(now: u64, shares: &Shares<Lines>, number: u64, packets: u32) -> u32 {
        (0..packets)
            .map(|_| u32::from(shares.take(&customer(number), now)))
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
    fn each_who_floods_has_a_few_and_so_have_many() {
        let shares = flooded();
        assert_eq!(handed_up(&shares, 1, 1000), PLACES / 2);
        assert_eq!(handed_up(&shares, 2, 1000), PLACES / 4);
        shares.end_round();
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
    fn who_keeps_a_queue_flooded_takes_no_burst_from_others() {
        let shares = shares();
        let half_a_second = 2 << LONGEST_ROUND_LOG2;
        handed_up(&shares, 0, MOST);
        for turn in 1..100 {
            let now = turn * half_a_second;
            shares.end_round();
            handed_up_at(now, &shares, 0, MOST / 2 + 1);
            shares.end_round();
            assert_eq!(handed_up_at(now + 1, &shares, 1, PLACES / 2), PLACES / 2);
            assert!(shares.is_flooded(Queue::Inside, shares.round(now + 2), now + 2));
        }
    }

    #[test]
    fn a_refusal_costs_nobody_else_and_is_forgotten() {
        let own = AtomicU64::new(0);
        let period = 1 << LONGEST_ROUND_LOG2;
        assert!(!was_refused(&own, 0));
        count(&own, 7, OF_CUSTOMER);
        refuse(&own, 0);
        for (round, now) in [(7, 0), (8, period)] {
            assert!(was_refused(&own, now));
            let before = taken(&own, round, OF_CUSTOMER);
            count(&own, round, OF_CUSTOMER);
            assert_eq!(taken(&own, round, OF_CUSTOMER), before + 1);
        }
        assert!(!was_refused(&own, 2 * period));
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
        let may_have = |at| handed_up_at(at, &shares, 1, MOST);
        assert_eq!(may_have(period), PLACES / 2);
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
        assert_eq!(handed_up(&shares, 1, 1000), PLACES / 2);
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
        let most = u64::from(u32::MAX);
        assert_eq!(
            (0..70_000)
                .filter(|_| shares.take_error(&customer(3), most, u32::MAX))
                .count(),
            65_535
        );
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

//! When router advertisements are sent (RFC 4861 sections 6.2.4 and 6.2.6): no sockets, and time and
//! chance are parameters.

use std::time::{Duration, Instant};

/// RFC 4861 section 10, MAX_INITIAL_RTR_ADVERT_INTERVAL.
const LONGEST_INITIAL: Duration = Duration::from_secs(16);
/// RFC 4861 section 10, MAX_INITIAL_RTR_ADVERTISEMENTS.
const INITIAL: u8 = 3;
/// RFC 4861 section 10, MIN_DELAY_BETWEEN_RAS.
const APART: Duration = Duration::from_secs(3);
/// RFC 4861 section 10, MAX_RA_DELAY_TIME.
const LONGEST_DELAY: Duration = Duration::from_millis(500);

/// A random number from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Chance(f64);

impl Chance {
    /// Of a random word.
    #[must_use]
    pub fn of(word: u32) -> Self {
        Self(f64::from(word) / f64::from(u32::MAX))
    }
}

/// The advertisements of one link.
#[derive(Debug)]
pub struct Schedule {
    /// MaxRtrAdvInterval
    longest: Duration,
    /// Advertisements that are still sent at shorter intervals.
    initial: u8,
    last: Option<Instant>,
    next: Instant,
}

impl Schedule {
    /// The first one is due at once. `longest` is MaxRtrAdvInterval.
    #[must_use]
    pub fn new(now: Instant, longest: Duration) -> Self {
        Self {
            longest,
            initial: INITIAL,
            last: None,
            next: now,
        }
    }

    /// When the next one is due.
    #[must_use]
    pub const fn next(&self) -> Instant {
        self.next
    }

    /// The next one at which the rate allows it (RFC 4861 section 6.2.6).
    #[must_use]
    pub fn earliest(&self, now: Instant) -> Instant {
        self.last.map_or(now, |last| now.max(last + APART))
    }

    /// One was sent. The next follows after MinRtrAdvInterval to MaxRtrAdvInterval, sooner at the
    /// beginning.
    pub fn sent(&mut self, now: Instant, chance: Chance) {
        let shortest = shortest(self.longest);
        let mut interval = shortest + (self.longest - shortest).mul_f64(chance.0);
        self.initial = self.initial.saturating_sub(1);
        if self.initial > 0 {
            interval = interval.min(LONGEST_INITIAL);
        }
        self.last = Some(now);
        self.next = now + interval;
    }

    /// One could not be sent: the link may be about to come up.
    pub fn failed(&mut self, now: Instant) {
        self.next = now + APART;
    }

    /// A host solicits (RFC 4861 section 6.2.6).
    pub fn solicited(&mut self, now: Instant, chance: Chance) {
        let delay = LONGEST_DELAY.mul_f64(chance.0);
        let recent = self.last.map(|last| last + APART).filter(|end| *end > now);
        self.next = self.next.min(recent.unwrap_or(now) + delay);
    }

    /// The announcement has changed, and perhaps the interval (RFC 4861 section 6.2.4).
    pub fn changed(&mut self, now: Instant, longest: Duration) {
        self.longest = longest;
        self.initial = INITIAL;
        self.next = self.next.min(self.earliest(now));
    }
}

/// MinRtrAdvInterval by default, which is never below three seconds (RFC 4861 section 6.2.1).
fn shortest(longest: Duration) -> Duration {
    if longest >= Duration::from_secs(9) {
        longest.mul_f64(0.33).max(APART)
    } else {
        longest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn secs(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    const LEAST: Chance = Chance(0.0);
    const MOST: Chance = Chance(1.0);

    /// RFC 4861 section 6.2.4: the first three at most 16 seconds apart, then between a third of the
    /// interval and all of it.
    #[test]
    fn rfc4861_6_2_4_unsolicited() {
        let begun = Instant::now();
        let mut schedule = Schedule::new(begun, secs(600.0));
        assert_eq!(schedule.next(), begun);
        let mut at = |chance| {
            let now = schedule.next();
            schedule.sent(now, chance);
            (now - begun).as_secs()
        };
        assert_eq!(at(MOST), 0);
        assert_eq!(at(LEAST), 16);
        assert_eq!(at(MOST), 32);
        assert_eq!(at(LEAST), 632);
        assert_eq!(at(LEAST), 830);
        for (longest, shortest) in [(4.0, 4.0), (9.0, 3.0)] {
            let mut schedule = Schedule::new(begun, secs(longest));
            schedule.sent(begun, LEAST);
            assert_eq!(schedule.next(), begun + secs(shortest));
        }
    }

    /// RFC 4861 section 6.2.6: after up to half a second, but three seconds after the one before.
    #[test]
    fn rfc4861_6_2_6_solicited() {
        let begun = Instant::now();
        let mut schedule = Schedule::new(begun, secs(600.0));
        for _ in 0..3 {
            schedule.sent(begun, MOST);
        }
        schedule.solicited(begun + secs(1.0), MOST);
        assert_eq!(schedule.next(), begun + secs(3.5));
        // A second one does not put it off.
        schedule.solicited(begun + secs(2.9), MOST);
        assert_eq!(schedule.next(), begun + secs(3.5));
        schedule.sent(begun + secs(3.5), MOST);
        schedule.solicited(begun + secs(10.0), LEAST);
        assert_eq!(schedule.next(), begun + secs(10.0));
        // One that is due anyway is not put off either.
        let due = begun + secs(10.0) + secs(600.0);
        schedule.sent(begun + secs(10.0), MOST);
        schedule.solicited(due - secs(0.1), MOST);
        assert_eq!(schedule.next(), due);
    }

    /// RFC 4861 section 6.2.4: a change is announced soon, three times.
    #[test]
    fn rfc4861_6_2_4_changes() {
        let begun = Instant::now();
        let mut schedule = Schedule::new(begun, secs(600.0));
        for _ in 0..5 {
            schedule.sent(begun, MOST);
        }
        schedule.changed(begun + secs(1.0), secs(600.0));
        assert_eq!(schedule.next(), begun + secs(3.0));
        schedule.sent(begun + secs(3.0), MOST);
        assert_eq!(schedule.next(), begun + secs(19.0));
    }

    proptest! {
        /// RFC 4861 section 6.2.6: never more than one every three seconds, and never none for longer
        /// than the interval, whatever hosts ask.
        #[test]
        fn the_rate_holds(
            longest in 4u32..1800,
            asks in proptest::collection::vec((0u32..5000, any::<u32>()), 0..200),
        ) {
            let begun = Instant::now();
            let longest = Duration::from_secs(longest.into());
            let mut schedule = Schedule::new(begun, longest);
            let (mut now, mut last) = (begun, None);
            for (pause, chance) in asks {
                let ask = now + Duration::from_millis(pause.into());
                while schedule.next() <= ask {
                    now = schedule.next();
                    if let Some(last) = last {
                        prop_assert!(now >= last + APART && now <= last + longest);
                    }
                    last = Some(now);
                    schedule.sent(now, Chance::of(chance));
                }
                now = ask;
                schedule.solicited(now, Chance::of(chance.rotate_left(7)));
                prop_assert!(schedule.next() <= now + APART + LONGEST_DELAY);
            }
        }
    }
}

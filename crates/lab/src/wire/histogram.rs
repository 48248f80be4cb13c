//! How often what time was taken: in steps of a sixteenth, from nanoseconds to hours.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

/// Steps within a power of two.
const STEPS: usize = 16;
/// `STEPS` as a power of two.
const BITS: u32 = STEPS.trailing_zeros();
/// Powers of two: the last one has all that is longer than an hour.
const POWERS: usize = 40;
const PLACES: usize = POWERS * STEPS;

/// Times, sorted into steps of which each is at most a sixteenth longer than the one before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Histogram {
    counts: Vec<u64>,
}

impl Histogram {
    /// How many times were recorded.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The time below or at which at least `share` (0 to 1) of all are, at most a sixteenth too long. Zero if
    /// nothing was recorded.
    pub fn quantile(&self, share: f64) -> Duration {
        let wanted = ((self.count() as f64 * share).ceil() as u64).max(1);
        let mut seen = 0;
        for (place, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                return Duration::from_nanos(last(place));
            }
        }
        Duration::ZERO
    }

    /// The longest time, at most a sixteenth too long.
    pub fn worst(&self) -> Duration {
        self.quantile(1.0)
    }

    /// The share of times longer than `limit`, 0 to 1; those that are so by less than a sixteenth may be missing.
    /// Zero if nothing was recorded.
    pub fn share_above(&self, limit: Duration) -> f64 {
        let above: u64 = self.counts[place(nanoseconds(limit)) + 1..].iter().sum();
        above as f64 / self.count().max(1) as f64
    }

    /// What was recorded after `before`, an earlier state of the same histogram.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let pairs = self.counts.iter().zip(&before.counts);
        Self {
            counts: pairs.map(|(now, before)| now - before).collect(),
        }
    }

    /// Both together.
    #[must_use]
    pub fn with(&self, other: &Self) -> Self {
        let pairs = self.counts.iter().zip(&other.counts);
        Self {
            counts: pairs.map(|(one, other)| one + other).collect(),
        }
    }
}

/// A histogram that one thread fills and others look at.
#[derive(Debug)]
pub(super) struct Recorder {
    counts: [AtomicU64; PLACES],
}

impl Default for Recorder {
    fn default() -> Self {
        Self {
            counts: [const { AtomicU64::new(0) }; PLACES],
        }
    }
}

impl Recorder {
    pub(super) fn record(&self, time: Duration) {
        self.counts[place(nanoseconds(time))].fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn histogram(&self) -> Histogram {
        let counts = self.counts.iter();
        Histogram {
            counts: counts.map(|count| count.load(Ordering::Relaxed)).collect(),
        }
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Where a number of nanoseconds belongs.
fn place(nanoseconds: u64) -> usize {
    let Some(power) = nanoseconds.checked_ilog2().filter(|&power| power >= BITS) else {
        return nanoseconds as usize;
    };
    let step = (nanoseconds >> (power - BITS)) as usize % STEPS;
    ((power - BITS + 1) as usize * STEPS + step).min(PLACES - 1)
}

/// The longest number of nanoseconds in a place.
fn last(place: usize) -> u64 {
    if place < STEPS {
        return place as u64;
    }
    let shift = place / STEPS - 1;
    (((STEPS + place % STEPS + 1) as u64) << shift) - 1
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(nanoseconds: &[u64]) -> Histogram {
        let recorder = Recorder::default();
        for &time in nanoseconds {
            recorder.record(Duration::from_nanos(time));
        }
        recorder.histogram()
    }

    const fn ns(nanoseconds: u64) -> Duration {
        Duration::from_nanos(nanoseconds)
    }

    #[test]
    fn quantiles_are_those_of_what_was_recorded() {
        let histogram = of(&(1..=1000).map(|n| n * 1000).collect::<Vec<_>>());
        for (share, exact) in [(0.5, 500_000), (0.99, 990_000), (1.0, 1_000_000)] {
            let seen = histogram.quantile(share).as_nanos();
            assert!((exact..=exact * 17 / 16).contains(&seen), "{seen}");
        }
        assert_eq!(of(&[]).quantile(0.5), ns(0));
        assert_eq!(of(&[0, 0, 3]).worst(), ns(3));
    }

    #[test]
    fn shares_above_a_limit_are_counted() {
        let histogram = of(&[10, 1000, 1000, 100_000]);
        assert_eq!(histogram.share_above(ns(500)), 0.75);
        assert_eq!(histogram.share_above(ns(2000)), 0.25);
        assert_eq!(histogram.share_above(ns(u64::MAX)), 0.0);
        assert_eq!(of(&[]).share_above(ns(0)), 0.0);
    }

    #[test]
    fn what_came_later_is_the_difference() {
        let recorder = Recorder::default();
        recorder.record(ns(5));
        let before = recorder.histogram();
        recorder.record(ns(7));
        let since = recorder.histogram().since(&before);
        assert_eq!((since.count(), since.worst()), (1, ns(7)));
        assert_eq!(since.with(&before), recorder.histogram());
    }

    proptest! {
        #[test]
        fn a_time_is_in_a_place_that_is_not_much_longer(time in 0_u64..3_600_000_000_000) {
            let end = last(place(time));
            prop_assert!(time <= end && end - time <= time / 16);
            prop_assert_eq!(place(end + 1), place(end) + 1);
        }
    }

    #[test]
    fn the_longest_of_all_have_a_place() {
        assert_eq!(place(u64::MAX), PLACES - 1);
    }
}

//! A histogram of times whose steps grow with the times, so that each is known to within a hundredth.
//! The steps are those of [`isthmus_abi::lab::histogram`].

use std::time::Duration;

use isthmus_abi::lab::histogram::STEPS_BITS;
pub(crate) use isthmus_abi::lab::histogram::step;

/// Longer times are counted as this: 4.29 s, in nanoseconds.
const MOST: u64 = u32::MAX as u64;

/// The number of occurrences of each time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Histogram {
    counts: Vec<u64>,
}

impl Histogram {
    /// Adds the counts of a CPU, a number for each bin.
    pub fn add(&mut self, counts: &[u64]) {
        self.counts.resize(self.counts.len().max(counts.len()), 0);
        for (sum, count) in self.counts.iter_mut().zip(counts) {
            *sum += count;
        }
    }

    /// Counts a time, in nanoseconds.
    pub fn count(&mut self, time: u64) {
        let step = step(time);
        self.counts.resize(self.counts.len().max(step + 1), 0);
        self.counts[step] += 1;
    }

    /// Returns the counts that were added after `before`, an earlier state of the same histogram.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let earlier = |step| before.counts.get(step).copied().unwrap_or(0);
        let counts = self.counts.iter().enumerate();
        Self {
            counts: counts.map(|(step, count)| count - earlier(step)).collect(),
        }
    }

    /// Returns the share of times longer than `limit`, 0 to 1. Times that exceed it by less than a hundredth may be
    /// missing. The share of an empty histogram is zero.
    pub fn share_above(&self, limit: Duration) -> f64 {
        let limit = u64::try_from(limit.as_nanos()).unwrap_or(MOST);
        let above: u64 = self.counts.iter().skip(step(limit) + 1).sum();
        above as f64 / self.total().max(1) as f64
    }

    /// Returns the number of times that were counted.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Returns the smallest time, in nanoseconds, that at least this share of all times do not exceed (RFC 2330
    /// section 11.3), to 0.78 %. Returns `None` if the histogram is empty.
    pub fn percentile(&self, share: f64) -> Option<f64> {
        let total = self.total();
        self.ranked((share * total as f64).ceil() as u64)
    }

    /// Returns the time of this rank; 1 is the least. Returns `None` if fewer times were counted.
    pub fn ranked(&self, rank: u64) -> Option<f64> {
        let mut below = 0;
        let reached = |count: &u64| {
            below += count;
            below >= rank.max(1)
        };
        let step = self.counts.iter().position(reached)?;
        Some(middle(step))
    }

    /// Returns the bins that have counts: the least time of each, in nanoseconds, and the count.
    pub fn steps(&self) -> Vec<(u64, u64)> {
        let all = self.counts.iter().enumerate();
        all.filter(|(_, count)| **count > 0)
            .map(|(step, count)| (least(step), *count))
            .collect()
    }
}

/// The power of two by which times of a step were divided.
fn shift(step: usize) -> u32 {
    ((step >> STEPS_BITS) as u32).saturating_sub(1)
}

/// Returns the least time of a bin.
fn least(step: usize) -> u64 {
    let shift = shift(step);
    (step as u64 - (u64::from(shift) << STEPS_BITS)) << shift
}

/// Returns the middle of a bin.
fn middle(step: usize) -> f64 {
    let width = 1_u64 << shift(step);
    least(step) as f64 + (width - 1) as f64 / 2.0
}

#[cfg(test)]
mod tests {
    use isthmus_abi::lab::histogram::STEPS;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn short_times_are_exact() {
        for time in 0..128 {
            assert_eq!(step(time), time as usize);
            assert_eq!(middle(time as usize), time as f64);
        }
        assert!(step(MOST) < STEPS);
        assert_eq!(step(u64::MAX), step(MOST));
    }

    #[test]
    fn percentiles_are_those_of_rfc_2330() {
        // The example of RFC 2330 section 11.3: -2, 7, 7, 4, 18, -5, here moved up by 5.
        let mut histogram = Histogram::default();
        assert_eq!(histogram.percentile(0.5), None);
        for time in [3, 12, 12, 9, 23, 0] {
            histogram.count(time);
        }
        assert_eq!(histogram.percentile(0.5), Some(9.0));
        assert_eq!(histogram.percentile(0.25), Some(3.0));
        assert_eq!(histogram.percentile(1.0), Some(23.0));
        assert_eq!(
            histogram.steps(),
            [(0, 1), (3, 1), (9, 1), (12, 2), (23, 1)]
        );
    }

    #[test]
    fn what_is_above_a_limit_and_what_came_later() {
        let mut before = Histogram::default();
        (1..=60).for_each(|n| before.count(n * 1000));
        let mut after = before.clone();
        (61..=100).for_each(|n| after.count(n * 1000));
        let share = after.share_above(Duration::from_micros(50));
        assert!((share - 0.5).abs() < 0.02, "{share}");
        assert_eq!(after.since(&before).total(), 40);
        assert_eq!(
            after.since(&before).share_above(Duration::from_micros(50)),
            1.0
        );
        assert_eq!(Histogram::default().share_above(Duration::ZERO), 0.0);
    }

    proptest! {
        #[test]
        fn every_time_is_known_to_within_a_hundredth(time in 0..=MOST) {
            let known = middle(step(time));
            prop_assert!((known - time as f64).abs() <= 0.0079 * time as f64);
            prop_assert_eq!(step(least(step(time))), step(time));
        }

        #[test]
        fn later_steps_are_longer_times(time in 0..MOST) {
            prop_assert!(step(time) <= step(time + 1));
        }
    }
}

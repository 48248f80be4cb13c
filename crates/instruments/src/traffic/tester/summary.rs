//! The numbers by which repetitions are reported (RFC 8219 section 12).

use serde::{Deserialize, Serialize};

use crate::figures::statistics::{median, percentile};

/// Median and percentiles of repetitions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The number of values.
    pub count: usize,
    /// The median; of an even number of values, the mean of the middle two.
    pub median: f64,
    /// The first percentile.
    pub p1: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The mean.
    pub mean: f64,
    /// The sample standard deviation; zero of one value.
    pub deviation: f64,
}

impl Summary {
    /// Returns the summary of these values; `None` if there are none.
    pub fn of(values: &[f64]) -> Option<Self> {
        let mut sorted = values.to_vec();
        let median = median(&mut sorted);
        let count = sorted.len();
        let mean = sorted.iter().sum::<f64>() / count as f64;
        let squares: f64 = sorted.iter().map(|value| (value - mean).powi(2)).sum();
        Some(Self {
            count,
            median,
            p1: percentile(&sorted, 0.01)?,
            p99: percentile(&sorted, 0.99)?,
            mean,
            deviation: (squares / (count.max(2) - 1) as f64).sqrt(),
        })
    }

    /// Returns the difference of the largest and the smallest of the summarised values, as a share of the median.
    pub fn spread(values: &[f64]) -> Option<f64> {
        let summary = Self::of(values)?;
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Some((most - least) / summary.median)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_hundred_values() {
        let values: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        let summary = Summary::of(&values).unwrap();
        assert_eq!((summary.count, summary.median), (100, 50.5));
        assert_eq!((summary.p1, summary.p99), (1.0, 99.0));
        assert_eq!(summary.mean, 50.5);
        // n (n + 1) / 12 is the sample variance of 1..=n.
        assert!((summary.deviation - (100.0_f64 * 101.0 / 12.0).sqrt()).abs() < 1e-9);
        assert_eq!(Summary::spread(&values), Some(99.0 / 50.5));
    }

    #[test]
    fn of_few_values() {
        assert_eq!(Summary::of(&[]), None);
        let one = Summary::of(&[7.0]).unwrap();
        assert_eq!(
            (one.p1, one.median, one.p99, one.deviation),
            (7.0, 7.0, 7.0, 0.0)
        );
    }
}

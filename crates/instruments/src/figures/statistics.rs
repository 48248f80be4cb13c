//! Medians, percentiles, and intervals of what was measured several times.

/// Returns the median; of an even number of values, the mean of the middle two; zero if there are none.
pub fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        length if length % 2 == 1 => values[length / 2],
        length => (values[length / 2 - 1] + values[length / 2]) / 2.0,
    }
}

/// Returns the smallest of sorted values that at least `share` (0 to 1) of them do not exceed (RFC 2330 section
/// 11.3); `None` if there are none.
pub fn percentile(sorted: &[f64], share: f64) -> Option<f64> {
    let rank = (share * sorted.len() as f64).ceil().max(1.0) as usize;
    sorted.get(rank - 1).copied()
}

/// The confidence of intervals.
pub const CONFIDENCE: f64 = 0.95;

/// Returns the confidence interval of the median of sorted values: from the value whose rank is as low, to that whose
/// rank is as high, as the number of values below the median is likely to be. That follows the binomial distribution,
/// whatever the values' own is. `None` for fewer than six values, whose range says less.
pub fn median_interval(sorted: &[f64]) -> Option<[f64; 2]> {
    let count = sorted.len();
    let mut logarithm = -(count as f64) * std::f64::consts::LN_2;
    let (mut below, mut rank) = (0.0, 0);
    // The probability that fewer than `rank` values are below the median.
    while below + logarithm.exp() <= (1.0 - CONFIDENCE) / 2.0 && rank < count / 2 {
        below += logarithm.exp();
        logarithm += ((count - rank) as f64 / (rank + 1) as f64).ln();
        rank += 1;
    }
    (rank > 0).then(|| [sorted[rank - 1], sorted[count - rank]])
}

/// Returns the first and the 99th percentile of sorted values; `None` if there are none.
pub fn spread(sorted: &[f64]) -> Option<[f64; 2]> {
    Some([percentile(sorted, 0.01)?, percentile(sorted, 0.99)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_were_measured() {
        // RFC 2330 section 11.3: of -2, 7, 7, 4, 18, -5 the 50th percentile is 4, the 25th -2, the 100th 18.
        let values = [-5.0, -2.0, 4.0, 7.0, 7.0, 18.0];
        let expected = [(0.0, -5.0), (0.25, -2.0), (0.5, 4.0), (1.0, 18.0)];
        for (share, value) in expected {
            assert_eq!(percentile(&values, share), Some(value), "{share}");
        }
        assert_eq!(spread(&values), Some([-5.0, 18.0]));
        assert_eq!(spread(&[]), None);
    }

    /// The ranks of Conover, Practical Nonparametric Statistics, for the median at 95 %: of 6 values the first and the
    /// last, of 10 the second and the ninth, of 20 the sixth and the fifteenth, of 100 the 40th and the 61st.
    #[test]
    fn the_interval_of_a_median_is_between_two_ranks() {
        for (count, ranks) in [(6, [1, 6]), (10, [2, 9]), (20, [6, 15]), (100, [40, 61])] {
            let values: Vec<f64> = (1..=count).map(f64::from).collect();
            let expected = ranks.map(f64::from);
            assert_eq!(median_interval(&values), Some(expected), "{count}");
        }
        assert_eq!(median_interval(&[1.0, 2.0, 3.0, 4.0, 5.0]), None);
        assert_eq!(median_interval(&[]), None);
        let many: Vec<f64> = (1..=10_000).map(f64::from).collect();
        let [low, high] = median_interval(&many).unwrap();
        assert!(
            (4900.0..4905.0).contains(&low) && low + high == 10_001.0,
            "{low}"
        );
    }

    #[test]
    fn median_of_odd_and_even() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&mut [4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(median(&mut []), 0.0);
    }
}

//! The shift of one set of values against another, with a 95 % confidence interval.
//!
//! The estimate is that of Hodges and Lehmann: the median of all differences between a value of one set and a value
//! of the other. The interval belongs to the test of Mann and Whitney. It needs no assumption about the distribution
//! and no random numbers. It is exact for the few repetitions of a run, where a bootstrap is too narrow.

use crate::figures::statistics::median;

/// The probability that the interval misses on one side.
const TAIL: f64 = 0.025;

/// The number of pairs up to which the distribution is counted; above, it is approximated by the normal one.
const COUNTED: usize = 900;

/// The shift of the second of two sets against the first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shift {
    /// The estimate.
    pub middle: f64,
    /// The interval; absent if there are too few values.
    pub interval: Option<[f64; 2]>,
}

impl Shift {
    /// Returns the ratio of the second set to the first, both above zero and neither empty.
    pub fn ratio(first: &[f64], second: &[f64]) -> Self {
        let [first, second] =
            [first, second].map(|set| set.iter().map(|value| value.ln()).collect::<Vec<_>>());
        let Self { middle, interval } = Self::between(&first, &second);
        Self {
            middle: middle.exp(),
            interval: interval.map(|ends| ends.map(f64::exp)),
        }
    }

    /// Returns the shift of two sets, neither empty.
    pub fn between(first: &[f64], second: &[f64]) -> Self {
        let mut differences: Vec<f64> = second
            .iter()
            .flat_map(|second| first.iter().map(move |first| second - first))
            .collect();
        let middle = median(&mut differences);
        let interval = rank(first.len(), second.len())
            .map(|rank| [differences[rank - 1], differences[differences.len() - rank]]);
        Self { middle, interval }
    }
}

/// Returns the rank of the ends of the interval among the sorted differences, counted from 1 and from either end.
fn rank(first: usize, second: usize) -> Option<usize> {
    let pairs = first * second;
    let rank = if pairs > COUNTED {
        let (n, m) = (first as f64, second as f64);
        let deviation = (n * m * (n + m + 1.0) / 12.0).sqrt();
        (n * m / 2.0 - 1.96 * deviation).floor() as usize
    } else {
        let distribution = distribution(first, second);
        let total: f64 = distribution.iter().sum();
        let mut below = 0.0;
        let fits = distribution.iter().take_while(|count| {
            below += **count;
            below <= TAIL * total
        });
        fits.count()
    };
    (rank > 0).then_some(rank)
}

/// Returns in how many orders of two sets a value of the second lies below one of the first 0, 1, 2, … times, if both
/// sets are alike.
fn distribution(first: usize, second: usize) -> Vec<f64> {
    // Of none and `m` there is one order. With one more value in the first set, the greatest of all values is either
    // of the first set, above all of the second, or of the second.
    let width = first * second + 1;
    let mut orders = vec![vec![0.0; width]; second + 1];
    for order in &mut orders {
        order[0] = 1.0;
    }
    for _ in 0..first {
        let mut next: Vec<Vec<f64>> = Vec::with_capacity(second + 1);
        for (m, fewer) in orders.iter().enumerate() {
            let counted = (0..width).map(|count| {
                let of_first = if count >= m { fewer[count - m] } else { 0.0 };
                let of_second = if m == 0 { 0.0 } else { next[m - 1][count] };
                of_first + of_second
            });
            let counted = counted.collect();
            next.push(counted);
        }
        orders = next;
    }
    orders.pop().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_critical_values_are_those_of_the_printed_tables() {
        // Mann and Whitney's U, two-sided 5 %: the greatest value at which the test still rejects.
        let table = [
            (3, 5, 0),
            (4, 4, 0),
            (5, 5, 2),
            (5, 8, 6),
            (6, 6, 5),
            (8, 8, 13),
            (10, 10, 23),
            (10, 20, 55),
            (20, 20, 127),
        ];
        for (first, second, critical) in table {
            assert_eq!(
                rank(first, second),
                Some(critical + 1),
                "{first} and {second}"
            );
            assert_eq!(
                rank(second, first),
                Some(critical + 1),
                "{second} and {first}"
            );
        }
    }

    #[test]
    fn three_and_three_or_one_and_one_have_no_interval() {
        assert_eq!(rank(3, 3), None);
        assert_eq!(rank(1, 1), None);
        assert_eq!(rank(1, 30), None);
    }

    #[test]
    fn many_values_are_as_in_the_counted_distribution() {
        // 30 and 30 are counted, and the normal approximation gives nearly the same there.
        let exact = rank(30, 30).unwrap() as f64;
        let normal = 450.0 - 1.96 * (900.0f64 * 61.0 / 12.0).sqrt();
        assert!((exact - normal).abs() <= 2.0, "{exact} {normal}");
        assert!(rank(31, 31).is_some_and(|rank| rank as f64 > exact));
    }

    #[test]
    fn a_shift_is_found_and_lies_in_its_interval() {
        let first: Vec<f64> = (0..10).map(f64::from).collect();
        let second: Vec<f64> = first.iter().map(|value| value + 100.0).collect();
        let shift = Shift::between(&first, &second);
        let [low, high] = shift.interval.unwrap();
        assert_eq!(shift.middle, 100.0);
        assert!(
            low < 100.0 && 100.0 < high && low > 90.0 && high < 110.0,
            "{low} {high}"
        );
    }
}

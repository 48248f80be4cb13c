//! The relation of two sets of values, by an interval of their ratio.

use super::{ALIKE, Comparison, Found};
use crate::figures::{shift::Shift, statistics::median};

/// The most by which counts of instructions differ from run to run, as a share: those of processes.
const REPEATS: f64 = 0.01;

/// The expected relation of the first of two sets of values to the second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Relation {
    /// Smaller.
    Below,
    /// Smaller, or larger by less than [`ALIKE`].
    NotAbove,
    /// Similar: a test of equivalence, and not one that found no difference.
    Alike,
    /// From one to another multiple of the second.
    Times(f64, f64),
}

impl Relation {
    pub(super) fn sign(self) -> &'static str {
        match self {
            Self::Below => "<",
            Self::NotAbove => "≤",
            Self::Alike | Self::Times(..) => "≈",
        }
    }

    /// Returns the ratios of the first to the second with which it is true.
    fn range(self) -> [f64; 2] {
        match self {
            Self::Below => [0.0, 1.0],
            Self::NotAbove => [0.0, 1.0 + ALIKE],
            Self::Alike => [1.0 / (1.0 + ALIKE), 1.0 + ALIKE],
            Self::Times(least, most) => [least, most],
        }
    }

    /// Compares the values of repetitions. It is found if the whole interval of the ratio says so, and its contrary if the
    /// whole interval does. All else is noise.
    pub(super) fn compare(self, what: String, one: &[f64], other: &[f64]) -> Comparison {
        let is_positive = |set: &[f64]| !set.is_empty() && set.iter().all(|value| *value > 0.0);
        let (effect, interval) = if is_positive(one) && is_positive(other) {
            let Shift { middle, interval } = Shift::ratio(other, one);
            (middle, interval)
        } else {
            self.with_zeros(one, other)
        };
        let [least, most] = self.range();
        let found = match interval {
            Some([low, high])
                if low >= least && high <= most && (low < 1.0 || self != Self::Below) =>
            {
                Found::For
            }
            Some([low, high]) if low > most || high < least => Found::Against,
            _ => Found::Unclear,
        };
        Comparison {
            what,
            effect: effect.is_finite().then_some(effect),
            interval,
            found,
        }
    }

    /// Compares two counts of instructions, which repeat to [`REPEATS`]. There is no noise: what is not found is contradicted.
    pub(super) fn compare_counts(self, what: String, one: f64, other: f64) -> Comparison {
        let effect = one / other;
        let interval = [effect * (1.0 - REPEATS), effect * (1.0 + REPEATS)];
        let [least, most] = self.range();
        let is_within = interval[0] >= least && interval[1] <= most;
        Comparison {
            what,
            effect: Some(effect),
            interval: Some(interval),
            found: if is_within {
                Found::For
            } else {
                Found::Against
            },
        }
    }

    /// Returns the ratio of medians and its interval where values are zero, as losses are: the interval of the difference,
    /// by the larger median.
    fn with_zeros(self, one: &[f64], other: &[f64]) -> (f64, Option<[f64; 2]>) {
        if one.is_empty() || other.is_empty() {
            return (f64::NAN, None);
        }
        let [of_one, of_other] = [one, other].map(|set| median(&mut set.to_vec()));
        let scale = of_one.abs().max(of_other.abs());
        if scale == 0.0 {
            return (f64::NAN, None);
        }
        let Shift { interval, .. } = Shift::between(other, one);
        let ratio = of_one / of_other;
        (
            ratio,
            interval.map(|ends| ends.map(|end| (1.0 + end / scale).max(0.0))),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns five values around a middle, a share of it apart.
    fn around(middle: f64, apart: f64) -> Vec<f64> {
        (-2..=2)
            .map(|step| middle * (1.0 + apart * f64::from(step)))
            .collect()
    }

    fn found(relation: Relation, one: &[f64], other: &[f64]) -> Found {
        relation.compare(String::new(), one, other).found
    }

    #[test]
    fn an_order_needs_a_difference_above_the_noise() {
        let (small, large) = (around(1.0, 0.001), around(1.1, 0.001));
        assert_eq!(found(Relation::Below, &small, &large), Found::For);
        assert_eq!(found(Relation::Below, &large, &small), Found::Against);
        assert_eq!(found(Relation::Below, &small, &small), Found::Unclear);
        let noisy = around(1.1, 0.2);
        assert_eq!(found(Relation::Below, &small, &noisy), Found::Unclear);
        assert_eq!(found(Relation::Below, &noisy, &small), Found::Unclear);
    }

    #[test]
    fn one_repetition_tells_nothing() {
        for relation in [Relation::Below, Relation::NotAbove, Relation::Alike] {
            assert_eq!(found(relation, &[1.0], &[5.0]), Found::Unclear);
            assert_eq!(found(relation, &[5.0], &[1.0]), Found::Unclear);
        }
    }

    #[test]
    fn alike_is_shown_and_not_assumed() {
        let (one, near, far) = (around(1.0, 0.002), around(1.02, 0.002), around(1.2, 0.002));
        assert_eq!(found(Relation::Alike, &one, &near), Found::For);
        assert_eq!(found(Relation::Alike, &one, &far), Found::Against);
        assert_eq!(found(Relation::Alike, &far, &one), Found::Against);
        // No difference is found, but it could be large.
        assert_eq!(
            found(Relation::Alike, &one, &around(1.0, 0.2)),
            Found::Unclear
        );
        assert_eq!(found(Relation::NotAbove, &near, &one), Found::For);
        assert_eq!(found(Relation::NotAbove, &far, &one), Found::Against);
    }

    #[test]
    fn values_of_nothing_are_compared_by_their_difference() {
        let (none, some) = (vec![0.0; 5], around(0.3, 0.01));
        assert_eq!(found(Relation::Below, &none, &some), Found::For);
        assert_eq!(found(Relation::Below, &some, &none), Found::Against);
        assert_eq!(found(Relation::Below, &none, &none), Found::Unclear);
    }

    #[test]
    fn counts_decide_without_repetitions() {
        let found = |relation: Relation, one, other| {
            let compared = relation.compare_counts(String::new(), one, other);
            compared.found
        };
        assert_eq!(found(Relation::Below, 900.0, 1000.0), Found::For);
        assert_eq!(found(Relation::Below, 1000.0, 900.0), Found::Against);
        // They are the same, and the first is not the smaller one.
        assert_eq!(found(Relation::Below, 999.0, 1000.0), Found::Against);
        assert_eq!(found(Relation::NotAbove, 1001.0, 1000.0), Found::For);
    }

    #[test]
    fn a_multiple_has_two_ends() {
        let ten = Relation::Times(9.0, 11.0);
        let one = around(1.0, 0.001);
        let outcomes = [8.0, 10.0, 12.0].map(|middle| found(ten, &around(middle, 0.001), &one));
        assert_eq!(outcomes, [Found::Against, Found::For, Found::Against]);
        assert_eq!(found(ten, &around(9.05, 0.01), &one), Found::Unclear);
    }
}

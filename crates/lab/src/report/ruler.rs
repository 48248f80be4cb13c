//! An axis: the places of values, and the ticks.

use crate::figures::results::Scale;

/// A range of values with ticks.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Ruler {
    low: f64,
    high: f64,
    scale: Scale,
    /// The values with a tick, from the least.
    pub(super) ticks: Vec<f64>,
}

impl Ruler {
    /// Returns the axis of these values. A logarithmic one needs positive values, and is linear without.
    pub(super) fn over(scale: Scale, values: &[f64]) -> Self {
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        match scale {
            _ if !(low.is_finite() && high.is_finite()) => Self::linear(0.0, 1.0),
            Scale::Logarithmic if low > 0.0 => Self::logarithmic(low, high),
            _ => Self::linear(low, high),
        }
    }

    /// Returns the axis of these places. They have the ticks, if they are few and far enough apart.
    pub(super) fn at_places(scale: Scale, places: &[f64]) -> Self {
        let mut ruler = Self::over(scale, places);
        if let (Some(low), Some(high)) = (places.first(), places.last())
            && low < high
        {
            (ruler.low, ruler.high) = (*low, *high);
            ruler.ticks.retain(|tick| (low..=high).contains(&tick));
        }
        let apart = |pair: &[f64]| ruler.place(pair[1]) - ruler.place(pair[0]) >= 0.09;
        if (1..=10).contains(&places.len()) && places.windows(2).all(apart) {
            ruler.ticks = places.to_vec();
        }
        ruler
    }

    /// Returns the axis of lengths and heights: with zero, unless values are so far apart that small ones would
    /// vanish.
    pub(super) fn of_values(values: &[f64]) -> Self {
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(0.0, f64::max);
        if low > 0.0 && high / low > 30.0 {
            Self::over(Scale::Logarithmic, values)
        } else {
            Self::over(Scale::Linear, &[values, &[0.0]].concat())
        }
    }

    /// Returns the axis of bars, whose length is the value: always from zero.
    pub(super) fn of_bars(values: &[f64]) -> Self {
        Self::over(Scale::Linear, &[values, &[0.0]].concat())
    }

    fn linear(low: f64, high: f64) -> Self {
        let (low, high) = if low < high {
            (low, high)
        } else {
            let around = if low == 0.0 { 1.0 } else { low.abs() / 2.0 };
            (low - around, high + around)
        };
        // A quarter of the span: the whole may exceed the range of a number.
        let quarter = high / 4.0 - low / 4.0;
        let step = nice(quarter / 5.0 * 4.0);
        let (first, last) = ((low / step).floor(), (high / step).ceil());
        let count = (last - first).clamp(0.0, 20.0) as u32;
        let ticks: Vec<f64> = (0..=count)
            .map(|tick| (first + f64::from(tick)) * step)
            .collect();
        let usable = step.is_normal() && ticks.iter().all(|tick| tick.is_finite());
        let ticks = if usable { ticks } else { vec![low, high] };
        Self {
            low: ticks[0].min(low),
            high: ticks[ticks.len() - 1].max(high),
            scale: Scale::Linear,
            ticks,
        }
    }

    fn logarithmic(low: f64, high: f64) -> Self {
        let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
        let decades = last - first;
        let steps: &[f64] = if decades <= 4 {
            &[1.0, 2.0, 5.0]
        } else {
            &[1.0]
        };
        let every = (decades / 8 + 1) as usize;
        let all: Vec<f64> = (first..=last)
            .step_by(every)
            .flat_map(|decade| steps.iter().map(move |step| step * 10f64.powi(decade)))
            .filter(|tick| tick.is_normal())
            .collect();
        // From the last tick that is not above the least value to the first that is not below the greatest.
        let begin = all.iter().rposition(|tick| *tick <= low).unwrap_or(0);
        let end = all
            .iter()
            .position(|tick| *tick >= high)
            .unwrap_or(all.len().saturating_sub(1));
        let ticks = all.get(begin..=end).map_or_else(Vec::new, <[f64]>::to_vec);
        let (Some(least), Some(most)) = (ticks.first(), ticks.last()) else {
            return Self::linear(low, high);
        };
        let (least, most) = (least.min(low), most.max(high));
        if least >= most {
            return Self::linear(low, high);
        }
        Self {
            low: least,
            high: most,
            scale: Scale::Logarithmic,
            ticks,
        }
    }

    /// Returns the place of a value: 0 at the low end, 1 at the high end. Values beyond an end are at it.
    pub(super) fn place(&self, value: f64) -> f64 {
        let share = match self.scale {
            Scale::Linear => (value / 4.0 - self.low / 4.0) / (self.high / 4.0 - self.low / 4.0),
            Scale::Logarithmic => {
                (value.max(f64::MIN_POSITIVE).ln() - self.low.ln())
                    / (self.high.ln() - self.low.ln())
            }
        };
        if share.is_nan() {
            0.5
        } else {
            share.clamp(0.0, 1.0)
        }
    }

    /// Returns as many of these ticks as have room beside each other: all, or the powers of ten, or every second, third
    /// and so on.
    pub(super) fn with_room(&self, ticks: &[f64], apart: impl Fn(f64, f64) -> bool) -> Vec<f64> {
        let is_power = |tick: &f64| (tick.log10() - tick.log10().round()).abs() < 1e-9;
        let powers: Vec<f64> = ticks.iter().copied().filter(is_power).collect();
        let powers = (self.scale == Scale::Logarithmic && powers.len() > 1).then_some(powers);
        let every = |step| ticks.iter().copied().step_by(step).collect();
        let some = powers.into_iter().chain((2..=ticks.len()).map(every));
        let fits = |ticks: &Vec<f64>| ticks.windows(2).all(|pair| apart(pair[0], pair[1]));
        let choices = std::iter::once(ticks.to_vec()).chain(some);
        choices.into_iter().find(fits).unwrap_or_default()
    }

    /// Returns the greatest value by size, for the choice of a unit.
    pub(super) fn largest(&self) -> f64 {
        let sizes = self.ticks.iter().map(|tick| tick.abs());
        match self.scale {
            Scale::Linear => sizes.fold(0.0, f64::max),
            // In the middle: small values are read as well as large ones.
            Scale::Logarithmic => self.ticks[self.ticks.len() / 2],
        }
    }
}

/// Returns the next 1, 2 or 5 times a power of ten.
fn nice(step: f64) -> f64 {
    let power = 10f64.powf(step.log10().floor());
    let rest = step / power;
    let factor = [1.0, 2.0, 5.0]
        .into_iter()
        .find(|factor| rest <= factor * 1.000_001);
    factor.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: &[f64], expected: &[f64]) {
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (found, expected) in found.iter().zip(expected) {
            assert!(
                (found - expected).abs() <= 1e-9 * expected.abs().max(1e-12),
                "{found}"
            );
        }
    }

    #[test]
    fn linear_ticks_are_round_and_hold_all_values() {
        close(
            &Ruler::of_values(&[13.0, 97.0]).ticks,
            &[0.0, 20.0, 40.0, 60.0, 80.0, 100.0],
        );
        close(
            &Ruler::of_values(&[0.0, 0.00012]).ticks,
            &[0.0, 5e-5, 1e-4, 1.5e-4],
        );
        close(
            &Ruler::over(Scale::Linear, &[-1.0, 1.0]).ticks,
            &[-1.0, -0.5, 0.0, 0.5, 1.0],
        );
    }

    #[test]
    fn values_far_apart_have_a_logarithmic_axis() {
        close(
            &Ruler::of_values(&[1e-4, 1e-2]).ticks,
            &[1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2],
        );
        assert_eq!(Ruler::of_values(&[0.0, 1e9]).scale, Scale::Linear);
    }

    #[test]
    fn few_places_have_a_tick_each_and_many_have_round_ones() {
        let prefixes = [32.0, 40.0, 48.0, 56.0, 64.0, 96.0];
        assert_eq!(Ruler::at_places(Scale::Linear, &prefixes).ticks, prefixes);
        let payloads = crate::figures::bound::table::PAPERS_PAYLOADS.map(f64::from);
        let ruler = Ruler::at_places(Scale::Logarithmic, &payloads);
        close(
            &ruler.ticks,
            &[50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0, 5000.0, 10000.0],
        );
        assert_eq!((ruler.place(50.0), ruler.place(10000.0)), (0.0, 1.0));
    }

    #[test]
    fn as_many_ticks_as_have_room() {
        let ruler = Ruler::over(Scale::Linear, &[0.0, 100.0]);
        let apart = |least: f64| move |one, other| other - one >= least;
        close(
            &ruler.with_room(&ruler.ticks, apart(20.0)),
            &[0.0, 20.0, 40.0, 60.0, 80.0, 100.0],
        );
        close(&ruler.with_room(&ruler.ticks, apart(50.0)), &[0.0, 60.0]);
        close(&ruler.with_room(&ruler.ticks, apart(500.0)), &[0.0]);
        // Of a logarithmic axis the powers of ten are better than every second tick.
        let ruler = Ruler::over(Scale::Logarithmic, &[2.0, 2000.0]);
        let ratio = |one: f64, other: f64| other / one >= 3.0;
        close(
            &ruler.with_room(&ruler.ticks, ratio),
            &[10.0, 100.0, 1000.0],
        );
    }

    #[test]
    fn places_are_where_they_belong() {
        let ruler = Ruler::over(Scale::Logarithmic, &[1.0, 10000.0]);
        assert!((ruler.place(100.0) - 0.5).abs() < 1e-9);
        let ruler = Ruler::over(Scale::Linear, &[0.0, 10.0]);
        assert_eq!(
            (ruler.place(2.5), ruler.place(11.0), ruler.place(-1.0)),
            (0.25, 1.0, 0.0)
        );
    }

    #[test]
    fn nothing_one_value_and_the_ends_of_numbers_have_an_axis() {
        let odd: [&[f64]; 7] = [
            &[],
            &[0.0],
            &[5.0],
            &[-3.0],
            &[-1e300, 1e300],
            &[5e-324, 5e-324],
            &[1e-300, 1e300],
        ];
        for values in odd {
            let all = [
                Ruler::of_values(values),
                Ruler::of_bars(values),
                Ruler::at_places(Scale::Linear, values),
                Ruler::at_places(Scale::Logarithmic, values),
            ];
            for ruler in all {
                assert!(
                    !ruler.ticks.is_empty() && ruler.ticks.len() <= 22,
                    "{values:?} {ruler:?}"
                );
                for value in values {
                    assert!(
                        (0.0..=1.0).contains(&ruler.place(*value)),
                        "{values:?} {ruler:?}"
                    );
                }
            }
        }
    }
}

//! The single samples behind the values of a trial, in a file of their own: no report needs them.

use serde::{Deserialize, Serialize};

use super::{Outcome, Planned, Trial};

/// The most samples that are kept of a point. Of more, every second, third … is kept, in the order of measurement.
pub const MOST_SAMPLES: usize = 1000;

/// The samples of a point.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Raw {
    /// There are none: the value is one measurement.
    #[default]
    None,
    /// Single samples in the unit of the quantity, in the order of measurement: at most [`MOST_SAMPLES`].
    Values(Vec<f64>),
    /// The number of samples by steps: the least value of a step, in the unit of the quantity, and the number. A step is as
    /// wide as 0.78 % of its values.
    Steps(Vec<(f64, u64)>),
}

impl Raw {
    /// Keeps samples, or some of them, evenly, if they are many.
    pub fn of(samples: &[f64]) -> Self {
        let step = samples.len().div_ceil(MOST_SAMPLES).max(1);
        Self::Values(samples.iter().step_by(step).copied().collect())
    }
}

/// `samples/NNNN.json`: the samples of a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Samples {
    /// The run's [`Run::id`](super::Run::id).
    pub run: String,
    /// The trial's entry in the plan.
    pub planned: Planned,
    /// The points that have samples, in their order.
    pub points: Vec<Sampled>,
}

/// The samples of one point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Sampled {
    /// The point's series.
    pub series: String,
    /// The point's place on the axis.
    pub at: f64,
    /// Its samples.
    pub raw: Raw,
}

impl Samples {
    /// Takes the samples out of the points of a trial; `None` if there are none.
    pub fn take(trial: &mut Trial) -> Option<Self> {
        let Outcome::Measured(points) = &mut trial.outcome else {
            return None;
        };
        let sampled = points.iter_mut().filter(|point| point.raw != Raw::None);
        let points: Vec<Sampled> = sampled
            .map(|point| Sampled {
                series: point.series.clone(),
                at: point.at,
                raw: std::mem::take(&mut point.raw),
            })
            .collect();
        (!points.is_empty()).then(|| Self {
            run: trial.run.clone(),
            planned: trial.planned.clone(),
            points,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_samples_are_thinned_evenly_and_few_are_kept_whole() {
        let samples: Vec<f64> = (0..2500).map(f64::from).collect();
        let Raw::Values(kept) = Raw::of(&samples) else {
            panic!("these are single values");
        };
        assert_eq!((kept.len(), kept[1], kept[833]), (834, 3.0, 2499.0));
        assert_eq!(
            Raw::of(&samples[..4]),
            Raw::Values(vec![0.0, 1.0, 2.0, 3.0])
        );
    }
}

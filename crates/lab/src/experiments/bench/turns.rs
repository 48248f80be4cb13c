//! Repetitions of a subject and its baseline. They take turns, so that a change of the machine's load meets both.

use std::time::Duration;

use crate::{Result, figures::statistics::median};

/// The effort of a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effort {
    /// Repetitions of subject and baseline, 1 or more.
    pub repetitions: usize,
    /// The time of sending before each measurement.
    pub warm_up: Duration,
    /// The length of each measurement.
    pub window: Duration,
}

/// Medians of subject and baseline.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Compared {
    /// The subject's.
    pub(super) value: f64,
    /// The baseline's.
    pub(super) baseline: f64,
}

/// Measures both in turn, `repetitions` times, and returns the medians.
pub(super) fn interleave(
    repetitions: usize,
    mut subject: impl FnMut() -> Result<f64>,
    mut baseline: impl FnMut() -> Result<f64>,
) -> Result<Compared> {
    let mut values = Vec::with_capacity(repetitions);
    let mut baselines = Vec::with_capacity(repetitions);
    for _ in 0..repetitions {
        baselines.push(baseline()?);
        values.push(subject()?);
    }
    Ok(Compared {
        value: median(&mut values),
        baseline: median(&mut baselines),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn baseline_and_subject_take_turns() {
        let order = std::cell::RefCell::new(Vec::new());
        let note = |name| {
            order.borrow_mut().push(name);
            Ok(1.0)
        };
        interleave(2, || note("subject"), || note("baseline")).unwrap();
        assert_eq!(
            *order.borrow(),
            ["baseline", "subject", "baseline", "subject"]
        );
    }
}

//! The differences between two runs, and their significance.
//!
//! Each point that both runs have is compared over the repetitions; see the module `statistics`. A run with fewer than
//! four repetitions cannot show a difference: the smallest interval that three and three values have is one of 90 %,
//! not of 95 %.

mod show;

use std::collections::BTreeSet;

use serde::Serialize;

use crate::{
    figures::{
        results::{Better, Quantity, Run},
        shift::Shift,
    },
    report::summary::{ExperimentSummary, Figure, Line, Summary},
};

/// The comparison of two runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Diff {
    /// The identifiers of the runs.
    pub runs: [String; 2],
    /// The circumstances in which the runs differ.
    pub circumstances: Vec<Circumstance>,
    /// The points that both have, in the order of the first.
    pub points: Vec<Compared>,
    /// The lines, or points of lines, that only the first has.
    pub only_first: Vec<PointKey>,
    /// The lines, or points of lines, that only the second has.
    pub only_second: Vec<PointKey>,
}

/// A difference of the machine, the program or the plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Circumstance {
    /// Its name.
    pub what: &'static str,
    /// Its value in the first run.
    pub first: String,
    /// Its value in the second run.
    pub second: String,
}

/// The key of a point.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PointKey {
    /// The experiment's name.
    pub experiment: String,
    /// The subject's name.
    pub subject: String,
    /// The series.
    pub series: String,
    /// The place on the axis.
    pub at: f64,
}

/// One point in both runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Compared {
    /// The key of the point.
    #[serde(flatten)]
    pub place: PointKey,
    /// The quantity.
    pub quantity: Quantity,
    /// The medians, in the unit of the quantity.
    pub medians: [f64; 2],
    /// The number of repetitions in each run.
    pub repetitions: [usize; 2],
    /// The difference of the second run.
    pub estimate: Estimate,
    /// The meaning of the difference.
    pub change: Change,
}

/// The difference of a point.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Estimate {
    /// The way of comparing.
    pub by: By,
    /// The likely ratio or difference.
    pub value: f64,
    /// The 95 % confidence interval; absent with too few repetitions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<[f64; 2]>,
}

/// The way in which two values are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// The second divided by the first.
    Ratio,
    /// The second less the first, because not all values are positive.
    Difference,
}

/// The change of a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// The second run is better.
    Better,
    /// The second run is worse.
    Worse,
    /// The interval contains both better and worse values.
    NoneShown,
    /// There are too few repetitions for an interval.
    TooFew,
}

impl Diff {
    /// Compares the second run with the first.
    pub fn between(first: &Summary<'_>, second: &Summary<'_>) -> Self {
        let mut points = Vec::new();
        let mut only_first = Vec::new();
        for (answers, line, figure) in all(first) {
            match counterpart(second, answers, line, figure) {
                Some(other) => points.push(Compared::new(answers, line, figure, other)),
                None => only_first.push(PointKey::of(answers, line, figure)),
            }
        }
        let only_second = all(second)
            .filter(|(answers, line, figure)| counterpart(first, answers, line, figure).is_none())
            .map(|(answers, line, figure)| PointKey::of(answers, line, figure))
            .collect();
        Self {
            runs: [first.run.id.clone(), second.run.id.clone()],
            circumstances: circumstances(first.run, second.run),
            points,
            only_first,
            only_second,
        }
    }

    /// Returns the number of points with this change.
    pub fn count(&self, change: Change) -> usize {
        self.points
            .iter()
            .filter(|point| point.change == change)
            .count()
    }
}

/// Returns all figures of a run, with their keys.
fn all<'s, 'a>(
    summary: &'s Summary<'a>,
) -> impl Iterator<Item = (&'s ExperimentSummary<'a>, &'s Line<'a>, &'s Figure)> {
    summary.experiments.iter().flat_map(|answers| {
        answers.lines.iter().flat_map(move |line| {
            line.figures
                .iter()
                .map(move |figure| (answers, line, figure))
        })
    })
}

/// Returns the same point in another run. A point of another quantity is not the same.
fn counterpart<'s>(
    summary: &'s Summary<'_>,
    answers: &ExperimentSummary<'_>,
    line: &Line<'_>,
    figure: &Figure,
) -> Option<&'s Figure> {
    let other = summary.experiment(&answers.experiment.name)?;
    if other.experiment.quantity != answers.experiment.quantity {
        return None;
    }
    other.line(&line.subject.name, line.series)?.at(figure.at)
}

impl PointKey {
    fn of(answers: &ExperimentSummary<'_>, line: &Line<'_>, figure: &Figure) -> Self {
        Self {
            experiment: answers.experiment.name.clone(),
            subject: line.subject.name.clone(),
            series: line.series.to_owned(),
            at: figure.at,
        }
    }
}

impl Compared {
    fn new(
        answers: &ExperimentSummary<'_>,
        line: &Line<'_>,
        first: &Figure,
        second: &Figure,
    ) -> Self {
        let quantity = answers.experiment.quantity;
        let estimate = Estimate::between(&first.values, &second.values);
        Self {
            place: PointKey::of(answers, line, first),
            quantity,
            medians: [first.value(), second.value()],
            repetitions: [first.values.len(), second.values.len()],
            change: estimate.change(quantity),
            estimate,
        }
    }
}

impl Estimate {
    fn between(first: &[f64], second: &[f64]) -> Self {
        let positive = first.iter().chain(second).all(|value| *value > 0.0);
        if positive {
            let logarithms =
                |values: &[f64]| values.iter().map(|value| value.ln()).collect::<Vec<_>>();
            let shift = Shift::between(&logarithms(first), &logarithms(second));
            Self {
                by: By::Ratio,
                value: shift.middle.exp(),
                interval: shift.interval.map(|ends| ends.map(f64::exp)),
            }
        } else {
            let shift = Shift::between(first, second);
            Self {
                by: By::Difference,
                value: shift.middle,
                interval: shift.interval,
            }
        }
    }

    fn change(&self, quantity: Quantity) -> Change {
        let unchanged = match self.by {
            By::Ratio => 1.0,
            By::Difference => 0.0,
        };
        let Some([low, high]) = self.interval else {
            return Change::TooFew;
        };
        match quantity.better() {
            Better::Higher if low > unchanged => Change::Better,
            Better::Lower if high < unchanged => Change::Better,
            Better::Higher if high < unchanged => Change::Worse,
            Better::Lower if low > unchanged => Change::Worse,
            _ => Change::NoneShown,
        }
    }
}

/// Returns the circumstances in which two runs differ.
fn circumstances(first: &Run, second: &Run) -> Vec<Circumstance> {
    let of = |run: &Run| {
        let place = &run.environment;
        [
            ("processor", place.cpu.clone()),
            ("cores", place.cores.to_string()),
            ("memory in MiB", place.memory_mib.to_string()),
            ("kernel", place.kernel.clone()),
            ("version", place.isthmus.clone()),
            ("program", place.program.clone()),
            ("profile", run.profile.clone()),
            ("congestion control", congestion_control(run)),
        ]
    };
    let pairs = of(first).into_iter().zip(of(second));
    pairs
        .filter(|((_, first), (_, second))| first != second)
        .map(|((what, first), (_, second))| Circumstance {
            what,
            first,
            second,
        })
        .collect()
}

/// Returns the congestion control of TCP in a run's networks, if the run has kept it.
fn congestion_control(run: &Run) -> String {
    let interfaces = run.networks.iter().flatten();
    let all: BTreeSet<&str> = interfaces
        .filter_map(|interface| interface.congestion_control.as_deref())
        .collect();
    match all.len() {
        0 => "unknown".into(),
        _ => Vec::from_iter(all).join(", "),
    }
}

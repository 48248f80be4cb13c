//! The summary of a run: the medians of each subject in each experiment over the repetitions.
//!
//! The report shows it, claims are judged by it and two runs are compared by it. Everything keeps the order of
//! `run.json`, so the same run always has the same summary.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    experiments::validity::BEATEN,
    figures::{
        results::{
            Better, ExperimentInfo, Outcome, Planned, Point, Quantity, Run, SubjectInfo, Trial,
        },
        statistics::{median, median_interval, spread},
    },
    report::amount,
};

/// All figures of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary<'a> {
    /// The run.
    pub run: &'a Run,
    /// The experiments, in the order of the run.
    pub experiments: Vec<ExperimentSummary<'a>>,
    /// The trials without figures.
    pub troubles: Vec<Trouble<'a>>,
    /// The number of trials with figures.
    pub measured: usize,
}

/// The figures of one experiment.
#[derive(Debug, Clone, PartialEq)]
pub struct ExperimentSummary<'a> {
    /// The experiment.
    pub experiment: &'a ExperimentInfo,
    /// A line for each subject and series: subjects in the order of the run, series in the order of the points.
    pub lines: Vec<Line<'a>>,
}

/// One subject's figures of one series.
#[derive(Debug, Clone, PartialEq)]
pub struct Line<'a> {
    /// The subject.
    pub subject: &'a SubjectInfo,
    /// The direction or the part.
    pub series: &'a str,
    /// The figures from the least place on the axis to the greatest; never empty.
    pub figures: Vec<Figure>,
}

/// A value at one place on the axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// The place; 0 if the experiment has no axis.
    pub at: f64,
    /// One value for each repetition, in order; never empty.
    pub values: Vec<f64>,
    /// Samples of all repetitions together.
    pub samples: u64,
    /// The first and the 99th percentile: of the samples (medians over the repetitions) where trials have kept them,
    /// else of the repetitions; absent if there is only one repetition.
    pub spread: Option<[f64; 2]>,
    /// The 95 % confidence interval of the value: of the median over six repetitions or more; of fewer, from the least to
    /// the greatest end of their own intervals. Absent if neither is known.
    pub interval: Option<[f64; 2]>,
    /// The bound of the model.
    pub bound: Option<f64>,
    /// The rate or time of the tester without a device.
    pub ceiling: Option<f64>,
    /// The least share of the rate without loss at which it was measured.
    pub load: Option<f64>,
    /// The explanation of the first repetition that has one.
    pub reason: Option<String>,
}

/// Trials without figures, for one cause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble<'a> {
    /// The experiment's name.
    pub experiment: &'a str,
    /// The subject's name.
    pub subject: &'a str,
    /// The cause.
    pub cause: Cause<'a>,
    /// The number of trials.
    pub trials: usize,
}

/// The reason why a trial has no figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause<'a> {
    /// It could not be run.
    NotRun(&'a str),
    /// The tester missed its own schedule.
    Void(&'a str),
    /// `run.json` does not describe the experiment or the subject, or the trial has no points.
    Empty,
    /// It has no figure at this place on the axis.
    Gap(u64, &'a str),
    /// It has not been run yet.
    Left,
}

impl<'a> Summary<'a> {
    /// Summarises a run from those of its trials that are over.
    pub fn new(run: &'a Run, trials: impl IntoIterator<Item = &'a Trial>) -> Self {
        let mut gathered: Vec<Vec<Gathered<'a>>> = vec![Vec::new(); run.experiments.len()];
        let mut troubles: BTreeMap<(usize, usize, Cause<'a>), Trouble<'a>> = BTreeMap::new();
        let mut trouble = |planned: &'a Planned, cause| {
            let place = (experiment(run, planned), subject(run, planned), cause);
            let entry = troubles.entry(place).or_insert(Trouble {
                experiment: &planned.experiment,
                subject: &planned.subject,
                cause,
                trials: 0,
            });
            entry.trials += 1;
        };
        let mut over = BTreeSet::new();
        let mut measured = 0;
        for trial in trials {
            over.insert(key(&trial.planned));
            let place = (
                experiment(run, &trial.planned),
                subject(run, &trial.planned),
            );
            for gap in &trial.gaps {
                trouble(&trial.planned, Cause::Gap(gap.at as u64, &gap.why));
            }
            match &trial.outcome {
                Outcome::NotRun(why) => trouble(&trial.planned, Cause::NotRun(why)),
                Outcome::Void(why) => trouble(&trial.planned, Cause::Void(why)),
                Outcome::Measured(points) => match gathered.get_mut(place.0) {
                    Some(lines) if place.1 < run.subjects.len() && !points.is_empty() => {
                        measured += 1;
                        for point in points {
                            gather(lines, place.1, point);
                        }
                    }
                    _ => trouble(&trial.planned, Cause::Empty),
                },
            }
        }
        for planned in &run.plan {
            if !over.contains(&key(planned)) {
                trouble(planned, Cause::Left);
            }
        }
        Self {
            run,
            experiments: run
                .experiments
                .iter()
                .zip(gathered)
                .map(|(experiment, lines)| ExperimentSummary::new(run, experiment, lines))
                .collect(),
            troubles: troubles.into_values().collect(),
            measured,
        }
    }

    /// Returns the figures that are better than their bounds, in words. There must be none: the measurement or the model
    /// is wrong.
    pub fn beaten(&self) -> Vec<String> {
        let mut beaten = Vec::new();
        for answers in &self.experiments {
            let quantity = answers.experiment.quantity;
            for line in &answers.lines {
                for figure in &line.figures {
                    if let Some(bound) = figure.bound.filter(|_| figure.beats_its_bound(quantity)) {
                        beaten.push(format!(
                            "{}, {} {} at {}: {}, bound {}",
                            answers.experiment.name,
                            line.subject.name,
                            line.series,
                            amount::place(figure.at),
                            amount::amount(quantity, figure.value()),
                            amount::amount(quantity, bound),
                        ));
                    }
                }
            }
        }
        beaten
    }

    /// Returns the figures of an experiment; `None` if the run does not have it.
    pub fn experiment(&self, name: &str) -> Option<&ExperimentSummary<'a>> {
        let found = |answers: &&ExperimentSummary<'a>| answers.experiment.name == name;
        self.experiments.iter().find(found)
    }
}

fn key(planned: &Planned) -> (&str, &str, u32) {
    (&planned.experiment, &planned.subject, planned.repetition)
}

/// Returns the index of the experiment in the run; the number of experiments if it is unknown.
fn experiment(run: &Run, planned: &Planned) -> usize {
    index(
        run.experiments.iter().map(|one| &one.name),
        &planned.experiment,
    )
}

/// Returns the index of the subject in the run; the number of subjects if it is unknown.
fn subject(run: &Run, planned: &Planned) -> usize {
    index(run.subjects.iter().map(|one| &one.name), &planned.subject)
}

fn index<'a>(names: impl ExactSizeIterator<Item = &'a String>, name: &str) -> usize {
    let all = names.len();
    let mut names = names;
    names.position(|one| one == name).unwrap_or(all)
}

/// The points of one line, before they are summed up.
#[derive(Debug, Clone)]
struct Gathered<'a> {
    subject: usize,
    series: &'a str,
    places: Vec<(f64, Vec<&'a Point>)>,
}

fn gather<'a>(lines: &mut Vec<Gathered<'a>>, subject: usize, point: &'a Point) {
    let same = |line: &&mut Gathered<'a>| line.subject == subject && line.series == point.series;
    let line = match lines.iter_mut().find(same) {
        Some(line) => line,
        None => {
            lines.push(Gathered {
                subject,
                series: &point.series,
                places: Vec::new(),
            });
            lines.last_mut().expect("one was pushed")
        }
    };
    match line.places.iter_mut().find(|(at, _)| *at == point.at) {
        Some((_, points)) => points.push(point),
        None => line.places.push((point.at, vec![point])),
    }
}

impl<'a> ExperimentSummary<'a> {
    fn new(run: &'a Run, experiment: &'a ExperimentInfo, mut lines: Vec<Gathered<'a>>) -> Self {
        lines.sort_by_key(|line| line.subject);
        let lines = lines.into_iter().map(|mut line| {
            line.places.sort_by(|one, other| one.0.total_cmp(&other.0));
            Line {
                subject: &run.subjects[line.subject],
                series: line.series,
                figures: line
                    .places
                    .iter()
                    .map(|(at, points)| Figure::new(*at, points))
                    .collect(),
            }
        });
        Self {
            experiment,
            lines: lines.collect(),
        }
    }

    /// Returns the line of a subject and a series.
    pub fn line(&self, subject: &str, series: &str) -> Option<&Line<'a>> {
        let found = |line: &&Line<'a>| line.subject.name == subject && line.series == series;
        self.lines.iter().find(found)
    }

    /// Returns the first line of a series whose subject is an implementation of a mechanism, or of any if it is
    /// empty. The implementation's name begins with `by` in small letters.
    pub fn made_by(&self, by: &str, mechanism: &str, series: &str) -> Option<&Line<'a>> {
        self.lines.iter().find(|line| {
            line.series == series
                && (mechanism.is_empty() || is_of(line.subject, mechanism))
                && line.subject.implementation.to_lowercase().starts_with(by)
        })
    }

    /// Returns the subjects that have figures, in the order of the run.
    pub fn subjects(&self) -> Vec<&'a SubjectInfo> {
        let mut subjects: Vec<&SubjectInfo> = self.lines.iter().map(|line| line.subject).collect();
        subjects.dedup_by_key(|subject| &subject.name);
        subjects
    }

    /// Returns the series, in the order in which they came.
    pub fn series(&self) -> Vec<&'a str> {
        let mut series = Vec::new();
        for line in &self.lines {
            if !series.contains(&line.series) {
                series.push(line.series);
            }
        }
        series
    }

    /// Returns whether a series is a part of another one, as the 99.9th percentile of a delay is one of its direction.
    /// An application is none, whatever it is called.
    pub fn is_part(&self, series: &str) -> bool {
        self.experiment.quantity != Quantity::Works
            && self.lines.iter().any(|line| {
                let rest = series.strip_prefix(line.series);
                rest.is_some_and(|rest| rest.starts_with(' ') && rest != " ways")
            })
    }

    /// Returns the places on the axis that have figures, from the least.
    pub fn places(&self) -> Vec<f64> {
        let figures = self.lines.iter().flat_map(|line| &line.figures);
        let mut places: Vec<f64> = figures.map(|figure| figure.at).collect();
        places.sort_by(f64::total_cmp);
        places.dedup();
        places
    }
}

impl Line<'_> {
    /// Returns the figure at a place on the axis.
    pub fn at(&self, at: f64) -> Option<&Figure> {
        self.figures.iter().find(|figure| figure.at == at)
    }
}

impl Figure {
    fn new(at: f64, points: &[&Point]) -> Self {
        let values: Vec<f64> = points.iter().map(|point| point.value).collect();
        let kept: Vec<[f64; 2]> = points.iter().filter_map(|point| point.spread).collect();
        let spread = if kept.is_empty() {
            let mut sorted = values.clone();
            sorted.sort_by(f64::total_cmp);
            spread(&sorted).filter(|_| sorted.len() > 1)
        } else {
            let middle = |end: usize| middle(kept.iter().map(|spread| spread[end]));
            middle(0).zip(middle(1)).map(|(low, high)| [low, high])
        };
        let mut sorted = values.clone();
        sorted.sort_by(f64::total_cmp);
        let each: Option<Vec<[f64; 2]>> = points.iter().map(|point| point.interval).collect();
        let all = each.and_then(|each| {
            let wider =
                |one: [f64; 2], other: [f64; 2]| [one[0].min(other[0]), one[1].max(other[1])];
            each.into_iter().reduce(wider)
        });
        Self {
            at,
            values,
            interval: median_interval(&sorted).or(all),
            samples: points
                .iter()
                .fold(0, |sum, point| sum.saturating_add(point.samples)),
            spread,
            bound: middle(points.iter().filter_map(|point| point.bound)),
            ceiling: middle(points.iter().filter_map(|point| point.ceiling)),
            load: points
                .iter()
                .filter_map(|point| point.load)
                .reduce(f64::min),
            reason: points.iter().find_map(|point| point.reason.clone()),
        }
    }

    /// Returns the median over the repetitions.
    pub fn value(&self) -> f64 {
        median(&mut self.values.clone())
    }

    /// Returns how near it is to the bound: 1 is as good as the model allows. Values of which less is better divide
    /// the bound, the others are divided by it.
    pub fn efficiency(&self, quantity: Quantity) -> Option<f64> {
        self.share_of_bound(quantity, self.value())
    }

    /// Returns how near a value at this place is to the bound, as [`Self::efficiency`] does for the median.
    pub fn share_of_bound(&self, quantity: Quantity, value: f64) -> Option<f64> {
        let bound = self.bound?;
        let share = match quantity.better() {
            Better::Higher => value / bound,
            Better::Lower => bound / value,
        };
        share.is_finite().then_some(share)
    }

    /// Returns whether it is better than its bound by more than the clocks' error.
    pub fn beats_its_bound(&self, quantity: Quantity) -> bool {
        self.efficiency(quantity)
            .is_some_and(|share| share > 1.0 + BEATEN)
    }

    /// Returns whether it is where the search ended, and not a limit that was found.
    pub fn is_open(&self, quantity: Quantity) -> bool {
        matches!(quantity, Quantity::Capacity | Quantity::Burst)
            && self.ceiling.is_some_and(|end| self.value() >= end)
    }

    /// Returns whether the tester, not the subject, may have set the value: more than half of the tester's own rate,
    /// or less than twice the tester's own time.
    pub fn limited(&self, quantity: Quantity) -> bool {
        self.ceiling.is_some_and(|ceiling| match quantity.better() {
            Better::Higher => self.value() > ceiling / 2.0,
            Better::Lower => self.value() < ceiling * 2.0,
        })
    }

    /// Returns the time that the subject adds to the tester's own for a packet, in seconds. Only rates of packets,
    /// and times of which less is better, have one.
    pub fn added(&self, quantity: Quantity) -> Option<f64> {
        let (value, ceiling) = (self.value(), self.ceiling?);
        let added = match quantity {
            Quantity::PacketRate => 1.0 / value - 1.0 / ceiling,
            _ if quantity.unit() == "s" => value - ceiling,
            _ => return None,
        };
        added.is_finite().then_some(added)
    }
}

/// Returns whether a subject is an implementation of a mechanism, by the mechanism's name in small letters, such as
/// `nat64` or `native ipv4`.
pub fn is_of(subject: &SubjectInfo, mechanism: &str) -> bool {
    subject.mechanism.to_lowercase() == mechanism
}

/// Returns whether a subject is an implementation of ours.
pub fn is_ours(subject: &SubjectInfo) -> bool {
    subject.implementation.starts_with("Isthmus")
}

/// Returns the median; `None` if there are no values.
fn middle(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    (!values.is_empty()).then(|| median(&mut values))
}

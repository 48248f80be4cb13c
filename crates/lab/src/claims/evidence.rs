//! The evidence for and against a claim, and its judgement.

use super::{ALIKE, ALMOST_ALL, Judgement, Verdict};
use crate::{
    amount,
    summary::{ExperimentSummary, Line, Summary, is_of},
};

/// The evidence so far.
#[derive(Debug, Default)]
pub(super) struct Evidence {
    figures: Vec<String>,
    against: Vec<String>,
    missing: Vec<String>,
    tested: usize,
    /// The experiments that decide the claim.
    asked: Vec<String>,
}

/// The expected relation of the first of two values to the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Relation {
    /// Smaller.
    Below,
    /// Smaller or similar.
    NotAbove,
    /// Similar.
    Alike,
}

impl Relation {
    fn is_true(self, one: f64, other: f64) -> bool {
        let room = ALIKE * one.abs().max(other.abs());
        match self {
            Self::Below => one < other,
            Self::NotAbove => one <= other + room,
            Self::Alike => (one - other).abs() <= room,
        }
    }

    fn sign(self) -> &'static str {
        match self {
            Self::Below => "<",
            Self::NotAbove => "≤",
            Self::Alike => "≈",
        }
    }
}

impl Evidence {
    /// Returns the figures of an experiment; notes it as missing if there are none.
    pub(super) fn experiment<'s, 'a>(
        &mut self,
        summary: &'s Summary<'a>,
        name: &str,
    ) -> Option<&'s ExperimentSummary<'a>> {
        self.asks(name);
        let found = summary
            .experiment(name)
            .filter(|answers| !answers.lines.is_empty());
        if found.is_none() {
            self.missing.push(format!("the experiment {name}"));
        }
        found
    }

    /// Returns the line of the same subject and series in another experiment; notes it as missing if there is none.
    pub(super) fn counterpart<'s, 'a>(
        &mut self,
        line: &Line<'_>,
        other: &'s ExperimentSummary<'a>,
    ) -> Option<&'s Line<'a>> {
        let found = other.line(&line.subject.name, line.series);
        if found.is_none() {
            self.lacks(format!(
                "{} in {}",
                line.subject.name, other.experiment.name
            ));
        }
        found
    }

    /// Notes an experiment that decides the claim.
    pub(super) fn asks(&mut self, experiment: &str) {
        self.asked.push(experiment.into());
    }

    /// Notes that something was not measured.
    pub(super) fn lacks(&mut self, what: impl Into<String>) {
        self.missing.push(what.into());
    }

    /// Notes a figure that decides nothing.
    pub(super) fn note(&mut self, figure: impl Into<String>) {
        self.figures.push(figure.into());
    }

    /// Notes a test, and whether its result agrees with the claim.
    pub(super) fn test(&mut self, true_here: bool, figure: impl Into<String>) {
        let figure = figure.into();
        self.tested += 1;
        if !true_here {
            self.against.push(figure.clone());
        }
        self.figures.push(figure);
    }

    /// Notes a test of many cases: nearly all of them have to be right.
    pub(super) fn test_all(&mut self, right: usize, all: usize, figure: impl Into<String>) {
        self.test(right as f64 >= ALMOST_ALL * all as f64, figure);
    }

    /// Returns one of these mechanisms in one series, all in the same engine if one engine has all: first ours in
    /// XDP, tc and user space, then other implementations. Native forwarding has no engine.
    pub(super) fn standing<'s, 'a>(
        &mut self,
        answers: &'s ExperimentSummary<'a>,
        series: &str,
        mechanisms: &[&str],
    ) -> Vec<Option<&'s Line<'a>>> {
        let find = |mechanism: &str, engine: Option<&str>| {
            answers.lines.iter().find(|line| {
                let suits = engine.is_none_or(|engine| {
                    let ours = line.subject.implementation.starts_with("Isthmus");
                    mechanism.starts_with("native") || ours && line.subject.engine == engine
                });
                is_of(line.subject, mechanism) && line.series == series && suits
            })
        };
        let in_engine = |engine: &str| -> Option<Vec<_>> {
            mechanisms
                .iter()
                .map(|mechanism| find(mechanism, Some(engine)))
                .collect()
        };
        let same = ["xdp", "tc", "user"].into_iter().find_map(in_engine);
        let lines: Vec<_> = match same {
            Some(lines) => lines.into_iter().map(Some).collect(),
            None => mechanisms
                .iter()
                .map(|mechanism| {
                    let ours = ["xdp", "tc", "user"].into_iter();
                    ours.map(Some)
                        .chain([None])
                        .find_map(|engine| find(mechanism, engine))
                })
                .collect(),
        };
        for (mechanism, line) in mechanisms.iter().zip(&lines) {
            if line.is_none() {
                self.lacks(format!("{mechanism} in {}", answers.experiment.name));
            }
        }
        lines
    }

    /// Tests two lines of an experiment at the places that both have, up to the last. If the claim fails, the other
    /// implementations of both are tested as well.
    pub(super) fn compare(
        &mut self,
        answers: &ExperimentSummary<'_>,
        one: &Line<'_>,
        relation: Relation,
        other: &Line<'_>,
        last: f64,
    ) {
        let Some((share, text)) = compared(answers, one, relation, other, last) else {
            self.lacks(format!(
                "{} and {} at the same places of {}",
                one.subject.name, other.subject.name, answers.experiment.name
            ));
            return;
        };
        self.test(share >= ALMOST_ALL, text);
        if share >= ALMOST_ALL {
            return;
        }
        for line in answers
            .lines
            .iter()
            .filter(|line| line.series == one.series)
        {
            let stands_for = |first: &Line<'_>| {
                line.subject.name != first.subject.name
                    && line.subject.mechanism == first.subject.mechanism
            };
            let beside = if stands_for(one) {
                compared(answers, line, relation, other, last)
            } else if stands_for(other) {
                compared(answers, one, relation, line, last)
            } else {
                None
            };
            if let Some((_, text)) = beside.filter(|(share, _)| *share >= ALMOST_ALL) {
                self.note(format!("but {text}"));
            }
        }
    }

    /// Returns whether another implementation agrees with the claim where the first one does not.
    fn depends_on_implementation(&self) -> bool {
        self.figures.iter().any(|figure| figure.starts_with("but "))
    }

    /// Judges the claim that mechanisms stand in the paper's order.
    pub(super) fn decide_order(self) -> Judgement {
        let fails = if self.depends_on_implementation() {
            "The order depends on the implementation: with others it is the paper’s"
        } else {
            "The order is another one"
        };
        self.decide("The order is the paper’s", fails)
    }

    /// Judges the claim: one test against it is enough, and all are needed for it.
    pub(super) fn decide(self, holds: &str, fails: &str) -> Judgement {
        let (verdict, why) = if !self.against.is_empty() {
            let first = self.against.first().map(String::as_str).unwrap_or_default();
            let count = match self.tested {
                1 => String::new(),
                all => format!("{} of {all} comparisons, such as ", self.against.len()),
            };
            (
                Verdict::DoesNotHoldHere,
                format!("{fails} ({count}{first})"),
            )
        } else if self.missing.is_empty() && self.tested > 0 {
            (Verdict::HoldsHere, holds.to_owned())
        } else {
            let missing = self.missing.join(", ");
            let asked = self.asked.join(" ");
            let why = format!("Not measured: {missing}; `isthmus lab run {asked}` measures it");
            (Verdict::CannotBeTold, why)
        };
        Judgement {
            verdict,
            figures: self.figures,
            why,
            missing: self.missing,
        }
    }
}

/// Returns the share of places at which the relation is true, and that in words; `None` without a place.
fn compared(
    answers: &ExperimentSummary<'_>,
    one: &Line<'_>,
    relation: Relation,
    other: &Line<'_>,
    last: f64,
) -> Option<(f64, String)> {
    let pairs: Vec<(f64, f64)> = one
        .figures
        .iter()
        .filter(|figure| figure.at <= last)
        .filter_map(|figure| Some((figure.value(), other.at(figure.at)?.value())))
        .collect();
    let right = pairs
        .iter()
        .filter(|(one, other)| relation.is_true(*one, *other))
        .count();
    let (first, second) = (&one.subject.name, &other.subject.name);
    let (sign, name) = (relation.sign(), &answers.experiment.name);
    let text = match pairs.as_slice() {
        [] => return None,
        [(value, against)] => {
            let quantity = answers.experiment.quantity;
            let (value, against) = (
                amount::amount(quantity, *value),
                amount::amount(quantity, *against),
            );
            let not = if right == 1 { "" } else { "not " };
            format!("{name}: {not}{first} {sign} {second}: {value} and {against}")
        }
        many => format!(
            "{name}: {first} {sign} {second} at {right} of {} places",
            many.len()
        ),
    };
    Some((right as f64 / pairs.len() as f64, text))
}

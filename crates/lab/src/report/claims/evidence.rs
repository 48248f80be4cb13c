//! The evidence for and against a claim, and its judgement.

use super::{ALMOST_ALL, Comparison, Found, Judgement, Verdict, relation::Relation};
use crate::report::summary::{ExperimentSummary, Line, Summary, is_of, is_ours};

/// The evidence so far.
#[derive(Debug, Default)]
pub(super) struct Evidence {
    comparisons: Vec<Comparison>,
    notes: Vec<String>,
    missing: Vec<String>,
    /// The experiments that decide the claim.
    asked: Vec<String>,
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
        self.notes.push(figure.into());
    }

    /// Adds a comparison that decides.
    pub(super) fn add(&mut self, comparison: Comparison) {
        self.comparisons.push(comparison);
    }

    /// Compares two sets of values, one of each repetition.
    pub(super) fn test(
        &mut self,
        what: impl Into<String>,
        one: &[f64],
        relation: Relation,
        other: &[f64],
    ) {
        self.add(relation.compare(what.into(), one, other));
    }

    /// Compares two committed counts of instructions, each with its name; notes what has not been counted.
    pub(super) fn count(
        &mut self,
        (name, one): (&str, Option<f64>),
        relation: Relation,
        (other_name, other): (&str, Option<f64>),
    ) {
        match (one, other) {
            (Some(one), Some(other)) => {
                let what = format!("by instructions, {name} {} {other_name}", relation.sign());
                self.add(relation.compare_counts(what, one, other));
            }
            _ => self.lacks(format!("the instructions of {name} and of {other_name}")),
        }
    }

    /// Adds the evidence of the clock, and that of the counts of instructions where the clock cannot tell.
    pub(super) fn or_counts(
        &mut self,
        clock: impl FnOnce(&mut Self),
        counts: impl FnOnce(&mut Self),
    ) {
        let mut timed = Self::default();
        clock(&mut timed);
        let is_unclear = |one: &Comparison| one.found == Found::Unclear;
        let (unclear, clear) = timed
            .comparisons
            .into_iter()
            .partition::<Vec<_>, _>(is_unclear);
        self.comparisons.extend(clear);
        self.notes.append(&mut timed.notes);
        self.missing.append(&mut timed.missing);
        self.asked.append(&mut timed.asked);
        if let Some(first) = unclear.first() {
            let many = match unclear.len() {
                1 => "1 comparison is".to_owned(),
                more => format!("{more} comparisons are"),
            };
            self.note(format!(
                "by the clock {many} unclear, such as {}: instructions decide",
                first.told()
            ));
            counts(self);
        }
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
                    let ours = is_ours(line.subject) && line.subject.engine == engine;
                    mechanism.starts_with("native") || ours
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

    /// Compares two lines of an experiment at the places that both have, up to the last. If the claim fails, the other
    /// implementations of both are compared as well.
    pub(super) fn compare(
        &mut self,
        answers: &ExperimentSummary<'_>,
        one: &Line<'_>,
        relation: Relation,
        other: &Line<'_>,
        last: f64,
    ) {
        let Some(comparison) = compared(answers, one, relation, other, last) else {
            self.lacks(format!(
                "{} and {} at the same places of {}",
                one.subject.name, other.subject.name, answers.experiment.name
            ));
            return;
        };
        let found = comparison.found;
        self.add(comparison);
        if matches!(found, Found::For | Found::Unclear) {
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
            if let Some(beside) = beside.filter(|beside| beside.found == Found::For) {
                self.note(format!("with others it is the paper’s: {}", beside.what));
            }
        }
    }

    /// Judges the claim. All comparisons are needed for it. It holds in part if some are for it and some against.
    pub(super) fn decide(self, holds: &str, fails: &str) -> Judgement {
        let (verdict, why) = self.verdict(holds, fails);
        self.judgement(verdict, why)
    }

    /// Judges a claim whose question does not arise in this run.
    pub(super) fn not_asked(self, why: &str) -> Judgement {
        self.judgement(Verdict::NotAsked, why.into())
    }

    fn judgement(self, verdict: Verdict, why: String) -> Judgement {
        Judgement {
            verdict,
            why,
            comparisons: self.comparisons,
            notes: self.notes,
            missing: self.missing,
        }
    }

    fn verdict(&self, holds: &str, fails: &str) -> (Verdict, String) {
        let first = |wanted: &[Found]| {
            let mut found = self.comparisons.iter();
            found.find(|one| wanted.contains(&one.found))
        };
        let (agrees, differs) = (
            first(&[Found::For]),
            first(&[Found::Against, Found::InPart]),
        );
        let in_part = first(&[Found::InPart]);
        let unclear = first(&[Found::Unclear]);
        let count = |wanted: Found| {
            let found = self.comparisons.iter().filter(|one| one.found == wanted);
            found.count()
        };
        let all = self.comparisons.len();
        match (agrees.or(in_part), differs, unclear) {
            (Some(agrees), Some(differs), _) => (
                Verdict::HoldsInPart,
                format!(
                    "{} of {all} comparisons agree, such as {}; but {}",
                    count(Found::For),
                    agrees.told(),
                    differs.told()
                ),
            ),
            (None, Some(differs), _) => (
                Verdict::DoesNotHold,
                format!("{fails} ({})", differs.told()),
            ),
            (_, None, Some(unclear)) => (
                Verdict::CannotBeTold,
                format!(
                    "No difference above the noise, or too few repetitions: {}",
                    unclear.told()
                ),
            ),
            (Some(_), None, None) if self.missing.is_empty() => (Verdict::Holds, holds.to_owned()),
            (Some(_), None, None) => (
                Verdict::CannotBeTold,
                format!(
                    "What was measured agrees, but there is not {}; {}",
                    self.missing.join(", "),
                    self.command()
                ),
            ),
            (None, None, None) => (
                Verdict::NotAsked,
                format!(
                    "Not measured: {}; {}",
                    self.missing.join(", "),
                    self.command()
                ),
            ),
        }
    }

    fn command(&self) -> String {
        format!("`isthmus lab run {}` measures it", self.asked.join(" "))
    }
}

/// Compares at all places that both lines have, up to the last; `None` without one.
fn compared(
    answers: &ExperimentSummary<'_>,
    one: &Line<'_>,
    relation: Relation,
    other: &Line<'_>,
    last: f64,
) -> Option<Comparison> {
    let what = format!(
        "{} {} {} in {}",
        one.subject.name,
        relation.sign(),
        other.subject.name,
        answers.experiment.name
    );
    let pairs = one.figures.iter().filter(|figure| figure.at <= last);
    let places = pairs.filter_map(|figure| {
        let beside = other.at(figure.at)?;
        let compared = relation.compare(what.clone(), &figure.values, &beside.values);
        Some((figure.at, compared))
    });
    over(what.clone(), places.collect())
}

/// Sums up comparisons at the places of an axis; `None` without one. It is for the claim if almost all are, and in part if
/// some are for it and some against.
pub(super) fn over(what: String, places: Vec<(f64, Comparison)>) -> Option<Comparison> {
    let all = places.len();
    let count = |wanted| {
        let found = places.iter().filter(|(_, one)| one.found == wanted);
        found.count()
    };
    let (agree, differ) = (count(Found::For), count(Found::Against));
    let few = ((1.0 - ALMOST_ALL) * all as f64) as usize;
    let found = match (agree, differ) {
        _ if all == 0 => return None,
        _ if agree + few >= all => Found::For,
        (0, differ) if differ > few => Found::Against,
        (_, differ) if agree > 0 && differ > few => Found::InPart,
        _ => Found::Unclear,
    };
    // The place in the middle of those that are like the whole stands for them.
    let like: Vec<&(f64, Comparison)> = places
        .iter()
        .filter(|(_, one)| {
            one.found == found || found == Found::InPart && one.found == Found::Against
        })
        .collect();
    let (at, typical) = match like.get(like.len() / 2) {
        Some(place) => place,
        None => &places[all / 2],
    };
    let where_ = match all {
        1 => String::new(),
        _ => format!(
            ": at {agree} of {all} places, not at {differ}; at {}",
            crate::report::amount::place(*at)
        ),
    };
    Some(Comparison {
        what: format!("{what}{where_}"),
        found,
        ..typical.clone()
    })
}

//! The table of applications and mechanisms, in words and marks, and the reasons of those that do not work.

use maud::{Markup, html};

use super::table::{Table, heads};
use crate::{
    figures::results::NO_VERDICT,
    report::{
        papers::{self, TRIED},
        summary::{ExperimentSummary, Figure},
    },
};

/// A mechanism and an application, with a figure of each implementation.
struct Cell<'s> {
    mechanism: &'s str,
    application: &'s str,
    /// The subjects' names, and their figures.
    figures: Vec<(&'s str, &'s Figure)>,
}

impl<'s> Cell<'s> {
    fn new(answers: &'s ExperimentSummary<'_>, mechanism: &'s str, application: &'s str) -> Self {
        let lines = answers
            .lines
            .iter()
            .filter(|line| line.subject.mechanism == mechanism && line.series == application);
        Self {
            mechanism,
            application,
            figures: lines
                .filter_map(|line| Some((line.subject.name.as_str(), line.figures.first()?)))
                .collect(),
        }
    }

    /// Returns the results of those that have a verdict.
    fn verdicts(&self) -> Vec<f64> {
        let values = self.figures.iter().map(|(_, figure)| figure.value());
        values.filter(|value| *value >= 0.0).collect()
    }

    /// Returns the result over all implementations, which mostly agree.
    fn markup(&self) -> Markup {
        let verdicts = self.verdicts();
        let working = verdicts.iter().filter(|value| **value >= 1.0).count();
        html! {
            @if let [first, others @ ..] = &verdicts[..] {
                @if others.iter().all(|other| other == first) {
                    (works(*first))
                } @else {
                    span.badly { "~ " (working) " of " (verdicts.len()) }
                }
            } @else if self.figures.is_empty() {
                span.none { "–" }
            } @else {
                (works(NO_VERDICT))
            }
        }
    }

    /// Returns each reason, and the implementations that gave it.
    fn reasons(&self) -> Vec<(&'s str, Vec<&'s str>)> {
        let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
        for (subject, figure) in &self.figures {
            let Some(reason) = figure.reason.as_deref() else {
                continue;
            };
            match reasons.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, subjects)) => subjects.push(subject),
                None => reasons.push((reason, vec![subject])),
            }
        }
        reasons
    }
}

/// Returns a row for each mechanism and a column for each application, with the reasons below.
pub(super) fn matrix(answers: &ExperimentSummary<'_>) -> Markup {
    let mut mechanisms: Vec<&str> = Vec::new();
    for subject in answers.subjects() {
        if !mechanisms.contains(&subject.mechanism.as_str()) {
            mechanisms.push(&subject.mechanism);
        }
    }
    let applications = answers.series();
    let rows: Vec<Vec<Cell<'_>>> = mechanisms
        .iter()
        .map(|mechanism| {
            let cells = applications.iter();
            cells
                .map(|application| Cell::new(answers, mechanism, application))
                .collect()
        })
        .collect();
    html! {
        (Table {
            class: Some("matrix"),
            caption: html! { "Applications by mechanism" },
            heads: html! { (heads(&["mechanism"])) (heads(&applications)) },
            rows: html! {
                @for (mechanism, row) in mechanisms.iter().zip(&rows) {
                    tr {
                        th scope="row" { (mechanism) }
                        @for cell in row { td { (cell.markup()) } }
                    }
                }
            },
        })
        (reasons(&rows))
        @if answers.experiment.name == papers::EVERYDAY { (beside_the_paper(answers)) }
    }
}

/// Returns what the paper saw of each of its applications through its four mechanisms, and what was seen here.
fn beside_the_paper(answers: &ExperimentSummary<'_>) -> Markup {
    html! {
        (Table {
            class: Some("tried"),
            caption: html! { "The paper's applications and mechanisms: the paper, and here" },
            heads: html! { (heads(&["application"])) (heads(&papers::TRIED_THROUGH)) },
            rows: html! {
                @for tried in &TRIED {
                    tr {
                        th scope="row" { (tried.application) }
                        @for (mechanism, saw) in papers::TRIED_THROUGH.iter().zip(tried.saw) {
                            td {
                                small { "paper: " (saw) }
                                @for series in tried.here {
                                    br; small { (series) ": " } (Cell::new(answers, mechanism, series).markup())
                                }
                            }
                        }
                    }
                }
            },
        })
    }
}

fn reasons(rows: &[Vec<Cell<'_>>]) -> Markup {
    let cells = || rows.iter().flatten();
    html! {
        @if cells().any(|cell| !cell.reasons().is_empty()) {
            details {
                summary { "Reasons" }
                (Table {
                    class: Some("reasons"),
                    caption: html! { "Messages of the applications that fail" },
                    heads: heads(&["mechanism", "application", "reason"]),
                    rows: html! {
                        @for cell in cells() {
                            @for (reason, subjects) in cell.reasons() {
                                tr {
                                    th scope="row" { (cell.mechanism) }
                                    td { (cell.application) }
                                    td {
                                        (reason)
                                        @if subjects.len() < cell.figures.len() {
                                            " " small { (subjects.join(", ")) }
                                        }
                                    }
                                }
                            }
                        }
                    },
                })
            }
        }
    }
}

/// Returns the mark of an application, see [`Quantity::Works`](crate::figures::results::Quantity::Works).
pub(super) fn works(value: f64) -> Markup {
    html! {
        @if value >= 1.0 {
            span.works { "✓ works" }
        } @else if value > 0.0 {
            span.badly { "~ badly" }
        } @else if value < 0.0 {
            span.none { "– not told" }
        } @else {
            span.not { "✗ fails" }
        }
    }
}

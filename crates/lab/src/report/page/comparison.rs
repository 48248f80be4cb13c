//! The comparison: a row for each subject, a column for each quantity.
//!
//! Several experiments may measure one quantity. All their columns are in the page. One is shown, and the reader can
//! choose another.

use maud::{Markup, html};

use super::Shown;
use crate::{
    figures::{
        results::{Better, Quantity, SubjectInfo},
        statistics::median,
    },
    report::{
        amount::{self, Unit},
        style::{Look, is_native},
        summary::{ExperimentSummary, Figure, Line, Summary},
        words,
    },
};

/// One experiment as a column: a value for each subject.
struct Column<'s, 'a> {
    answers: &'s ExperimentSummary<'a>,
    number: usize,
    /// The place on the axis.
    at: Option<f64>,
    /// The unit of all its values.
    unit: Unit,
    /// The values in the order of the run's subjects.
    values: Vec<Option<Value>>,
}

#[derive(Clone)]
struct Value {
    value: f64,
    /// The value in words, where a number is not enough.
    text: Option<String>,
    beside: Option<String>,
    limited: bool,
    /// Whether the search ended before a limit was found.
    open: bool,
}

/// Returns the table with its filters.
pub(super) fn table(summary: &Summary<'_>, shown: &[Shown<'_, '_>]) -> Markup {
    let columns: Vec<Column<'_, '_>> = shown.iter().map(|one| Column::new(summary, one)).collect();
    let quantities = quantities(&columns);
    let measured = |place: usize| columns.iter().any(|column| column.values[place].is_some());
    let subjects: Vec<(usize, &SubjectInfo)> = summary
        .run
        .subjects
        .iter()
        .enumerate()
        .filter(|(place, _)| measured(*place))
        .collect();
    html! {
        p.about {
            "One line for each implementation of a mechanism; medians over the repetitions. Bars compare the values of a \
             column, a longer one is more. "
            @if !super::is_smoke(summary) {
                span.best { "▲ best" } " and " span.worst { "▼ worst" }
                " are among the mechanisms, without native forwarding. "
            }
            "Percentages say how near a value is to the \
             bound. Where an experiment has two directions, the worse one stands here; press a heading to sort."
        }
        @if subjects.is_empty() {
            p.none { "Nothing has been measured yet." }
        } @else {
            (tools(&columns, &quantities, &subjects))
            div.wide.tall tabindex="0" {
                table #compare {
                    caption { "Comparison" }
                    thead { tr {
                        th scope="col" aria-sort="none" { button type="button" { "subject" } }
                        th scope="col" aria-sort="none" { button type="button" { "mechanism" } }
                        th scope="col" aria-sort="none" { button type="button" { "implementation" } }
                        th scope="col" aria-sort="none" { button type="button" { "engine" } }
                        @for (quantity, chosen) in &quantities {
                            @for column in columns.iter().filter(|column| column.quantity() == *quantity) {
                                th.n scope="col" aria-sort="none" data-column=(column.number)
                                    hidden[column.number != *chosen] {
                                    button type="button" { (words::quantity(*quantity)) }
                                    @if !column.unit.name.is_empty() { small.unit { (column.unit.name) } }
                                    a href={"#e" (column.number)} { (column.answers.experiment.title) }
                                    @if let Some(place) = column.place() { small { (place) } }
                                }
                            }
                        }
                    } }
                    tbody {
                        @for (place, subject) in &subjects {
                            (row(summary, &columns, &quantities, *place, subject))
                        }
                    }
                }
            }
            p #count role="status" {}
        }
    }
}

fn row(
    summary: &Summary<'_>,
    columns: &[Column<'_, '_>],
    quantities: &[(Quantity, usize)],
    place: usize,
    subject: &SubjectInfo,
) -> Markup {
    html! {
        tr.native[is_native(subject)] data-mechanism=(subject.mechanism) data-engine=(subject.engine) {
            th scope="row" {
                svg.sample viewBox="0 0 28 12" aria-hidden="true" {
                    (Look::of(summary.run, subject).sample(0.0, 0.0))
                }
                (subject.name)
            }
            td { (subject.mechanism) }
            td { (subject.implementation) }
            td { (subject.engine) }
            @for (quantity, chosen) in quantities {
                @for column in columns.iter().filter(|column| column.quantity() == *quantity) {
                    @let hidden = column.number != *chosen;
                    @match &column.values[place] {
                        None => td.n data-column=(column.number) hidden[hidden] { span.none { "–" } },
                        Some(value) => td.n data-column=(column.number) data-sort=(value.value) hidden[hidden] {
                            span.v { (column.text(value)) @if value.limited { " †" } }
                            @if let Some(beside) = &value.beside { small { (beside) } }
                            (column.mark(summary, place, value.value))
                            span.track { span style={"width:" (column.share(value.value)) "%"} {} }
                        },
                    }
                }
            }
        }
    }
}

/// Returns the filters of the table, and the choice of each column's experiment.
fn tools(
    columns: &[Column<'_, '_>],
    quantities: &[(Quantity, usize)],
    subjects: &[(usize, &SubjectInfo)],
) -> Markup {
    let different = |of: fn(&SubjectInfo) -> &str| {
        let mut values: Vec<&str> = subjects.iter().map(|(_, subject)| of(subject)).collect();
        values.sort_unstable();
        values.dedup();
        values
    };
    html! {
        div.tools role="search" aria-label="Filter the comparison" {
            label { "Find" input #find type="search" placeholder="nat64 xdp" autocomplete="off"; }
            label { "Mechanism" select #mechanism {
                option value="" { "all" }
                @for one in different(|subject| &subject.mechanism) { option { (one) } }
            } }
            label { "Engine" select #engine {
                option value="" { "all" }
                @for one in different(|subject| &subject.engine) { option { (one) } }
            } }
            details.columns {
                summary { "Columns" }
                div {
                    @for (quantity, chosen) in quantities {
                        label { (words::quantity(*quantity)) select data-choice {
                            option value="" { "not shown" }
                            @for column in columns.iter().filter(|column| column.quantity() == *quantity) {
                                option value=(column.number) selected[column.number == *chosen] {
                                    (column.answers.experiment.name)
                                    @if let Some(place) = column.place() { ", " (place) }
                                }
                            }
                        } }
                    }
                }
            }
        }
    }
}

/// The experiments that stand for their quantity, if they were measured.
const PREFERRED: [&str; 3] = [
    "paper-002/throughput-tcp",
    "paper-002/cost",
    "rfc8219/throughput",
];

/// Returns the quantities in the order of their first columns, each with the column that is shown: the preferred one, or
/// the first of those with the most subjects.
fn quantities(columns: &[Column<'_, '_>]) -> Vec<(Quantity, usize)> {
    let mut quantities: Vec<(Quantity, usize)> = Vec::new();
    for quantity in ORDER {
        let of_quantity = columns
            .iter()
            .filter(|column| column.quantity() == quantity);
        let covered = |column: &&Column<'_, '_>| {
            let preferred = PREFERRED.contains(&column.answers.experiment.name.as_str());
            (preferred, column.values.iter().flatten().count())
        };
        // Of equal ones, `max_by_key` returns the last.
        if let Some(column) = of_quantity.rev().max_by_key(covered) {
            quantities.push((quantity, column.number));
        }
    }
    quantities
}

/// The order of quantities: the most wanted first.
const ORDER: [Quantity; 20] = [
    Quantity::RoundTrip,
    Quantity::OneWayDelay,
    Quantity::PacketRate,
    Quantity::Throughput,
    Quantity::Cpu,
    Quantity::Loss,
    Quantity::Cost,
    Quantity::Jitter,
    Quantity::DelayVariation,
    Quantity::ConnectTime,
    Quantity::FileTime,
    Quantity::FileThroughput,
    Quantity::Outage,
    Quantity::Burst,
    Quantity::ConnectionRate,
    Quantity::TearDownRate,
    Quantity::Capacity,
    Quantity::QueryRate,
    Quantity::Overhead,
    Quantity::Works,
];

impl<'s, 'a> Column<'s, 'a> {
    fn new(summary: &Summary<'_>, shown: &Shown<'s, 'a>) -> Self {
        let answers = shown.answers;
        let at = answers.experiment.over.as_ref().map(|axis| {
            let places = answers.places();
            let from_1000 = |at: &f64| (at.max(1.0) / 1000.0).ln().abs();
            if axis.unit == "bytes" {
                places
                    .into_iter()
                    .min_by(|one, other| from_1000(one).total_cmp(&from_1000(other)))
            } else {
                places.get(places.len() / 2).copied()
            }
        });
        let at = at.flatten();
        let subjects = summary.run.subjects.iter();
        let values: Vec<Option<Value>> = subjects
            .map(|subject| value(answers, subject, at))
            .collect();
        // The middle: values far from it stay as readable as near ones.
        let sizes = values.iter().flatten().map(|value| value.value.abs());
        let typical = median(&mut sizes.collect::<Vec<_>>());
        Self {
            answers,
            number: shown.number,
            at,
            unit: Unit::of(answers.experiment.quantity, typical),
            values,
        }
    }

    /// Formats a value in the column's unit.
    fn text(&self, value: &Value) -> String {
        let number = || {
            let number = amount::number(value.value / self.unit.divisor);
            if value.open {
                format!("≥ {number}")
            } else {
                number
            }
        };
        value.text.clone().unwrap_or_else(number)
    }

    fn quantity(&self) -> Quantity {
        self.answers.experiment.quantity
    }

    fn place(&self) -> Option<String> {
        let axis = self.answers.experiment.over.as_ref()?;
        Some(format!("at {}", words::place(axis, self.at?)))
    }

    /// Returns the length of a value's bar, in per cent of the longest.
    fn share(&self, value: f64) -> u8 {
        let values = self.values.iter().flatten().map(|value| value.value);
        let most = values.fold(0.0, f64::max);
        // The conversion turns NaN into 0.
        (value / most * 100.0).round().clamp(0.0, 100.0) as u8
    }

    /// Marks the best and the worst of the mechanisms, if these differ.
    fn mark(&self, summary: &Summary<'_>, place: usize, value: f64) -> Markup {
        let subjects = &summary.run.subjects;
        let of_mechanisms = self
            .values
            .iter()
            .zip(subjects)
            .filter(|(_, subject)| !is_native(subject));
        // Where a search ended, or with one short measurement, nobody knows who is the best.
        if super::is_smoke(summary) || self.values.iter().flatten().any(|value| value.open) {
            return html! {};
        }
        let values = of_mechanisms.filter_map(|(value, _)| Some(value.as_ref()?.value));
        let least = values.clone().fold(f64::INFINITY, f64::min);
        let most = values.fold(f64::NEG_INFINITY, f64::max);
        let (best, worst) = match self.quantity().better() {
            Better::Lower => (least, most),
            Better::Higher => (most, least),
        };
        html! {
            @if !is_native(&subjects[place]) && least < most {
                @if value == best { span.best { "▲" span.unseen { " best" } } }
                @if value == worst { span.worst { "▼" span.unseen { " worst" } } }
            }
        }
    }
}

/// Returns a subject's value at a place: the mean of its directions if there is one, else the worst of its series.
/// For applications it is the number that work.
fn value(answers: &ExperimentSummary<'_>, subject: &SubjectInfo, at: Option<f64>) -> Option<Value> {
    let quantity = answers.experiment.quantity;
    let of_subject =
        |line: &&Line<'_>| line.subject.name == subject.name && !answers.is_part(line.series);
    let figures: Vec<(&str, &Figure)> = answers
        .lines
        .iter()
        .filter(of_subject)
        .filter_map(|line| {
            Some((
                line.series,
                at.map_or(line.figures.first(), |at| line.at(at))?,
            ))
        })
        .collect();
    if quantity == Quantity::Works {
        let counts = |least: f64| {
            let above = figures.iter().filter(|(_, one)| one.value() >= least);
            above.count()
        };
        // Those without a verdict are not counted.
        let (working, all) = (counts(1.0), counts(0.0));
        return (all > 0).then(|| Value {
            value: working as f64 / all as f64,
            text: Some(format!("{working} of {all}")),
            beside: None,
            limited: false,
            open: false,
        });
    }
    let mean = figures.iter().find(|(series, _)| *series == "mean");
    let (_, figure) = mean.or_else(|| {
        figures.iter().max_by(|(_, one), (_, other)| {
            let order = one.value().total_cmp(&other.value());
            if quantity.better() == Better::Higher {
                order.reverse()
            } else {
                order
            }
        })
    })?;
    let value = figure.value();
    Some(Value {
        value,
        text: None,
        beside: figure.efficiency(quantity).map(amount::percent),
        limited: figure.limited(quantity),
        open: figure.is_open(quantity),
    })
}

//! One experiment: the finding of the paper, the plot, the figures as a table, and the command.

use maud::{Markup, html};

use super::{Shown, applications, repetitions, table::Table};
use crate::{
    figures::results::{Axis, Quantity, Run},
    report::{
        amount,
        papers::{self, Printed},
        plot::{self, Legend, Panel, Plot, Plots},
        summary::{ExperimentSummary, Figure, Summary, is_of},
        words,
    },
};

/// Returns the figure with its surroundings.
pub(super) fn figure(summary: &Summary<'_>, shown: &Shown<'_, '_>, pictures: bool) -> Markup {
    let answers = shown.answers;
    let experiment = answers.experiment;
    let id = format!("e{}", shown.number);
    // The results of applications are easier to read as a table.
    let is_matrix = experiment.quantity == Quantity::Works;
    let plots = Plots::of(summary, answers);
    html! {
        article.card id=(id) aria-labelledby={(id) "-head"} {
            h4 id={(id) "-head"} { (experiment.title) }
            p.source { (experiment.source) }
            @if let Some(finding) = papers::finding(&experiment.name) {
                p.finding { span { "The paper: " } (finding) }
            }
            @if is_matrix { (applications::matrix(answers)) } @else { (panels(summary.run, answers, &plots, &id)) }
            (beside(answers))
            @if !is_matrix { (notes(answers, &plots)) }
            (table(answers, experiment.name.starts_with("rfc")))
            details {
                summary { "How it was measured" }
                dl {
                    dt { "Network" } dd { (experiment.network) }
                    dt { "Method" } dd { (experiment.method) }
                    dt { "Repetitions" } dd { (repetitions(answers)) }
                    dt { "Command" } dd { code { (experiment.command) } }
                }
            }
            p.files {
                a href={"csv/" (shown.file) ".csv"} { "CSV" }
                @if pictures { " " a href={"png/" (shown.file) ".png"} { "PNG" } }
                " " code { (experiment.name) }
            }
        }
    }
}

/// Returns the plots, of which one is shown at a time, and the legend.
fn panels(run: &Run, answers: &ExperimentSummary<'_>, shown: &Plots<'_>, id: &str) -> Markup {
    let plots = &shown.all;
    let main = plot::main_series(answers);
    let chosen = plots
        .iter()
        .position(|plot| plot.series.as_deref() == main)
        .unwrap_or(0);
    html! {
        @if plots.len() > 1 {
            div.tabs role="group" aria-label="Series" {
                @for (number, plot) in plots.iter().enumerate() {
                    button type="button" data-panel={(id) "-" (number)}
                        aria-pressed=(if number == chosen { "true" } else { "false" }) {
                        (plot.series.as_deref().unwrap_or_default())
                    }
                }
            }
        }
        @for (number, plot) in plots.iter().enumerate() {
            div.panel.away[number != chosen] id={(id) "-" (number)} {
                @if plots.len() > 1 {
                    p.series { (plot.series.as_deref().unwrap_or_default()) }
                }
                @if let Some(axes) = &plot.axes { p.axes { (axes) } }
                div.scroll tabindex="0" role="group"
                    aria-label="Plot; arrow keys go from value to value" {
                    @for (place, panel) in plot.panels.iter().enumerate() {
                        (panel.element(&format!("{id}-{number}-{place}"), &title(answers, plot, panel), &about(answers, panel)))
                    }
                }
            }
        }
        @if let Some(legend) = &shown.legend {
            (buttons(run, legend, has(answers, shown, |figure| figure.bound.is_some())))
        }
    }
}

fn title(answers: &ExperimentSummary<'_>, plot: &Plot, panel: &Panel) -> String {
    let parts = [
        Some(&answers.experiment.title),
        plot.series.as_ref(),
        panel.mechanism.as_ref(),
    ];
    let parts: Vec<&str> = parts.into_iter().flatten().map(String::as_str).collect();
    parts.join(": ")
}

/// Describes a picture in words: its axes and its subjects.
fn about(answers: &ExperimentSummary<'_>, panel: &Panel) -> String {
    let quantity = answers.experiment.quantity;
    let subjects = answers.subjects().into_iter().filter(|subject| {
        let mechanism = panel.mechanism.as_ref();
        mechanism.is_none_or(|mechanism| *mechanism == subject.mechanism)
    });
    let subjects: Vec<&str> = subjects.map(|subject| subject.name.as_str()).collect();
    let over = answers.experiment.over.as_ref();
    let over = over.map_or_else(String::new, |axis| format!(" over {}", axis.name));
    format!(
        "{}{over} of {}. The table below has all values.",
        words::quantity(quantity),
        subjects.join(", ")
    )
}

/// Returns the legend, whose entries are buttons. `bounds` says whether there are any. On paper, frames have the names of
/// their mechanisms, and the legend says only what a marker and a dash mean.
fn buttons(run: &Run, legend: &Legend<'_>, bounds: bool) -> Markup {
    let looks = legend.looks(run);
    html! {
        ul.legend aria-label="Subjects: press to hide or show" {
            @for (key, entry) in legend.entries.iter().enumerate() {
                li.screen[!looks.is_empty() && legend.band() != Some(key)] {
                    button type="button" aria-pressed=(entry.is_shown) data-key=(key) {
                        svg.sample viewBox="0 0 28 12" aria-hidden="true" { (entry.sample(run, 0.0, 0.0)) }
                        (entry.name())
                    }
                }
            }
            @if bounds {
                li.bound-key {
                    svg.sample viewBox="0 0 28 12" aria-hidden="true" {
                        path.bound d="M0 6h28" {}
                    }
                    "bound"
                }
            }
            @for (name, look) in &looks {
                li.paper { svg.sample viewBox="0 0 28 12" aria-hidden="true" { (look.sample(0.0, 0.0)) } (name) }
            }
        }
    }
}

/// Returns whether there is such a figure among those that are drawn by themselves.
fn has(
    answers: &ExperimentSummary<'_>,
    plots: &Plots<'_>,
    wanted: impl Fn(&Figure) -> bool,
) -> bool {
    let drawn = answers.lines.iter().filter(|line| plots.draw(line));
    drawn.flat_map(|line| &line.figures).any(wanted)
}

/// Returns the values that the paper prints, and those that were measured here at the same place.
fn beside(answers: &ExperimentSummary<'_>) -> Markup {
    let rows: Vec<(&Printed, Vec<String>)> = papers::printed_for(&answers.experiment.name)
        .map(|printed| (printed, here(answers, printed)))
        .collect();
    html! {
        @if !rows.is_empty() {
            (Table {
                class: Some("beside"),
                caption: html! { "The paper’s values and ours" },
                heads: html! {
                    th scope="col" { "of" }
                    th.n scope="col" { "paper" }
                    th scope="col" { "here" }
                },
                rows: html! {
                    @for (printed, here) in rows {
                        tr {
                            th scope="row" { (of(answers, printed)) }
                            td.n { (printed.value) }
                            td {
                                @if here.is_empty() { span.none { "not measured" } }
                                @for one in here { span.one { (one) } " " }
                            }
                        }
                    }
                },
            })
        }
    }
}

fn of(answers: &ExperimentSummary<'_>, printed: &Printed) -> String {
    let axis = answers.experiment.over.as_ref();
    let at = printed
        .at
        .zip(axis)
        .map(|(at, axis)| words::place(axis, at));
    let subjects = answers.subjects().into_iter();
    let mut same = subjects.filter(|subject| is_of(subject, printed.mechanism));
    let mechanism = same.next().map(|subject| subject.mechanism.as_str());
    let parts = [
        mechanism.unwrap_or(printed.mechanism),
        printed.series,
        at.as_deref().unwrap_or_default(),
    ];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join(", ")
}

fn here(answers: &ExperimentSummary<'_>, printed: &Printed) -> Vec<String> {
    let lines = answers.lines.iter().filter(|line| {
        (printed.mechanism.is_empty() || is_of(line.subject, printed.mechanism))
            && (printed.series.is_empty() || line.series == printed.series)
    });
    let values = lines.filter_map(|line| {
        let figure = match printed.at {
            Some(at) => line.at(at)?,
            // If the paper's value names no place on the axis, the middle stands for it.
            None => line.figures.get(line.figures.len() / 2)?,
        };
        let value = amount::amount(answers.experiment.quantity, figure.value());
        let at = answers
            .experiment
            .over
            .as_ref()
            .filter(|_| printed.at.is_none());
        let at = at.map_or_else(String::new, |axis| {
            format!(" at {}", words::place(axis, figure.at))
        });
        Some(format!("{} {value}{at}", line.subject.name))
    });
    values.collect()
}

/// Returns the explanation of marks, if there are any.
fn notes(answers: &ExperimentSummary<'_>, plots: &Plots<'_>) -> Markup {
    let quantity = answers.experiment.quantity;
    let figures = || answers.lines.iter().flat_map(|line| &line.figures);
    let limited = figures().any(|figure| figure.limited(quantity));
    let impossible = figures().any(|figure| figure.beats_its_bound(quantity));
    let spread = has(answers, plots, |figure| figure.spread.is_some());
    let legend = plots.legend.as_ref();
    let band = legend.is_some_and(|legend| legend.band().is_some());
    let hidden = legend.is_some_and(|legend| legend.entries.iter().any(|entry| !entry.is_shown));
    html! {
        @if spread || limited || impossible || band || hidden {
            p.notes {
                @if band { "Grey: native forwarding, from its least to its greatest value. " }
                @if hidden { "Of our engines the best is shown; press a name to see another. " }
                @if spread { "Whiskers: first to 99th percentile. " }
                @if limited {
                    "Ringed, or with †: more than half of the value may be the tester’s own, so the subject may be better \
                     than that. "
                }
                @if impossible {
                    "Some values are better than their bound: the measurement or the bound is wrong there."
                }
            }
        }
    }
}

/// Returns the table of all values.
fn table(answers: &ExperimentSummary<'_>, open: bool) -> Markup {
    let body = match &answers.experiment.over {
        Some(axis) => html! {
            @for series in answers.series() { (over_axis(answers, axis, series)) }
        },
        None => without_axis(answers),
    };
    html! {
        details open[open] {
            summary { "Table" }
            (body)
        }
    }
}

fn over_axis(answers: &ExperimentSummary<'_>, axis: &Axis, series: &str) -> Markup {
    let lines: Vec<_> = answers
        .lines
        .iter()
        .filter(|line| line.series == series)
        .collect();
    let places = answers.places();
    html! {
        (Table {
            class: None,
            caption: html! {
                (words::quantity(answers.experiment.quantity)) ", " (series) (medians(answers))
            },
            heads: html! {
                th scope="col" { (axis.name) @if !axis.unit.is_empty() { ", " (axis.unit) } }
                @for at in &places { th.n scope="col" { (amount::place(*at)) } }
            },
            rows: html! {
                @for line in &lines {
                    tr {
                        th scope="row" { (line.subject.name) }
                        @for at in &places { td.n { (cell(answers.experiment.quantity, line.at(*at))) } }
                    }
                }
            },
        })
    }
}

fn without_axis(answers: &ExperimentSummary<'_>) -> Markup {
    let series = answers.series();
    let experiment = answers.experiment;
    html! {
        (Table {
            class: None,
            caption: html! { (words::quantity(experiment.quantity)) (medians(answers)) },
            heads: html! {
                th scope="col" { "subject" }
                @for one in &series { th.n scope="col" { (one) } }
            },
            rows: html! {
                @for subject in answers.subjects() {
                    tr {
                        th scope="row" { (subject.name) }
                        @for one in &series {
                            td.n {
                                @let line = answers.line(&subject.name, one);
                                (cell(experiment.quantity, line.and_then(|line| line.figures.first())))
                            }
                        }
                    }
                }
            },
        })
    }
}

/// Returns the end of a table's caption: what its values are.
fn medians(answers: &ExperimentSummary<'_>) -> &'static str {
    let mut figures = answers.lines.iter().flat_map(|line| &line.figures);
    match figures.any(|figure| figure.bound.is_some()) {
        true => ": medians, and how near they are to the bound",
        false => ": medians",
    }
}

/// Returns the cell of a value and its bound, ceiling, load and reason.
fn cell(quantity: Quantity, figure: Option<&Figure>) -> Markup {
    let Some(figure) = figure else {
        return html! { span.none { "–" } };
    };
    if quantity == Quantity::Works {
        return applications::works(figure.value());
    }
    let limited = figure.limited(quantity);
    let added = figure.added(quantity).filter(|_| limited);
    html! {
        @if figure.is_open(quantity) { "at least " }
        (amount::amount(quantity, figure.value()))
        @if limited { span title="limited by the tester" { " †" } }
        @if let Some(efficiency) = figure.efficiency(quantity) {
            small { (amount::percent(efficiency)) }
        }
        @if let Some(added) = added {
            small { (amount::amount(Quantity::Cost, added)) " added" }
        }
        @if let Some(load) = figure.load {
            small { "at " (amount::percent(load)) " of the throughput" }
            @if let Some(own) = figure.ceiling {
                small { "tester alone " (amount::amount(quantity, own)) }
            }
        }
        @if let Some(interval) = figure.interval {
            small title="95 % confidence interval of the median" { (amount::range(quantity, interval)) }
        } @else if let Some(spread) = figure.spread.filter(|_| figure.bound.is_none()) {
            small { (amount::range(quantity, spread)) }
        }
    }
}

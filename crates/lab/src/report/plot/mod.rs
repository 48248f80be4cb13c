//! Plots, as SVG: lines over an axis, or bars if there is none.
//!
//! The page and the pictures have the same elements; a picture has a style sheet and a legend of its own. Colours
//! come from classes, so that the page can be light or dark.

mod bars;
mod image;
mod lines;

pub(super) use image::image;

use maud::{Markup, html};

use super::style::Look;
use crate::{
    amount,
    results::{Quantity, Run},
    summary::{ExperimentSummary, Figure, Line},
};

/// The width of a plot in its own units.
const WIDTH: f64 = 640.0;

/// One plot of an experiment.
pub(super) struct Plot {
    /// The series that it shows, or all of them if absent.
    pub(super) series: Option<String>,
    /// Its height in its own units.
    height: f64,
    body: Markup,
}

/// Returns the plots of an experiment. Without an axis it is one plot of bars. With an axis there is one plot for
/// each series, and one more of the share of the bound that the [main series](main_series) reaches, which shows the
/// differences of lines that cover each other. There is none without figures.
pub(super) fn plots(run: &Run, answers: &ExperimentSummary<'_>) -> Vec<Plot> {
    let Some(axis) = &answers.experiment.over else {
        return if answers.lines.is_empty() {
            Vec::new()
        } else {
            vec![bars::plot(run, answers)]
        };
    };
    let plot = |series, shows| lines::plot(run, answers, axis, series, shows);
    let values = answers.series().into_iter();
    let mut plots: Vec<Plot> = values.map(|series| plot(series, Shows::Values)).collect();
    if let Some(series) = main_series(answers) {
        let mut figures = of_series(answers, series).flat_map(|line| &line.figures);
        if figures.all(|figure| figure.efficiency(answers.experiment.quantity).is_some()) {
            plots.push(plot(series, Shows::ShareOfBound));
        }
    }
    plots
}

/// Returns the main series: the mean of both directions, or the first.
pub(super) fn main_series<'a>(answers: &ExperimentSummary<'a>) -> Option<&'a str> {
    let series = answers.series();
    series
        .iter()
        .find(|series| **series == "mean")
        .or(series.first())
        .copied()
}

fn of_series<'s, 'a>(
    answers: &'s ExperimentSummary<'a>,
    series: &'s str,
) -> impl Iterator<Item = &'s Line<'a>> {
    answers
        .lines
        .iter()
        .filter(move |line| line.series == series)
}

/// The values of lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shows {
    /// The measured values.
    Values,
    /// The shares of the bound.
    ShareOfBound,
}

impl Plot {
    /// Returns the plot as an element of the page, with a title and a description for screen readers. `id` is unique
    /// in the page.
    pub(super) fn element(&self, id: &str, title: &str, description: &str) -> Markup {
        html! {
            svg.plot viewBox=(format!("0 0 {WIDTH} {}", self.height)) role="img"
                aria-labelledby={(id) "-title " (id) "-about"} {
                title id={(id) "-title"} { (title) }
                desc id={(id) "-about"} { (description) }
                (self.body)
            }
        }
    }
}

/// Returns the key of a line's subject for legend and script: its index among the experiment's subjects.
fn key(answers: &ExperimentSummary<'_>, line: &Line<'_>) -> usize {
    let subjects = answers.subjects();
    let place = subjects
        .iter()
        .position(|subject| subject.name == line.subject.name);
    place.unwrap_or(0)
}

/// Returns a marker, with the text that the page shows when it is pointed at.
fn marker(
    quantity: Quantity,
    look: &Look,
    figure: &Figure,
    at: Option<String>,
    x: f64,
    y: f64,
) -> Markup {
    let spread = figure.spread.map(|spread| amount::range(quantity, spread));
    let bound = figure.bound.map(|bound| amount::amount(quantity, bound));
    let efficiency = figure.efficiency(quantity).map(amount::percent);
    let limited = figure.limited(quantity);
    html! {
        @if limited {
            circle.ring cx=(format!("{x:.1}")) cy=(format!("{y:.1}")) r="8" {}
        }
        path class=(look.marker_class()) d=(look.marker(x, y))
            data-p=(format!("{x:.1} {y:.1}")) data-at=[at]
            data-value=(amount::amount(quantity, figure.value()))
            data-times=(figure.values.len()) data-spread=[spread]
            data-bound=[bound] data-efficiency=[efficiency]
            data-limited=[limited.then_some("yes")] {}
    }
}

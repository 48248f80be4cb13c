//! Plots, as SVG: lines over an axis, or bars if there is none, or only one place on it.
//!
//! The page and the pictures have the same elements; a picture has a style sheet and a legend of its own. Colours
//! come from classes, so that the page can be light or dark.

mod bars;
mod frame;
mod image;
mod legend;
mod lines;
mod native;

pub(super) use image::image;
pub(super) use legend::Legend;

use maud::{Markup, html};

use super::style::Look;
use crate::{
    figures::results::Quantity,
    report::{
        amount,
        summary::{ExperimentSummary, Figure, Line, Summary},
    },
};

/// The width of a plot that is alone, in its own units.
const WIDTH: f64 = 640.0;
/// The most that plots beside each other take.
const WIDEST: f64 = 1560.0;

/// The plots of an experiment.
pub(super) struct Plots<'a> {
    /// The plots; none if there are no figures.
    pub(super) all: Vec<Plot>,
    /// The legend of lines; `None` if there are bars, which have their names.
    pub(super) legend: Option<Legend<'a>>,
}

/// One plot of an experiment.
pub(super) struct Plot {
    /// The series that it shows, or all of them if absent.
    pub(super) series: Option<String>,
    /// The names of the axes, if it has many pictures with the same ones.
    pub(super) axes: Option<String>,
    /// Its pictures: one, or one for each mechanism or column.
    pub(super) panels: Vec<Panel>,
}

/// A picture of a plot.
pub(super) struct Panel {
    /// The mechanism, if it shows only one of several.
    pub(super) mechanism: Option<String>,
    /// Its size in its own units.
    width: f64,
    height: f64,
    body: Markup,
}

impl<'a> Plots<'a> {
    /// Returns the plots of an experiment: lines if it has several places on an axis, else bars.
    pub(super) fn of(summary: &Summary<'_>, answers: &ExperimentSummary<'a>) -> Self {
        let bars = || bars::plot(summary.run, answers);
        let axis = answers.experiment.over.as_ref();
        let Some(axis) = axis.filter(|_| answers.places().len() > 1) else {
            return Self {
                all: answers.lines.first().map(|_| bars()).into_iter().collect(),
                legend: None,
            };
        };
        let legend = Legend::of(summary, answers);
        let over_axis = lines::OverAxis {
            run: summary.run,
            answers,
            axis,
            legend: &legend,
        };
        Self {
            all: plots(&over_axis),
            legend: Some(legend),
        }
    }

    /// Returns whether a line is drawn by itself, and is not a part of the band.
    pub(super) fn draw(&self, line: &Line<'_>) -> bool {
        let legend = self.legend.as_ref();
        legend.is_none_or(|legend| legend.find(line.subject).is_some())
    }
}

/// Returns one plot for each series, and one more of the share of the bound that the [main series](main_series) reaches,
/// which shows the differences of lines that cover each other.
fn plots(over_axis: &lines::OverAxis<'_, '_>) -> Vec<Plot> {
    let answers = over_axis.answers;
    let values = answers.series().into_iter();
    let values = values.map(|series| over_axis.plot(series, Shows::Values));
    let mut plots: Vec<Plot> = values.collect();
    if let Some(series) = main_series(answers) {
        let mut figures = of_series(answers, series).flat_map(|line| &line.figures);
        if figures.all(|figure| figure.efficiency(answers.experiment.quantity).is_some()) {
            plots.push(over_axis.plot(series, Shows::ShareOfBound));
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

impl Shows {
    /// Returns the height of a value at the place of a figure.
    fn height(self, quantity: Quantity, figure: &Figure, value: f64) -> f64 {
        match self {
            Self::Values => value,
            Self::ShareOfBound => figure.share_of_bound(quantity, value).unwrap_or_default(),
        }
    }

    /// Formats a height.
    fn text(self, quantity: Quantity, height: f64) -> String {
        match self {
            Self::Values => amount::amount(quantity, height),
            Self::ShareOfBound => amount::percent(height),
        }
    }
}

impl Panel {
    /// Returns the picture as an element of the page, with a title and a description for screen readers. `id` is unique
    /// in the page.
    pub(super) fn element(&self, id: &str, title: &str, description: &str) -> Markup {
        html! {
            svg.plot.small[self.width < WIDTH] viewBox=(format!("0 0 {} {}", self.width, self.height))
                role="img" aria-labelledby={(id) "-title " (id) "-about"} {
                title id={(id) "-title"} { (title) }
                desc id={(id) "-about"} { (description) }
                (self.body)
            }
        }
    }
}

/// Returns a marker, with the text that the page shows when it is pointed at.
fn marker(quantity: Quantity, look: &Look, figure: &Figure, at: String, x: f64, y: f64) -> Markup {
    let spread = figure.spread.map(|spread| amount::range(quantity, spread));
    let bound = figure.bound.map(|bound| amount::amount(quantity, bound));
    let efficiency = figure.efficiency(quantity).map(amount::percent);
    let limited = figure.limited(quantity);
    html! {
        @if limited {
            circle.ring cx=(format!("{x:.1}")) cy=(format!("{y:.1}")) r="8" {}
        }
        path class=(look.marker_class()) d=(look.marker(x, y))
            data-p=(format!("{x:.1} {y:.1}")) data-at=(at)
            data-value=(amount::amount(quantity, figure.value()))
            data-times=(figure.values.len()) data-spread=[spread]
            data-bound=[bound] data-efficiency=[efficiency]
            data-limited=[limited.then_some("yes")] {}
    }
}

//! Lines over an axis.

use std::fmt::Write;

use maud::{Markup, html};

use super::{Plot, Shows, WIDTH, key, marker, of_series};
use crate::{
    amount::{self, Unit},
    report::{ruler::Ruler, style::Look, words},
    results::{Axis, Quantity, Run, Scale},
    summary::{ExperimentSummary, Figure, Line},
};

const HEIGHT: f64 = 384.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = WIDTH - 18.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = HEIGHT - 52.0;

struct Frame {
    x: Ruler,
    y: Ruler,
}

impl Frame {
    fn x(&self, at: f64) -> f64 {
        LEFT + 10.0 + self.x.place(at) * (RIGHT - LEFT - 20.0)
    }

    fn y(&self, value: f64) -> f64 {
        BOTTOM - self.y.place(value) * (BOTTOM - TOP)
    }

    fn path(&self, points: impl Iterator<Item = (f64, f64)>) -> String {
        let mut path = String::new();
        for (at, value) in points {
            let command = if path.is_empty() { 'M' } else { 'L' };
            write!(path, "{command}{:.1} {:.1}", self.x(at), self.y(value))
                .expect("a string takes all");
        }
        path
    }

    /// Returns the ranges from the first to the 99th percentile of each figure, as one path.
    fn whiskers(&self, figures: &[Figure]) -> String {
        let mut path = String::new();
        for figure in figures {
            if let Some([low, high]) = figure.spread {
                let (x, low, high) = (self.x(figure.at), self.y(low), self.y(high));
                write!(
                    path,
                    "M{x:.1} {low:.1}V{high:.1}M{:.1} {low:.1}h6M{:.1} {high:.1}h6",
                    x - 3.0,
                    x - 3.0
                )
                .expect("a string takes all");
            }
        }
        path
    }
}

/// Returns the lines of one series.
pub(super) fn plot(
    run: &Run,
    answers: &ExperimentSummary<'_>,
    axis: &Axis,
    series: &str,
    shows: Shows,
) -> Plot {
    let quantity = answers.experiment.quantity;
    let height = |figure: &Figure| match shows {
        Shows::Values => figure.value(),
        Shows::ShareOfBound => figure.efficiency(quantity).unwrap_or_default(),
    };
    let lines: Vec<&Line<'_>> = of_series(answers, series).collect();
    let figures = || lines.iter().flat_map(|line| &line.figures);
    let mut places: Vec<f64> = figures().map(|figure| figure.at).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    let heights = figures().map(height).collect();
    let (y, unit, name) = vertical(quantity, &lines, shows, heights);
    let frame = Frame {
        x: Ruler::at_places(axis.scale, &places),
        y,
    };
    let body = html! {
        (scaffold(&frame, &unit, name, axis))
        @if shows == Shows::Values {
            @for (path, keys) in bounds(&frame, answers, &lines) {
                path.bound d=(path) data-keys=(keys) {}
            }
        }
        @for line in &lines {
            @let look = Look::of(run, line.subject);
            g class={"line " (look.hue)} data-key=(key(answers, line)) {
                @if shows == Shows::Values && line.figures.iter().any(|figure| figure.spread.is_some()) {
                    path.w d=(frame.whiskers(&line.figures)) {}
                }
                path.l d=(frame.path(line.figures.iter().map(|figure| (figure.at, height(figure)))))
                    stroke-dasharray=[look.dash()] {}
                @for figure in &line.figures {
                    @let (x, y) = (frame.x(figure.at), frame.y(height(figure)));
                    (marker(quantity, &look, figure, Some(words::place(axis, figure.at)), x, y))
                }
            }
        }
    };
    Plot {
        series: Some(match shows {
            Shows::Values => series.to_owned(),
            Shows::ShareOfBound => format!("{series}: share of the bound"),
        }),
        height: HEIGHT,
        body,
    }
}

/// Returns the vertical axis with its unit and name. `values` are the heights of the figures.
fn vertical(
    quantity: Quantity,
    lines: &[&Line<'_>],
    shows: Shows,
    mut values: Vec<f64>,
) -> (Ruler, Unit, &'static str) {
    let figures = || lines.iter().flat_map(|line| &line.figures);
    match shows {
        Shows::Values => {
            values.extend(figures().filter_map(|figure| figure.bound));
            values.extend(figures().filter_map(|figure| figure.spread).flatten());
            let y = Ruler::of_values(&values);
            let unit = Unit::of(quantity, y.largest());
            (y, unit, words::quantity(quantity))
        }
        Shows::ShareOfBound => {
            values.push(1.0);
            let y = Ruler::over(Scale::Linear, &values);
            (y, Unit::percent(), "Share of the bound")
        }
    }
}

/// Returns the axes, with their ticks and names.
fn scaffold(frame: &Frame, unit: &Unit, quantity: &str, axis: &Axis) -> Markup {
    let text = |value: f64| format!("{value:.1}");
    html! {
        g.axes {
            @for tick in &frame.y.ticks {
                @let y = text(frame.y(*tick));
                line.grid x1=(LEFT) x2=(RIGHT) y1=(y) y2=(y) {}
                text.tick x=(LEFT - 8.0) y=(text(frame.y(*tick) + 4.0)) text-anchor="end" {
                    (amount::tick(*tick / unit.divisor))
                }
            }
            @for (number, tick) in frame.x.ticks.iter().enumerate() {
                @let x = text(frame.x(*tick));
                line.mark x1=(x) x2=(x) y1=(BOTTOM) y2=(BOTTOM + 5.0) {}
                text.tick.second[number % 2 == 1 && frame.x.ticks.len() > 5] x=(x) y=(BOTTOM + 20.0)
                    text-anchor="middle" { (amount::tick(*tick)) }
            }
            line.base x1=(LEFT) x2=(RIGHT) y1=(BOTTOM) y2=(BOTTOM) {}
            text.name x=(LEFT - 54.0) y="18" { (quantity) @if !unit.name.is_empty() { ", " (unit.name) } }
            text.name x=(RIGHT) y=(HEIGHT - 10.0) text-anchor="end" {
                (axis.name) @if !axis.unit.is_empty() { ", " (axis.unit) }
            }
        }
    }
}

/// Returns the different bounds, each with the keys of its subjects.
fn bounds(
    frame: &Frame,
    answers: &ExperimentSummary<'_>,
    lines: &[&Line<'_>],
) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    for line in lines {
        let points = line
            .figures
            .iter()
            .filter_map(|figure| Some((figure.at, figure.bound?)));
        let path = frame.path(points);
        let key = key(answers, line).to_string();
        match found.iter_mut().find(|(other, _)| *other == path) {
            _ if path.is_empty() => {}
            Some((_, keys)) => *keys = format!("{keys} {key}"),
            None => found.push((path, key)),
        }
    }
    found
}

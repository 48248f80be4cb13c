//! Lines over an axis: in one frame, or in a small one for each mechanism.

use maud::{Markup, html};

use super::{
    Panel, Plot, Shows,
    frame::{Frame, LARGE, SMALL},
    legend::Legend,
    marker,
    native::Band,
    of_series,
};
use crate::{
    figures::results::{Axis, Quantity, Run, Scale},
    report::{
        amount::Unit,
        ruler::Ruler,
        style::Look,
        summary::{ExperimentSummary, Figure, Line},
        words,
    },
};

/// An experiment over an axis.
pub(super) struct OverAxis<'s, 'a> {
    pub(super) run: &'s Run,
    pub(super) answers: &'s ExperimentSummary<'a>,
    pub(super) axis: &'s Axis,
    pub(super) legend: &'s Legend<'a>,
}

impl<'s> OverAxis<'s, '_> {
    /// Returns the lines of one series. All frames have the same axes and native forwarding.
    pub(super) fn plot(&self, series: &str, shows: Shows) -> Plot {
        let quantity = self.answers.experiment.quantity;
        let is_line = |line: &&Line<'_>| self.legend.find(line.subject).is_some();
        let (lines, native): (Vec<_>, Vec<_>) = of_series(self.answers, series).partition(is_line);
        let band = Band::of(quantity, shows, &native);
        let frame = self.frame(&lines, &band, shows);
        let behind = html! {
            (frame.scaffold())
            @if let Some(key) = self.legend.band() { (band.markup(&frame, self.axis, key)) }
        };
        let panels = groups(&lines, self.legend.is_split).into_iter();
        let panels = panels.map(|(mechanism, lines)| Panel {
            mechanism: mechanism.map(str::to_owned),
            width: frame.size.width,
            height: frame.size.height,
            body: html! {
                (frame.heading(self.axis, mechanism))
                (behind)
                (self.lines(&frame, &lines, shows))
            },
        });
        Plot {
            series: Some(match shows {
                Shows::Values => series.to_owned(),
                Shows::ShareOfBound => format!("{series}: share of the bound"),
            }),
            axes: self.legend.is_split.then(|| frame.axes(self.axis)),
            panels: panels.collect(),
        }
    }

    /// Returns the frame in which all lines of a series and the band have room.
    fn frame(&self, lines: &[&Line<'_>], band: &Band, shows: Shows) -> Frame {
        let quantity = self.answers.experiment.quantity;
        let figures = || lines.iter().flat_map(|line| &line.figures);
        let mut places: Vec<f64> = figures().map(|figure| figure.at).collect();
        places.extend(band.ends().map(|(at, _)| at));
        places.sort_by(f64::total_cmp);
        places.dedup();
        let height = |figure: &Figure| shows.height(quantity, figure, figure.value());
        let mut heights: Vec<f64> = figures().map(height).collect();
        heights.extend(band.ends().flat_map(|(_, ends)| ends));
        let (y, unit, name) = vertical(quantity, lines, shows, heights);
        Frame {
            size: if self.legend.is_split { SMALL } else { LARGE },
            x: Ruler::at_places(self.axis.scale, &places),
            y,
            unit,
            name,
        }
    }

    /// Returns lines with their bounds.
    fn lines(&self, frame: &Frame, lines: &[&'s Line<'_>], shows: Shows) -> Markup {
        let quantity = self.answers.experiment.quantity;
        let height = |figure: &Figure| shows.height(quantity, figure, figure.value());
        let entries = lines
            .iter()
            .filter_map(|line| Some((line, self.legend.find(line.subject)?)));
        html! {
            @if shows == Shows::Values {
                @for bound in self.bounds(frame, lines) {
                    path.bound.gone[!bound.is_shown] d=(bound.path) data-keys=(bound.keys) {}
                }
            }
            @for (line, (key, entry)) in entries {
                @let look = Look::of(self.run, line.subject);
                g class={"line " (look.hue) @if !entry.is_shown { " gone" }} data-key=(key) {
                    @if shows == Shows::Values && line.figures.iter().any(|figure| figure.spread.is_some()) {
                        path.w d=(frame.whiskers(&line.figures)) {}
                    }
                    path.l d=(frame.path(line.figures.iter().map(|figure| (figure.at, height(figure)))))
                        stroke-dasharray=[look.dash()] {}
                    @for figure in &line.figures {
                        @let (x, y) = (frame.x(figure.at), frame.y(height(figure)));
                        (marker(quantity, &look, figure, words::place(self.axis, figure.at), x, y))
                    }
                }
            }
        }
    }

    /// Returns the different bounds.
    fn bounds(&self, frame: &Frame, lines: &[&Line<'_>]) -> Vec<Bound> {
        let mut found: Vec<Bound> = Vec::new();
        for line in lines {
            let figures = line.figures.iter();
            let points = figures.filter_map(|figure| Some((figure.at, figure.bound?)));
            let path = frame.path(points);
            let Some((key, entry)) = self.legend.find(line.subject).filter(|_| !path.is_empty())
            else {
                continue;
            };
            match found.iter_mut().find(|bound| bound.path == path) {
                Some(bound) => {
                    bound.keys = format!("{} {key}", bound.keys);
                    bound.is_shown |= entry.is_shown;
                }
                None => found.push(Bound {
                    path,
                    keys: key.to_string(),
                    is_shown: entry.is_shown,
                }),
            }
        }
        found
    }
}

/// A bound of one or several subjects.
struct Bound {
    path: String,
    /// The keys of its subjects.
    keys: String,
    is_shown: bool,
}

/// Returns the lines of each frame, with its mechanism if it is the frame of one. There is always a frame.
fn groups<'s, 'a>(
    lines: &[&'s Line<'a>],
    is_split: bool,
) -> Vec<(Option<&'a str>, Vec<&'s Line<'a>>)> {
    if !is_split || lines.is_empty() {
        return vec![(None, lines.to_vec())];
    }
    let mut groups: Vec<(Option<&str>, Vec<&Line<'_>>)> = Vec::new();
    for line in lines {
        let mechanism = Some(line.subject.mechanism.as_str());
        match groups.iter_mut().find(|(name, _)| *name == mechanism) {
            Some((_, lines)) => lines.push(line),
            None => groups.push((mechanism, vec![line])),
        }
    }
    groups
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

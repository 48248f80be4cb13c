//! The frame of lines: two axes with their ticks and names, and the places of values between them.

use std::fmt::Write;

use maud::{Markup, html};

use super::WIDTH;
use crate::{
    figures::results::Axis,
    report::{
        amount::{self, Unit},
        ruler::Ruler,
        summary::Figure,
    },
};

/// The width that a letter needs, and the height of a line of text.
pub(super) const LETTER: f64 = 7.5;
const TEXT: f64 = 15.0;
/// How many times larger text may be where a plot is small: on a phone and on paper.
const LARGER: f64 = 1.7;

/// The size of a frame, and the edges of the lines in it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Size {
    pub(super) width: f64,
    pub(super) height: f64,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

/// A frame that is alone.
pub(super) const LARGE: Size = Size {
    width: WIDTH,
    height: 340.0,
    left: 62.0,
    right: WIDTH - 18.0,
    top: 42.0,
    bottom: 284.0,
};

/// A frame among those of other mechanisms.
pub(super) const SMALL: Size = Size {
    width: 320.0,
    height: 196.0,
    left: 50.0,
    right: 310.0,
    top: 36.0,
    bottom: 168.0,
};

/// A frame.
pub(super) struct Frame {
    pub(super) size: Size,
    pub(super) x: Ruler,
    pub(super) y: Ruler,
    /// The unit of the heights.
    pub(super) unit: Unit,
    /// The name of the heights.
    pub(super) name: &'static str,
}

impl Frame {
    pub(super) fn x(&self, at: f64) -> f64 {
        let Size { left, right, .. } = self.size;
        left + 10.0 + self.x.place(at) * (right - left - 20.0)
    }

    pub(super) fn y(&self, value: f64) -> f64 {
        let Size { top, bottom, .. } = self.size;
        bottom - self.y.place(value) * (bottom - top)
    }

    /// Returns the line through these places and heights.
    pub(super) fn path(&self, points: impl Iterator<Item = (f64, f64)>) -> String {
        let mut path = String::new();
        for (at, value) in points {
            let command = if path.is_empty() { 'M' } else { 'L' };
            write!(path, "{command}{:.1} {:.1}", self.x(at), self.y(value))
                .expect("a string takes all");
        }
        path
    }

    /// Returns the ranges from the first to the 99th percentile of each figure, as one path.
    pub(super) fn whiskers(&self, figures: &[Figure]) -> String {
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

    /// Returns the axes, with as many ticks as have room. The class `second` has those without room for larger text.
    pub(super) fn scaffold(&self) -> Markup {
        let Size {
            left,
            right,
            bottom,
            ..
        } = self.size;
        let text = |value: f64| format!("{value:.1}");
        let width = |tick: f64| amount::tick(tick).chars().count() as f64 * LETTER;
        let beside = |times: f64| {
            let room = move |a, b| times * ((width(a) + width(b)) / 2.0 + LETTER);
            move |a: f64, b: f64| self.x(b) - self.x(a) >= room(a, b)
        };
        let below = |times: f64| move |a: f64, b: f64| self.y(a) - self.y(b) >= times * TEXT;
        let across = self.x.with_room(&self.x.ticks, beside(1.0));
        let few_across = self.x.with_room(&across, beside(LARGER));
        let up = self.y.with_room(&self.y.ticks, below(1.0));
        let few_up = self.y.with_room(&up, below(LARGER));
        html! {
            g.axes {
                @for tick in up {
                    @let y = text(self.y(tick));
                    line.grid x1=(left) x2=(right) y1=(y) y2=(y) {}
                    text.tick.second[!few_up.contains(&tick)] x=(left - 8.0) y=(text(self.y(tick) + 4.0)) text-anchor="end" {
                        (amount::tick(tick / self.unit.divisor))
                    }
                }
                @for tick in across {
                    @let x = text(self.x(tick));
                    line.mark x1=(x) x2=(x) y1=(bottom) y2=(bottom + 5.0) {}
                    text.tick.second[!few_across.contains(&tick)] x=(x) y=(bottom + 20.0)
                        text-anchor="middle" { (amount::tick(tick)) }
                }
                line.base x1=(left) x2=(right) y1=(bottom) y2=(bottom) {}
            }
        }
    }

    /// Returns the names of both axes with their units; of a frame among others, only its mechanism.
    pub(super) fn heading(&self, axis: &Axis, mechanism: Option<&str>) -> Markup {
        let Size { right, height, .. } = self.size;
        html! {
            @if let Some(mechanism) = mechanism {
                text.mechanism x="8" y="18" { (mechanism) }
            } @else {
                text.name x="8" y="18" { (with_unit(self.name, &self.unit.name, ", ")) }
                text.name x=(right) y=(height - 10.0) text-anchor="end" {
                    (with_unit(&axis.name, &axis.unit, ", "))
                }
            }
        }
    }

    /// Returns the names of both axes in one line.
    pub(super) fn axes(&self, axis: &Axis) -> String {
        let up = with_unit(self.name, &self.unit.name, " in ");
        format!("{up}, over {}", with_unit(&axis.name, &axis.unit, " in "))
    }
}

fn with_unit(name: &str, unit: &str, between: &str) -> String {
    match unit {
        "" => name.to_owned(),
        _ => format!("{name}{between}{unit}"),
    }
}

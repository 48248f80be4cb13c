//! The frame of lines: two axes with their ticks and names, and the places of values between them.

use std::fmt::Write;

use maud::{Markup, html};

use super::WIDTH;
use crate::{
    amount::{self, Unit},
    report::ruler::Ruler,
    results::Axis,
    summary::Figure,
};

/// The width that a letter needs, and the height of a line of text.
const LETTER: f64 = 7.5;
const TEXT: f64 = 15.0;

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
    height: 396.0,
    left: 62.0,
    right: WIDTH - 18.0,
    top: 42.0,
    bottom: 338.0,
};

/// A frame among those of other mechanisms.
pub(super) const SMALL: Size = Size {
    width: 320.0,
    height: 216.0,
    left: 46.0,
    right: 310.0,
    top: 32.0,
    bottom: 170.0,
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

    /// Returns the axes, with as many ticks as have room.
    pub(super) fn scaffold(&self, axis: &Axis) -> Markup {
        let Size {
            left,
            right,
            bottom,
            height,
            ..
        } = self.size;
        let text = |value: f64| format!("{value:.1}");
        let width = |tick: f64| amount::tick(tick).chars().count() as f64 * LETTER;
        let beside = |a: f64, b: f64| self.x(b) - self.x(a) >= (width(a) + width(b)) / 2.0 + LETTER;
        let below = |a: f64, b: f64| self.y(a) - self.y(b) >= TEXT;
        let across = self.x.with_room(beside);
        html! {
            g.axes {
                @for tick in self.y.with_room(below) {
                    @let y = text(self.y(tick));
                    line.grid x1=(left) x2=(right) y1=(y) y2=(y) {}
                    text.tick x=(left - 8.0) y=(text(self.y(tick) + 4.0)) text-anchor="end" {
                        (amount::tick(tick / self.unit.divisor))
                    }
                }
                @for (number, tick) in across.iter().enumerate() {
                    @let x = text(self.x(*tick));
                    line.mark x1=(x) x2=(x) y1=(bottom) y2=(bottom + 5.0) {}
                    text.tick.second[number % 2 == 1 && across.len() > 5] x=(x) y=(bottom + 20.0)
                        text-anchor="middle" { (amount::tick(*tick)) }
                }
                line.base x1=(left) x2=(right) y1=(bottom) y2=(bottom) {}
                text.name x=(right) y=(height - 10.0) text-anchor="end" {
                    (axis.name) @if !axis.unit.is_empty() { ", " (axis.unit) }
                }
            }
        }
    }

    /// Returns the name of the heights with their unit: at the left, or behind the mechanism whose frame it is.
    pub(super) fn heading(&self, mechanism: Option<&str>) -> Markup {
        let (x, anchor) = match mechanism {
            None => (8.0, "start"),
            Some(_) => (self.size.right, "end"),
        };
        html! {
            @if let Some(mechanism) = mechanism { text.mechanism x="8" y="18" { (mechanism) } }
            text.name x=(x) y="18" text-anchor=(anchor) {
                (self.name) @if !self.unit.name.is_empty() { ", " (self.unit.name) }
            }
        }
    }
}

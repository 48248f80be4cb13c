//! Native forwarding: a band behind the lines of mechanisms.

use maud::{Markup, html};

use super::{Shows, frame::Frame};
use crate::{
    figures::{
        results::{Axis, Quantity},
        statistics::median,
    },
    report::{summary::Line, words},
};

/// The values of all native subjects and repetitions together.
pub(super) struct Band {
    quantity: Quantity,
    shows: Shows,
    places: Vec<Place>,
}

/// A place on the axis.
struct Place {
    at: f64,
    /// The heights in the frame, from the least.
    heights: Vec<f64>,
}

impl Band {
    /// Returns the band of the native subjects' lines.
    pub(super) fn of(quantity: Quantity, shows: Shows, lines: &[&Line<'_>]) -> Self {
        let mut places: Vec<Place> = Vec::new();
        for figure in lines.iter().flat_map(|line| &line.figures) {
            let heights = figure.values.iter();
            let heights = heights.map(|value| shows.height(quantity, figure, *value));
            match places.iter_mut().find(|place| place.at == figure.at) {
                Some(place) => place.heights.extend(heights),
                None => places.push(Place {
                    at: figure.at,
                    heights: heights.collect(),
                }),
            }
        }
        places.sort_by(|one, other| one.at.total_cmp(&other.at));
        let heights = places.iter_mut().map(|place| &mut place.heights);
        heights.for_each(|heights| heights.sort_by(f64::total_cmp));
        Self {
            quantity,
            shows,
            places,
        }
    }

    /// Returns the places on the axis, each with its least and greatest height.
    pub(super) fn ends(&self) -> impl Iterator<Item = (f64, [f64; 2])> {
        self.places.iter().map(|place| (place.at, place.ends()))
    }

    /// Returns the band, its line of medians, and a point at each place.
    pub(super) fn markup(&self, frame: &Frame, axis: &Axis, key: usize) -> Markup {
        let places = self.places.iter();
        let upper = places.clone().map(|place| (place.at, place.ends()[1]));
        let lower = places.clone().map(|place| (place.at, place.ends()[0]));
        let around = frame.path(upper.chain(lower.rev()));
        html! {
            g.line.native data-key=(key) {
                path.band d={(around) "Z"} {}
                path.l d=(frame.path(places.map(|place| (place.at, place.median())))) {}
                @for place in &self.places {
                    @let (x, y) = (frame.x(place.at), frame.y(place.median()));
                    @let [least, most] = place.ends().map(|height| self.shows.text(self.quantity, height));
                    circle.m cx=(format!("{x:.1}")) cy=(format!("{y:.1}")) r="1.5"
                        data-p=(format!("{x:.1} {y:.1}")) data-at=(words::place(axis, place.at))
                        data-value=(self.shows.text(self.quantity, place.median()))
                        data-times=(place.heights.len())
                        data-range=[(place.heights.len() > 1).then(|| format!("{least} to {most}"))] {}
                }
            }
        }
    }
}

impl Place {
    fn ends(&self) -> [f64; 2] {
        [self.heights[0], self.heights[self.heights.len() - 1]]
    }

    fn median(&self) -> f64 {
        median(&mut self.heights.clone())
    }
}

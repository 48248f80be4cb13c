//! Bars: one group for each subject, in it a bar for each series, at the only place of an axis if there is one. Many groups
//! stand in columns.

use maud::{Markup, html};

use super::{Panel, Plot, WIDEST, WIDTH, frame::LETTER};
use crate::{
    figures::results::{Run, SubjectInfo},
    report::{
        amount,
        ruler::Ruler,
        style::Look,
        summary::{ExperimentSummary, Figure, Line},
        words,
    },
};

const LEFT: f64 = 8.0;
const MARGIN: f64 = 12.0;
/// The most groups in a column that is alone, and the most columns for more.
const MOST: usize = 12;
const COLUMNS: f64 = 6.0;
/// The height of a subject's name.
const NAME: f64 = 22.0;
/// The height of the name of a place on the axis.
const PLACE: f64 = 26.0;
/// The height of a bar with its text, which is above it, or beside the name if the subject has only one bar.
const BAR: f64 = 12.0;
const LABEL: f64 = 17.0;
const GAP: f64 = 6.0;

/// The horizontal axis of bars.
struct Lengths {
    ruler: Ruler,
    /// The place of the longest bar's end on the ruler.
    full: f64,
    /// The right end of the longest bar.
    right: f64,
}

impl Lengths {
    /// Returns the axis on which the longest bar fills the width. There are no ticks, as each bar has its value.
    fn of(answers: &ExperimentSummary<'_>, width: f64) -> Self {
        let figures = || answers.lines.iter().flat_map(|line| line.figures.first());
        let mut values: Vec<f64> = figures().map(Figure::value).collect();
        values.extend(figures().filter_map(|figure| figure.bound));
        values.extend(figures().filter_map(|figure| figure.spread).flatten());
        let ruler = Ruler::of_bars(&values);
        let greatest = values.iter().copied().fold(0.0, f64::max);
        let full = ruler.place(greatest).max(f64::MIN_POSITIVE);
        Self {
            ruler,
            full,
            right: width - MARGIN,
        }
    }

    fn x(&self, value: f64) -> f64 {
        LEFT + (self.ruler.place(value) / self.full).min(1.0) * (self.right - LEFT)
    }
}

/// A subject's bars, and their places.
struct Group<'s, 'a> {
    subject: &'a SubjectInfo,
    lines: Vec<&'s Line<'a>>,
    top: f64,
    /// The bars with their figures and their upper edges.
    bars: Vec<(&'s Line<'a>, &'s Figure, f64)>,
    bottom: f64,
}

impl<'s, 'a> Group<'s, 'a> {
    fn at(top: f64, answers: &'s ExperimentSummary<'a>, subject: &'a SubjectInfo) -> Self {
        let of_subject = |line: &&Line<'_>| line.subject.name == subject.name;
        let lines: Vec<_> = answers.lines.iter().filter(of_subject).collect();
        let mut y = top + NAME;
        let mut bars = Vec::new();
        for line in &lines {
            let Some(figure) = line.figures.first() else {
                continue;
            };
            if lines.len() > 1 {
                y += LABEL;
            }
            bars.push((*line, figure, y));
            y += BAR;
        }
        Self {
            subject,
            lines,
            top,
            bars,
            bottom: y + GAP,
        }
    }

    fn markup(&self, run: &Run, answers: &ExperimentSummary<'_>, lengths: &Lengths) -> Markup {
        let quantity = answers.experiment.quantity;
        let look = Look::of(run, self.subject);
        let single = self.lines.len() == 1;
        let right = lengths.right;
        let x = |value| lengths.x(value);
        html! {
            g class={"line bars " (look.hue)} {
                text.who x=(LEFT) y=(self.top + 16.0) { (self.subject.name) }
                @for (line, figure, y) in &self.bars {
                    @let (from, to) = (x(0.0), x(figure.value()));
                    @let label = if single { self.top + 16.0 } else { y - 5.0 };
                    @if !single {
                        text.what x=(LEFT) y=(label) { (line.series) }
                    }
                    text.value x=(right) y=(label) text-anchor="end" {
                        (amount::amount(quantity, figure.value()))
                        @if figure.limited(quantity) { " †" }
                    }
                    rect.rail x=(LEFT) y=(y) width=(right - LEFT) height="8" rx="2" {}
                    rect.bar x=(format!("{:.1}", from.min(to))) y=(y) height="8" rx="2"
                        width=(format!("{:.1}", (to - from).abs().max(1.0)))
                        data-p=(format!("{to:.1} {:.1}", y + 4.0)) data-at=(line.series)
                        data-value=(amount::amount(quantity, figure.value()))
                        data-times=(figure.values.len())
                        data-spread=[figure.spread.map(|spread| amount::range(quantity, spread))]
                        data-bound=[figure.bound.map(|bound| amount::amount(quantity, bound))]
                        data-efficiency=[figure.efficiency(quantity).map(amount::percent)]
                        data-limited=[figure.limited(quantity).then_some("yes")] {}
                    @if let Some([low, high]) = figure.spread {
                        @let (low, high) = (x(low), x(high));
                        path.w d=(format!("M{low:.1} {:.1}H{high:.1}M{low:.1} {y:.1}v8M{high:.1} {y:.1}v8", y + 4.0)) {}
                    }
                    @if let Some(bound) = figure.bound {
                        path.bound d=(format!("M{:.1} {:.1}v14", x(bound), y - 3.0)) {}
                    }
                }
            }
        }
    }
}

/// Returns the bars of all subjects and series.
pub(super) fn plot(run: &Run, answers: &ExperimentSummary<'_>) -> Plot {
    let subjects = answers.subjects();
    let (columns, width) = match subjects.len() {
        0..=MOST => (1, WIDTH),
        _ => {
            let columns = (WIDEST / room(answers)).floor().clamp(1.0, COLUMNS);
            (columns as usize, WIDEST / columns)
        }
    };
    let lengths = Lengths::of(answers, width);
    let place = place(answers);
    let columns = subjects.chunks(subjects.len().div_ceil(columns).max(1));
    let panels = columns.enumerate().map(|(number, subjects)| {
        let mut y = if place.is_some() { PLACE } else { 4.0 };
        let mut groups = Vec::new();
        for subject in subjects {
            let group = Group::at(y, answers, subject);
            y = group.bottom;
            groups.push(group.markup(run, answers, &lengths));
        }
        let place = place.as_ref().filter(|_| number == 0);
        Panel {
            mechanism: None,
            width,
            height: y,
            body: html! {
                @if let Some(place) = place { text.name x=(LEFT) y="16" { (place) } }
                @for group in &groups { (group) }
            },
        }
    });
    Plot {
        series: None,
        axes: None,
        panels: panels.collect(),
    }
}

/// Returns the width that the names beside values need.
fn room(answers: &ExperimentSummary<'_>) -> f64 {
    let quantity = answers.experiment.quantity;
    let count = |text: &str| text.chars().count();
    let of_line = |line: &Line<'_>| {
        let is_other = |other: &&Line<'_>| other.subject.name == line.subject.name;
        let is_alone = answers.lines.iter().filter(is_other).count() == 1;
        let name = if is_alone {
            &line.subject.name
        } else {
            line.series
        };
        let value = amount::amount(quantity, line.figures.first()?.value());
        Some(count(name) + count(&value) + 2)
    };
    let letters = answers.lines.iter().filter_map(of_line).max();
    LEFT + MARGIN + letters.unwrap_or_default() as f64 * LETTER
}

/// Returns the place on the axis in words, if there is an axis.
fn place(answers: &ExperimentSummary<'_>) -> Option<String> {
    let axis = answers.experiment.over.as_ref()?;
    let at = answers.places().first().copied()?;
    Some(format!("{}: {}", axis.name, words::place(axis, at)))
}

//! An experiment's plots as a self-contained picture.

use maud::{Markup, html};

use super::{WIDTH, plots};
use crate::{report::style::Look, results::Run, summary::ExperimentSummary};

/// The light colours of the page; `style.css` has the same in variables.
const STYLE: &str = include_str!("image.css");

const HEAD: f64 = 44.0;
const CAPTION: f64 = 26.0;
const ENTRY: f64 = 22.0;
const COLUMNS: usize = 3;

/// Returns an SVG document with title, plots and legend; `None` if there are no figures.
pub(in crate::report) fn image(run: &Run, answers: &ExperimentSummary<'_>) -> Option<Markup> {
    let plots = plots(run, answers);
    if plots.is_empty() {
        return None;
    }
    let mut y = HEAD;
    let mut panels = Vec::new();
    for plot in &plots {
        if let Some(series) = &plot.series {
            y += CAPTION;
            panels.push(html! { text.caption x="8" y=(y - 8.0) { (series) } });
        }
        panels.push(html! { g transform=(format!("translate(0 {y})")) { (plot.body) } });
        y += plot.height;
    }
    // Bars are labelled with their subjects already.
    let over_axis = plots.iter().any(|plot| plot.series.is_some());
    let subjects = if over_axis {
        answers.subjects()
    } else {
        Vec::new()
    };
    let legend = subjects.iter().enumerate().map(|(number, subject)| {
        let x = 8.0 + (number % COLUMNS) as f64 * (WIDTH - 16.0) / COLUMNS as f64;
        let y = y + 12.0 + (number / COLUMNS) as f64 * ENTRY;
        html! {
            (Look::of(run, subject).sample(x, y))
            text.tick x=(x + 36.0) y=(y + 10.0) { (subject.name) }
        }
    });
    let legend: Vec<Markup> = legend.collect();
    let height = y + 20.0 + subjects.len().div_ceil(COLUMNS) as f64 * ENTRY;
    Some(html! {
        svg xmlns="http://www.w3.org/2000/svg" viewBox=(format!("0 0 {WIDTH} {height}"))
            width=(WIDTH) height=(height) {
            style { (STYLE) }
            rect.paper width=(WIDTH) height=(height) {}
            text.heading x="8" y="28" { (answers.experiment.title) }
            @for panel in &panels { (panel) }
            @for entry in &legend { (entry) }
        }
    })
}

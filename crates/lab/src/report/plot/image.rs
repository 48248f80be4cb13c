//! An experiment's plots as a self-contained picture, as the page shows them at first.

use maud::{Markup, html};

use super::{Plot, Plots, WIDEST, WIDTH, legend::Entry};
use crate::report::summary::{ExperimentSummary, Summary};

/// The light colours of the page; `style.css` has the same in variables.
const STYLE: &str = include_str!("image.css");

const HEAD: f64 = 44.0;
const CAPTION: f64 = 26.0;
const ENTRY: f64 = 22.0;
/// The width of an entry.
const NAME: f64 = 208.0;

/// Returns an SVG document with title, plots and legend; `None` if there are no figures.
pub(in crate::report) fn image(
    summary: &Summary<'_>,
    answers: &ExperimentSummary<'_>,
) -> Option<Markup> {
    let plots = Plots::of(summary, answers);
    let width = plots.all.iter().map(width).reduce(f64::max)?.max(WIDTH);
    let mut y = HEAD;
    let mut panels = Vec::new();
    for plot in &plots.all {
        let caption: Vec<&str> = [&plot.series, &plot.axes]
            .into_iter()
            .flatten()
            .map(String::as_str)
            .collect();
        if !caption.is_empty() {
            y += CAPTION;
            panels.push(html! { text.caption x="8" y=(y - 8.0) { (caption.join(": ")) } });
        }
        for row in plot.panels.chunks(beside(plot)) {
            let mut x = 0.0;
            for panel in row {
                panels.push(html! { g transform=(format!("translate({x} {y})")) { (panel.body) } });
                x += panel.width;
            }
            y += row.iter().map(|panel| panel.height).fold(0.0, f64::max);
        }
    }
    let legend = plots.legend.iter().flat_map(|legend| &legend.entries);
    let entries: Vec<&Entry<'_>> = legend.filter(|entry| entry.is_shown).collect();
    let beside = (width / NAME) as usize;
    let legend = entries.iter().enumerate().map(|(number, entry)| {
        let x = 8.0 + (number % beside) as f64 * NAME;
        let y = y + 12.0 + (number / beside) as f64 * ENTRY;
        html! {
            (entry.sample(summary.run, x, y))
            text.tick x=(x + 36.0) y=(y + 10.0) { (entry.name()) }
        }
    });
    let legend: Vec<Markup> = legend.collect();
    let height = y + 20.0 + entries.len().div_ceil(beside) as f64 * ENTRY;
    Some(html! {
        svg xmlns="http://www.w3.org/2000/svg" viewBox=(format!("0 0 {width} {height}"))
            width=(width) height=(height) {
            style { (STYLE) }
            rect.paper width=(width) height=(height) {}
            text.heading x="8" y="28" { (answers.experiment.title) }
            @for panel in &panels { (panel) }
            @for entry in &legend { (entry) }
        }
    })
}

/// Returns the width of a plot whose panels stand beside each other.
fn width(plot: &Plot) -> f64 {
    let row = plot.panels.iter().take(beside(plot));
    row.map(|panel| panel.width).sum()
}

/// Returns how many panels of a plot have room beside each other. They are equally wide.
fn beside(plot: &Plot) -> usize {
    let room = plot.panels.first().map(|panel| WIDEST / panel.width);
    room.map_or(1, |room| room as usize).max(1)
}

//! The figures of the papers that are not here, or in part, and why.

use maud::{Markup, html};

use super::table::{Table, heads};
use crate::report::{
    coverage::{FIGURES, Figure, Repeated},
    papers::SOURCES,
    summary::Summary,
};

/// Returns the figures that nothing repeats or that are repeated in part, and those that this run has left out.
pub(super) fn coverage(summary: &Summary<'_>) -> Markup {
    let count = |wanted: fn(&Figure) -> bool| -> usize {
        let figures = FIGURES.iter().filter(|figure| wanted(figure));
        figures.map(|figure| figure.measurements).sum()
    };
    let all = count(|_| true);
    let whole = count(|figure| matches!(figure.repeated, Repeated::By(_)));
    let in_part =
        count(|figure| matches!(figure.repeated, Repeated::InPart(..) | Repeated::Counted(_)));
    let rest = |figure: &&Figure| why(summary, figure).is_some();
    html! {
        p.about {
            "The five papers show " (all) " measurements. The laboratory repeats " (whole) " of them, and "
            (in_part) " in part; for " (all - whole - in_part) " it has nothing."
        }
        (Table {
            class: Some("reasons"),
            caption: html! { "What is not here, or not all of it" },
            heads: heads(&["paper", "place", "shows", "not here"]),
            rows: html! {
                @for figure in FIGURES.iter().filter(rest) {
                    tr {
                        th scope="row" { (paper(figure)) }
                        td { (figure.place) }
                        td { (figure.shows) }
                        td { (why(summary, figure).unwrap_or_default()) }
                    }
                }
            },
        })
    }
}

fn paper(figure: &Figure) -> &'static str {
    let source = SOURCES.iter().find(|source| source.name == figure.paper);
    let title = source.map_or(figure.paper, |source| source.title);
    title.split(':').next().unwrap_or(title)
}

/// Returns what is missing of a figure, if anything is.
fn why(summary: &Summary<'_>, figure: &Figure) -> Option<String> {
    let left_out = |name: &str| {
        let answers = summary.experiment(name);
        answers.is_none_or(|answers| answers.lines.is_empty())
    };
    match figure.repeated {
        Repeated::Not(why) => Some(why.into()),
        Repeated::By(name) | Repeated::InPart(name, _) if left_out(name) => {
            Some(format!("not in this run: isthmus lab run {name}"))
        }
        Repeated::By(_) => None,
        Repeated::InPart(_, why) | Repeated::Counted(why) => Some(why.into()),
    }
}

//! The page: one file of HTML with its style, its script and its plots inside.

mod applications;
mod cards;
mod claims;
mod comparison;
mod coverage;
mod experiment;
mod remarks;
mod table;
mod translation;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::papers::{SOURCES, Source};
use crate::report::summary::{ExperimentSummary, Summary};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// Only the content of the page itself may be loaded or run.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; \
     base-uri 'none'; form-action 'none'";

/// A part of the page.
struct Section {
    id: &'static str,
    title: &'static str,
    body: Markup,
}

/// An experiment with figures.
struct Shown<'s, 'a> {
    answers: &'s ExperimentSummary<'a>,
    /// Its index among these, by which its elements are named.
    number: usize,
    /// The name of its files.
    file: &'s str,
}

/// Returns the whole page. `files` has a name for each experiment with figures; links to pictures are left out if
/// there are none.
pub(super) fn page(summary: &Summary<'_>, files: &[String], pictures: bool) -> Markup {
    let shown: Vec<Shown<'_, '_>> = super::with_figures(summary)
        .zip(files)
        .enumerate()
        .map(|(number, (answers, file))| Shown {
            answers,
            number,
            file,
        })
        .collect();
    let sections = sections(summary, &shown, pictures);
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "Isthmus laboratory: " (summary.run.profile) ", " (summary.run.begun) }
                link rel="icon" href="data:,";
                style { (PreEscaped(STYLE)) }
            }
            body {
                a.skip href="#comparison" { "Skip to the comparison" }
                header.top {
                    p.brand { "Isthmus" span { " laboratory" } }
                    button #theme type="button" aria-pressed="false" { "Dark" }
                }
                div.frame {
                    nav aria-label="Contents" {
                        ol {
                            @for section in &sections {
                                li { a href={"#" (section.id)} { (section.title) } }
                            }
                        }
                    }
                    main {
                        (opening(summary, &shown))
                        @for section in &sections {
                            section id=(section.id) aria-labelledby={(section.id) "-title"} {
                                h2 id={(section.id) "-title"} { (section.title) }
                                (section.body)
                            }
                        }
                    }
                }
                div #tip role="status" aria-live="polite" hidden {}
                script { (PreEscaped(SCRIPT)) }
            }
        }
    }
}

fn sections(summary: &Summary<'_>, shown: &[Shown<'_, '_>], pictures: bool) -> Vec<Section> {
    let mut sections = vec![Section {
        id: "comparison",
        title: "Comparison",
        body: comparison::table(summary, shown),
    }];
    let standard = |source: &&Source| source.name.starts_with("rfc");
    let sources = |wanted: bool| {
        SOURCES
            .iter()
            .filter(move |source| standard(source) == wanted)
    };
    sections.push(Section {
        id: "papers",
        title: "The papers’ figures",
        body: html! {
            @for source in sources(false) { (group(summary, shown, source, pictures)) }
            (others(summary, shown, pictures))
        },
    });
    sections.push(Section {
        id: "standards",
        title: "The standards’ tests",
        body: html! { @for source in sources(true) { (group(summary, shown, source, pictures)) } },
    });
    sections.push(Section {
        id: "claims",
        title: "The papers’ claims",
        body: claims::claims(summary),
    });
    sections.push(Section {
        id: "coverage",
        title: "What of the papers is not here",
        body: coverage::coverage(summary),
    });
    sections.push(Section {
        id: "missing",
        title: "Not measured",
        body: remarks::missing(summary),
    });
    sections.push(Section {
        id: "environment",
        title: "Environment",
        body: remarks::environment(summary),
    });
    sections.push(Section {
        id: "commands",
        title: "Commands",
        body: remarks::commands(summary),
    });
    sections
}

/// Returns the first screen: the run in a sentence, and a card for each mechanism.
fn opening(summary: &Summary<'_>, shown: &[Shown<'_, '_>]) -> Markup {
    let run = summary.run;
    let here = run
        .subjects
        .iter()
        .filter(|subject| subject.missing.is_none())
        .count();
    let beaten = summary.beaten();
    html! {
        div.opening {
            h1 { "IPv6 transition mechanisms, measured" }
            p.lead {
                "Which one for your network? Profile " strong { (run.profile) } ", begun " time { (run.begun) }
                ", on " (run.environment.cpu) ", Linux " (run.environment.kernel) "."
            }
            @if is_smoke(summary) {
                p.banner { "Each was measured once and briefly: orders are not evidence." }
            }
            @if !beaten.is_empty() {
                details.banner {
                    summary { (beaten.len()) " values are better than their bounds: these, or the bounds, are wrong." }
                    ul { @for one in &beaten { li { (one) } } }
                }
            }
            (cards::cards(summary))
            dl.facts {
                div { dt { "experiments" } dd { (shown.len()) } }
                div { dt { "subjects" } dd { (here) } }
                div { dt { "trials measured" } dd { (summary.measured) " of " (run.plan.len()) } }
                div { dt { "claims that hold" } dd { (claims::score(summary)) } }
            }
        }
    }
}

/// Returns whether the run is a check that all works, and no measurement.
fn is_smoke(summary: &Summary<'_>) -> bool {
    summary.run.profile == "smoke"
}

/// Returns the experiments of one paper or standard; nothing if the run has none of them.
fn group(
    summary: &Summary<'_>,
    shown: &[Shown<'_, '_>],
    source: &Source,
    pictures: bool,
) -> Markup {
    let of_source = |one: &&Shown<'_, '_>| source_of(&one.answers.experiment.name) == source.name;
    let experiments: Vec<_> = shown.iter().filter(of_source).collect();
    html! {
        @if !experiments.is_empty() {
            h3 id=(source.name) { (source.title) }
            p.about { (source.about) }
            div.figures {
                @for one in experiments { (experiment::figure(summary, one, pictures)) }
            }
            @if source.name == "paper-001" { (translation::tables()) }
        }
    }
}

/// Returns the experiments that belong to no paper and no standard.
fn others(summary: &Summary<'_>, shown: &[Shown<'_, '_>], pictures: bool) -> Markup {
    let known = |name: &str| SOURCES.iter().any(|source| source.name == name);
    let of_none = |one: &&Shown<'_, '_>| !known(source_of(&one.answers.experiment.name));
    let experiments: Vec<_> = shown.iter().filter(of_none).collect();
    html! {
        @if !experiments.is_empty() {
            h3 { "Others" }
            div.figures {
                @for one in experiments { (experiment::figure(summary, one, pictures)) }
            }
        }
    }
}

fn source_of(experiment: &str) -> &str {
    experiment.split('/').next().unwrap_or_default()
}

/// Returns the number of repetitions of the experiments, such as `5` or `1 to 20`.
fn repetitions(answers: &ExperimentSummary<'_>) -> String {
    let counts = answers
        .lines
        .iter()
        .flat_map(|line| &line.figures)
        .map(|figure| figure.values.len());
    match (counts.clone().min(), counts.max()) {
        (Some(least), Some(most)) if least == most => least.to_string(),
        (Some(least), Some(most)) => format!("{least} to {most}"),
        _ => "0".into(),
    }
}

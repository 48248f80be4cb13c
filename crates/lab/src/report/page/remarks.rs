//! The remarks: the missing figures, the machine, the commands.

use maud::{Markup, html};

use super::table::{Table, heads};
use crate::report::{summary::Summary, words};

/// Returns the subjects that could not be measured, and the trials without figures.
pub(super) fn missing(summary: &Summary<'_>) -> Markup {
    let subjects = summary.run.subjects.iter();
    let absent: Vec<_> = subjects
        .filter_map(|subject| Some((subject, subject.missing.as_ref()?)))
        .collect();
    html! {
        @if absent.is_empty() && summary.troubles.is_empty() {
            p.none { "Everything that was planned was measured." }
        }
        @if !absent.is_empty() {
            (Table {
                class: None,
                caption: html! { "Subjects that cannot run here" },
                heads: heads(&["subject", "mechanism", "why"]),
                rows: html! {
                    @for (subject, why) in absent {
                        tr {
                            th scope="row" { (subject.name) }
                            td { (subject.mechanism) }
                            td { (why) }
                        }
                    }
                },
            })
        }
        @if !summary.troubles.is_empty() {
            (Table {
                class: None,
                caption: html! { "Trials without figures" },
                heads: html! {
                    (heads(&["experiment", "subject"]))
                    th.n scope="col" { "trials" }
                    (heads(&["what", "why"]))
                },
                rows: html! {
                    @for trouble in &summary.troubles {
                        @let (what, why) = words::cause(trouble.cause);
                        tr {
                            th scope="row" { (trouble.experiment) }
                            td { (trouble.subject) }
                            td.n { (trouble.trials) }
                            td { (what) }
                            td { (why) }
                        }
                    }
                },
            })
        }
    }
}

/// Returns the machine and the program.
pub(super) fn environment(summary: &Summary<'_>) -> Markup {
    let run = summary.run;
    let place = &run.environment;
    let facts = [
        ("Processor", place.cpu.clone()),
        ("Cores", place.cores.to_string()),
        ("Memory", format!("{} MiB", place.memory_mib)),
        ("Kernel", place.kernel.clone()),
        ("Isthmus", place.isthmus.clone()),
        ("Program (SHA-256)", place.program.clone()),
        ("Begun", run.begun.clone()),
        ("Profile", run.profile.clone()),
        ("Run", run.id.clone()),
    ];
    html! {
        dl.environment {
            @for (name, value) in facts {
                div { dt { (name) } dd { (value) } }
            }
        }
    }
}

/// Returns the commands that repeat the run, each experiment, and the page.
pub(super) fn commands(summary: &Summary<'_>) -> Markup {
    html! {
        p { "The whole run: " code { (summary.run.command) } }
        p { "This page, from the directory of a run: " code { "isthmus lab report RUN" } }
        p { "A comparison of two runs: " code { "isthmus lab diff RUN OTHER" } }
        (Table {
            class: None,
            caption: html! { "One experiment alone" },
            heads: heads(&["experiment", "command"]),
            rows: html! {
                @for answers in &summary.experiments {
                    tr {
                        th scope="row" { (answers.experiment.name) }
                        td { code { (answers.experiment.command) } }
                    }
                }
            },
        })
    }
}

//! Paper 001: the cost of translation.

use super::{
    ALIKE, Judgement,
    evidence::{Evidence, over},
    relation::Relation::{Below, Times},
};
use crate::{
    figures::results::Better,
    report::{
        amount, counted,
        summary::{ExperimentSummary, Line, Summary},
    },
};

/// Judges H5.
pub(super) fn directions(summary: &Summary<'_>) -> Judgement {
    let mut evidence = Evidence::default();
    evidence.or_counts(
        |evidence| time_directions(evidence, summary),
        |evidence| {
            for (name, row) in [
                ("SIIT", "siit-WAY-xdp"),
                ("the BR of MAP-T", "map-t-br-WAY-xdp"),
                ("the CE of MAP-T", "map-t-ce-WAY-xdp"),
                ("464XLAT’s CLAT", "clat-WAY-xdp"),
                ("TAYGA", "siit-WAY-tayga"),
            ] {
                let [down, up] = ["6to4", "4to6"].map(|way| {
                    let count = counted::packet(&row.replace("WAY", way));
                    (format!("{name} {way}"), count)
                });
                evidence.count((&down.0, down.1), Below, (&up.0, up.1));
            }
            let [down, up] = ["6to4-header", "4to6-header"].map(counted::step);
            evidence.count(("our code 6to4", down), Below, ("our code 4to6", up));
            let [down, up] = ["siit-6to4-prefix-96", "siit-4to6-prefix-96"].map(counted::bare);
            evidence.count(
                ("without an operating system 6to4", down),
                Below,
                ("4to6", up),
            );
        },
    );
    evidence.decide(
        "From IPv4 to IPv6 is the more expensive direction, as packets grow and more octets are written",
        "From IPv4 to IPv6 is not the more expensive direction",
    )
}

/// Compares both directions of each subject by the clock.
fn time_directions(evidence: &mut Evidence, summary: &Summary<'_>) {
    // Either experiment is enough: packets per second through a gateway, or the time of one inside.
    let names = ["paper-001/prefix-length", "paper-001/packet-rate"];
    evidence.asks(names[0]);
    let is_there = |answers: &&ExperimentSummary<'_>| !answers.lines.is_empty();
    let found = names
        .iter()
        .filter_map(|name| summary.experiment(name).filter(is_there));
    let found: Vec<&ExperimentSummary<'_>> = found.collect();
    if found.is_empty() {
        for name in names {
            evidence.lacks(format!("the experiment {name}"));
        }
    }
    for answers in found {
        for subject in answers.subjects() {
            let lines = ["4to6", "6to4"].map(|series| answers.line(&subject.name, series));
            match lines {
                [Some(up), Some(down)] => dearer(evidence, answers, up, down),
                _ => evidence.lacks(format!(
                    "both directions of {} in {}",
                    subject.name, answers.experiment.name
                )),
            }
        }
    }
}

/// Tests that one line is worse than another at almost all places.
fn dearer(
    evidence: &mut Evidence,
    answers: &ExperimentSummary<'_>,
    one: &Line<'_>,
    other: &Line<'_>,
) {
    let [less, more] = match answers.experiment.quantity.better() {
        Better::Lower => [other, one],
        Better::Higher => [one, other],
    };
    let what = format!(
        "{}, {}: {} < {}",
        answers.experiment.name, one.subject.name, less.series, more.series
    );
    let places = less.figures.iter().filter_map(|figure| {
        let beside = more.at(figure.at)?;
        Some((
            figure.at,
            Below.compare(String::new(), &figure.values, &beside.values),
        ))
    });
    match over(what, places.collect()) {
        Some(comparison) => evidence.add(comparison),
        None => evidence.lacks(format!(
            "both directions of {} at one place",
            one.subject.name
        )),
    }
}

/// The steps that the paper has found to cost least.
const LEAST: [&str; 3] = ["tcp", "udp", "icmp"];

/// Judges H6.
pub(super) fn steps(summary: &Summary<'_>) -> Judgement {
    let mut evidence = Evidence::default();
    evidence.or_counts(
        |evidence| time_steps(evidence, summary),
        |evidence| {
            for direction in ["4to6", "6to4"] {
                let mut count = |less: &str, more: &str| {
                    let [less, more] = [less, more].map(|step| format!("{direction} {step}"));
                    let [one, other] =
                        [&less, &more].map(|step| counted::step(&step.replace(' ', "-")));
                    evidence.count((&less, one), Below, (&more, other));
                };
                count("address", "header");
                for step in LEAST {
                    count(step, "address");
                }
            }
        },
    );
    evidence.decide(
        "The steps have the paper’s order",
        "The steps have another order",
    )
}

/// Compares the steps of each subject by the clock.
fn time_steps(evidence: &mut Evidence, summary: &Summary<'_>) {
    let name = "paper-001/steps";
    let Some(answers) = evidence.experiment(summary, name) else {
        return;
    };
    for subject in answers.subjects() {
        for direction in ["4to6", "6to4"] {
            let mut step = |step: &str| {
                let series = format!("{direction} {step}");
                let line = answers.line(&subject.name, &series);
                if line.is_none() {
                    evidence.lacks(format!("{series} of {} in {name}", subject.name));
                }
                line.and_then(|line| line.figures.first())
            };
            let (header, address) = (step("header"), step("address"));
            let others = LEAST.map(|name| (name, step(name)));
            let (Some(header), Some(address)) = (header, address) else {
                continue;
            };
            let what =
                |less: &str, more: &str| format!("{}, {direction}: {less} < {more}", subject.name);
            evidence.test(
                what("address", "header"),
                &address.values,
                Below,
                &header.values,
            );
            for (name, other) in others {
                if let Some(other) = other {
                    evidence.test(what(name, "address"), &other.values, Below, &address.values);
                }
            }
        }
    }
}

/// Judges H7.
pub(super) fn prefixes(summary: &Summary<'_>) -> Judgement {
    let mut evidence = Evidence::default();
    evidence.or_counts(
        |evidence| time_prefixes(evidence, summary),
        |evidence| {
            for direction in ["4to6", "6to4"] {
                for longer in [40, 48, 56, 64, 96] {
                    cheaper_than(evidence, direction, longer);
                }
            }
        },
    );
    evidence.decide(
        "An address in one piece is the cheapest to write",
        "A prefix of 32 bits is not the cheapest",
    )
}

/// Compares the prefix of 32 bits with a longer one by instructions, on Linux and on a machine without an operating system.
fn cheaper_than(evidence: &mut Evidence, direction: &str, longer: u8) {
    let [short, long] = [32, longer].map(|length| format!("{direction}-prefix-{length}"));
    let other = format!("{longer} bits");
    let [one, more] = [&short, &long].map(|row| counted::step(row));
    let name = format!("{direction}, 32 bits");
    evidence.count((&name, one), Below, (&other, more));
    let [one, more] = [&short, &long].map(|row| counted::bare(&format!("siit-{row}")));
    let name = format!("{direction} without an operating system, 32 bits");
    evidence.count((&name, one), Below, (&other, more));
}

/// Compares the prefix of 32 bits with the others by the clock.
fn time_prefixes(evidence: &mut Evidence, summary: &Summary<'_>) {
    let name = "paper-001/prefix-length";
    let Some(answers) = evidence.experiment(summary, name) else {
        return;
    };
    for line in &answers.lines {
        let others = || line.figures.iter().filter(|figure| figure.at != 32.0);
        let Some(shortest) = line.at(32.0).filter(|_| others().next().is_some()) else {
            evidence.lacks(format!(
                "32 bits and others of {} in {name}",
                line.subject.name
            ));
            continue;
        };
        for other in others() {
            let what = format!(
                "{}, {}: 32 bits < {} bits",
                line.subject.name, line.series, other.at
            );
            evidence.test(what, &shortest.values, Below, &other.values);
        }
    }
}

/// Judges H12.
pub(super) fn files(summary: &Summary<'_>) -> Judgement {
    let mut evidence = Evidence::default();
    // What does not depend on the size may differ twice as much as one value from another.
    let alike = Times(1.0 / (1.0 + 2.0 * ALIKE), 1.0 + 2.0 * ALIKE);
    let names = [
        ("paper-001/connect", alike, "≈"),
        ("paper-001/files", Below, "<"),
        ("paper-001/file-throughput", Below, "<"),
    ];
    for (name, relation, sign) in names {
        let Some(answers) = evidence.experiment(summary, name) else {
            continue;
        };
        for line in &answers.lines {
            let (Some(first), Some(last)) = (line.figures.first(), line.figures.last()) else {
                continue;
            };
            if first.at >= last.at {
                evidence.lacks(format!("two sizes of files with {}", line.subject.name));
                continue;
            }
            let what = format!(
                "{name}, {}: {} {sign} {} bytes",
                line.subject.name,
                amount::place(first.at),
                amount::place(last.at)
            );
            evidence.test(what, &first.values, relation, &last.values);
        }
    }
    evidence.decide(
        "Only the time after the connection depends on the file’s size",
        "The dependence on the size differs from the paper’s",
    )
}

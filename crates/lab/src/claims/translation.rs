//! Paper 001: the cost of translation.

use super::{
    ALIKE, Judgement,
    evidence::{Evidence, over},
    relation::Relation::{Below, Times},
};
use crate::{
    amount,
    results::Better,
    summary::{ExperimentSummary, Line, Summary},
};

/// Judges H5.
pub(super) fn directions(summary: &Summary<'_>) -> Judgement {
    let mut evidence = Evidence::default();
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
                [Some(up), Some(down)] => dearer(&mut evidence, answers, up, down),
                _ => evidence.lacks(format!(
                    "both directions of {} in {}",
                    subject.name, answers.experiment.name
                )),
            }
        }
    }
    evidence.decide(
        "From IPv4 to IPv6 is the more expensive direction, as packets grow and more octets are written",
        "From IPv4 to IPv6 is not the more expensive direction",
    )
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

/// Judges H6.
pub(super) fn steps(summary: &Summary<'_>) -> Judgement {
    let mut evidence = Evidence::default();
    let name = "paper-001/steps";
    if let Some(answers) = evidence.experiment(summary, name) {
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
                let others = ["tcp", "udp", "icmp"].map(|name| (name, step(name)));
                let (Some(header), Some(address)) = (header, address) else {
                    continue;
                };
                let what = |less: &str, more: &str| {
                    format!("{}, {direction}: {less} < {more}", subject.name)
                };
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
    evidence.decide(
        "The steps have the paper’s order",
        "The steps have another order",
    )
}

/// Judges H7.
pub(super) fn prefixes(summary: &Summary<'_>) -> Judgement {
    let mut evidence = Evidence::default();
    let name = "paper-001/prefix-length";
    if let Some(answers) = evidence.experiment(summary, name) {
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
    evidence.decide(
        "An address in one piece is the cheapest to write",
        "A prefix of 32 bits is not the cheapest",
    )
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

//! Paper 001: the cost of translation.

use super::{ALIKE, Judgement, evidence::Evidence};
use crate::{
    amount,
    results::{Better, Quantity},
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
    let quantity = answers.experiment.quantity;
    let pairs: Vec<(f64, f64)> = one
        .figures
        .iter()
        .filter_map(|figure| Some((figure.value(), other.at(figure.at)?.value())))
        .collect();
    let worse = |(one, other): &&(f64, f64)| match quantity.better() {
        Better::Lower => one > other,
        Better::Higher => one < other,
    };
    let count = pairs.iter().filter(worse).count();
    let Some((first, second)) = pairs.last() else {
        return evidence.lacks(format!(
            "both directions of {} at one place",
            one.subject.name
        ));
    };
    evidence.test_all(
        count,
        pairs.len(),
        format!(
            "{}, {}: {} {} and {} {}",
            answers.experiment.name,
            one.subject.name,
            one.series,
            amount::amount(quantity, *first),
            other.series,
            amount::amount(quantity, *second)
        ),
    );
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
                        .map(|figure| figure.value())
                };
                let (header, address) = (step("header"), step("address"));
                let others = ["tcp", "udp", "icmp"].map(&mut step);
                let (Some(header), Some(address)) = (header, address) else {
                    continue;
                };
                let dearest = others
                    .into_iter()
                    .flatten()
                    .fold(f64::NEG_INFINITY, f64::max);
                if dearest.is_finite() {
                    let [header_text, address_text, dearest_text] = [header, address, dearest]
                        .map(|value| amount::amount(Quantity::Cost, value));
                    evidence.test(
                        header > address && address > dearest,
                        format!(
                            "{}, {direction}: header {header_text}, address {address_text}, \
                             TCP, UDP and ICMP up to {dearest_text}",
                            subject.name
                        ),
                    );
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
            let cheapest = others()
                .map(|figure| figure.value())
                .fold(f64::INFINITY, f64::min);
            let [short, cheap] = [shortest.value(), cheapest]
                .map(|value| amount::amount(answers.experiment.quantity, value));
            evidence.test(
                shortest.value() < cheapest,
                format!(
                    "{}, {}: {short} with 32 bits, {cheap} with the cheapest other length",
                    line.subject.name, line.series
                ),
            );
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
    if let Some(answers) = evidence.experiment(summary, "paper-001/connect") {
        for line in &answers.lines {
            let values: Vec<f64> = line.figures.iter().map(|figure| figure.value()).collect();
            let least = values.iter().copied().fold(f64::INFINITY, f64::min);
            let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            if values.len() < 2 {
                evidence.lacks(format!("two sizes of files with {}", line.subject.name));
                continue;
            }
            let range = amount::range(answers.experiment.quantity, [least, most]);
            evidence.test(
                most - least <= 2.0 * ALIKE * most,
                format!("{}: connected within {range}", line.subject.name),
            );
        }
    }
    for name in ["paper-001/files", "paper-001/file-throughput"] {
        if let Some(answers) = evidence.experiment(summary, name) {
            for line in &answers.lines {
                grows(&mut evidence, answers, line);
            }
        }
    }
    evidence.decide(
        "Only the time after the connection depends on the file’s size",
        "The dependence on the size differs from the paper’s",
    )
}

fn grows(evidence: &mut Evidence, answers: &ExperimentSummary<'_>, line: &Line<'_>) {
    let values: Vec<f64> = line.figures.iter().map(|figure| figure.value()).collect();
    if values.len() < 2 {
        return evidence.lacks(format!("two sizes of files with {}", line.subject.name));
    }
    let quantity = answers.experiment.quantity;
    let text: Vec<String> = values
        .iter()
        .map(|value| amount::amount(quantity, *value))
        .collect();
    evidence.test(
        values.is_sorted_by(|one, other| one < other),
        format!(
            "{}, {}: {}",
            answers.experiment.name,
            line.subject.name,
            text.join(", ")
        ),
    );
}

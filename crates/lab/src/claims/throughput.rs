//! Papers 000 and 003: throughput and its bound.

use super::{
    Judgement,
    evidence::{
        Evidence,
        Relation::{Alike, NotAbove},
    },
};
use crate::{
    amount,
    measure::median,
    summary::{Line, Summary},
};

/// Judges H3.
pub(super) fn order(summary: &Summary<'_>) -> Judgement {
    let mut evidence = Evidence::default();
    for name in [
        "paper-000/throughput-udp-10M",
        "paper-000/throughput-udp-100M",
    ] {
        let Some(answers) = evidence.experiment(summary, name) else {
            continue;
        };
        let chain = ["6to4 hosts", "isatap", "native ipv6", "native ipv4"];
        let lines = evidence.standing(answers, "forward", &chain);
        for (place, pair) in lines.windows(2).enumerate() {
            if let [Some(one), Some(other)] = pair {
                let relation = if place == 0 { Alike } else { NotAbove };
                evidence.compare(answers, one, relation, other, f64::INFINITY);
            }
        }
        let both = ["jool", "tayga"].map(|maker| answers.made_by(maker, "", "forward"));
        match both {
            [Some(jool), Some(tayga)] => {
                evidence.compare(answers, jool, Alike, tayga, f64::INFINITY)
            }
            _ => evidence.lacks(format!("Jool and TAYGA in {name}")),
        }
    }
    evidence.decide("The order is the paper’s", "The order is another one")
}

/// Judges H11.
pub(super) fn gap(summary: &Summary<'_>) -> Judgement {
    let mut evidence = Evidence::default();
    for transport in ["udp", "tcp"] {
        let names =
            ["10M", "100M", "1000M"].map(|rate| format!("paper-003/throughput-{transport}-{rate}"));
        let rates = names
            .each_ref()
            .map(|name| evidence.experiment(summary, name));
        for answers in rates.iter().flatten() {
            for line in &answers.lines {
                shrinks(&mut evidence, &answers.experiment.name, line);
            }
        }
        let [Some(slow), .., Some(fast)] = rates else {
            continue;
        };
        for line in &slow.lines {
            let Some(faster) = evidence.counterpart(line, fast) else {
                continue;
            };
            if let (Some(at_slow), Some(at_fast)) = (typical(line), typical(faster)) {
                evidence.test(
                    at_fast > at_slow,
                    format!(
                        "{transport}, {}: {} below the bound at 10 Mb/s, {} at 1000 Mb/s",
                        line.subject.name,
                        amount::percent(at_slow),
                        amount::percent(at_fast)
                    ),
                );
            }
        }
    }
    evidence.decide(
        "Small payloads and fast lines leave the most unused",
        "The distance to the bound does not follow payload and line rate",
    )
}

/// Returns the shares by which a line's figures are below their bounds, from the least payload.
fn gaps(line: &Line<'_>) -> Vec<f64> {
    let figures = line.figures.iter();
    figures
        .filter_map(|figure| Some(1.0 - figure.value() / figure.bound?))
        .collect()
}

fn typical(line: &Line<'_>) -> Option<f64> {
    let mut gaps = gaps(line);
    (!gaps.is_empty()).then(|| median(&mut gaps))
}

/// Tests one line: the larger half of the payloads must be nearer to the bound than the smaller half. If both are
/// within a hundredth, the payload does not matter, and the gap does not shrink.
fn shrinks(evidence: &mut Evidence, experiment: &str, line: &Line<'_>) {
    let gaps = gaps(line);
    if gaps.len() < 2 {
        return evidence.lacks(format!(
            "bounds at two payloads for {} in {experiment}",
            line.subject.name
        ));
    }
    let (small, large) = gaps.split_at(gaps.len() / 2);
    let nearer = large
        .iter()
        .filter(|gap| **gap < median(&mut small.to_vec()))
        .count();
    evidence.test_all(
        nearer,
        large.len(),
        format!(
            "{experiment}, {}: {} below the bound at small payloads, {} at large ones",
            line.subject.name,
            amount::percent(median(&mut small.to_vec())),
            amount::percent(median(&mut large.to_vec()))
        ),
    );
}

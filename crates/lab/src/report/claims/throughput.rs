//! Papers 000 and 003: throughput and its bound.

use super::{
    Judgement,
    evidence::Evidence,
    relation::Relation::{Alike, Below, NotAbove},
};
use crate::{
    figures::statistics::median,
    report::summary::{Figure, Line, Summary},
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
            let (at_slow, at_fast) = (gaps(&line.figures), gaps(&faster.figures));
            let what = format!(
                "{transport}, {}: below the bound at 10 and at 1000 Mb/s",
                line.subject.name
            );
            if at_slow.is_empty() || at_fast.is_empty() {
                evidence.lacks(format!("bounds of {} at both rates", line.subject.name));
            } else {
                evidence.test(what, &at_slow, Below, &at_fast);
            }
        }
    }
    evidence.decide(
        "Small payloads and fast lines leave the most unused",
        "The distance to the bound does not follow payload and line rate",
    )
}

/// Returns the share by which figures are below their bounds: the median over them, for each repetition.
fn gaps(figures: &[Figure]) -> Vec<f64> {
    let bounded: Vec<(&Figure, f64)> = figures
        .iter()
        .filter_map(|figure| Some((figure, figure.bound?)))
        .collect();
    let repetitions = bounded.iter().map(|(figure, _)| figure.values.len()).min();
    let middle = |number: usize| {
        let gaps = bounded
            .iter()
            .map(|(figure, bound)| 1.0 - figure.values[number] / bound);
        median(&mut gaps.collect::<Vec<_>>())
    };
    (0..repetitions.unwrap_or(0)).map(middle).collect()
}

/// Tests one line: the larger half of the payloads must be nearer to the bound than the smaller half.
fn shrinks(evidence: &mut Evidence, experiment: &str, line: &Line<'_>) {
    let (small, large) = line.figures.split_at(line.figures.len() / 2);
    let (small, large) = (gaps(small), gaps(large));
    let name = &line.subject.name;
    if small.is_empty() || large.is_empty() {
        return evidence.lacks(format!("bounds at two payloads for {name} in {experiment}"));
    }
    let what = format!("{experiment}, {name}: below the bound at large payloads and at small ones");
    evidence.test(what, &large, Below, &small);
}

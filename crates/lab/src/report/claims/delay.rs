//! Paper 000: one-way delays.

use super::{
    Judgement,
    evidence::{Evidence, over},
    relation::Relation::{Below, NotAbove, Times},
};
use crate::{
    figures::statistics::median,
    report::summary::{Figure, Line, Summary},
};

/// The largest payload in octets of a datagram that no mechanism here fragments: 6to4's packets have 1480 of 1500
/// octets, less headers of 40 and 8.
const WHOLE: f64 = 1432.0;

/// The least factor of "unexpectedly slow".
const SLOWER: f64 = 1.25;

/// Judges H2.
pub(super) fn order(summary: &Summary<'_>) -> Judgement {
    let mut evidence = Evidence::default();
    let experiments = [
        ("paper-000/delay-tcp-10M", f64::INFINITY),
        ("paper-000/delay-tcp-100M", f64::INFINITY),
        ("paper-000/delay-udp-10M", WHOLE),
        ("paper-000/delay-udp-100M", WHOLE),
    ];
    for (name, last) in experiments {
        let Some(answers) = evidence.experiment(summary, name) else {
            continue;
        };
        let chain = [
            "native ipv4",
            "nat64",
            "native ipv6",
            "isatap",
            "6to4 hosts",
        ];
        let lines = evidence.standing(answers, "mean", &chain);
        for (place, pair) in lines.windows(2).enumerate() {
            if let [Some(one), Some(other)] = pair {
                let relation = if place == 3 { NotAbove } else { Below };
                evidence.compare(answers, one, relation, other, last);
            }
        }
    }
    evidence.decide("The order is the paper’s", "The order is another one")
}

/// Judges H4.
pub(super) fn tenth(summary: &Summary<'_>) -> Judgement {
    let mut evidence = Evidence::default();
    for transport in ["udp", "tcp"] {
        let [slow, fast] =
            ["10M", "100M"].map(|rate| format!("paper-000/delay-{transport}-{rate}"));
        let (slow, fast) = (
            evidence.experiment(summary, &slow),
            evidence.experiment(summary, &fast),
        );
        let (Some(slow), Some(fast)) = (slow, fast) else {
            continue;
        };
        for line in slow.lines.iter().filter(|line| line.series == "mean") {
            let Some(faster) = evidence.counterpart(line, fast) else {
                continue;
            };
            tenth_of(&mut evidence, transport, line, faster);
        }
    }
    evidence.decide(
        "The time of the links is nearly the whole delay",
        "The part that does not depend on the links’ rate is too large in the shorter delay",
    )
}

/// Tests one subject: without the time of the nodes, the ratio must be from 9 to 11 at almost all payloads.
fn tenth_of(evidence: &mut Evidence, transport: &str, slow: &Line<'_>, fast: &Line<'_>) {
    let what = format!("{transport}, {}: 10 Mb/s to 100 Mb/s", slow.subject.name);
    // What no bound explains is the nodes', which is the same at both rates.
    let mut rest: Vec<f64> = fast.figures.iter().filter_map(unexplained).collect();
    let nodes = if rest.is_empty() {
        0.0
    } else {
        median(&mut rest).max(0.0)
    };
    let less = |figure: &Figure| {
        let values = figure.values.iter().map(|value| value - nodes);
        values.collect::<Vec<f64>>()
    };
    let places = slow.figures.iter().filter_map(|figure| {
        let beside = fast.at(figure.at)?;
        let compared = Times(9.0, 11.0).compare(String::new(), &less(figure), &less(beside));
        Some((figure.at, compared))
    });
    match over(what, places.collect()) {
        Some(comparison) => evidence.add(comparison),
        None => evidence.lacks(format!(
            "a payload that {} has at both rates",
            slow.subject.name
        )),
    }
}

/// Returns the part of a delay that its bound does not explain.
fn unexplained(figure: &Figure) -> Option<f64> {
    Some(figure.value() - figure.bound?)
}

/// Judges H13.
pub(super) fn tayga(summary: &Summary<'_>) -> Judgement {
    let mut evidence = Evidence::default();
    if let Some(answers) = evidence.experiment(summary, "paper-000/delay-udp-100M") {
        match answers.made_by("tayga", "", "mean") {
            None => evidence.lacks("TAYGA in paper-000/delay-udp-100M"),
            Some(line) => {
                let [below, above] = [false, true].map(|above| distances(line, above));
                if below.is_empty() || above.is_empty() {
                    evidence.lacks("TAYGA's delays beside their bounds below and above 1750 bytes");
                } else {
                    let what = "TAYGA's delay by the bound, above 1750 bytes and below";
                    evidence.test(what, &above, Times(SLOWER, f64::INFINITY), &below);
                    evidence.note(
                        "the bound cuts to 1280 bytes, as TAYGA’s offlink-mtu does by default and in the paper",
                    );
                }
            }
        }
    }
    evidence.decide(
        "TAYGA is farther from the bound where packets are fragments",
        "TAYGA is no farther from the bound above 1750 bytes than below",
    )
}

/// Returns the delay by its bound on one side of 1750 bytes: the median over the payloads, for each repetition.
fn distances(line: &Line<'_>, above: bool) -> Vec<f64> {
    let figures: Vec<(&Figure, f64)> = line
        .figures
        .iter()
        .filter(|figure| (figure.at > 1750.0) == above)
        .filter_map(|figure| Some((figure, figure.bound?)))
        .collect();
    let repetitions = figures.iter().map(|(figure, _)| figure.values.len()).min();
    let middle = |number: usize| {
        let shares = figures
            .iter()
            .map(|(figure, bound)| figure.values[number] / bound);
        median(&mut shares.collect::<Vec<_>>())
    };
    (0..repetitions.unwrap_or(0)).map(middle).collect()
}

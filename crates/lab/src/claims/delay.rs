//! Paper 000: one-way delays.

use super::{
    Judgement,
    evidence::{
        Evidence,
        Relation::{Below, NotAbove},
    },
};
use crate::{
    amount,
    measure::median,
    summary::{Figure, Line, Summary},
};

/// The largest payload in octets of a datagram that no mechanism here fragments: 6to4's packets have 1480 of 1500
/// octets, less headers of 40 and 8.
const WHOLE: f64 = 1432.0;

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
    evidence.decide_order()
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

/// Tests one subject: the ratio must be from 9 to 11 at almost all payloads.
fn tenth_of(evidence: &mut Evidence, transport: &str, slow: &Line<'_>, fast: &Line<'_>) {
    let pairs = slow
        .figures
        .iter()
        .filter_map(|figure| Some((figure, fast.at(figure.at)?)));
    let ratios: Vec<f64> = pairs
        .map(|(slow, fast)| slow.value() / fast.value())
        .collect();
    if ratios.is_empty() {
        return evidence.lacks(format!(
            "a payload that {} has at both rates",
            slow.subject.name
        ));
    }
    let right = ratios
        .iter()
        .filter(|ratio| (9.0..=11.0).contains(*ratio))
        .count();
    // The rest that no bound explains, which is the same at both rates.
    let rest: Vec<f64> = fast.figures.iter().filter_map(unexplained).collect();
    let beside = if rest.is_empty() {
        String::new()
    } else {
        format!(
            "; at 100 Mb/s the bound leaves {} unexplained",
            amount::percent(median(&mut rest.clone()))
        )
    };
    evidence.test_all(
        right,
        ratios.len(),
        format!(
            "{transport}, {}: {} times shorter, from 9 to 11 times at {right} of {} payloads{beside}",
            slow.subject.name,
            amount::number(median(&mut ratios.clone())),
            ratios.len()
        ),
    );
}

/// Returns the share of a delay that its bound does not explain.
fn unexplained(figure: &Figure) -> Option<f64> {
    Some((figure.value() - figure.bound?) / figure.value())
}

/// Judges H13.
pub(super) fn tayga(summary: &Summary<'_>) -> Judgement {
    let mut evidence = Evidence::default();
    if let Some(answers) = evidence.experiment(summary, "paper-000/delay-udp-100M") {
        match answers.made_by("tayga", "", "mean") {
            None => evidence.lacks("TAYGA in paper-000/delay-udp-100M"),
            Some(line) => {
                let side = |above: bool| -> Vec<f64> {
                    let figures = line.figures.iter();
                    let figures = figures.filter(|figure| (figure.at > 1750.0) == above);
                    figures
                        .filter_map(|figure| Some(figure.value() / figure.bound?))
                        .collect()
                };
                let (mut below, mut above) = (side(false), side(true));
                if below.is_empty() || above.is_empty() {
                    evidence.lacks("TAYGA's delays beside their bounds below and above 1750 bytes");
                } else {
                    let (below, above) = (median(&mut below), median(&mut above));
                    evidence.test(
                        above >= 1.25 * below,
                        format!(
                            "TAYGA takes {} times the bound up to 1750 bytes, {} times above",
                            amount::number(below),
                            amount::number(above)
                        ),
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

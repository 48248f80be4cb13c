//! Paper 002: mechanisms that carry IPv4 over an IPv6 access network.

use super::{
    Judgement,
    evidence::{
        Evidence,
        Relation::{Below, NotAbove},
    },
};
use crate::{
    amount,
    summary::{Line, Summary},
};

/// Packets up to this many bytes are small.
const SMALL: f64 = 250.0;

/// The least factor of "far more".
const FAR_MORE: f64 = 5.0;

/// The loss of small packets below which their number is no limit.
const SOME_LOSS: f64 = 0.01;

/// Judges H8.
pub(super) fn map(summary: &Summary<'_>) -> Judgement {
    let mut evidence = Evidence::default();
    if let Some(answers) = evidence.experiment(summary, "paper-002/throughput") {
        let lines = evidence.standing(answers, "udp", &["map-t", "map-e"]);
        if let [Some(translating), Some(tunnelling)] = lines.as_slice() {
            evidence.compare(answers, translating, NotAbove, tunnelling, SMALL);
        }
    }
    if let Some(answers) = evidence.experiment(summary, "paper-002/cpu") {
        let lines = evidence.standing(answers, "udp", &["map-e", "map-t"]);
        if let [Some(tunnelling), Some(translating)] = lines.as_slice() {
            evidence.compare(answers, tunnelling, Below, translating, f64::INFINITY);
        }
    }
    evidence.decide(
        "A tunnel's header is less work than a translation",
        "MAP-E is not the cheaper one",
    )
}

/// Judges H9.
pub(super) fn double_translation(summary: &Summary<'_>) -> Judgement {
    let mut evidence = Evidence::default();
    for name in ["paper-002/cpu", "paper-002/jitter", "paper-002/loss"] {
        let Some(answers) = evidence.experiment(summary, name) else {
            continue;
        };
        let Some(tayga) = answers.made_by("tayga", "464xlat", "udp") else {
            evidence.lacks(format!("464XLAT by TAYGA in {name}"));
            continue;
        };
        let others = answers
            .lines
            .iter()
            .filter(|line| line.series == "udp" && line.subject.name != tayga.subject.name);
        let worst = others.max_by(|one, other| mean(one).total_cmp(&mean(other)));
        let Some(worst) = worst else {
            evidence.lacks(format!("anything beside 464XLAT by TAYGA in {name}"));
            continue;
        };
        let [ours, theirs] = [mean(worst), mean(tayga)]
            .map(|value| amount::amount(answers.experiment.quantity, value));
        evidence.test(
            mean(tayga) > mean(worst),
            format!(
                "{name}, mean over the sizes: {theirs} with 464xlat-tayga, at most {ours} with the others ({})",
                worst.subject.name
            ),
        );
    }
    evidence.decide(
        "It is the worst in all three",
        "It is not the worst in all three",
    )
}

fn mean(line: &Line<'_>) -> f64 {
    let values = line.figures.iter().map(|figure| figure.value());
    values.sum::<f64>() / line.figures.len() as f64
}

/// Judges H10.
pub(super) fn small_packets(summary: &Summary<'_>) -> Judgement {
    let mut evidence = Evidence::default();
    if let Some(answers) = evidence.experiment(summary, "paper-002/loss") {
        let (mut looked, mut some_lose) = (false, false);
        let udp = answers.lines.iter().filter(|line| line.series == "udp");
        for line in udp {
            let both = [100.0, 1400.0].map(|size| line.at(size).map(|figure| figure.value()));
            let [Some(small), Some(large)] = both else {
                evidence.lacks(format!("100 and 1400 bytes with {}", line.subject.name));
                continue;
            };
            let text = format!(
                "{} loses {} of 100 bytes and {} of 1400 bytes",
                line.subject.name,
                amount::percent(small),
                amount::percent(large)
            );
            looked = true;
            if small < SOME_LOSS {
                evidence.note(text);
            } else {
                some_lose = true;
                evidence.test(small >= FAR_MORE * large, text);
            }
        }
        if looked && !some_lose {
            evidence.test(
                false,
                "nothing here loses one in a hundred packets of 100 bytes",
            );
        }
    }
    evidence.decide(
        "There are more small packets, and their number is the limit",
        "The number of packets is not the cause of loss here",
    )
}

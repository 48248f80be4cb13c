//! Paper 002: mechanisms that carry IPv4 over an IPv6 access network.

use super::{
    Comparison, Found, Judgement,
    evidence::Evidence,
    relation::Relation::{Below, NotAbove, Times},
};
use crate::report::{
    amount,
    counted::{self, Exact},
    summary::{Line, Summary, is_of},
};

/// Packets up to this many bytes are small.
const SMALL: f64 = 250.0;

/// The least factor of "far more".
const FAR_MORE: f64 = 5.0;

/// The loss of small packets below which their number is no limit.
const SOME_LOSS: f64 = 0.01;

/// The experiments of a quantity, as the paper had it first: an edge that packets overload, and a fast one.
const EDGES: [&str; 2] = ["paper-002/slow-edge-", "paper-002/"];

/// Returns the experiment that asks for a quantity: the one at a slow edge if it was done.
fn experiment(summary: &Summary<'_>, quantity: &str) -> String {
    let names = EDGES.map(|edge| format!("{edge}{quantity}"));
    let was_done = |name: &&String| {
        let found = summary.experiment(name);
        found.is_some_and(|answers| !answers.lines.is_empty())
    };
    names.iter().find(was_done).unwrap_or(&names[1]).clone()
}

/// Judges H8.
pub(super) fn map(summary: &Summary<'_>) -> Judgement {
    let mut evidence = Evidence::default();
    if let Some(answers) = evidence.experiment(summary, &experiment(summary, "throughput")) {
        let lines = evidence.standing(answers, "udp", &["map-t", "map-e"]);
        if let [Some(translating), Some(tunnelling)] = lines.as_slice() {
            evidence.compare(answers, translating, NotAbove, tunnelling, SMALL);
        }
    }
    evidence.or_counts(
        |evidence| {
            if let Some(answers) = evidence.experiment(summary, &experiment(summary, "cpu")) {
                let lines = evidence.standing(answers, "udp", &["map-e", "map-t"]);
                if let [Some(tunnelling), Some(translating)] = lines.as_slice() {
                    evidence.compare(answers, tunnelling, Below, translating, f64::INFINITY);
                }
            }
        },
        |evidence| {
            for (end, tunnelling, translating) in [
                (
                    "towards the customer, BR",
                    "map-e-br-encap-xdp",
                    "map-t-br-4to6-xdp",
                ),
                (
                    "from the customer, BR",
                    "map-e-br-decap-xdp",
                    "map-t-br-6to4-xdp",
                ),
                (
                    "from the customer, CE",
                    "map-e-ce-encap-xdp",
                    "map-t-ce-4to6-xdp",
                ),
                (
                    "towards the customer, CE",
                    "map-e-ce-decap-xdp",
                    "map-t-ce-6to4-xdp",
                ),
            ] {
                let [one, other] = [tunnelling, translating].map(counted::packet);
                let name = format!("MAP-E {end}");
                evidence.count((&name, one), Below, ("MAP-T there", other));
            }
        },
    );
    evidence.decide(
        "A tunnel's header is less work than a translation",
        "MAP-E is not the cheaper one",
    )
}

/// Judges H9 among the paper's four mechanisms, each of the others in all its implementations.
pub(super) fn double_translation(summary: &Summary<'_>) -> Judgement {
    let mut evidence = Evidence::default();
    evidence.or_counts(
        |evidence| compare_with_tayga(evidence, summary, "cpu"),
        |evidence| {
            let count = |exact: Option<Exact>| exact.map(|exact| exact.instructions);
            let tayga = count(counted::of_another("siit-tayga"));
            for mechanism in ["DS-Lite", "MAP-E", "MAP-T"] {
                let one = count(counted::of(mechanism));
                evidence.count(
                    (mechanism, one),
                    Below,
                    ("one end of 464XLAT by TAYGA", tayga),
                );
            }
        },
    );
    for quantity in ["jitter", "loss"] {
        compare_with_tayga(&mut evidence, summary, quantity);
    }
    evidence.decide(
        "It is the worst in all three",
        "It is not the worst in all three",
    )
}

/// Compares the worst of each of the other mechanisms with 464XLAT by TAYGA in a quantity.
fn compare_with_tayga(evidence: &mut Evidence, summary: &Summary<'_>, quantity: &str) {
    let name = &experiment(summary, quantity);
    let Some(answers) = evidence.experiment(summary, name) else {
        return;
    };
    let Some(tayga) = answers.made_by("tayga", "464xlat", "udp") else {
        return evidence.lacks(format!("464XLAT by TAYGA in {name}"));
    };
    for mechanism in ["ds-lite", "map-e", "map-t"] {
        let others = answers
            .lines
            .iter()
            .filter(|line| line.series == "udp" && is_of(line.subject, mechanism));
        let worst = others.max_by(|one, other| mean(one).total_cmp(&mean(other)));
        let Some(worst) = worst else {
            evidence.lacks(format!("{mechanism} in {name}"));
            continue;
        };
        let what = format!(
            "{} < {} in {name}, mean over the sizes",
            worst.subject.name, tayga.subject.name
        );
        evidence.test(what, &means(worst), Below, &means(tayga));
    }
}

/// Returns the mean over the places of a line, one for each repetition that has all.
fn means(line: &Line<'_>) -> Vec<f64> {
    let repetitions = line.figures.iter().map(|figure| figure.values.len()).min();
    let mean = |number: usize| {
        let values = line.figures.iter().map(|figure| figure.values[number]);
        values.sum::<f64>() / line.figures.len() as f64
    };
    (0..repetitions.unwrap_or(0)).map(mean).collect()
}

fn mean(line: &Line<'_>) -> f64 {
    let values = line.figures.iter().map(|figure| figure.value());
    values.sum::<f64>() / line.figures.len() as f64
}

/// Judges H10 by the gateways whose limit is a number of packets.
pub(super) fn small_packets(summary: &Summary<'_>) -> Judgement {
    let mut evidence = Evidence::default();
    let Some(answers) = evidence.experiment(summary, &experiment(summary, "loss")) else {
        return evidence.decide("", "");
    };
    let mut some_lose = false;
    for line in answers.lines.iter().filter(|line| line.series == "udp") {
        let [Some(small), Some(large)] = [100.0, 1400.0].map(|size| line.at(size)) else {
            evidence.lacks(format!("100 and 1400 bytes with {}", line.subject.name));
            continue;
        };
        let what = format!(
            "{}: loss of 100 bytes to that of 1400 bytes",
            line.subject.name
        );
        if small.value() < SOME_LOSS {
            evidence.note(format!(
                "{} loses {} of 100 bytes",
                line.subject.name,
                amount::percent(small.value())
            ));
            continue;
        }
        some_lose = true;
        if large.values.iter().all(|loss| *loss == 0.0) && small.values.len() > 3 {
            // There is no ratio to nothing.
            evidence.add(Comparison {
                what: format!("{what}, which is none"),
                effect: Some(f64::INFINITY).filter(|effect| effect.is_finite()),
                interval: None,
                found: Found::For,
            });
            continue;
        }
        let more = Times(FAR_MORE, f64::INFINITY);
        evidence.test(what, &small.values, more, &large.values);
    }
    if !some_lose {
        return evidence.not_asked(
            "Nothing here loses one in a hundred packets of 100 bytes: no gateway is limited by their number at this load",
        );
    }
    evidence.decide(
        "There are more small packets, and their number is the limit",
        "The number of packets is not the cause of loss here",
    )
}

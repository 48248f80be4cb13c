//! Paper 004: round trips through NAT64 and a proxy.

use super::{
    Judgement,
    evidence::{Evidence, Relation::Below},
};
use crate::{amount, summary::Summary};

/// The least factor by which a translated round trip slows down from small to large packets, relative to the native
/// one.
const SLOWER: f64 = 1.25;

/// Judges H1.
pub(super) fn order(summary: &Summary<'_>) -> Judgement {
    let mut evidence = Evidence::default();
    if let Some(answers) = evidence.experiment(summary, "paper-004/round-trip") {
        let chain = ["native ipv4", "native ipv6", "nat64", "http proxy"];
        let lines = evidence.standing(answers, "both", &chain);
        for pair in lines.windows(2) {
            if let [Some(one), Some(other)] = pair {
                evidence.compare(answers, one, Below, other, f64::INFINITY);
            }
        }
    }
    evidence.decide_order()
}

/// Judges H14.
pub(super) fn large(summary: &Summary<'_>) -> Judgement {
    let mut evidence = Evidence::default();
    if let Some(answers) = evidence.experiment(summary, "paper-004/size") {
        let lines = evidence.standing(answers, "both", &["native ipv6", "nat64"]);
        if let [Some(native), Some(nat64)] = lines.as_slice() {
            let common = nat64.figures.iter().filter_map(|figure| {
                let beside = native.at(figure.at)?;
                Some((figure.at, figure.value() / beside.value()))
            });
            let ratios: Vec<(f64, f64)> = common.collect();
            match (ratios.first(), ratios.last()) {
                (Some(small), Some(large)) if small.0 < large.0 => evidence.test(
                    large.1 >= small.1 * SLOWER,
                    format!(
                        "{} takes {} times as long as native IPv6 at {} and {} times at {}",
                        nat64.subject.name,
                        amount::number(small.1),
                        amount::place(small.0),
                        amount::number(large.1),
                        amount::place(large.0)
                    ),
                ),
                _ => evidence.lacks("two sizes of packets in paper-004/size"),
            }
        }
    }
    evidence.decide(
        "Compared with native IPv6, NAT64 gets slower with larger packets",
        "Compared with native IPv6, NAT64 is not slower with large packets than with small ones",
    )
}

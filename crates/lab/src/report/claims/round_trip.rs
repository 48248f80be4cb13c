//! Paper 004: round trips through NAT64, NAT-PT and a proxy.

use super::{
    Judgement,
    evidence::Evidence,
    relation::Relation::{Below, NotAbove, Times},
};
use crate::report::{amount, summary::Summary};

/// The least factor by which a translated message slows down from small to large packets, relative to the native one.
const SLOWER: f64 = 1.25;

/// Judges H1.
pub(super) fn order(summary: &Summary<'_>) -> Judgement {
    let mut evidence = Evidence::default();
    if let Some(answers) = evidence.experiment(summary, "paper-004/round-trip") {
        let chain = [
            "native ipv4",
            "native ipv6",
            "nat64",
            "nat-pt",
            "http proxy",
        ];
        let lines = evidence.standing(answers, "both", &chain);
        for (place, pair) in lines.windows(2).enumerate() {
            if let [Some(one), Some(other)] = pair {
                let relation = if place == 2 { NotAbove } else { Below };
                evidence.compare(answers, one, relation, other, f64::INFINITY);
            }
        }
    }
    evidence.decide("The order is the paper’s", "The order is another one")
}

/// Judges H14 by the delay from the client to the server.
pub(super) fn large(summary: &Summary<'_>) -> Judgement {
    let mut evidence = Evidence::default();
    if let Some(answers) = evidence.experiment(summary, "paper-004/size") {
        let lines = evidence.standing(answers, "forward", &["native ipv6", "nat64"]);
        if let [Some(native), Some(nat64)] = lines.as_slice() {
            let common: Vec<_> = nat64
                .figures
                .iter()
                .filter_map(|figure| Some((figure, native.at(figure.at)?)))
                .collect();
            match (common.first(), common.last()) {
                (Some(small), Some(large)) if small.0.at < large.0.at => {
                    let [less, more] = [small, large].map(|(translated, beside)| {
                        let pairs = translated.values.iter().zip(&beside.values);
                        pairs.map(|(one, other)| one / other).collect::<Vec<_>>()
                    });
                    let what = format!(
                        "{} by native IPv6, outbound, at {} and {} bytes",
                        nat64.subject.name,
                        amount::place(large.0.at),
                        amount::place(small.0.at)
                    );
                    evidence.test(what, &more, Times(SLOWER, f64::INFINITY), &less);
                }
                _ => evidence.lacks("two sizes of packets in paper-004/size"),
            }
        }
    }
    evidence.decide(
        "Compared with native IPv6, NAT64 gets slower with larger packets",
        "Compared with native IPv6, NAT64 is not slower with large packets than with small ones",
    )
}

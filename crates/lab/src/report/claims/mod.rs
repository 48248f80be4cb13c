//! The papers' claims, and whether they hold in a run.
//!
//! Each claim is a function of a run's figures alone. A claim that does not hold is a result and not an error: the
//! papers measured the implementations of 2008 to 2016.
//!
//! Values are compared by the 95 % confidence interval of their ratio over the repetitions. A run whose trials have one
//! repetition, as those of `smoke`, has none, and cannot tell. A claim about a whole axis must be true at [`ALMOST_ALL`] of
//! its places. Two similar values may differ by [`ALIKE`], and the interval must show that they do not by more.
//!
//! Claims about work ask the counts of instructions as well: where the clock cannot tell, they decide.

mod access;
mod delay;
mod evidence;
mod relation;
mod round_trip;
mod throughput;
mod translation;

use serde::Serialize;

use crate::report::{amount, summary::Summary};

/// The share of places at which a claim about an axis must be true.
pub const ALMOST_ALL: f64 = 0.9;

/// The difference of two similar values, as a share of the larger.
pub const ALIKE: f64 = 0.05;

/// One claim.
#[derive(Debug, Clone, Copy)]
pub struct Claim {
    /// `H1` to `H14`.
    pub id: &'static str,
    /// The claim, in a sentence.
    pub says: &'static str,
    /// The paper, and the figures or tables there.
    pub source: &'static str,
    judge: fn(&Summary<'_>) -> Judgement,
}

/// Whether a claim holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It holds.
    Holds,
    /// It holds for some of what it is about, and not for the rest.
    HoldsInPart,
    /// It does not hold.
    DoesNotHold,
    /// There are too few repetitions, or no difference above the noise.
    CannotBeTold,
    /// The run does not have what it is about.
    NotAsked,
}

impl Verdict {
    /// All verdicts.
    pub const ALL: [Self; 5] = [
        Self::Holds,
        Self::HoldsInPart,
        Self::DoesNotHold,
        Self::CannotBeTold,
        Self::NotAsked,
    ];

    /// Returns the verdict in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Holds => "holds here",
            Self::HoldsInPart => "holds in part",
            Self::DoesNotHold => "does not hold here",
            Self::CannotBeTold => "cannot be told from this run",
            Self::NotAsked => "not asked here",
        }
    }
}

/// The result of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Found {
    /// It agrees with the claim.
    For,
    /// It does at some places, and contradicts it at others.
    InPart,
    /// It contradicts the claim.
    Against,
    /// Neither is above the noise.
    Unclear,
}

/// Two sets of values that were compared.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// Their names, with the relation that the claim expects.
    pub what: String,
    /// The ratio of the first to the second; absent if both are zero.
    pub effect: Option<f64>,
    /// Its 95 % confidence interval; absent if there are too few repetitions.
    pub interval: Option<[f64; 2]>,
    /// The result.
    pub found: Found,
}

impl Comparison {
    /// Returns it in words, such as `a < b in paper-004/size: 1.2 times (1.1 to 1.3)`.
    pub fn told(&self) -> String {
        let effect = match self.effect {
            Some(effect) => format!("{} times", amount::number(effect)),
            None => "nothing in both".into(),
        };
        let interval = match self.interval {
            Some([low, high]) => {
                let [low, high] = [low, high].map(amount::number);
                format!(" ({low} to {high})")
            }
            None => " (too few repetitions for an interval)".into(),
        };
        format!("{}: {effect}{interval}", self.what)
    }
}

/// The judgement of a claim by a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// The comparisons that decide it.
    pub comparisons: Vec<Comparison>,
    /// Everything else that belongs to it.
    pub notes: Vec<String>,
    /// The reason, in a sentence.
    pub why: String,
    /// The figures that are missing.
    pub missing: Vec<String>,
}

impl Claim {
    /// Judges the claim by a run.
    pub fn judge(&self, summary: &Summary<'_>) -> Judgement {
        (self.judge)(summary)
    }
}

/// All claims, in the order of their numbers.
pub const CLAIMS: [Claim; 14] = [
    Claim {
        id: "H1",
        says: "The round trip grows from native IPv4 over native IPv6, NAT64 and NAT-PT to the proxy.",
        source: "paper 004, median round trips",
        judge: round_trip::order,
    },
    Claim {
        id: "H2",
        says: "The one-way delay grows from native IPv4 over NAT64, native IPv6 and ISATAP to 6to4, \
            where nothing is fragmented.",
        source: "paper 000, figures 16–19 and 24–27",
        judge: delay::order,
    },
    Claim {
        id: "H3",
        says: "UDP throughput is highest for native IPv4, then native IPv6, then ISATAP and 6to4, which \
            are alike; Jool and TAYGA are alike.",
        source: "paper 000, figures 28–35",
        judge: throughput::order,
    },
    Claim {
        id: "H4",
        says: "At 100 Mb/s the one-way delay is a tenth of that at 10 Mb/s, less the time of the nodes.",
        source: "paper 000, figures 24–27",
        judge: delay::tenth,
    },
    Claim {
        id: "H5",
        says: "Translation from IPv4 to IPv6 costs more than from IPv6 to IPv4.",
        source: "paper 001, figures 5–7",
        judge: translation::directions,
    },
    Claim {
        id: "H6",
        says: "Of the steps of translation, the IP header costs most, addresses less, and TCP, UDP and \
            ICMP least.",
        source: "paper 001, figures 5 and 6",
        judge: translation::steps,
    },
    Claim {
        id: "H7",
        says: "A translation prefix of 32 bits is the cheapest.",
        source: "paper 001, figures 10 and 11",
        judge: translation::prefixes,
    },
    Claim {
        id: "H8",
        says: "With small packets MAP-E has at least the throughput of MAP-T, and takes less CPU.",
        source: "paper 002, figures 4 and 8",
        judge: access::map,
    },
    Claim {
        id: "H9",
        says: "Of DS-Lite, MAP-E, MAP-T and 464XLAT, the last, in processes (TAYGA), is the worst in CPU, jitter and loss.",
        source: "paper 002, figures 4, 6 and 7",
        judge: access::double_translation,
    },
    Claim {
        id: "H10",
        says: "Far more is lost with packets of 100 bytes than of 1400 bytes.",
        source: "paper 002, figure 7",
        judge: access::small_packets,
    },
    Claim {
        id: "H11",
        says: "The distance to the bound shrinks with the payload and grows with the line rate.",
        source: "paper 003",
        judge: throughput::gap,
    },
    Claim {
        id: "H12",
        says: "Connection time does not depend on the file's size; delay and throughput grow with it.",
        source: "paper 001, figures 18–20",
        judge: translation::files,
    },
    Claim {
        id: "H13",
        says: "With UDP at 100 Mb/s, TAYGA is unexpectedly slow above 1750 bytes.",
        source: "paper 000, figure 20",
        judge: delay::tayga,
    },
    Claim {
        id: "H14",
        says: "NAT64 performs badly with large outbound packets.",
        source: "paper 004",
        judge: round_trip::large,
    },
];

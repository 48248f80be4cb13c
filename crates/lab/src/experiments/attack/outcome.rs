//! The outcomes of attacks, and the promise by which they are judged.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};

use super::flood::Rate;

/// The share of a victim's questions that an attack may cost.
const MOST_LOSS: f64 = 0.01;
/// The factor by which an attack may multiply the median delay.
const MOST_DELAY: f64 = 2.0;

/// The gateway's counters of packets and requests that it refused, by their names.
pub type Refusals = BTreeMap<String, u64>;

/// A service that a victim asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Service {
    /// An answer through a session that was there before.
    Echo,
    /// The same with 4000 octets, in fragments.
    Fragments,
    /// An answer through a session that it opens for it.
    Open,
    /// The same, each time as another subscriber, whom the gateway has not seen before.
    Newcomer,
    /// A mapping by PCP, which it gives back.
    Mapping,
    /// The address of a name, each time another one, by UDP.
    Name,
    /// The same by TCP.
    NameByTcp,
    /// The metrics.
    Metrics,
}

impl std::fmt::Display for Service {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Echo => "echo",
            Self::Fragments => "fragments",
            Self::Open => "new session",
            Self::Newcomer => "newcomer",
            Self::Mapping => "PCP",
            Self::Name => "DNS",
            Self::NameByTcp => "DNS, TCP",
            Self::Metrics => "metrics",
        })
    }
}

/// A victim's questions in a window, and how soon they were answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// The service that was asked for.
    pub service: Service,
    /// Questions.
    pub asked: u32,
    /// Those that were not answered within a second.
    pub lost: u32,
    /// The median of the times until an answer, in microseconds; none if there was no answer.
    pub median: Option<f64>,
    /// The time within which 95 of 100 answers came, in microseconds.
    pub late: Option<f64>,
}

impl Sample {
    /// Returns the sample of these times of answers.
    pub(super) fn of(service: Service, asked: u32, mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        // The least time that at least this share of all do not exceed (RFC 2330 section 11.3).
        let percentile = |hundredths: usize| {
            let rank = (times.len() * hundredths).div_ceil(100).max(1);
            let time = times.get(rank - 1)?;
            Some((time.as_secs_f64() * 1e7).round() / 10.0)
        };
        Self {
            service,
            asked,
            lost: asked.saturating_sub(times.len() as u32),
            median: percentile(50),
            late: percentile(95),
        }
    }

    /// Returns the share of questions without an answer, 0 to 1.
    pub fn loss(&self) -> f64 {
        f64::from(self.lost) / f64::from(self.asked.max(1))
    }

    /// Returns whether a victim is served as well as in another sample, as far as is promised. A median that is no
    /// longer than one in twenty of the other's answers took is not told apart from it.
    fn is_like(&self, other: &Self) -> bool {
        let soon = match (self.median, other.median, other.late) {
            (Some(now), Some(then), Some(late)) => now <= late.max(then * MOST_DELAY),
            _ => false,
        };
        soon && self.loss() <= other.loss() + MOST_LOSS
    }
}

/// Something that an attacker gets and must not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gain {
    /// The gain, in words.
    pub what: String,
    /// How often the attacker got it.
    pub got: u64,
    /// How often it tried.
    pub tried: u64,
    /// How often chance alone would give it.
    pub most: u64,
}

/// The outcome of an attack on one engine at one rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The name of the attack.
    pub attack: String,
    /// The engine.
    pub engine: String,
    /// The rate that was asked for.
    pub rate: Rate,
    /// Packets per second that were sent.
    pub sent: u64,
    /// Packets per second that arrived at the gateway's interface.
    pub arrived: u64,
    /// The victim before the attack.
    pub before: Vec<Sample>,
    /// The victim beside as many packets that are harmless: one flow.
    pub beside: Vec<Sample>,
    /// The victim under the attack.
    pub under: Vec<Sample>,
    /// The attacker's gain.
    pub gain: Option<Gain>,
    /// The gateway's refusals during the attack.
    pub refusals: Refusals,
}

impl Row {
    /// Returns whether the promise was held: nothing was gained, and each service is as good as before the attack,
    /// or as beside a harmless load.
    pub fn held(&self) -> bool {
        let gained = self.gain.as_ref().is_some_and(|gain| gain.got > gain.most);
        !gained && self.under.iter().all(|sample| self.is_served(sample))
    }

    fn is_served(&self, sample: &Sample) -> bool {
        let mut like = self.before.iter().chain(&self.beside);
        like.any(|other| other.service == sample.service && sample.is_like(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(lost: u32, median: f64) -> Sample {
        Sample {
            service: Service::Echo,
            asked: 200,
            lost,
            median: Some(median),
            late: Some(median),
        }
    }

    fn row(beside: Sample, under: Sample) -> Row {
        Row {
            attack: "a".into(),
            engine: "xdp".into(),
            rate: Rate::Full,
            sent: 0,
            arrived: 0,
            before: vec![sample(0, 50.0)],
            beside: vec![beside],
            under: vec![under],
            gain: None,
            refusals: Refusals::new(),
        }
    }

    #[test]
    fn a_hundredth_may_be_lost_and_the_median_doubled() {
        let held = |lost, median| row(sample(0, 50.0), sample(lost, median)).held();
        assert!(held(2, 100.0));
        assert!(!held(3, 50.0));
        assert!(!held(0, 100.1));
    }

    #[test]
    fn a_median_among_the_late_answers_is_not_told_apart() {
        let mut beside = sample(0, 50.0);
        beside.late = Some(300.0);
        assert!(row(beside.clone(), sample(0, 300.0)).held());
        assert!(!row(beside, sample(0, 301.0)).held());
    }

    #[test]
    fn a_victim_beside_a_harmless_load_is_a_measure_as_well() {
        assert!(row(sample(20, 400.0), sample(22, 800.0)).held());
        assert!(!row(sample(20, 400.0), sample(23, 800.0)).held());
    }

    #[test]
    fn percentiles_are_of_answers_and_loss_is_of_questions() {
        let times = (1..=20).rev().map(Duration::from_micros).collect();
        let sample = Sample::of(Service::Open, 25, times);
        assert_eq!((sample.lost, sample.loss()), (5, 0.2));
        assert_eq!((sample.median, sample.late), (Some(10.0), Some(19.0)));
        let none = Sample::of(Service::Open, 3, Vec::new());
        assert_eq!((none.lost, none.median), (3, None));
        assert!(!row(none.clone(), none).held());
    }

    #[test]
    fn a_gain_above_chance_breaks_the_promise() {
        let mut row = row(sample(0, 50.0), sample(0, 50.0));
        row.gain = Some(Gain {
            what: "ports foretold".into(),
            got: 2,
            tried: 100,
            most: 2,
        });
        assert!(row.held());
        row.gain.as_mut().unwrap().got = 3;
        assert!(!row.held());
    }
}

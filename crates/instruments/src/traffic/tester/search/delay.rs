//! Latency, packet delay variation and interpacket delay variation at a rate (RFC 8219 sections 7.2 and 7.3).
//!
//! Every frame is tagged and counts; RFC 8219 asks for 500.

use serde::{Deserialize, Serialize};

use crate::{
    Result,
    traffic::tester::{Delay, Summary, TrialResult, Variation},
};

/// The delays of repeated trials at one rate, in nanoseconds, of one direction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Delays {
    /// TL: the median delay of each trial.
    pub typical: Summary,
    /// WCL: the 99.9th percentile of each trial.
    pub worst_case: Summary,
    /// PDV: the 99.9th percentile less the least delay.
    pub pdv: Summary,
    /// IPDV: the least, the median and the greatest of each trial; absent if no two consecutive frames arrived.
    pub ipdv: Option<[Summary; 3]>,
    /// Interarrival jitter (RFC 3550).
    pub jitter: Summary,
}

/// Repeats a trial (RFC 8219: 20 times at least), and returns the delays of each direction. A trial that is void, or
/// in which nothing arrived, is repeated; there are at most twice as many such trials as repeats.
///
/// # Errors
/// Those of the trials.
/// Those of the trials.
pub fn repeat(
    repeats: usize,
    mut trial: impl FnMut() -> Result<TrialResult>,
) -> Result<Vec<Delays>> {
    let mut results: Vec<TrialResult> = Vec::new();
    for _ in 0..repeats * 2 {
        let result = trial()?;
        if result.void.is_none() && result.streams.iter().all(|stream| stream.delay.is_some()) {
            results.push(result);
        }
        if results.len() == repeats {
            break;
        }
    }
    let streams = results.first().map_or(0, |result| result.streams.len());
    let of = |stream: usize| {
        let delays: Vec<&Delay> = results
            .iter()
            .filter_map(|result| result.streams[stream].delay.as_ref())
            .collect();
        let variations: Vec<Variation> = results
            .iter()
            .filter_map(|result| result.streams[stream].variation)
            .collect();
        summarise(&delays, &variations)
    };
    Ok((0..streams).filter_map(of).collect())
}

fn summarise(delays: &[&Delay], variations: &[Variation]) -> Option<Delays> {
    let summary = |value: fn(&Delay) -> f64| {
        Summary::of(&delays.iter().map(|delay| value(delay)).collect::<Vec<_>>())
    };
    let varied = |value: fn(&Variation) -> f64| {
        Summary::of(&variations.iter().map(value).collect::<Vec<_>>())
    };
    let ipdv = || {
        Some([
            varied(|v| v.least)?,
            varied(|v| v.median)?,
            varied(|v| v.most)?,
        ])
    };
    Some(Delays {
        typical: summary(|delay| delay.median)?,
        worst_case: summary(|delay| delay.p999)?,
        pdv: summary(Delay::pdv)?,
        ipdv: ipdv(),
        jitter: summary(|delay| delay.jitter)?,
    })
}

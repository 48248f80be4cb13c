//! From trials to the figures that the RFCs define.
//!
//! Every search takes a function that runs a trial and gives its result. So it knows nothing of networks,
//! and can be tried on a device that is only arithmetic.
//!
//! * [`throughput`]: RFC 2544 section 26.1
//! * [`mlr`]: rates without loss and with little loss, by repeated short trials
//! * [`loss`]: the frame loss rate over the offered rate, RFC 2544 section 26.3
//! * [`burst`]: back-to-back frames, RFC 2544 section 26.4 and RFC 9004
//! * [`delay`]: latency, PDV and IPDV at a rate, RFC 8219 section 7
//! * [`recovery`]: RFC 2544 section 26.5
//! * [`connections`]: devices with state, RFC 9693

pub mod burst;
pub mod connections;
pub mod delay;
pub mod loss;
pub mod mlr;
pub mod recovery;
pub mod throughput;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{TrialResult, Void};
use crate::Result;

/// How often a trial that does not count is run again.
const RETRIES: usize = 2;

/// What a search asks for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Offer {
    /// Frames per second of each stream.
    pub rate: f64,
    /// How long.
    pub duration: Duration,
}

/// Rates to search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Range {
    /// The least of interest, in frames per second: above 0.
    pub least: f64,
    /// The most that can be offered or that the medium allows: above the least.
    pub most: f64,
}

/// What keeps a figure from being higher.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// Frames were lost.
    Loss,
    /// More cannot be offered: frames were sent too late. Where the device shares the core of the sender,
    /// its work is the reason. Where there is no rate at all, not even the least could be offered, and nothing
    /// is known of the device.
    Sender,
    /// The range ends here.
    Most,
    /// Even the least of the range was too much.
    Least,
}

/// A trial of a search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Frames per second offered to each stream.
    pub rate: f64,
    /// In seconds.
    pub duration: f64,
    /// The share of frames that were lost.
    pub loss_ratio: f64,
    /// Why it does not count.
    pub void: Option<Void>,
}

impl Point {
    fn new(offer: Offer, result: &TrialResult) -> Self {
        Self {
            rate: offer.rate,
            duration: offer.duration.as_secs_f64(),
            loss_ratio: result.loss_ratio(),
            void: result.void.clone(),
        }
    }
}

/// Runs a trial, again if it does not count. What comes back void could not be offered.
fn offer(
    trial: &mut impl FnMut(Offer) -> Result<TrialResult>,
    offer: Offer,
    points: &mut Vec<Point>,
) -> Result<TrialResult> {
    let mut run = || -> Result<TrialResult> {
        let result = trial(offer)?;
        points.push(Point::new(offer, &result));
        Ok(result)
    };
    let mut result = run()?;
    for _ in 0..RETRIES {
        if result.void.is_none() {
            break;
        }
        result = run()?;
    }
    Ok(result)
}

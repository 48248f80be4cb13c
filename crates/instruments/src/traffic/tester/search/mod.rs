//! Searches: from trials to the figures that the RFCs define.
//!
//! Every search takes a function that runs a trial and returns its result. It knows nothing of networks, and can be
//! tested with a device that is only arithmetic.
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

/// The number of times that a void trial is repeated.
const RETRIES: usize = 2;

/// The load that a search offers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Offer {
    /// Frames per second of each stream.
    pub rate: f64,
    /// The length of the trial.
    pub duration: Duration,
}

/// Rates to search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Range {
    /// The lowest rate of interest, in frames per second: above 0.
    pub least: f64,
    /// The highest rate that can be offered or that the medium allows: above the lowest.
    pub most: f64,
}

/// The limit of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// Frames were lost.
    Loss,
    /// A higher rate cannot be offered: frames were sent too late. Where the device shares the core of the sender,
    /// its work is the reason. If there is no rate at all, even the lowest rate could not be offered, and nothing is
    /// known of the device.
    Sender,
    /// The range ends at this rate.
    Most,
    /// Even the lowest rate of the range was too much.
    Least,
}

/// A trial of a search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Frames per second offered to each stream.
    pub rate: f64,
    /// The length, in seconds.
    pub duration: f64,
    /// The share of frames that were lost.
    pub loss_ratio: f64,
    /// The reason why it does not count.
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

/// Runs a trial, and repeats it if it is void. A result that is still void could not be offered.
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

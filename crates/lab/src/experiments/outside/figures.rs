//! The tests of a device, and their figures.

use std::time::Duration;

use serde::Serialize;

use crate::{
    LabError, Result,
    traffic::tester::{
        Extent, Tester, Trial, TrialResult,
        search::{
            Offer, Point, Range,
            burst::{self, BackToBack},
            delay::{self, Delays},
            loss,
            throughput::{self, Throughput},
        },
    },
};

/// A frame that takes longer is lost (RFC 2544 section 23).
const TIMEOUT: Duration = Duration::from_secs(2);
/// The width of the throughput, as a share.
const WIDTH: f64 = 0.01;
/// The lowest rate of interest, as a share of the highest.
const LEAST: f64 = 1e-3;
/// The factor by which trials of a search are shorter than those that decide.
const SHORTER: u32 = 10;
/// The number of losses after which a burst is too long (RFC 9004 section 5.2).
const LOSSES: u32 = 2;
/// The resolution of bursts, in parts of the longest burst.
const BURST_STEPS: f64 = 256.0;

/// A test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Test {
    /// One trial at a rate, in frames per second of each direction.
    Trial(f64),
    /// The highest rate without loss (RFC 2544 section 26.1).
    Throughput,
    /// Delay and its variation at a rate (RFC 8219 sections 7.2 and 7.3); at the throughput if no rate is given.
    Latency(Option<f64>),
    /// Loss by rate, from the highest down (RFC 2544 section 26.3).
    Loss,
    /// The longest burst without loss (RFC 2544 section 26.4).
    BackToBack,
}

/// The extent of a test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Effort {
    /// The length of a trial that counts; of the longest burst.
    pub duration: Duration,
    /// The highest rate in frames per second of each direction: above 0.
    pub most: f64,
    /// The number of measurements of latency and bursts, 1 or more.
    pub repeats: usize,
}

/// The figures of a test.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Figures {
    /// The result of one trial.
    Trial(TrialResult),
    /// The throughput.
    Throughput(Throughput),
    /// Delays.
    Latency {
        /// The rate at which they are, in frames per second.
        rate: f64,
        /// The delays of each direction; empty if nothing arrived, or everything was sent late.
        delays: Vec<Delays>,
    },
    /// Loss.
    Loss(Vec<Point>),
    /// Bursts.
    BackToBack(BackToBack),
    /// The device loses frames at every rate, so that there is no rate for the test.
    NoRate(Throughput),
}

impl Figures {
    /// Returns whether they say something about the device.
    pub fn count(&self) -> bool {
        match self {
            Self::Trial(result) => result.void.is_none(),
            Self::Throughput(found) => found.rate.is_some(),
            Self::Latency { delays, .. } => !delays.is_empty(),
            Self::Loss(points) => points.iter().any(|point| point.void.is_none()),
            Self::BackToBack(_) => true,
            Self::NoRate(_) => false,
        }
    }
}

impl Test {
    /// Carries out the test.
    ///
    /// # Errors
    /// The tester failed.
    pub fn run(self, tester: &mut Tester, effort: &Effort) -> Result<Figures> {
        let Effort {
            duration,
            most,
            repeats,
        } = *effort;
        let trial = |offer: Offer| Trial {
            rate: offer.rate,
            extent: Extent::Time(offer.duration),
            timeout: TIMEOUT,
        };
        let mut at = |offer: Offer| tester.run(&trial(offer));
        let search = throughput::Search {
            range: Range {
                least: most * LEAST,
                most,
            },
            width: WIDTH,
            short: duration / SHORTER,
            full: duration,
        };
        Ok(match self {
            Self::Trial(rate) => Figures::Trial(at(Offer { rate, duration })?),
            Self::Throughput => Figures::Throughput(search.run(at)?),
            Self::Latency(rate) => {
                let rate = match rate {
                    Some(rate) => rate,
                    None => {
                        let found = search.run(&mut at)?;
                        match found.rate {
                            Some(rate) => rate,
                            None => return Ok(Figures::NoRate(found)),
                        }
                    }
                };
                let delays = delay::repeat(repeats, || {
                    // Each frame leaves when it is due.
                    tester.time(&trial(Offer { rate, duration }))
                })?;
                Figures::Latency { rate, delays }
            }
            Self::Loss => Figures::Loss(loss::curve(most, &loss::TENTHS, duration, at)?),
            Self::BackToBack => {
                let frames = (most * duration.as_secs_f64()).max(1.0);
                let search = burst::Search {
                    most: frames as u64,
                    step: (frames / BURST_STEPS).max(1.0) as u64,
                    losses: LOSSES,
                    repeats,
                };
                let found = search.run(|frames| {
                    tester.run(&Trial {
                        rate: most,
                        extent: Extent::Frames(frames),
                        timeout: TIMEOUT,
                    })
                })?;
                Figures::BackToBack(found.ok_or(LabError::Tester("no burst was sent".into()))?)
            }
        })
    }
}

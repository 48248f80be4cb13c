//! Throughput: the highest rate at which no frame is lost (RFC 2544 section 26.1).

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Limit, Offer, Point, Range, offer};
use crate::{
    Result,
    figures::results::{SearchLimits, Width},
    traffic::tester::TrialResult,
};

/// The parameters of a search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Search {
    /// The rates to search.
    pub range: Range,
    /// The width of the result, as a share of the rate: 0 to 1, not 0.
    pub width: f64,
    /// The length of trials while searching.
    pub short: Duration,
    /// The length of the trials that decide (RFC 2544 section 24: 60 seconds).
    pub full: Duration,
}

/// The result of a search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Throughput {
    /// Frames per second of each stream; absent if the lowest rate of the range was too much.
    pub rate: Option<f64>,
    /// The limit of the rate.
    pub limit: Limit,
    /// The trials, in their order.
    pub points: Vec<Point>,
}

/// The rates between which the result lies.
struct Bracket {
    low: f64,
    high: Option<(f64, Limit)>,
}

impl Search {
    /// Searches with short trials, then confirms with full ones, and goes down if these lose frames.
    ///
    /// # Errors
    /// Those of the trials.
    pub fn run(&self, mut trial: impl FnMut(Offer) -> Result<TrialResult>) -> Result<Throughput> {
        let mut points = Vec::new();
        let mut limit_at = |rate: f64, duration| -> Result<Option<Limit>> {
            let result = offer(&mut trial, Offer { rate, duration }, &mut points)?;
            Ok(match result {
                TrialResult { void: Some(_), .. } => Some(Limit::Sender),
                result if result.lost() > 0 => Some(Limit::Loss),
                _ => None,
            })
        };
        let Range { least, most } = self.range;
        let mut bracket = Bracket {
            low: least,
            high: limit_at(most, self.short)?.map(|limit| (most, limit)),
        };
        if bracket.high.is_none() {
            bracket.low = most;
        }
        self.narrow(&mut bracket, |rate| limit_at(rate, self.short))?;

        // Down in growing steps until a full trial passes, then up again.
        let mut step = self.width;
        let mut confirmed = limit_at(bracket.low, self.full)?;
        while let Some(limit) = confirmed {
            if bracket.low <= least {
                // A load that could not be offered says nothing about the device.
                let limit = match limit {
                    Limit::Sender => Limit::Sender,
                    _ => Limit::Least,
                };
                return Ok(Throughput {
                    rate: None,
                    limit,
                    points,
                });
            }
            bracket.high = Some((bracket.low, limit));
            bracket.low = (bracket.low * (1.0 - step.min(0.5))).max(least);
            step *= 2.0;
            confirmed = limit_at(bracket.low, self.full)?;
        }
        self.narrow(&mut bracket, |rate| limit_at(rate, self.full))?;
        Ok(Throughput {
            rate: Some(bracket.low),
            limit: bracket.high.map_or(Limit::Most, |(_, limit)| limit),
            points,
        })
    }

    /// Returns its limits, as results keep them.
    pub fn limits(&self) -> SearchLimits {
        SearchLimits {
            least: self.range.least,
            most: Some(self.range.most),
            width: Width::Share(self.width),
            loss: 0.0,
            exceed: 0.0,
            seconds: Some(self.full.as_secs_f64()),
        }
    }

    /// Halves the bracket, in proportion, until it is narrow enough.
    fn narrow(
        &self,
        bracket: &mut Bracket,
        mut limit_at: impl FnMut(f64) -> Result<Option<Limit>>,
    ) -> Result<()> {
        while let Some((high, _)) = bracket.high {
            if bracket.low >= high * (1.0 - self.width) {
                break;
            }
            let middle = (bracket.low * high).sqrt();
            match limit_at(middle)? {
                Some(limit) => bracket.high = Some((middle, limit)),
                None => bracket.low = middle,
            }
        }
        Ok(())
    }
}

//! Devices that keep state of connections (RFC 9693).
//!
//! Phase 1 sends frames from the initiator to the responder: each of another four-tuple, each making an
//! entry in the table of the device. Phase 2 sends through entries that are there.

use serde::{Deserialize, Serialize};

use crate::{Result, tester::Summary};

/// How to search for rates at which connections are established.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateSearch {
    /// The most to try, in connections per second: above 0.
    pub most: f64,
    /// How near the result has to be to a rate that is too high, in connections per second: above 0.
    pub error: f64,
}

impl RateSearch {
    /// The highest rate at which all of the connections are established. `establish` begins with an empty
    /// table, sends a frame for each connection at this rate, and says whether all arrived. Zero if no
    /// rate was low enough.
    ///
    /// # Errors
    /// Those of `establish`.
    pub fn run(&self, mut establish: impl FnMut(f64) -> Result<Completeness>) -> Result<f64> {
        if establish(self.most)? == Completeness::All {
            return Ok(self.most);
        }
        let (mut low, mut high) = (0.0, self.most);
        while high - low > self.error {
            let middle = (low + high) / 2.0;
            match establish(middle)? {
                Completeness::All => low = middle,
                Completeness::Some => high = middle,
            }
        }
        Ok(low)
    }
}

/// Whether a step of a test did what it was to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completeness {
    /// Every frame arrived.
    All,
    /// Not every frame.
    Some,
}

/// The rate of validation for a rate of connections: in phase 2 the responder sends one frame through each
/// entry, at this share (0 to 1, not 0) of the rate. All must arrive, or the connections do not count.
pub fn validation_rate(rate: f64, alpha: f64) -> f64 {
    rate * alpha
}

/// How to search for the capacity of the table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CapacitySearch {
    /// Connections that surely fit, 1 or more.
    pub initial: u64,
    /// Connections that are more than can be tried: the search ends there.
    pub most: u64,
    /// More connections are too many if their rate falls below this share of the rate before: 0 to 1.
    pub beta: f64,
    /// The same when halving: 0 to 1, more than `beta`.
    pub gamma: f64,
    /// How near the result has to be to a number that is too large, 1 or more.
    pub error: u64,
}

impl Default for CapacitySearch {
    /// The values of siitperf, which RFC 9693 names as an implementation.
    fn default() -> Self {
        Self {
            initial: 1_000_000,
            most: 1_000_000_000,
            beta: 0.2,
            gamma: 0.4,
            error: 1,
        }
    }
}

/// The capacity of a table.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Capacity {
    /// Connections that fit.
    pub connections: u64,
    /// The rate at which so many were established, per second.
    pub rate: f64,
    /// Whether more could not be tried.
    pub is_at_the_end: bool,
}

impl CapacitySearch {
    /// Searches: twice as many until too many, then halves. `rate` gives the highest rate at which so many
    /// connections are established, which it searches up to a rate if one is given.
    ///
    /// # Errors
    /// Those of `rate`.
    pub fn run(&self, mut rate: impl FnMut(u64, Option<f64>) -> Result<f64>) -> Result<Capacity> {
        let mut fits = self.initial;
        let mut best = rate(fits, None)?;
        let mut too_many = loop {
            let next = (fits * 2).min(self.most);
            if next == fits {
                return Ok(Capacity {
                    connections: fits,
                    rate: best,
                    is_at_the_end: true,
                });
            }
            let reached = rate(next, Some(best))?;
            if reached < self.beta * best {
                break next;
            }
            (fits, best) = (next, reached);
        };
        while too_many - fits > self.error {
            let middle = fits + (too_many - fits) / 2;
            let reached = rate(middle, Some(best))?;
            if reached < self.gamma * best {
                too_many = middle;
            } else {
                (fits, best) = (middle, reached);
            }
        }
        Ok(Capacity {
            connections: fits,
            rate: best,
            is_at_the_end: false,
        })
    }
}

/// The rate at which connections are torn down, per second, of repetitions in each of which so many were
/// removed in so many seconds. All at once is something else than one by one.
pub fn tear_down(repetitions: &[(u64, f64)]) -> Option<Summary> {
    let rates: Vec<f64> = repetitions
        .iter()
        .map(|(connections, seconds)| *connections as f64 / seconds)
        .collect();
    Summary::of(&rates)
}

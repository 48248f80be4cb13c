//! Searches for devices that keep state of connections (RFC 9693).
//!
//! Phase 1 sends frames from the initiator to the responder. Each has another four-tuple, and makes an entry in the
//! table of the device. Phase 2 sends through these entries.

use serde::{Deserialize, Serialize};

use crate::{Result, traffic::tester::Summary};

/// The parameters of a search for the rate at which connections are established.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateSearch {
    /// The highest rate to try, in connections per second: above 0.
    pub most: f64,
    /// The width of the result, in connections per second: above 0.
    pub error: f64,
}

impl RateSearch {
    /// Returns the highest rate at which all of the connections are established; zero if no rate was low enough.
    /// `establish` begins with an empty table, sends a frame for each connection at a rate, and returns whether all
    /// arrived.
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

/// Whether all frames of a step of a test arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completeness {
    /// Every frame arrived.
    All,
    /// Not every frame arrived.
    Some,
}

/// Returns the rate of validation for a rate of connections. In phase 2 the responder sends one frame through each
/// entry, at this share (0 to 1, not 0) of the rate. All must arrive, or the connections do not count.
pub fn validation_rate(rate: f64, alpha: f64) -> f64 {
    rate * alpha
}

/// The parameters of a search for the capacity of the table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CapacitySearch {
    /// A number of connections that fits for sure, 1 or more.
    pub initial: u64,
    /// The number of connections at which the search ends.
    pub most: u64,
    /// The share of the rate before, 0 to 1, below which more connections are too many.
    pub beta: f64,
    /// The same share while halving: 0 to 1, more than `beta`.
    pub gamma: f64,
    /// The width of the result in connections, 1 or more.
    pub error: u64,
}

impl Default for CapacitySearch {
    /// Returns the values of siitperf, which RFC 9693 names as an implementation.
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
    /// The rate at which they were established, per second.
    pub rate: f64,
    /// Whether the search ended at the most connections.
    pub is_at_the_end: bool,
}

impl CapacitySearch {
    /// Searches: doubles the number until it is too large, then halves the interval. `rate` returns the highest rate
    /// at which a number of connections is established; it searches up to a rate if one is given.
    ///
    /// # Errors
    /// Those of `rate`.
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

/// Returns the rate at which connections are torn down, per second, of repetitions with a number of connections and a
/// time in seconds each. The removal of all at once is not that of each one by one.
pub fn tear_down(repetitions: &[(u64, f64)]) -> Option<Summary> {
    let rates: Vec<f64> = repetitions
        .iter()
        .map(|(connections, seconds)| *connections as f64 / seconds)
        .collect();
    Summary::of(&rates)
}

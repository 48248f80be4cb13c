//! The classification of a load by its trials (draft-ietf-bmwg-mlrsearch, load classification).
//!
//! A load is a lower bound if the goal's loss is exceeded in no more than a share of the time that counts, and an
//! upper bound if it is exceeded in more. Trials that are shorter than the goal asks for may count against a load,
//! not for it. As long as the missing trials could change the result, it is open.
//! against a load, not for it. As long as the missing trials could turn the answer, it is open.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The goal of a search.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Goal {
    /// The share of frames that a trial may lose: 0 to 1.
    pub loss_ratio: f64,
    /// The share of time in which trials may lose more: 0 to 1, not 1.
    pub exceed_ratio: f64,
    /// The width of the result, as a share of the upper bound: 0 to 1, not 0.
    pub width: f64,
    /// The length of the shortest trials.
    pub initial: Duration,
    /// The length of the trials that count in full.
    pub full: Duration,
    /// The total length of the trials at a load.
    pub sum: Duration,
}

impl Goal {
    /// Returns the goal of the non-drop rate of FD.io CSIT: no loss.
    pub fn ndr() -> Self {
        Self {
            loss_ratio: 0.0,
            exceed_ratio: 0.5,
            width: 0.005,
            initial: Duration::from_secs(1),
            full: Duration::from_secs(1),
            sum: Duration::from_secs(21),
        }
    }

    /// Returns the goal of the partial drop rate: 0.5 % of the frames.
    pub fn pdr() -> Self {
        Self {
            loss_ratio: 0.005,
            ..Self::ndr()
        }
    }

    /// Returns the goal of RFC 2544: one trial of 60 seconds without loss.
    pub fn rfc2544() -> Self {
        Self {
            exceed_ratio: 0.0,
            full: Duration::from_secs(60),
            sum: Duration::from_secs(60),
            ..Self::ndr()
        }
    }

    /// Returns the goal with shorter times, divided by `divisor`, 1 or more.
    pub fn shortened(self, divisor: u32) -> Self {
        Self {
            initial: self.initial / divisor,
            full: self.full / divisor,
            sum: self.sum / divisor,
            ..self
        }
    }
}

/// The class of a load for a goal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// A lower bound: the load meets the goal.
    Lower,
    /// An upper bound: it does not.
    Upper,
    /// Not known yet: more trials are needed.
    Open,
}

/// The trials at a load.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Load {
    /// The length in seconds, and the share of frames lost.
    trials: Vec<(f64, f64)>,
    /// The length of the trials in which the load was not offered, in seconds.
    missed: f64,
}

impl Load {
    /// Adds a trial.
    pub fn add(&mut self, duration: Duration, loss_ratio: f64) {
        self.trials.push((duration.as_secs_f64(), loss_ratio));
    }

    /// Adds a trial in which the load was not offered. It counts against the load, as if all frames were lost.
    pub fn add_missed(&mut self, duration: Duration) {
        self.missed += duration.as_secs_f64();
        self.add(duration, 1.0);
    }

    /// Returns whether most of the evidence against the load is that it was not offered.
    pub fn is_missed(&self, goal: &Goal) -> bool {
        let high = self.trials.iter().filter(|trial| trial.1 > goal.loss_ratio);
        2.0 * self.missed > high.map(|trial| trial.0).sum()
    }

    /// Returns the class of the load.
    pub fn class(&self, goal: &Goal) -> Class {
        let exceed = goal.exceed_ratio;
        let (low, high) = self.effective(goal);
        let whole = (low + high).max(goal.sum.as_secs_f64());
        let tolerated = whole * exceed;
        // The times are sums, which may differ from what they equal by the last bit.
        let within = |time: f64| time <= tolerated + 1e-9 * whole;
        match (within(whole - low), within(high)) {
            (true, true) => Class::Lower,
            (false, false) => Class::Upper,
            _ => Class::Open,
        }
    }

    /// Returns the seconds of trials for the load, and against it.
    fn effective(&self, goal: &Goal) -> (f64, f64) {
        let sum = |is_full: bool, is_high: bool| -> f64 {
            let full = goal.full.as_secs_f64();
            let counts = |trial: &&(f64, f64)| {
                (trial.0 >= full) == is_full && (trial.1 > goal.loss_ratio) == is_high
            };
            self.trials.iter().filter(counts).map(|trial| trial.0).sum()
        };
        // Short trials with little loss outweigh short ones with much; the rest of these counts.
        let balancing = sum(false, false) * goal.exceed_ratio / (1.0 - goal.exceed_ratio);
        let short_high = (sum(false, true) - balancing).max(0.0);
        (sum(true, false), sum(true, true) + short_high)
    }

    /// Returns the conditional throughput in frames per second: the rate that is forwarded of this load in all but
    /// the tolerated share of time. Full trials are in the order of their loss; missing ones count as all lost.
    pub fn conditional_throughput(&self, rate: f64, goal: &Goal) -> f64 {
        let (low, high) = self.effective(goal);
        let whole = (low + high).max(goal.sum.as_secs_f64());
        let mut left = whole * (1.0 - goal.exceed_ratio);
        let full = goal.full.as_secs_f64();
        let mut trials: Vec<(f64, f64)> = self
            .trials
            .iter()
            .copied()
            .filter(|trial| trial.0 >= full)
            .collect();
        trials.sort_by(|one, other| one.1.total_cmp(&other.1));
        let mut loss = None;
        for (duration, ratio) in trials {
            if loss.is_some() && left <= 1e-9 * whole {
                break;
            }
            left -= duration;
            loss = Some(ratio);
        }
        let loss = if left > 1e-9 * whole {
            1.0
        } else {
            loss.unwrap_or(1.0)
        };
        rate * (1.0 - loss)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(trials: &[(u64, f64)]) -> Load {
        let mut load = Load::default();
        for (seconds, loss) in trials {
            load.add(Duration::from_secs(*seconds), *loss);
        }
        load
    }

    #[test]
    fn half_of_21_seconds_decides() {
        let goal = Goal::ndr();
        // Whole is 21, tolerated 10.5: lower from 11 good seconds on, upper from 11 bad ones on.
        assert_eq!(load(&[]).class(&goal), Class::Open);
        assert_eq!(load(&[(1, 0.0); 10]).class(&goal), Class::Open);
        assert_eq!(load(&[(1, 0.0); 11]).class(&goal), Class::Lower);
        assert_eq!(load(&[(1, 0.1); 10]).class(&goal), Class::Open);
        assert_eq!(load(&[(1, 0.1); 11]).class(&goal), Class::Upper);
        let mut mixed = load(&[(1, 0.0); 10]);
        for _ in 0..10 {
            mixed.add(Duration::from_secs(1), 0.1);
        }
        assert_eq!(mixed.class(&goal), Class::Open);
        mixed.add(Duration::from_secs(1), 0.0);
        assert_eq!(mixed.class(&goal), Class::Lower);
    }

    #[test]
    fn rfc_2544_takes_one_trial() {
        let goal = Goal::rfc2544();
        assert_eq!(load(&[(60, 0.0)]).class(&goal), Class::Lower);
        assert_eq!(load(&[(60, 0.001)]).class(&goal), Class::Upper);
        // A short trial that loses is enough against, none is enough for.
        assert_eq!(load(&[(1, 0.001)]).class(&goal), Class::Upper);
        assert_eq!(load(&[(1, 0.0); 100]).class(&goal), Class::Open);
    }

    #[test]
    fn short_trials_balance_each_other() {
        let goal = Goal {
            full: Duration::from_secs(60),
            sum: Duration::from_secs(120),
            exceed_ratio: 0.5,
            ..Goal::ndr()
        };
        // 70 bad short seconds exceed the tolerated 60; 20 good ones take them to 50.
        assert_eq!(load(&[(1, 0.1); 70]).class(&goal), Class::Upper);
        let mut balanced = load(&[(1, 0.1); 70]);
        for _ in 0..20 {
            balanced.add(Duration::from_secs(1), 0.0);
        }
        assert_eq!(balanced.class(&goal), Class::Open);
    }

    #[test]
    fn a_load_that_was_not_offered_is_an_upper_bound() {
        let goal = Goal::ndr();
        let mut load = load(&[(1, 0.0); 10]);
        for _ in 0..11 {
            load.add_missed(Duration::from_secs(1));
        }
        assert_eq!(load.class(&goal), Class::Upper);
        assert!(load.is_missed(&goal));
        for _ in 0..12 {
            load.add(Duration::from_secs(1), 0.1);
        }
        assert!(!load.is_missed(&goal));
    }

    #[test]
    fn conditional_throughput_is_that_of_the_quantile() {
        let goal = Goal {
            sum: Duration::from_secs(4),
            ..Goal::pdr()
        };
        // Half of 4 seconds: the second best trial.
        let trials = load(&[(1, 0.004), (1, 0.0), (1, 0.2), (1, 0.002)]);
        assert_eq!(trials.conditional_throughput(1000.0, &goal), 998.0);
        // One second of two: the rest counts as lost.
        assert_eq!(load(&[(1, 0.0)]).conditional_throughput(1000.0, &goal), 0.0);
    }
}

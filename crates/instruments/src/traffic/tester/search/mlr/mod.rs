//! A search after MLRsearch (draft-ietf-bmwg-mlrsearch) for rates that meet goals. It has many short trials in place
//! of few long ones, and the trials for one goal serve the others.
//!
//! A first trial at the highest rate measures the forwarding rate under overload; the search begins there. Each goal
//! is approached by coarser ones, whose trials at a load are fewer and whose bounds may be further apart.

mod load;

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};

pub use load::{Class, Goal, Load};

use super::{Limit, Offer, Point, Range, offer};
use crate::{Result, traffic::tester::TrialResult};

/// The factors by which the bounds of the coarser goals may be wider apart.
const WIDER: [f64; 3] = [4.0, 2.0, 1.0];

/// The result for a goal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Found {
    /// The goal.
    pub goal: Goal,
    /// The highest rate that meets it, in frames per second of each stream; absent if no rate of the range does.
    pub rate: Option<f64>,
    /// The lowest rate above that does not meet it; absent if the whole range does.
    pub too_much: Option<f64>,
    /// The conditional throughput at that rate.
    pub conditional_throughput: Option<f64>,
    /// The limit of the rate.
    pub limit: Limit,
}

/// The loads of a search, by rate in whole frames per second.
struct Search<'a, T> {
    range: Range,
    loads: BTreeMap<u64, Load>,
    points: &'a mut Vec<Point>,
    trial: T,
    /// The forwarding rate at the highest load.
    forwarded: f64,
}

/// Searches a range for all goals, one after the other. Also returns the trials, in their order.
///
/// # Errors
/// Those of the trials.
/// Those of the trials.
pub fn search(
    range: Range,
    goals: &[Goal],
    mut trial: impl FnMut(Offer) -> Result<TrialResult>,
) -> Result<(Vec<Found>, Vec<Point>)> {
    let mut points = Vec::new();
    let warm_up = Offer {
        rate: range.most,
        duration: goals
            .first()
            .map_or(Duration::from_secs(1), |goal| goal.initial),
    };
    let result = trial(warm_up)?;
    points.push(Point::new(warm_up, &result));
    let slowest = result
        .streams
        .iter()
        .map(|stream| stream.received_rate)
        .reduce(f64::min);
    let mut search = Search {
        range,
        loads: BTreeMap::new(),
        points: &mut points,
        trial,
        forwarded: slowest.unwrap_or(range.most),
    };
    let found = goals
        .iter()
        .map(|goal| search.find(goal))
        .collect::<Result<_>>()?;
    Ok((found, points))
}

impl<T: FnMut(Offer) -> Result<TrialResult>> Search<'_, T> {
    /// Finds the bounds for a goal, by way of coarser ones.
    fn find(&mut self, goal: &Goal) -> Result<Found> {
        for (stage, wider) in WIDER.into_iter().enumerate() {
            self.approach(&coarser(goal, stage, wider))?;
        }
        let (low, high) = self.bounds(goal);
        let missed = |rate: u64| {
            self.loads
                .get(&rate)
                .is_some_and(|load| load.is_missed(goal))
        };
        Ok(Found {
            goal: *goal,
            rate: low.map(|rate| rate as f64),
            too_much: high.map(|rate| rate as f64),
            conditional_throughput: low.and_then(|rate| {
                let load = self.loads.get(&rate)?;
                Some(load.conditional_throughput(rate as f64, goal))
            }),
            limit: match (low, high) {
                (_, Some(rate)) if missed(rate) => Limit::Sender,
                (None, _) => Limit::Least,
                (_, None) => Limit::Most,
                _ => Limit::Loss,
            },
        })
    }

    /// Measures loads until the bounds for a goal are near enough.
    fn approach(&mut self, goal: &Goal) -> Result<()> {
        let (least, most) = (self.range.least.ceil() as u64, self.range.most as u64);
        let mut step = goal.width;
        loop {
            let part = |rate: u64, step: f64| rate as f64 * (1.0 - step);
            let rate = match self.bounds(goal) {
                (None, None) => self.forwarded as u64,
                (None, Some(high)) if high <= least => return Ok(()),
                (None, Some(high)) => {
                    step = (step * 2.0).min(0.5);
                    (part(high, step) as u64).min(high - 1)
                }
                (Some(low), None) if low >= most => return Ok(()),
                (Some(low), None) => {
                    step = (step * 2.0).min(0.5);
                    ((low as f64 / (1.0 - step)) as u64).max(low + 1)
                }
                (Some(low), Some(high)) if low as f64 >= part(high, goal.width) => return Ok(()),
                (Some(low), Some(high)) if low + 1 >= high => return Ok(()),
                (Some(low), Some(high)) => {
                    ((low as f64 * high as f64).sqrt() as u64).clamp(low + 1, high - 1)
                }
            };
            self.decide(rate.clamp(least, most), goal)?;
        }
    }

    /// Runs trials at a rate until its class for the goal is known.
    fn decide(&mut self, rate: u64, goal: &Goal) -> Result<()> {
        loop {
            let load = self.loads.entry(rate).or_default();
            if load.class(goal) != Class::Open {
                return Ok(());
            }
            let offered = Offer {
                rate: rate as f64,
                duration: goal.full,
            };
            // Where one bad trial decides, it must not be the sender's fault.
            let result = if goal.exceed_ratio == 0.0 {
                offer(&mut self.trial, offered, self.points)?
            } else {
                let result = (self.trial)(offered)?;
                self.points.push(Point::new(offered, &result));
                result
            };
            match result.void {
                None => load.add(goal.full, result.loss_ratio()),
                Some(_) => load.add_missed(goal.full),
            }
        }
    }

    /// Returns the lowest rate that is too high for a goal, and the highest below that meets it.
    fn bounds(&self, goal: &Goal) -> (Option<u64>, Option<u64>) {
        let class = |load: &Load| load.class(goal);
        let mut all = self.loads.iter();
        let high = all
            .find(|(_, load)| class(load) == Class::Upper)
            .map(|(rate, _)| *rate);
        let below = self.loads.range(..high.unwrap_or(u64::MAX));
        let low = below
            .rev()
            .find(|(_, load)| class(load) == Class::Lower)
            .map(|(rate, _)| *rate);
        (low, high)
    }
}

/// Returns a stage on the way to a goal. The first stage has the shortest trials, and one of them at a load.
fn coarser(goal: &Goal, stage: usize, wider: f64) -> Goal {
    let part = stage as f64 / (WIDER.len() - 1) as f64;
    // From one time to the other in equal proportions.
    let between = |from: Duration, to: Duration| {
        let (from, to) = (from.as_secs_f64(), to.as_secs_f64());
        Duration::from_secs_f64(from * (to / from).powf(part))
    };
    if stage + 1 == WIDER.len() {
        return *goal;
    }
    Goal {
        width: (goal.width * wider).min(0.5),
        full: between(goal.initial, goal.full),
        sum: between(goal.initial, goal.sum),
        ..*goal
    }
}

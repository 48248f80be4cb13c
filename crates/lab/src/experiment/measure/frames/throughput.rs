//! The highest rate without loss.

use std::time::Duration;

use super::{
    super::super::{
        profile::Profile,
        subject::{Setup, Subject},
        testbed::Testbed,
    },
    Bench, Direction, FLOWS, LEAST, both_ways, directions, is_stateless, sizes,
};
use crate::{
    LabError, Result,
    generator::FrameSize,
    results::Point,
    tester::search::{
        Limit, Offer, Range,
        mlr::{self, Goal},
        throughput::Search,
    },
};

/// A packet of 1024 octets in its frame, as paper 001 has it.
const PAPER_001: u16 = 1024 + 18;
/// The frames by which the sender estimates the throughput.
const OVERLOAD: u64 = 20_000;
/// The number of attempts at the lowest rate.
const PATIENCE: u32 = 5;
/// The numbers of flows.
const SCALE: [u32; 5] = [1, 10, 100, 1000, 10_000];

/// A rate that was found, for the experiments that use it.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    pub(super) direction: Direction,
    /// The size of RFC 8219.
    pub(super) octets: u16,
    /// The size of the frames.
    pub(super) size: FrameSize,
    /// Frames per second; absent if even the lowest rate of interest was too much.
    pub(super) rate: Option<f64>,
    pub(super) limit: Limit,
    /// The tester's own rate.
    pub(super) ceiling: f64,
}

/// Measures by the size of frames. If both hosts send, each sends at that rate.
pub(crate) fn by_size(testbed: &mut Testbed, profile: Profile) -> Result<Vec<Point>> {
    let mut found = all(testbed, profile)?;
    if let Some(direction) = both_ways(&directions(testbed, profile)?) {
        for octets in sizes(profile) {
            found.extend(find(testbed, &direction, *octets, FLOWS, profile)?);
        }
    }
    Ok(found
        .iter()
        .map(|found| found.point(found.octets))
        .collect())
}

/// Measures at the size of paper 001.
pub(crate) fn of_1024(testbed: &mut Testbed, profile: Profile) -> Result<Vec<Point>> {
    let mut points = Vec::new();
    for direction in directions(testbed, profile)? {
        let found = find(testbed, &direction, PAPER_001, FLOWS, profile)?;
        points.extend(found.map(|found| found.point(0_u16)));
    }
    Ok(points)
}

/// Measures by the number of flows (RFC 8219 section 10), in the smallest frames.
pub(crate) fn by_flows(testbed: &mut Testbed, profile: Profile) -> Result<Vec<Point>> {
    let most = most_flows(testbed.subject());
    let mut points = Vec::new();
    for direction in directions(testbed, profile)? {
        for flows in SCALE.into_iter().filter(|flows| *flows <= most) {
            let found = find(testbed, &direction, 64, flows, profile)?;
            points.extend(found.map(|found| found.point(flows)));
        }
    }
    Ok(points)
}

/// Returns the flows that fit. A customer with a shared address has 4032 ports here, and a stateful gateway in a
/// provider's network is configured for 4096 sessions.
fn most_flows(subject: &Subject) -> u32 {
    match subject.setup {
        Setup::Provider(..) if !is_stateless(subject) => 4032,
        _ => u32::MAX,
    }
}

/// Returns the rates of all directions and sizes. They are measured once for a testbed.
pub(super) fn all(testbed: &mut Testbed, profile: Profile) -> Result<Vec<Found>> {
    if testbed.found.is_empty() {
        let mut all = Vec::new();
        for direction in directions(testbed, profile)? {
            for octets in sizes(profile) {
                all.extend(find(testbed, &direction, *octets, FLOWS, profile)?);
            }
        }
        testbed.found = all;
    }
    Ok(testbed.found.clone())
}

impl Found {
    fn point(&self, at: impl Into<f64>) -> Point {
        let rate = self.rate.unwrap_or(0.0);
        Point::new(self.direction.series, at.into(), rate).with_ceiling(self.ceiling)
    }
}

/// Returns the highest rate without loss (NDR), by a full binary search, by MLRsearch, or by a quick binary search;
/// `None` if frames of this size do not fit the links.
fn find(
    testbed: &Testbed,
    direction: &Direction,
    octets: u16,
    flows: u32,
    profile: Profile,
) -> Result<Option<Found>> {
    let Some(size) = direction.size(octets) else {
        return Ok(None);
    };
    let mut bench = Bench::new(testbed, direction, size, flows, profile)?;
    let ceiling = bench.alone.ceiling.rate();
    if !is_punctual(&mut bench)? {
        return Err(late(size));
    }
    let most = match profile {
        Profile::Smoke => near(&mut bench, u64::from(flows), ceiling)?,
        Profile::Standard | Profile::Rfc => ceiling,
    };
    let range = Range {
        least: LEAST,
        most: most.max(2.0 * LEAST),
    };
    let trial = |offer: Offer| bench.offer(offer);
    let (rate, limit) = match profile {
        Profile::Smoke => {
            let found = by_halves(range, 0.2, [20, 50]).run(trial)?;
            (found.rate, found.limit)
        }
        Profile::Standard => {
            let (found, _) = mlr::search(range, &[GOAL], trial)?;
            (found[0].rate, found[0].limit)
        }
        Profile::Rfc => {
            let found = by_halves(range, 0.01, [1000, 60_000]).run(trial)?;
            (found.rate, found.limit)
        }
    };
    if rate.is_none() && limit == Limit::Sender {
        return Err(late(size));
    }
    Ok(Some(Found {
        direction: *direction,
        octets,
        size,
        rate,
        limit,
        ceiling,
    }))
}

/// Returns whether the lowest rate of interest can be sent on time. On a busy machine a search would only take longer
/// to find out that it cannot.
fn is_punctual(bench: &mut Bench) -> Result<bool> {
    let least = Offer {
        rate: LEAST,
        duration: Duration::from_millis(50),
    };
    for _ in 0..PATIENCE {
        if bench.offer(least)?.void.is_none() {
            return Ok(true);
        }
    }
    Ok(false)
}

fn late(size: FrameSize) -> LabError {
    LabError::Tester(format!(
        "frames of {size} octets could not be sent on time, not even {LEAST} in a second"
    ))
}

/// Returns a rate slightly above the result, in frames per second: the forwarding rate under a moderate overload. A
/// heavy one could keep a gateway from its work.
fn near(bench: &mut Bench, flows: u64, ceiling: f64) -> Result<f64> {
    let flood = bench.burst(OVERLOAD.max(flows))?;
    let forwarded = flood.streams.iter().map(|stream| stream.received_rate);
    Ok((2.0 * forwarded.fold(0.0, f64::max)).clamp(ceiling / 20.0, ceiling))
}

/// No loss in most of half a second, in trials of a tenth: CSIT's goal with shorter times and a wider result.
const GOAL: Goal = Goal {
    loss_ratio: 0.0,
    exceed_ratio: 0.5,
    width: 0.02,
    initial: Duration::from_millis(50),
    full: Duration::from_millis(100),
    sum: Duration::from_millis(500),
};

/// Returns the search of RFC 2544 section 26.1, with short and full trials of this many milliseconds.
///
fn by_halves(range: Range, width: f64, [short, full]: [u64; 2]) -> Search {
    Search {
        range,
        width,
        short: Duration::from_millis(short),
        full: Duration::from_millis(full),
    }
}

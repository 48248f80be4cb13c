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
    figures::results::{Point, SearchLimits, Width},
    traffic::{
        generator::FrameSize,
        tester::{
            TrialResult,
            search::{
                Limit, Offer, Range,
                mlr::{self, Goal},
                throughput::Search,
            },
        },
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
    /// The place of its point on the axis.
    at: f64,
    /// The size of RFC 8219.
    pub(super) octets: u16,
    /// The size of the frames.
    pub(super) size: FrameSize,
    /// Frames per second; absent if even the lowest rate of interest was too much.
    pub(super) rate: Option<f64>,
    pub(super) limit: Limit,
    /// The limits of its search.
    limits: SearchLimits,
    /// The tester's own rate.
    pub(super) ceiling: f64,
}

/// Measures by the size of frames. If both hosts send, each sends at that rate.
pub(crate) fn by_size(testbed: &mut Testbed, profile: Profile) -> Result<Vec<Point>> {
    let mut found = all(testbed, profile)?;
    if let Some(direction) = both_ways(&directions(testbed, profile)?) {
        for octets in sizes(profile) {
            found.extend(find(testbed, &direction, *octets, FLOWS, *octets, profile)?);
        }
    }
    Ok(found.iter().map(Found::point).collect())
}

/// Measures at the size of paper 001.
pub(crate) fn of_1024(testbed: &mut Testbed, profile: Profile) -> Result<Vec<Point>> {
    let mut points = Vec::new();
    for direction in directions(testbed, profile)? {
        let found = find(testbed, &direction, PAPER_001, FLOWS, 0_u16, profile)?;
        points.extend(found.as_ref().map(Found::point));
    }
    Ok(points)
}

/// Measures by the number of flows (RFC 8219 section 10), in the smallest frames.
pub(crate) fn by_flows(testbed: &mut Testbed, profile: Profile) -> Result<Vec<Point>> {
    let most = most_flows(testbed.subject());
    let mut points = Vec::new();
    for direction in directions(testbed, profile)? {
        for flows in SCALE.into_iter().filter(|flows| *flows <= most) {
            let found = find(testbed, &direction, 64, flows, flows, profile)?;
            points.extend(found.as_ref().map(Found::point));
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
    testbed.once(|testbed| {
        let mut all = Vec::new();
        for direction in directions(testbed, profile)? {
            for octets in sizes(profile) {
                all.extend(find(testbed, &direction, *octets, FLOWS, *octets, profile)?);
            }
        }
        Ok(all)
    })
}

impl Found {
    fn point(&self) -> Point {
        Point::new(self.direction.series, self.at, self.rate.unwrap_or(0.0))
            .with_ceiling(self.ceiling)
            .found_by(self.limits)
    }
}

/// Returns the highest rate without loss (NDR), for the point at a place on the axis; `None` if frames of this size do not
/// fit the links.
fn find(
    testbed: &Testbed,
    direction: &Direction,
    octets: u16,
    flows: u32,
    at: impl Into<f64>,
    profile: Profile,
) -> Result<Option<Found>> {
    let Some(size) = direction.size(octets) else {
        return Ok(None);
    };
    let at = at.into();
    let mut bench = Bench::new(testbed, direction, size, flows, profile)?.at(at);
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
    let method = Method::of(profile, range);
    let (rate, limit) = method.run(|offer| bench.offer(offer))?;
    if rate.is_none() && limit == Limit::Sender {
        return Err(late(size));
    }
    Ok(Some(Found {
        direction: *direction,
        at,
        octets,
        size,
        rate,
        limit,
        limits: method.limits(),
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

/// The method of a profile.
enum Method {
    /// The binary search of RFC 2544 section 26.1, quick or full.
    Halves(Search),
    /// MLRsearch with [`GOAL`].
    Mlr(Range),
}

impl Method {
    fn of(profile: Profile, range: Range) -> Self {
        match profile {
            Profile::Smoke => Self::halves(range, 0.2, [20, 50]),
            Profile::Standard => Self::Mlr(range),
            Profile::Rfc => Self::halves(range, 0.01, [1000, 60_000]),
        }
    }

    /// Returns the binary search with short and full trials of this many milliseconds.
    fn halves(range: Range, width: f64, [short, full]: [u64; 2]) -> Self {
        Self::Halves(Search {
            range,
            width,
            short: Duration::from_millis(short),
            full: Duration::from_millis(full),
        })
    }

    fn run(&self, trial: impl FnMut(Offer) -> Result<TrialResult>) -> Result<(Option<f64>, Limit)> {
        match self {
            Self::Halves(search) => search.run(trial).map(|found| (found.rate, found.limit)),
            Self::Mlr(range) => {
                let (found, _) = mlr::search(*range, &[GOAL], trial)?;
                Ok((found[0].rate, found[0].limit))
            }
        }
    }

    fn limits(&self) -> SearchLimits {
        match self {
            Self::Halves(search) => search.limits(),
            Self::Mlr(range) => SearchLimits {
                least: range.least,
                most: Some(range.most),
                width: Width::Share(GOAL.width),
                loss: GOAL.loss_ratio,
                exceed: GOAL.exceed_ratio,
                seconds: Some(GOAL.full.as_secs_f64()),
            },
        }
    }
}

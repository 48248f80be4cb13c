//! Loss over the load (RFC 2544 section 26.3), and the longest burst without any (section 26.4, RFC 9004).

use std::time::Duration;

use super::{
    super::super::{profile::Profile, testbed::Testbed},
    Bench, FLOWS, directions,
    throughput::all,
};
use crate::{
    LabError, Result,
    figures::results::{Point, SearchLimits, Width},
    traffic::{
        generator::BATCH,
        tester::search::{
            burst,
            loss::{TENTHS, curve},
        },
    },
};

/// Loads below a tenth of the tester's own rate, where gateways in user space have their limit.
const BELOW: [f64; 4] = [0.05, 0.02, 0.01, 0.005];
/// The loads of `smoke`.
const FEW: [f64; 3] = [0.5, 0.05, 0.01];
/// The smallest frames, which are the hardest load; RFC 2544 has a line for each size.
const OCTETS: u16 = 64;

/// Returns the share of frames that is lost, over the load in percent of the tester's own rate.
pub(crate) fn by_load(testbed: &mut Testbed, profile: Profile) -> Result<Vec<Point>> {
    let shares = match profile {
        Profile::Smoke => FEW.to_vec(),
        Profile::Standard | Profile::Rfc => [&TENTHS[..], &BELOW].concat(),
    };
    let duration = match profile {
        Profile::Smoke => Duration::from_millis(50),
        Profile::Standard => Duration::from_secs(1),
        // RFC 2544 section 24.
        Profile::Rfc => Duration::from_secs(60),
    };
    let mut points = Vec::new();
    let mut void = None;
    for direction in directions(testbed, profile)? {
        let Some(size) = direction.size(OCTETS) else {
            continue;
        };
        let mut bench = Bench::new(testbed, &direction, size, FLOWS, profile)?;
        let most = bench.alone.ceiling.rate();
        for trial in curve(most, &shares, duration, |offer| bench.offer(offer))? {
            match trial.void {
                None => {
                    let percent = (trial.rate / most * 1000.0).round() / 10.0;
                    let point = Point::new(direction.series, percent, trial.loss_ratio);
                    points.push(point.offered(trial.rate));
                }
                Some(why) => void = Some(why),
            }
        }
    }
    match void {
        Some(why) if points.is_empty() => Err(LabError::Tester(why.to_string())),
        _ => Ok(points),
    }
}

/// Returns the longest burst at the sender's full rate that arrives whole, and the buffer that follows from it, both
/// in frames.
pub(crate) fn back_to_back(testbed: &mut Testbed, profile: Profile) -> Result<Vec<Point>> {
    let (most, repeats) = match profile {
        Profile::Smoke => (20_000, 1),
        Profile::Standard => (200_000, 3),
        // RFC 2544 section 26.4 asks for 50; a run repeats this twenty times.
        Profile::Rfc => (2_000_000, 3),
    };
    let search = burst::Search {
        most,
        step: u64::from(BATCH),
        losses: 2,
        repeats,
    };
    let limits = SearchLimits {
        least: 0.0,
        most: Some(most as f64),
        width: Width::Difference(search.step as f64),
        loss: 0.0,
        exceed: 0.0,
        seconds: None,
    };
    let mut points = Vec::new();
    for found in all(testbed, profile)? {
        let bench = Bench::new(testbed, &found.direction, found.size, FLOWS, profile)?;
        let mut bench = bench.at(found.octets);
        let Some(bursts) = search.run(|frames| bench.burst(frames))? else {
            continue;
        };
        let (series, at) = (found.direction.series, f64::from(found.octets));
        let mean = Point {
            samples: repeats as u64,
            ..Point::new(series, at, bursts.summary.mean)
        };
        points.push(mean.with_ceiling(most as f64).found_by(limits));
        // A burst at the end of the search reveals no buffer.
        if bursts.summary.mean < most as f64 {
            let buffer = bursts.buffer(found.rate.unwrap_or(0.0), found.ceiling);
            points.push(Point::new(&format!("{series} buffer"), at, buffer.frames));
        }
    }
    Ok(points)
}

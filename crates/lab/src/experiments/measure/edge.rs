//! A load at a slow edge, which serves four experiments at once: payload that arrives, loss, jitter, and the processor of
//! the edge.

use std::time::Duration;

use super::{
    super::{profile::Profile, testbed::Testbed},
    each::apart,
    frames::steady::{self, Offer, STEADY, Steady},
    udp::{SIZES, load},
};
use crate::{
    Result,
    figures::results::{Gap, Point},
};

/// The least length of a load: the clock of the edge has a resolution of ten milliseconds, and its queues take a tenth of a
/// second to fill.
const LEAST: Duration = Duration::from_secs(4);
/// The time that a datagram may take: a thousand wait in front of the edge, some hundreds in it, and the slowest one forwards
/// six thousand in a second.
const TIMEOUT: Duration = Duration::from_secs(3);

/// The results of all sizes.
#[derive(Debug, Default, Clone)]
pub struct AtEdge {
    sizes: Vec<OfSize>,
    gaps: Vec<Gap>,
}

/// The result of one size of payload.
#[derive(Debug, Clone, Copy)]
struct OfSize {
    octets: u32,
    steady: Steady,
    /// The share of the time for which the processor of the edge was busy.
    busy: f64,
}

/// Returns the length of a load.
fn length(profile: Profile) -> Duration {
    profile.length().max(LEAST)
}

/// Estimates a measurement of all sizes and the start of the machine, in seconds.
pub(crate) fn takes(profile: Profile) -> f64 {
    const START: f64 = 25.0;
    let sizes = profile.thin(&SIZES).len() as f64;
    START + sizes * (length(profile) + TIMEOUT).as_secs_f64()
}

/// Measures all sizes, once for a testbed.
fn all(testbed: &mut Testbed, profile: Profile) -> Result<AtEdge> {
    testbed.once(|testbed| {
        let duration = length(profile);
        let (sizes, gaps) = apart(&profile.thin(&SIZES), |octets| {
            let offer = Offer {
                octets,
                rate: load(octets),
                duration,
                timeout: Some(TIMEOUT),
            };
            let send = || steady::send(testbed, profile, &offer);
            let (steady, busy) = testbed.edge()?.watch(duration, send)?;
            Ok(vec![OfSize {
                octets,
                steady,
                busy,
            }])
        })?;
        Ok(AtEdge { sizes, gaps })
    })
}

/// Returns a value for each size.
fn points(
    testbed: &mut Testbed,
    profile: Profile,
    value: impl Fn(&OfSize) -> Option<f64>,
) -> Result<Vec<Point>> {
    let AtEdge { sizes, gaps } = all(testbed, profile)?;
    testbed.leave_out(gaps);
    let point = |one: &OfSize| {
        let value = value(one)?;
        Some(Point::new(STEADY, f64::from(one.octets), value).offered(load(one.octets)))
    };
    Ok(sizes.iter().filter_map(point).collect())
}

/// Returns the payload that arrived, in bits per second.
pub(crate) fn throughput(testbed: &mut Testbed, profile: Profile) -> Result<Vec<Point>> {
    points(testbed, profile, |one| {
        Some(one.steady.delivered() * f64::from(8 * one.octets))
    })
}

/// Returns the share that did not arrive.
pub(crate) fn loss(testbed: &mut Testbed, profile: Profile) -> Result<Vec<Point>> {
    points(testbed, profile, |one| Some(one.steady.loss()))
}

/// Returns the jitter (RFC 3550 section 6.4.1), in seconds.
pub(crate) fn jitter(testbed: &mut Testbed, profile: Profile) -> Result<Vec<Point>> {
    points(testbed, profile, |one| one.steady.jitter)
}

/// Returns the share of the time for which the edge's processor was busy.
pub(crate) fn cpu(testbed: &mut Testbed, profile: Profile) -> Result<Vec<Point>> {
    points(testbed, profile, |one| Some(one.busy))
}

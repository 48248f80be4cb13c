//! Latency, PDV and IPDV at the rates without loss (RFC 8219 sections 7.2 and 7.3). All frames are tagged and count.

use std::{iter, time::Duration};

use super::{
    super::{
        super::{profile::Profile, testbed::Testbed},
        alone,
    },
    Bench, FLOWS,
    throughput::{Found, all},
};
use crate::{
    LabError, Result,
    figures::results::{Point, Raw},
    traffic::tester::{
        Delay,
        search::{
            Limit, Offer,
            delay::{Delays, repeat},
        },
    },
};

/// The share of the rate that lone frames can reach at which they are sent: at all of it every frame would be late.
const SENDABLE: f64 = 0.9;
/// The shares of the rate without loss at which delays are measured, if a higher one could not be sent on time after all.
const LOWER: [f64; 3] = [0.5, 0.25, 0.1];

/// The delays of one direction and size.
#[derive(Debug, Clone)]
pub(crate) struct Timed {
    series: &'static str,
    octets: u16,
    delays: Delays,
    /// The delays by steps: the least of each step in nanoseconds, and the number of frames.
    steps: Vec<(u64, u64)>,
    /// The rate without loss, in frames per second of each sender.
    rate: f64,
    /// The share of it that was offered.
    share: f64,
    /// The tester's own delays at the same load; absent if it could not send that on time alone.
    own: Option<Delay>,
}

/// Returns TL and WCL: the median of the delays, and the 99.9th percentile.
pub(crate) fn latency(testbed: &mut Testbed, profile: Profile) -> Result<Vec<Point>> {
    points(testbed, profile, |timed| {
        vec![
            timed.point("", timed.delays.typical.median, |own| own.median),
            timed.point("99.9 %", timed.delays.worst_case.median, |own| own.p999),
        ]
    })
}

/// Returns PDV: the 99.9th percentile less the least delay.
pub(crate) fn pdv(testbed: &mut Testbed, profile: Profile) -> Result<Vec<Point>> {
    points(testbed, profile, |timed| {
        vec![timed.point("", timed.delays.pdv.median, Delay::pdv)]
    })
}

/// Returns IPDV: the least, the median and the greatest difference from frame to frame.
pub(crate) fn ipdv(testbed: &mut Testbed, profile: Profile) -> Result<Vec<Point>> {
    points(testbed, profile, |timed| {
        let values = timed.delays.ipdv.iter().flatten();
        let names = ["least", "median", "most"].iter();
        let both = values.zip(names);
        both.map(|(value, name)| {
            let at = f64::from(timed.octets);
            Point::new(&timed.series(name), at, value.median / 1e9).at_load(timed.share, timed.rate)
        })
        .collect()
    })
}

impl Timed {
    fn series(&self, part: &str) -> String {
        format!("{} {part}", self.series).trim_end().to_owned()
    }

    /// Returns a time in nanoseconds, with the tester's own.
    fn point(&self, part: &str, value: f64, own: impl Fn(&Delay) -> f64) -> Point {
        let point = Point::new(&self.series(part), f64::from(self.octets), value / 1e9)
            .at_load(self.share, self.rate);
        // The parts of a direction have its delays.
        let point = if part.is_empty() {
            let steps = self.steps.iter();
            let steps = steps.map(|(delay, frames)| (*delay as f64 / 1e9, *frames));
            point.with_raw(Raw::Steps(steps.collect()))
        } else {
            point
        };
        match &self.own {
            Some(delay) => point.with_ceiling(own(delay) / 1e9),
            None => point,
        }
    }
}

fn points(
    testbed: &mut Testbed,
    profile: Profile,
    of: impl Fn(&Timed) -> Vec<Point>,
) -> Result<Vec<Point>> {
    let found = all(testbed, profile)?;
    let timed = testbed.once(|testbed| {
        let mut timed = Vec::new();
        for found in &found {
            timed.extend(time(testbed, found, profile)?);
        }
        if timed.is_empty() {
            return Err(LabError::Tester(
                "there is no rate without loss at which delays could be measured".into(),
            ));
        }
        Ok(timed)
    })?;
    Ok(timed.iter().flat_map(of).collect())
}

/// Returns the length of a trial. The repetitions of a run are those that RFC 8219 asks for.
fn length(profile: Profile) -> Duration {
    match profile {
        Profile::Smoke => Duration::from_millis(100),
        Profile::Standard => Duration::from_secs(2),
        // RFC 8219 section 7.2.
        Profile::Rfc => Duration::from_secs(120),
    }
}

/// Returns the shares of a rate without loss at which to measure, the best first. Frames of a batch cost the sender less than
/// lone ones, so that all of the rate may be more than these can reach.
fn shares(rate: f64, lone_rate: f64) -> impl Iterator<Item = f64> {
    let first = (SENDABLE * lone_rate / rate).min(1.0);
    iter::once(first).chain(LOWER.into_iter().filter(move |share| *share < first))
}

/// Measures the delays of a direction and size; `None` if there is no rate without loss.
fn time(testbed: &Testbed, found: &Found, profile: Profile) -> Result<Option<Timed>> {
    let Some(rate) = found.rate else {
        return Ok(None);
    };
    let streams = found.direction.streams(found.size, FLOWS);
    let bench = Bench::new(testbed, &found.direction, found.size, FLOWS, profile)?;
    let mut bench = bench.at(found.octets);
    let duration = length(profile);
    let lone_rate = match found.limit {
        // The subject is slower than the sender, whose core is another one: nobody overloads it just before.
        Limit::Loss => f64::INFINITY,
        Limit::Sender | Limit::Most | Limit::Least => bench.lone_rate()?,
    };
    for share in shares(rate, lone_rate) {
        let offer = Offer {
            rate: rate * share,
            duration,
        };
        let mut steps = Vec::new();
        let mut delays = repeat(1, || {
            let result = bench.time(offer)?;
            let delay = result
                .streams
                .first()
                .and_then(|stream| stream.delay.clone());
            steps = delay.map(|delay| delay.steps).unwrap_or_default();
            Ok(result)
        })?;
        if let Some(delays) = delays.pop() {
            return Ok(Some(Timed {
                series: found.direction.series,
                octets: found.octets,
                delays,
                steps,
                rate,
                share,
                own: alone::delay(&streams, offer)?,
            }));
        }
    }
    Err(LabError::Tester(format!(
        "frames of {} octets could not be sent on time to measure their delay, at no share of {rate:.0} in a second",
        found.size
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_share_is_the_most_that_lone_frames_can_reach() {
        let all = |rate, lone_rate| shares(rate, lone_rate).collect::<Vec<_>>();
        // A process on another core: the sender could do more.
        assert_eq!(all(150e3, f64::INFINITY), [1.0, 0.5, 0.25, 0.1]);
        assert_eq!(all(150e3, 1e6), [1.0, 0.5, 0.25, 0.1]);
        // Forwarding on the sender's core.
        assert_eq!(all(1e6, 500e3), [0.45, 0.25, 0.1]);
        assert_eq!(all(4e6, 1e6), [0.225, 0.1]);
        // It is tried, however low it is.
        assert_eq!(all(4e6, 100e3), [0.0225]);
    }
}

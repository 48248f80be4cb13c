//! The time for which frames are lost: after an overload (RFC 2544 section 26.5), and during a restart of a gateway
//! (RFC 6201 section 4.2).

use std::time::Duration;

use super::{
    super::super::{
        profile::Profile,
        subject::{Maker, Setup, Subject},
        testbed::Testbed,
    },
    Bench, FLOWS, LEAST, directions,
    throughput::all,
};
use crate::{
    LabError, Result,
    figures::results::Point,
    network::threads::join,
    traffic::tester::{
        TrialResult,
        search::{Limit, Offer, recovery::legs},
    },
};

/// The rate at which an outage is watched, in frames per second. It resolves a tenth of a millisecond, and every
/// subject forwards it during its own start.
const WATCH: f64 = 10_000.0;
/// The smallest frame of RFC 8219.
const OCTETS: u16 = 64;

/// Measures recovery after an overload of 110 % of the throughput, at half of that load.
pub(crate) fn recovery(testbed: &mut Testbed, profile: Profile) -> Result<Vec<Point>> {
    let duration = match profile {
        Profile::Smoke => Duration::from_millis(200),
        Profile::Standard => Duration::from_secs(2),
        // RFC 2544 section 26.5.
        Profile::Rfc => Duration::from_secs(60),
    };
    let mut points = Vec::new();
    let mut shared = false;
    for found in all(testbed, profile)? {
        let Some(rate) = found.rate else { continue };
        if found.limit == Limit::Sender {
            shared = true;
            continue;
        }
        let mut bench = Bench::new(testbed, &found.direction, found.size, FLOWS, profile)?;
        let legs = legs(rate, found.ceiling, duration);
        let timeout = bench.timeout;
        let Some(times) = bench.tester.recovery(&legs, timeout)? else {
            shared = true;
            continue;
        };
        let (series, at) = (found.direction.series, f64::from(found.octets));
        let point = |time: &Duration| Point::new(series, at, time.as_secs_f64());
        points.extend(times.iter().map(point));
    }
    if points.is_empty() && shared {
        return Err(LabError::Tester(
            "it could not be overloaded: the sender was late, whose core it shares".into(),
        ));
    }
    Ok(points)
}

/// Selects the subjects whose process can be restarted between two hosts: ours. TAYGA's link outlives its process
/// here.
pub(crate) fn can_be_reset(subject: &Subject) -> bool {
    let is_ours = matches!(subject.maker, Maker::Isthmus(_));
    super::is_known(subject) && is_ours && matches!(subject.setup, Setup::Middle(..))
}

/// Measures a reset: from the last frame before the gateway's end to the first one after its restart.
pub(crate) fn reset(testbed: &mut Testbed, profile: Profile) -> Result<Vec<Point>> {
    // RFC 6201 section 4: frames are forwarded for 15 seconds before.
    let (before, after) = match profile {
        Profile::Smoke => (Duration::from_millis(300), Duration::from_secs(5)),
        Profile::Standard => (Duration::from_secs(2), Duration::from_secs(10)),
        Profile::Rfc => (Duration::from_secs(15), Duration::from_secs(45)),
    };
    let Some(direction) = directions(testbed, profile)?.into_iter().next() else {
        return Ok(Vec::new());
    };
    let Some(size) = direction.size(OCTETS) else {
        return Ok(Vec::new());
    };
    let mut bench = Bench::new(testbed, &direction, size, FLOWS, profile)?;
    let offer = Offer {
        rate: WATCH,
        duration: before + after,
    };
    let (result, restarted) = std::thread::scope(|scope| {
        let sender = scope.spawn(|| bench.offer(offer));
        std::thread::sleep(before);
        let restarted = testbed.restart();
        (join(sender), restarted)
    });
    restarted?;
    let time = silence(&result?)?;
    // The gateway must work as before.
    let again = bench.offer(Offer {
        rate: LEAST,
        duration: Duration::from_millis(100),
    })?;
    if again.received() == 0 {
        return Err(LabError::SelfCheck {
            what: format!("{} after its new start", testbed.subject()),
            sent: again.sent(),
            received: 0,
            invalid: 0,
        });
    }
    Ok(vec![Point::new(direction.series, 0.0, time.as_secs_f64())])
}

/// Returns the longest time without a frame, if it is longer than the pauses of the sender.
fn silence(result: &TrialResult) -> Result<Duration> {
    if let Some(void) = &result.void {
        return Err(LabError::Tester(void.to_string()));
    }
    let longest = result.streams.iter().map(|stream| {
        if stream.lost() == 0 {
            0
        } else {
            stream.arrivals.silence_ns
        }
    });
    Ok(Duration::from_nanos(longest.max().unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::tester::{Arrivals, StreamResult, Void};

    fn trial(received: u64, silence_ns: u64) -> TrialResult {
        let arrivals = Arrivals {
            received,
            silence_ns,
            ..Arrivals::default()
        };
        TrialResult {
            rate: WATCH,
            size: 64,
            streams: vec![StreamResult {
                sent: 100,
                arrivals,
                ..StreamResult::default()
            }],
            void: None,
        }
    }

    #[test]
    fn only_with_loss_is_silence_an_outage() {
        assert_eq!(silence(&trial(100, 5000)).unwrap(), Duration::ZERO);
        let time = silence(&trial(60, 4_000_000)).unwrap();
        assert_eq!(time, Duration::from_millis(4));
        let late = TrialResult {
            void: Some(Void::SentSlowly {
                rate: 1.0,
                asked: 2.0,
            }),
            ..trial(60, 4_000_000)
        };
        assert!(matches!(silence(&late), Err(LabError::Tester(_))));
    }
}

//! How long frames are lost: after an overload (RFC 2544 section 26.5), and while a gateway is ended and started anew
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
    results::Point,
    tester::{
        TrialResult,
        search::{Limit, Offer, recovery::legs},
    },
};

/// The rate at which an outage is watched, in frames per second: it tells a tenth of a millisecond, and is what
/// every subject forwards beside its own start.
const WATCH: f64 = 10_000.0;
/// Frames of the smallest size that RFC 8219 has.
const OCTETS: u16 = 64;

/// After an overload of 110 % of the throughput, at half of that load.
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

/// Whose process can be ended and started anew between two hosts: ours. TAYGA's link outlives it here.
pub(crate) fn can_be_reset(subject: &Subject) -> bool {
    let is_ours = matches!(subject.maker, Maker::Isthmus(_));
    super::is_known(subject) && is_ours && matches!(subject.setup, Setup::Middle(..))
}

/// From the last frame before the gateway's end to the first one behind its new start.
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
        let result = sender.join();
        let result = result.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        (result, restarted)
    });
    restarted?;
    let time = silence(&result?)?;
    // It works as before.
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

/// The longest time without a frame, if that is more than the pauses of the sender.
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
    use crate::tester::{Arrivals, StreamResult, Void};

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

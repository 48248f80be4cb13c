//! The verdict about an application, from what it saw through a mechanism and what it saw natively at the same time.

use std::time::Duration;

use super::{Outcome, Stream};

/// The share of packets of a stream that may be lost, where nearly none is lost natively.
const LOST: f64 = 0.02;
/// The share of packets that may be lost natively, if a loss is to say anything.
const LOST_NATIVELY: f64 = 0.002;
/// The lateness that a stream may have beyond that of the native one.
const LATE: Duration = Duration::from_millis(20);
/// The lateness that a native stream may have, if lateness is to say anything.
const LATE_NATIVELY: Duration = Duration::from_millis(10);
/// The time by which the quickest of several beginnings may exceed the slowest native one.
const SLOW: Duration = Duration::from_millis(500);
/// The time after which the queue before a gateway that waits would be full.
const LOSES: Duration = Duration::from_millis(500);
/// The number of times that a native beginning may take.
const TIMES: u32 = 3;

/// The verdict about an application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It works.
    Works,
    /// It works, but badly, for this reason.
    Degraded(String),
    /// It does not work, for this reason.
    Fails(String),
    /// It cannot be told, for this reason.
    Untold(String),
    /// It was not tried here, for this reason.
    NotAsked(String),
}

/// The path as an application that works has seen it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Seen {
    /// The time from the user's wish to its fulfilment, of each time that it was tried.
    pub beginnings: Vec<Duration>,
    /// The stream of packets, if there is one.
    pub stream: Option<Stream>,
}

impl From<()> for Seen {
    fn from((): ()) -> Self {
        Self::default()
    }
}

impl From<Stream> for Seen {
    fn from(stream: Stream) -> Self {
        Self {
            stream: Some(stream),
            ..Self::default()
        }
    }
}

/// A quality that is worse through the mechanism than natively.
struct Worse {
    /// How much.
    words: String,
    /// The time that the gateway would have had to wait for a processor, to be the cause.
    excess: Duration,
    /// Whether the native path is good enough to say so.
    comparable: bool,
}

/// Judges an outcome by the native one. Meanwhile, the gateways' processes have waited for a processor for so long: what
/// other work has done to them is not the mechanism's.
pub(super) fn judge(through: Outcome, natively: &Outcome, waited: Duration) -> Verdict {
    match (through, natively) {
        (Outcome::NotAsked(why), _) => Verdict::NotAsked(why),
        (Outcome::Fails(why), Outcome::Works(_)) => Verdict::Fails(why),
        (Outcome::Fails(_), Outcome::Fails(why) | Outcome::NotAsked(why)) => {
            Verdict::Untold(format!("natively it fails too: {why}"))
        }
        (Outcome::Works(seen), Outcome::Works(native)) => {
            match compare_streams(&seen, native).or_else(|| compare_beginnings(&seen, native)) {
                None => Verdict::Works,
                Some(worse) if !worse.comparable => Verdict::Untold(worse.words),
                Some(worse) if waited >= worse.excess => Verdict::Untold(format!(
                    "{}; the gateways were kept from working for {}",
                    worse.words,
                    seconds(waited)
                )),
                Some(worse) => Verdict::Degraded(worse.words),
            }
        }
        (Outcome::Works(_), Outcome::Fails(_) | Outcome::NotAsked(_)) => Verdict::Works,
    }
}

fn compare_beginnings(seen: &Seen, native: &Seen) -> Option<Worse> {
    let quickest = *seen.beginnings.iter().min()?;
    let slowest = *native.beginnings.iter().max()?;
    (quickest > slowest * TIMES + SLOW).then(|| Worse {
        words: format!(
            "it takes {} or more, natively {} at most",
            seconds(quickest),
            seconds(slowest)
        ),
        excess: quickest - slowest,
        comparable: true,
    })
}

fn compare_streams(seen: &Seen, native: &Seen) -> Option<Worse> {
    let (stream, native) = (seen.stream?, native.stream?);
    if stream.lost() > LOST {
        let [lost, of_native] = [stream, native].map(|stream| 100.0 * stream.lost());
        return Some(Worse {
            words: format!("{lost:.1} % is lost, natively {of_native:.1} %"),
            excess: LOSES,
            comparable: native.lost() <= LOST_NATIVELY,
        });
    }
    (stream.late > native.late + LATE).then(|| Worse {
        words: format!(
            "1 % is {} late or more, natively {}",
            seconds(stream.late),
            seconds(native.late)
        ),
        excess: stream.late - native.late,
        comparable: native.late <= LATE_NATIVELY,
    })
}

/// Formats a time.
fn seconds(time: Duration) -> String {
    match time.as_secs_f64() {
        short if short < 1.0 => format!("{:.0} ms", short * 1000.0),
        long => format!("{long:.1} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDLE: Duration = Duration::ZERO;

    fn stream(came: u32, late: u64) -> Outcome {
        Outcome::Works(Seen::from(Stream {
            sent: 1000,
            came,
            late: Duration::from_millis(late),
        }))
    }

    fn begun(milliseconds: &[u64]) -> Outcome {
        let beginnings = milliseconds.iter().copied();
        Outcome::Works(Seen {
            beginnings: beginnings.map(Duration::from_millis).collect(),
            stream: None,
        })
    }

    #[test]
    fn what_natively_fails_says_nothing_of_the_mechanism() {
        let fails = Outcome::Fails("no answer".into());
        let verdict = judge(fails.clone(), &fails, IDLE);
        assert_eq!(
            verdict,
            Verdict::Untold("natively it fails too: no answer".into())
        );
        let verdict = judge(fails, &begun(&[1]), IDLE);
        assert_eq!(verdict, Verdict::Fails("no answer".into()));
    }

    #[test]
    fn a_stream_is_degraded_only_if_the_native_one_is_good() {
        assert_eq!(
            judge(stream(1000, 3), &stream(1000, 1), IDLE),
            Verdict::Works
        );
        let lossy = judge(stream(900, 3), &stream(1000, 1), IDLE);
        assert_eq!(
            lossy,
            Verdict::Degraded("10.0 % is lost, natively 0.0 %".into())
        );
        let busy = judge(stream(900, 3), &stream(950, 1), IDLE);
        assert_eq!(
            busy,
            Verdict::Untold("10.0 % is lost, natively 5.0 %".into())
        );
        let late = judge(stream(1000, 60), &stream(1000, 1), IDLE);
        let words = "1 % is 60 ms late or more, natively 1 ms";
        assert_eq!(late, Verdict::Degraded(words.into()));
        let busy = judge(stream(1000, 60), &stream(1000, 30), IDLE);
        assert!(matches!(busy, Verdict::Untold(_)));
    }

    #[test]
    fn what_a_busy_machine_does_to_a_gateway_is_no_verdict() {
        let waited = Duration::from_millis(80);
        let late = judge(stream(1000, 60), &stream(1000, 1), waited);
        let words = "1 % is 60 ms late or more, natively 1 ms; the gateways were kept from working for 80 ms";
        assert_eq!(late, Verdict::Untold(words.into()));
        let later = judge(stream(1000, 160), &stream(1000, 1), waited);
        assert!(matches!(later, Verdict::Degraded(_)), "{later:?}");
    }

    #[test]
    fn one_slow_beginning_is_no_verdict() {
        let native = begun(&[100, 200]);
        assert_eq!(
            judge(begun(&[1500, 300, 1400]), &native, IDLE),
            Verdict::Works
        );
        let slow = judge(begun(&[1500, 1300, 1400]), &native, IDLE);
        let words = "it takes 1.3 s or more, natively 200 ms at most";
        assert_eq!(slow, Verdict::Degraded(words.into()));
    }
}

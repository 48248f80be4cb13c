//! The tester's own figures, which are shown next to every figure.

use std::{
    mem::{Discriminant, discriminant},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use crate::{
    Result,
    experiments::validity::TRIES,
    traffic::{
        generator::FrameSize,
        packet::Form,
        tester::{
            Ceiling, Delay, Extent, SingleDevice, Streams, Traffic, Trial, TrialResult,
            search::Offer,
        },
    },
};

/// The longest time for which the tester's own delay is measured.
const LONGEST: Duration = Duration::from_millis(200);

/// The tester's figures on the path of a gateway that only redirects frames.
#[derive(Debug, Clone)]
pub(super) struct Alone {
    /// Frames per second, of each stream.
    pub(super) ceiling: Ceiling,
}

/// The shape of a stream, on which the figures depend: form, size and number of flows.
type Shape = (Form, FrameSize, usize);
/// The figures that this process has measured.
static KNOWN: Mutex<Vec<(Vec<Shape>, Alone)>> = Mutex::new(Vec::new());

impl Alone {
    /// Returns the figures for these streams. They are measured once for each shape, since that takes seconds.
    pub(super) fn of(streams: &Streams) -> Result<Self> {
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let shape = shape(streams);
        if let Some((_, alone)) = known.iter().find(|(one, _)| *one == shape) {
            return Ok(alone.clone());
        }
        let ceiling = Ceiling::measure(streams)?;
        let alone = Self {
            ceiling: Ceiling::new(ceiling.rate() / shape.len() as f64),
        };
        known.push((shape, alone.clone()));
        Ok(alone)
    }
}

/// The path of the last delay, which serves the next one of the same streams: to build it takes longer than to measure.
static LAST: Mutex<Option<(Kind, SingleDevice)>> = Mutex::new(None);
/// The direction of streams, and their shapes.
type Kind = (Discriminant<Streams>, Vec<Shape>);

/// Returns the tester's own delay at a load; `None` if it cannot send that on time. It is measured for each figure that it
/// stands beside, since the machine is not the same all the time. Its path stays until [`forget`].
pub(super) fn delay(streams: &Streams, offer: Offer) -> Result<Option<Delay>> {
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    let kind = (discriminant(streams), shape(streams));
    let mut path = match last.take() {
        Some((known, path)) if known == kind => path,
        other => {
            drop(other);
            SingleDevice::bare(streams)?
        }
    };
    let trial = Trial {
        rate: offer.rate,
        extent: Extent::Time(offer.duration.min(LONGEST)),
        timeout: Duration::from_secs(1),
    };
    let delay = first_that_counts(|| path.tester().time(&trial))?;
    *last = Some((kind, path));
    Ok(delay)
}

/// Removes the path that is kept for the next delay.
pub(crate) fn forget() {
    *LAST.lock().unwrap_or_else(PoisonError::into_inner) = None;
}

/// Returns the delay of the first trial that is not void. A void trial says nothing about the tester and is done again.
fn first_that_counts(mut trial: impl FnMut() -> Result<TrialResult>) -> Result<Option<Delay>> {
    for _ in 0..TRIES {
        let mut result = trial()?;
        if result.void.is_none() {
            return Ok(result.streams.pop().and_then(|stream| stream.delay));
        }
    }
    Ok(None)
}

fn shape(streams: &Streams) -> Vec<Shape> {
    let shape = |traffic: &Traffic| {
        let flows = traffic.packets.len();
        (traffic.packets[0].form(), traffic.size, flows)
    };
    match streams {
        Streams::Rightward(one) | Streams::Leftward(one) | Streams::Observed(one) => {
            vec![shape(one)]
        }
        Streams::Both(one, other) => vec![shape(one), shape(other)],
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::{
        network::plan,
        traffic::{
            generator::{FIRST_PORT, PORT},
            packet::{Ends, Packet},
            tester::{StreamResult, Void},
        },
    };

    fn delay_of(median: f64) -> Delay {
        Delay {
            least: median,
            mean: median,
            p1: median,
            median,
            p99: median,
            p999: median,
            most: median,
            jitter: 0.0,
            steps: Vec::new(),
        }
    }

    fn trial(median: f64, void: bool) -> TrialResult {
        TrialResult {
            rate: 1.0,
            size: 64,
            streams: vec![StreamResult {
                delay: Some(delay_of(median)),
                ..StreamResult::default()
            }],
            void: void.then_some(Void::SentSlowly {
                rate: 1.0,
                asked: 2.0,
            }),
        }
    }

    #[test]
    fn a_void_trial_of_the_tester_alone_is_done_again() {
        let mut trials = [trial(900.0, true), trial(800.0, true), trial(7.0, false)].into_iter();
        let found = first_that_counts(|| Ok(trials.next().unwrap())).unwrap();
        assert_eq!(found, Some(delay_of(7.0)));
        let mut tried = 0;
        let found = first_that_counts(|| {
            tried += 1;
            Ok(trial(900.0, true))
        });
        assert_eq!((found.unwrap(), tried), (None, TRIES));
    }

    /// Frames of one flow, the smallest.
    fn one_flow() -> Streams {
        let ends = Ends::V4(plan::HOST6_AS_IPV4, plan::HOST4);
        Streams::Rightward(Traffic {
            packets: vec![Packet::new(ends, (FIRST_PORT, PORT))],
            size: FrameSize::least(Form::V4),
            arrives: Form::V4,
        })
    }

    /// Tests of the tier `timed`, which has the machine for itself.
    mod by_clock {
        use super::*;

        /// The program is given a quarter more runs than it needs, at least. What a trial takes beside its frames is a tenth of a
        /// second; other work on the machine may make one longer.
        #[test]
        #[ignore = "builds a network, as root: of the tier timed"]
        fn a_trial_ends_with_its_last_frame() {
            let length = Duration::from_secs(3);
            let trial = Trial {
                rate: 1000.0,
                extent: Extent::Time(length),
                timeout: Duration::from_secs(1),
            };
            let mut path = SingleDevice::bare(&one_flow()).unwrap();
            let times: Vec<Duration> = (0..TRIES)
                .map(|_| {
                    let begun = Instant::now();
                    assert_eq!(path.tester().time(&trial).unwrap().sent(), 3000);
                    begun.elapsed()
                })
                .collect();
            let least = times.iter().min().unwrap();
            assert!(
                *least >= length && *least < length.mul_f64(1.15),
                "{times:?}"
            );
        }
    }

    #[test]
    #[ignore = "builds networks, as root: of the tier namespaces"]
    fn the_path_of_a_delay_serves_the_next_one_until_it_is_forgotten() {
        let offer = Offer {
            rate: 1000.0,
            duration: Duration::from_millis(20),
        };
        let kept = || {
            let last = LAST.lock().unwrap();
            last.as_ref().map(|(_, path)| {
                let host = path.network().host6().unwrap();
                host.name().to_owned()
            })
        };
        let measured = |streams: &Streams| {
            delay(streams, offer).unwrap();
            kept().unwrap()
        };
        let first = measured(&one_flow());
        assert_eq!(measured(&one_flow()), first);
        let Streams::Rightward(traffic) = one_flow() else {
            panic!("it goes to the right");
        };
        assert_ne!(measured(&Streams::Leftward(traffic)), first);
        forget();
        assert_eq!(kept(), None);
    }

    /// One frame after the other, through a redirect. Other work on the machine may make them late, but not lose them.
    #[test]
    #[ignore = "builds a network, as root: of the tier namespaces"]
    fn frames_that_leave_alone_arrive_and_are_timed() {
        let trial = Trial {
            rate: 10_000.0,
            extent: Extent::Frames(1000),
            timeout: Duration::from_secs(4),
        };
        let mut path = SingleDevice::bare(&one_flow()).unwrap();
        let result = path.tester().time(&trial).unwrap();
        assert_eq!((result.sent(), result.received()), (1000, 1000));
        assert!(result.streams[0].delay.as_ref().unwrap().least > 0.0);
    }
}

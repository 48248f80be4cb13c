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

    /// One frame after the other, through a redirect. Other work on the machine may make them late, but not lose them.
    #[test]
    #[ignore = "builds a network, as root: of the tier namespaces"]
    fn frames_that_leave_alone_arrive_and_are_timed() {
        let ends = Ends::V4(plan::HOST6_AS_IPV4, plan::HOST4);
        let size = FrameSize::least(Form::V4);
        let packets = vec![Packet::new(ends, (FIRST_PORT, PORT))];
        let streams = Streams::Rightward(Traffic {
            packets,
            size,
            arrives: Form::V4,
        });
        let trial = Trial {
            rate: 10_000.0,
            extent: Extent::Frames(1000),
            timeout: Duration::from_secs(4),
        };
        let mut path = SingleDevice::bare(&streams).unwrap();
        let result = path.tester().time(&trial).unwrap();
        assert_eq!((result.sent(), result.received()), (1000, 1000));
        assert!(result.streams[0].delay.as_ref().unwrap().least > 0.0);
    }
}

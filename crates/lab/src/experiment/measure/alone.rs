//! The tester's own figures, which are shown next to every figure.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use crate::{
    Result,
    generator::FrameSize,
    packet::Form,
    tester::{Ceiling, Delay, Extent, Streams, Traffic, Trial},
};

/// The load at which the tester's own delay is measured, in frames per second.
const EASY: f64 = 100_000.0;

/// The tester's figures on the path of a gateway that only redirects frames.
#[derive(Debug, Clone)]
pub(super) struct Alone {
    /// Frames per second, of each stream.
    pub(super) ceiling: Ceiling,
    /// The tester's own delay at an easy load; absent if it could not send that load on time.
    pub(super) delay: Option<Delay>,
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
        let trial = Trial {
            rate: EASY,
            extent: Extent::Time(Duration::from_millis(200)),
            timeout: Duration::from_secs(1),
        };
        let (ceiling, mut result) = Ceiling::measure_with(streams, &trial)?;
        let stream = result.streams.pop();
        let alone = Self {
            ceiling: Ceiling::new(ceiling.rate() / shape.len() as f64),
            delay: stream
                .filter(|_| result.void.is_none())
                .and_then(|stream| stream.delay),
        };
        known.push((shape, alone.clone()));
        Ok(alone)
    }
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

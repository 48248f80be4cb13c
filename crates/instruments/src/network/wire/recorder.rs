//! A histogram that one thread fills while others read it.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use isthmus_abi::lab::histogram::{STEPS, step};

use crate::figures::histogram::Histogram;

/// The counts of a [`Histogram`].
#[derive(Debug)]
pub(super) struct Recorder {
    counts: [AtomicU64; STEPS],
}

impl Default for Recorder {
    fn default() -> Self {
        Self {
            counts: [const { AtomicU64::new(0) }; STEPS],
        }
    }
}

impl Recorder {
    pub(super) fn record(&self, time: Duration) {
        let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.counts[step(nanoseconds)].fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn histogram(&self) -> Histogram {
        let mut histogram = Histogram::default();
        histogram.add(
            &self
                .counts
                .each_ref()
                .map(|count| count.load(Ordering::Relaxed)),
        );
        histogram
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorded_times_are_in_the_histogram() {
        let recorder = Recorder::default();
        recorder.record(Duration::from_nanos(3));
        let before = recorder.histogram();
        recorder.record(Duration::from_nanos(100));
        recorder.record(Duration::from_secs(3600));
        let since = recorder.histogram().since(&before);
        assert_eq!(since.total(), 2);
        assert_eq!(since.percentile(0.5), Some(100.0));
    }
}

//! The result of a trial.

use serde::{Deserialize, Serialize};

use crate::figures::histogram::Histogram;

/// The result of all streams of a trial, which run at the same time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialResult {
    /// The frames per second that each stream should offer.
    pub rate: f64,
    /// Octets of a frame as it is sent, with FCS.
    pub size: u16,
    /// The streams: one, or one in each direction.
    pub streams: Vec<StreamResult>,
    /// The reason why the trial says nothing about the device; absent if it does.
    pub void: Option<Void>,
}

/// The reason why a trial does not count.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Void {
    /// Too many frames were sent too late: the offered load was not the configured one.
    SentLate {
        /// Frames that were later than tolerated.
        late: u64,
        /// All frames sent.
        sent: u64,
        /// The lateness of the latest, in nanoseconds.
        latest_ns: u64,
    },
    /// The overall rate was lower than configured.
    SentSlowly {
        /// Frames per second that were sent.
        rate: f64,
        /// Frames per second that were configured.
        asked: f64,
    },
    /// Others had the cores in use, as the text says.
    Disturbed(String),
}

impl std::fmt::Display for Void {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::SentLate {
                late,
                sent,
                latest_ns,
            } => write!(
                f,
                "{late} of {sent} frames were sent too late, the latest by {} us",
                latest_ns / 1000
            ),
            Self::Disturbed(why) => f.write_str(why),
            Self::SentSlowly { rate, asked } => {
                write!(
                    f,
                    "{rate:.0} frames per second were sent in place of {asked:.0}"
                )
            }
        }
    }
}

/// The result of one stream.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StreamResult {
    /// Frames sent.
    pub sent: u64,
    /// Frames per second from the first to the last.
    pub sent_rate: f64,
    /// Frames that were sent later than tolerated.
    pub late: u64,
    /// The lateness of the latest, in nanoseconds.
    pub latest_ns: u64,
    /// Frames that came in time and whole, per second from the first to the last.
    pub received_rate: f64,
    /// The arrivals.
    pub arrivals: Arrivals,
    /// The one-way delay; absent if nothing arrived.
    pub delay: Option<Delay>,
    /// Its variation from frame to frame; absent if no two consecutive frames arrived.
    pub variation: Option<Variation>,
}

/// Frames that arrived.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arrivals {
    /// Frames that arrived whole, of the right length, in time, and once. All others are lost.
    pub received: u64,
    /// Frames whose tag was changed.
    pub corrupt: u64,
    /// Frames of another length.
    pub resized: u64,
    /// Frames of another stream, or of an earlier trial.
    pub strange: u64,
    /// Duplicates.
    pub duplicates: u64,
    /// Frames later than the timeout.
    pub expired: u64,
    /// Received frames that came after a frame that was sent later (RFC 4737 section 3).
    pub reordered: u64,
    /// Frames that the generator never sent, such as neighbour discovery.
    pub other: u64,
    /// The longest time between two arrivals, in nanoseconds.
    pub silence_ns: u64,
}

/// The one-way delay in nanoseconds, from the generator's writing of a frame to the receiver's program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Delay {
    /// The least.
    pub least: f64,
    /// The mean.
    pub mean: f64,
    /// The first percentile. Percentiles are within 0.78 %.
    pub p1: f64,
    /// The median.
    pub median: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The 99.9th percentile.
    pub p999: f64,
    /// The most.
    pub most: f64,
    /// Interarrival jitter at the end (RFC 3550 section 6.4.1).
    pub jitter: f64,
    /// The histogram: the least delay of each bin, and its number of frames.
    pub steps: Vec<(u64, u64)>,
}

impl Delay {
    /// Returns the PDV: the 99.9th percentile less the least delay, in nanoseconds (RFC 8219 section 7.3.1).
    pub fn pdv(&self) -> f64 {
        (self.p999 - self.least).max(0.0)
    }
}

/// The IPDV: the difference of a frame's delay to that of the frame sent before, in nanoseconds (RFC 8219 section
/// 7.3.2).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Variation {
    /// The least, below zero.
    pub least: f64,
    /// The median.
    pub median: f64,
    /// The most.
    pub most: f64,
}

impl Variation {
    /// Returns the variation, from the histograms of growing and of shrinking delays.
    pub(super) fn of(longer: &Histogram, shorter: &Histogram) -> Option<Self> {
        let (above, below) = (longer.total(), shorter.total());
        let half = (above + below).div_ceil(2);
        let median = if half <= below {
            // The largest shrinkage is the least difference.
            -shorter.ranked(below - half + 1)?
        } else {
            longer.ranked(half - below)?
        };
        Some(Self {
            least: match shorter.ranked(below) {
                Some(most) => -most,
                None => longer.ranked(1)?,
            },
            median,
            most: match longer.ranked(above) {
                Some(most) => most,
                None => -shorter.ranked(1)?,
            },
        })
    }
}

impl StreamResult {
    /// Returns the frames that were not received.
    pub fn lost(&self) -> u64 {
        self.sent.saturating_sub(self.arrivals.received)
    }
}

impl TrialResult {
    /// Returns the frames sent, by all streams.
    pub fn sent(&self) -> u64 {
        self.streams.iter().map(|stream| stream.sent).sum()
    }

    /// Returns the frames received, by all streams.
    pub fn received(&self) -> u64 {
        self.streams
            .iter()
            .map(|stream| stream.arrivals.received)
            .sum()
    }

    /// Returns the frames lost, by all streams.
    pub fn lost(&self) -> u64 {
        self.streams.iter().map(StreamResult::lost).sum()
    }

    /// Returns the share of frames that were lost: 0 to 1; 0 if none were sent.
    pub fn loss_ratio(&self) -> f64 {
        match self.sent() {
            0 => 0.0,
            sent => self.lost() as f64 / sent as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(times: &[u64]) -> Histogram {
        let mut histogram = Histogram::default();
        times.iter().for_each(|time| histogram.count(*time));
        histogram
    }

    #[test]
    fn variation_has_a_sign() {
        // -7, -2, 0, 3, 4
        let variation = Variation::of(&histogram(&[0, 3, 4]), &histogram(&[2, 7])).unwrap();
        let Variation {
            least,
            median,
            most,
        } = variation;
        assert_eq!((least, median, most), (-7.0, 0.0, 4.0));
        // -7, -5, -2, 3
        let variation = Variation::of(&histogram(&[3]), &histogram(&[2, 5, 7])).unwrap();
        assert_eq!(variation.median, -5.0);
        // 1, 2, 3
        let variation = Variation::of(&histogram(&[1, 2, 3]), &histogram(&[])).unwrap();
        assert_eq!((variation.least, variation.median), (1.0, 2.0));
        assert_eq!(Variation::of(&histogram(&[]), &histogram(&[])), None);
    }

    #[test]
    fn damaged_and_late_frames_are_lost() {
        let arrivals = Arrivals {
            received: 90,
            corrupt: 3,
            expired: 7,
            duplicates: 40,
            ..Arrivals::default()
        };
        let stream = StreamResult {
            sent: 100,
            arrivals,
            ..StreamResult::default()
        };
        let result = TrialResult {
            rate: 1.0,
            size: 64,
            streams: vec![stream],
            void: None,
        };
        assert_eq!((result.lost(), result.loss_ratio()), (10, 0.1));
    }
}

//! The ceiling: the tester's own rate, which is shown next to every figure.

use serde::{Deserialize, Serialize};

/// The highest rate at which the tester sends and receives with nothing between.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Ceiling {
    rate: f64,
}

/// A figure and the ceiling.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    /// Frames per second.
    pub rate: f64,
    /// The ceiling, in frames per second.
    pub ceiling: f64,
    /// Whether the tester limits the figure: it is above half of the ceiling.
    pub limited_by_tester: bool,
    /// The time that the device adds to each frame, in nanoseconds, where both share a core.
    pub added_ns: f64,
}

impl Ceiling {
    /// Returns a ceiling in frames per second.
    pub fn new(rate: f64) -> Self {
        Self { rate }
    }

    /// Returns the frames per second.
    pub fn rate(self) -> f64 {
        self.rate
    }

    /// Compares a figure, in frames per second, with it.
    pub fn judge(self, rate: f64) -> Judged {
        Judged {
            rate,
            ceiling: self.rate,
            limited_by_tester: rate > self.rate / 2.0,
            added_ns: 1e9 / rate - 1e9 / self.rate,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn above_half_of_it_the_tester_limits() {
        let ceiling = Ceiling::new(4e6);
        let slow = ceiling.judge(1e6);
        assert!(!slow.limited_by_tester);
        // 1000 ns for a frame, of which the tester has 250.
        assert_eq!(slow.added_ns, 750.0);
        assert!(ceiling.judge(2.5e6).limited_by_tester);
    }
}

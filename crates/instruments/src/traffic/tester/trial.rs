//! A trial: its extent, its rate, its timeout, and the phases around it.

use std::time::Duration;

use crate::traffic::generator::Leg;

/// A transmission at one rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trial {
    /// Frames per second of each stream, above 0; infinite: as fast as the core can.
    pub rate: f64,
    /// The extent.
    pub extent: Extent,
    /// A frame that takes longer is lost: 4 seconds at most.
    pub timeout: Duration,
}

/// The extent of a trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Extent {
    /// This many frames of each stream.
    Frames(u64),
    /// This time, at a finite rate.
    Time(Duration),
}

impl Trial {
    /// Returns the leg that each stream sends.
    pub(super) fn leg(&self) -> Leg {
        let frames = match self.extent {
            Extent::Frames(frames) => frames,
            Extent::Time(time) => (self.rate * time.as_secs_f64()).round().max(1.0) as u64,
        };
        Leg {
            rate: self.rate,
            frames,
        }
    }
}

/// The punctuality that a trial needs to count.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tolerance {
    /// A frame that is later is late.
    pub by: Duration,
    /// The share of frames that may be late: 0 to 1.
    pub share: f64,
    /// The share by which the overall rate may be missed: 0 to 1. A short trial can miss much of its rate before a
    /// frame is late. The last batch of frames is always a little late: trials below a second need more than the
    /// default.
    pub rate: f64,
}

impl Default for Tolerance {
    /// Returns the default: one frame in a hundred thousand may be later than a millisecond, and the rate a
    /// thousandth too low.
    fn default() -> Self {
        Self {
            by: Duration::from_millis(1),
            share: 1e-5,
            rate: 1e-3,
        }
    }
}

/// The phases around the run of a trial (RFC 2544 section 23).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Phases {
    /// Frames that are sent before, so that addresses are learned and sessions made.
    pub learning: u64,
    /// The wait after these.
    pub learned: Duration,
    /// The wait for residual frames after the run. It is at least as long as the timeout if frames are missing.
    pub residue: Duration,
    /// The wait before the next trial.
    pub rest: Duration,
}

impl Phases {
    /// Returns the phases of the RFC: 2 seconds after learning, 2 seconds for residue, 5 seconds of rest.
    pub fn rfc() -> Self {
        Self {
            learning: 64,
            learned: Duration::from_secs(2),
            residue: Duration::from_secs(2),
            rest: Duration::from_secs(5),
        }
    }

    /// Returns the same phases with shorter waits, divided by `divisor`, 1 or more.
    pub fn shortened(divisor: u32) -> Self {
        let rfc = Self::rfc();
        Self {
            learning: rfc.learning,
            learned: rfc.learned / divisor,
            residue: rfc.residue / divisor,
            rest: rfc.rest / divisor,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_lasts_as_long_as_it_says() {
        let trial = Trial {
            rate: 1000.0,
            extent: Extent::Time(Duration::from_millis(2500)),
            timeout: Duration::from_secs(2),
        };
        assert_eq!(trial.leg().frames, 2500);
    }

    #[test]
    fn shorter_phases_keep_their_proportion() {
        let phases = Phases::shortened(100);
        assert_eq!(phases.residue, Duration::from_millis(20));
        assert_eq!(phases.rest, Duration::from_millis(50));
        assert_eq!(Phases::shortened(1), Phases::rfc());
    }
}

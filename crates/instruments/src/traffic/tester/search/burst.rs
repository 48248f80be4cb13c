//! Back-to-back frames: the longest burst at the least gap that a device takes without loss (RFC 2544
//! section 26.4), and the buffer that follows from it (RFC 9004).

use serde::{Deserialize, Serialize};

use crate::{
    Result,
    traffic::tester::{Summary, TrialResult},
};

/// The parameters of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Search {
    /// The longest burst to try, in frames: 1 or more. RFC 9004 section 5.4: up to 30 seconds.
    pub most: u64,
    /// The width of the result in frames: 1 or more.
    pub step: u64,
    /// The number of losses after which a burst is too long: 1 or more. RFC 9004 section 5.2 asks for verification,
    /// since one loss may be chance.
    pub losses: u32,
    /// The number of searches: 1 or more (RFC 2544: 50).
    pub repeats: usize,
}

/// The result of a search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BackToBack {
    /// The longest burst without loss of each repeat, in frames.
    pub bursts: Vec<u64>,
    /// Their summary.
    pub summary: Summary,
    /// The longest burst that was tried, in frames.
    pub most: u64,
    /// The step of the search, in frames.
    pub step: u64,
}

/// A buffer, as bursts reveal it (RFC 9004 section 6).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Buffer {
    /// Seconds for which the average burst lasts.
    pub implied: f64,
    /// The same without the frames that the device forwards meanwhile.
    pub corrected: f64,
    /// The corrected size in frames.
    pub frames: f64,
}

impl Search {
    /// Searches. `trial` sends a burst of this many frames, and waits until no more arrive.
    ///
    /// # Errors
    /// Those of the trials.
    pub fn run(
        &self,
        mut trial: impl FnMut(u64) -> Result<TrialResult>,
    ) -> Result<Option<BackToBack>> {
        let mut bursts = Vec::with_capacity(self.repeats);
        for _ in 0..self.repeats {
            bursts.push(self.longest(&mut trial)?);
        }
        let values: Vec<f64> = bursts.iter().map(|burst| *burst as f64).collect();
        Ok(Summary::of(&values).map(|summary| BackToBack {
            bursts,
            summary,
            most: self.most,
            step: self.step,
        }))
    }

    fn longest(&self, trial: &mut impl FnMut(u64) -> Result<TrialResult>) -> Result<u64> {
        let mut passes = |burst| -> Result<bool> {
            for _ in 0..self.losses {
                if trial(burst)?.lost() == 0 {
                    return Ok(true);
                }
            }
            Ok(false)
        };
        if passes(self.most)? {
            return Ok(self.most);
        }
        let (mut low, mut high) = (0, self.most);
        while high - low > self.step {
            let middle = low + (high - low) / 2;
            if passes(middle)? {
                low = middle;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }
}

impl BackToBack {
    /// Returns the size of the buffer, if the bursts were sent at `most` frames per second and the device has this
    /// throughput.
    pub fn buffer(&self, throughput: f64, most: f64) -> Buffer {
        let implied = self.summary.mean / most;
        let corrected = implied - implied * throughput / most;
        Buffer {
            implied,
            corrected,
            frames: corrected * most,
        }
    }
}

//! Frame loss rate: which share of frames is lost as the offered rate goes down (RFC 2544 section 26.3).

use std::time::Duration;

use super::{Offer, Point, offer};
use crate::{Result, tester::TrialResult};

/// Measures at the most rate (frames per second of each stream), then at 90 % of it, at 80 %, and so on,
/// until two trials in a row lose nothing. A rate that cannot be offered has a point that is void.
///
/// # Errors
/// Those of the trials.
pub fn curve(
    most: f64,
    duration: Duration,
    mut trial: impl FnMut(Offer) -> Result<TrialResult>,
) -> Result<Vec<Point>> {
    let mut points: Vec<Point> = Vec::new();
    let mut without_loss = 0;
    for tenths in (1..=10).rev() {
        let offered = Offer {
            rate: most * f64::from(tenths) / 10.0,
            duration,
        };
        let mut tries = Vec::new();
        let result = offer(&mut trial, offered, &mut tries)?;
        points.extend(tries.pop());
        let lossless = result.void.is_none() && result.lost() == 0;
        without_loss = if lossless { without_loss + 1 } else { 0 };
        if without_loss == 2 {
            break;
        }
    }
    Ok(points)
}

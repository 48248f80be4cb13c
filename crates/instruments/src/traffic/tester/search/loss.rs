//! Frame loss rate: the share of lost frames as the offered rate goes down (RFC 2544 section 26.3).

use std::time::Duration;

use super::{Offer, Point, offer};
use crate::{Result, traffic::tester::TrialResult};

/// The shares of the highest rate that RFC 2544 asks for at least: 100 %, 90 %, and so on.
pub const TENTHS: [f64; 10] = [1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1];

/// Measures at these shares (0 to 1, the largest first) of the highest rate (frames per second of each stream), until
/// two trials in a row lose nothing. A rate that cannot be offered gives a void point.
///
/// # Errors
/// Those of the trials.
/// Those of the trials.
pub fn curve(
    most: f64,
    shares: &[f64],
    duration: Duration,
    mut trial: impl FnMut(Offer) -> Result<TrialResult>,
) -> Result<Vec<Point>> {
    let mut points: Vec<Point> = Vec::new();
    let mut without_loss = 0;
    for share in shares {
        let offered = Offer {
            rate: most * share,
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

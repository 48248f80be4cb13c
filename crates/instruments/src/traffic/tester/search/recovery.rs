//! System recovery: the time for which a device goes on losing frames after an overload (RFC 2544 section 26.5).

use std::time::Duration;

use crate::traffic::generator::Leg;

/// The share of the throughput that overloads a device, and the share of that load at which it must recover.
const OVERLOAD: f64 = 1.1;
const REDUCED: f64 = 0.5;

/// Returns the legs for a device with this throughput in frames per second: 110 % of it, or the highest rate that can
/// be offered, for `duration` (RFC 2544: 60 seconds at least); then half of that rate for as long.
pub fn legs(throughput: f64, most: f64, duration: Duration) -> [Leg; 2] {
    let overload = (throughput * OVERLOAD).min(most);
    [overload, overload * REDUCED].map(|rate| Leg {
        rate,
        frames: (rate * duration.as_secs_f64()).round().max(1.0) as u64,
    })
}

/// Returns how long frames were lost after the rate went down; zero if none were. RFC 2544 has the difference the
/// other way round. Both times are in nanoseconds of one clock: when the rate went down, and when the first frame was
/// sent after the last lost one.
pub fn time(reduced: u64, last_gap: Option<u64>) -> Duration {
    Duration::from_nanos(last_gap.unwrap_or(0).saturating_sub(reduced))
}

//! Floods that fill something before an attack is watched.

use std::{
    thread,
    time::{Duration, Instant},
};

use super::{
    arena::Arena,
    flood::{Flood, Packets, Rate},
};
use crate::Result;

/// The pause after which the gateway is asked whether it is full.
const PAUSE: Duration = Duration::from_millis(200);
/// Refusals by which it says so: one now and then may have another cause.
const FULL: u64 = 500;
/// The longest that a busy machine takes to send them.
const LONGEST: Duration = Duration::from_secs(15);

/// Sends packets from the attacker, at this rate, until the gateway refuses them or this many were sent. Returns the
/// number of the next one.
pub(super) fn until_refused(arena: &Arena, packets: &Packets, rate: u32, most: u64) -> Result<u64> {
    let refused = || Ok(arena.refusals()?.values().sum::<u64>());
    let full = refused()? + FULL;
    let flood = Flood::start(arena.attacker()?, packets, 0, Rate::PerSecond(rate))?;
    let begun = Instant::now();
    while flood.sent() < most && begun.elapsed() < LONGEST && refused()? < full {
        thread::sleep(PAUSE);
    }
    Ok(flood.stop()?.0)
}

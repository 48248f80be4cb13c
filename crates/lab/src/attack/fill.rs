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

/// Sends packets from the attacker, at this rate, until the gateway refuses some or this many were due. Returns the
/// number of the next one.
pub(super) fn until_refused(arena: &Arena, packets: &Packets, rate: u32, most: u32) -> Result<u64> {
    let refused = || Ok(arena.refusals()?.values().sum::<u64>());
    let before = refused()?;
    let longest = Duration::from_secs_f64(f64::from(most) / f64::from(rate));
    let flood = Flood::start(arena.attacker()?, packets, 0, Rate::PerSecond(rate))?;
    let begun = Instant::now();
    while begun.elapsed() < longest && refused()? == before {
        thread::sleep(PAUSE.min(longest));
    }
    Ok(flood.stop()?.0)
}

//! Time: the time-stamp counter of the processor, whose rate the timer of a PC (8254) tells at boot.

use core::arch::x86_64::_rdtsc;

use crate::port;

/// Ticks of the timer in a second.
const TIMER_RATE: u64 = 1_193_182;
/// Ticks of the timer that the rate is taken over: about five milliseconds.
const TICKS: u16 = 5966;
/// Channel 2 of the timer, its mode register, and the port of its gate and output.
const CHANNEL: u16 = 0x42;
const MODE: u16 = 0x43;
const GATE: u16 = 0x61;
/// A machine whose timer does not run goes on after so many looks, with a guess of 1 GHz.
const PATIENCE: u32 = 1_000_000;

/// A monotonic clock that begins with the machine.
#[derive(Clone, Copy)]
pub struct Clock {
    start: u64,
    /// Nanoseconds of a tick, times 2^32.
    scale: u64,
}

/// The time-stamp counter.
pub fn ticks() -> u64 {
    // SAFETY: reading it is always allowed here.
    unsafe { _rdtsc() }
}

impl Clock {
    /// Starts a clock that begins at `start`, by the [counter](ticks).
    pub fn new(start: u64) -> Self {
        let rate = rate().unwrap_or(1_000_000_000);
        Self {
            start,
            scale: ((1_000_000_000u128 << 32) / u128::from(rate)) as u64,
        }
    }

    /// Nanoseconds since the start.
    #[inline]
    pub fn nanos(&self) -> u64 {
        let ticks = ticks().wrapping_sub(self.start);
        ((u128::from(ticks) * u128::from(self.scale)) >> 32) as u64
    }
}

/// Ticks of the counter in a second.
fn rate() -> Option<u64> {
    let [low, high] = TICKS.to_le_bytes();
    // SAFETY: channel 2 serves the loudspeaker, which is off; nothing else depends on it.
    unsafe {
        let gate = port::read8(GATE) & !3;
        port::write8(GATE, gate);
        // Channel 2, both bytes, mode 0: the output rises when the count is over.
        port::write8(MODE, 0xb0);
        port::write8(CHANNEL, low);
        port::write8(CHANNEL, high);
        port::write8(GATE, gate | 1);
        let before = ticks();
        for _ in 0..PATIENCE {
            if port::read8(GATE) & 0x20 != 0 {
                let passed = ticks() - before;
                return Some((passed * TIMER_RATE / u64::from(TICKS)).max(1));
            }
        }
    }
    None
}

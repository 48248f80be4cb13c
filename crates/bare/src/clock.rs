//! Time: the time-stamp counter of the processor, whose rate the timer of a PC (8254) tells at boot.

use core::arch::x86_64::_rdtsc;

use crate::port;

/// Ticks of the timer in a second.
const TIMER_RATE: u64 = 1_193_182;
/// Ticks of the timer that the rate is taken over at least: about five milliseconds.
const TICKS: u16 = 5966;
/// Channel 2 of the timer, its mode register, and the port of its gate, which some machines do not have.
const CHANNEL: u16 = 0x42;
const MODE: u16 = 0x43;
const GATE: u16 = 0x61;
/// Looks at both clocks, of which the quickest counts.
const LOOKS: u32 = 8;
/// A machine whose timer does not run goes on after so many looks, with a guess of 1 GHz.
const PATIENCE: u32 = 100_000;
/// Attempts that may take too long, because the machine stood still.
const ATTEMPTS: u32 = 16;

/// A monotonic clock that begins with the machine, or one that stands still until the console tells the time.
#[derive(Clone, Copy)]
pub struct Clock {
    start: u64,
    /// Nanoseconds of a tick, times 2^32; 0 of a clock that is told.
    scale: u64,
    /// Nanoseconds at the start, or as they were told.
    base: u64,
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
            base: 0,
        }
    }

    /// A clock that shows 0 until it is [told](Self::tell).
    pub const fn told() -> Self {
        Self {
            start: 0,
            scale: 0,
            base: 0,
        }
    }

    /// Tells the time, in nanoseconds. Whether the clock is one that is told.
    pub fn tell(&mut self, nanos: u64) -> bool {
        let is_told = self.scale == 0;
        if is_told {
            self.base = nanos;
        }
        is_told
    }

    /// Nanoseconds since the start.
    #[inline]
    pub fn nanos(&self) -> u64 {
        let ticks = ticks().wrapping_sub(self.start);
        self.base + ((u128::from(ticks) * u128::from(self.scale)) >> 32) as u64
    }
}

/// Ticks of the counter in a second.
fn rate() -> Option<u64> {
    (0..ATTEMPTS).find_map(|_| attempt())
}

/// Takes the rate once. `None` if the timer does not run, or ran out meanwhile.
fn attempt() -> Option<u64> {
    start();
    let begin = look();
    let is_over = |now: &Look| begin.left.wrapping_sub(now.left) >= TICKS;
    (0..PATIENCE).map(|_| once()).find(is_over)?;
    let end = look();
    if has_run_out() {
        return None;
    }
    let timer = u64::from(begin.left.wrapping_sub(end.left));
    Some((end.at.wrapping_sub(begin.at) * TIMER_RATE / timer).max(1))
}

/// Both clocks at one moment.
struct Look {
    /// The counter.
    at: u64,
    /// What the timer has left.
    left: u16,
    /// How long the look took, by the counter: if the machine stood still in between, it tells nothing.
    took: u64,
}

/// The quickest of some looks.
fn look() -> Look {
    let first = once();
    (1..LOOKS).map(|_| once()).fold(
        first,
        |best, other| {
            if other.took < best.took { other } else { best }
        },
    )
}

fn once() -> Look {
    let before = ticks();
    // SAFETY: it latches the count of channel 2, and reads it; nothing else depends on that.
    let (after, left) = unsafe {
        port::write8(MODE, 0x80);
        let after = ticks();
        let count = [port::read8(CHANNEL), port::read8(CHANNEL)];
        (after, u16::from_le_bytes(count))
    };
    Look {
        at: before,
        left,
        took: after.wrapping_sub(before),
    }
}

/// Has channel 2 count down from its largest number, which takes 55 milliseconds.
fn start() {
    // SAFETY: channel 2 serves the loudspeaker, which is off; nothing else depends on it.
    unsafe {
        let gate = port::read8(GATE) & !3;
        port::write8(GATE, gate);
        // Channel 2, both bytes, mode 0: the output rises when the count is over.
        port::write8(MODE, 0xb0);
        port::write8(CHANNEL, 0xff);
        port::write8(CHANNEL, 0xff);
        port::write8(GATE, gate | 1);
    }
}

/// Whether the output of channel 2 has risen, by its status.
fn has_run_out() -> bool {
    // SAFETY: it latches the status of channel 2, and reads it; nothing else depends on that.
    unsafe {
        port::write8(MODE, 0xe8);
        port::read8(CHANNEL) & 0x80 != 0
    }
}

//! The steps of a histogram of times, in nanoseconds, which the receiver keeps in BPF and the cables in
//! user space.
//!
//! Times below 128 ns have a step each. Above, each power of two has 64 steps: a step is 1/64 of its
//! times, or less.

/// Steps of a histogram: enough for all times of 32 bits.
pub const STEPS: usize = 2048;
/// Steps of a power of two, as the binary logarithm.
pub const STEPS_BITS: u32 = 6;

/// Returns the step that counts a time. Times of more than 32 bits count as the longest of 32 bits.
/// Without a count of leading zeros, which BPF lacks.
#[inline(always)]
#[must_use]
pub const fn step(time: u64) -> usize {
    let time = if time >> 32 == 0 {
        time
    } else {
        u32::MAX as u64
    };
    let mut rest = time >> (STEPS_BITS + 1);
    let mut shift = 0;
    let mut bits = 16;
    while bits > 0 {
        if rest >> (bits - 1) != 0 {
            rest >>= bits;
            shift += bits;
        }
        bits /= 2;
    }
    ((shift << STEPS_BITS) + (time >> shift)) as usize
}

const _: () = assert!(step(u64::MAX) < STEPS);

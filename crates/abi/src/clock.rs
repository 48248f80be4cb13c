//! Time and random numbers of a test run, which user space sets.

use bytemuck::{Pod, Zeroable};

/// The map of one [`Clock`].
pub const CLOCK: &str = "CLOCK";
/// The octet of read-only data that says whether the clock counts, by being other than 0. The loader
/// writes it, so that the verifier leaves out whichever case does not apply.
pub const OFFLINE: &str = "OFFLINE";

/// The time of a packet, and the source of random numbers.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Clock {
    /// Nanoseconds.
    pub now: u64,
    /// State of the random numbers, which programs go on from.
    pub random: u64,
}

layout!(Clock: 16, now: 0, random: 8);

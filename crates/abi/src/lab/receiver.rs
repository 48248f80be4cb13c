//! The receiver of tagged frames.

use bytemuck::{Pod, Zeroable};

use super::histogram::STEPS;

/// The map of one [`Expected`].
pub const RECEIVER: &str = "RECEIVER";
/// The map of a [`Received`] on each processor.
pub const RECEIVED: &str = "RECEIVED";
/// The map of the [`Tuple`] of each frame of a trial, by its number there. The loader sets how many.
pub const TUPLES: &str = "TUPLES";

/// Addresses and ports as they lie in a frame: 3 words of IPv4, 9 of IPv6.
pub type Tuple = [u32; TUPLE_WORDS];
/// Words of a [`Tuple`].
pub const TUPLE_WORDS: usize = 9;

/// A trial and its progress, which all processors share.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Expected {
    /// The trial, which programs only read.
    pub trial: Trial,
    /// The number after the highest so far.
    pub next: u64,
}

/// The frames that a trial expects.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Trial {
    /// The stream, where a tag has it.
    pub stream: u64,
    /// The number of the trial's first frame.
    pub first: u64,
    /// Octets of a frame, as it arrives.
    pub length: u64,
    /// Nanoseconds; a frame that takes longer is lost.
    pub timeout: u64,
}

layout!(Trial: 32, stream: 0, first: 8, length: 16, timeout: 24);
layout!(Expected: 40, trial: 0, next: 32);

/// The frames that one processor has received. Times are in nanoseconds.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Received {
    /// Frames in time, each once.
    pub received: u64,
    /// Frames whose tag was changed.
    pub corrupt: u64,
    /// Frames of another length.
    pub resized: u64,
    /// Frames of another stream, or of an earlier trial.
    pub strange: u64,
    /// Frames that have come before.
    pub duplicates: u64,
    /// Frames that came later than the timeout.
    pub expired: u64,
    /// Of those in time: frames that came after one with a higher number (RFC 4737 section 3).
    pub reordered: u64,
    /// Frames that are not the generator's.
    pub other: u64,
    /// The sum of all delays.
    pub sum: u64,
    /// The shortest delay.
    pub shortest: u64,
    /// The longest delay.
    pub longest: u64,
    /// Interarrival jitter, in sixteenths (RFC 3550 appendix A.8).
    pub jitter: u64,
    /// The number of the last frame.
    pub last_number: u64,
    /// The delay of the last frame.
    pub last_delay: u64,
    /// When the first frame arrived.
    pub first_arrival: u64,
    /// When the last frame arrived.
    pub last_arrival: u64,
    /// The longest time between two arrivals.
    pub silence: u64,
    /// When the frame was sent before which others were last missing; 0: none were.
    pub gap: u64,
    /// The histograms, by [`DELAYS`], [`LONGER`] and [`SHORTER`].
    pub histograms: [[u32; STEPS]; 3],
}

/// The histogram of delays.
pub const DELAYS: usize = 0;
/// The histogram of the increases of a delay over the one before.
pub const LONGER: usize = 1;
/// The histogram of the decreases.
pub const SHORTER: usize = 2;

layout!(Received: 24720, received: 0, corrupt: 8, resized: 16, strange: 24, duplicates: 32, expired: 40,
    reordered: 48, other: 56, sum: 64, shortest: 72, longest: 80, jitter: 88, last_number: 96,
    last_delay: 104, first_arrival: 112, last_arrival: 120, silence: 128, gap: 136, histograms: 144);

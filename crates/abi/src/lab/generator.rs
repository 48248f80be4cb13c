//! The packet generator.

use bytemuck::{Pod, Zeroable};

/// The map of one [`Configuration`].
pub const GENERATOR: &str = "GENERATOR";
/// The map of a [`Progress`] on each processor.
pub const PROGRESS: &str = "PROGRESS";
/// The map of [`Frame`]s. The loader sets their number.
pub const FRAMES: &str = "FRAMES";
/// The map of the [`Differences`] of each frame to the first of `FRAMES`. The loader sets their number.
pub const DIFFERENCES: &str = "DIFFERENCES";
/// The [`Places`] of all differences: read-only data that the loader writes.
pub const PLACES: &str = "PLACES";

/// The beginning of a frame in 32-bit words: two cache lines.
pub type Frame = [u32; ROOM];
/// Words of a [`Frame`].
pub const ROOM: usize = 32;
/// The words in which a frame differs: half a cache line.
pub type Differences = [u32; VARYING];
/// Words in which frames may differ.
pub const VARYING: usize = 8;
/// The places in a frame of its [`Differences`].
pub type Places = [u8; VARYING];

/// Times from frame to frame are in parts of a nanosecond, so many of them.
pub const FINE: u64 = 256;

/// The next frames and their times.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Configuration {
    /// The interface that frames are redirected to.
    pub interface: u32,
    /// Number of frames, 1 or more.
    pub frames: u32,
    /// Time from frame to frame, in parts of a nanosecond; 0: no pause.
    pub interval: u64,
    /// No more than so many are sent, with all that were sent before.
    pub until: u64,
    /// Nanoseconds; a frame that is later is counted.
    pub tolerated: u64,
    /// Nanoseconds; a frame that is later is not made up for.
    pub forgiven: u64,
    /// The stream, where a tag has it.
    pub stream: u64,
}

layout!(Configuration: 48, interface: 0, frames: 4, interval: 8, until: 16, tolerated: 24, forgiven: 32,
    stream: 40);

/// The place of a processor in its sequence of frames.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Progress {
    /// Frames sent so far, and the number of the next.
    pub sent: u64,
    /// The frame that is next.
    pub next: u64,
    /// When it is due, in parts of a nanosecond of the monotonic clock; 0: now.
    pub due: u64,
    /// Frames that were sent later than is tolerated.
    pub late: u64,
    /// How late the latest was, in nanoseconds.
    pub latest: u64,
    /// When the first tagged frame was sent since user space wrote 0 here, in nanoseconds.
    pub begun: u64,
    /// When the last was.
    pub ended: u64,
}

layout!(Progress: 56, sent: 0, next: 8, due: 16, late: 24, latest: 32, begun: 40, ended: 48);

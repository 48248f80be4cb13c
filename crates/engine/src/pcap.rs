//! Capture files: reads IP packets with their times from pcap and pcapng, and writes pcap, and pcapng
//! with comments.

mod annotated;
mod link;
mod read;
mod write;

pub use annotated::{Annotated, Annotator, Begins, Direction};
pub use read::{Error, Reader, Record};
pub use write::Writer;

/// Resolution of the times in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// 10^-6 s.
    Microseconds,
    /// 10^-9 s.
    Nanoseconds,
}

//! Writes pcap files of raw IP packets.

use std::io::{self, Write};

use super::Resolution;

const LINKTYPE_RAW: u32 = 101;
/// The longest packet, as stated in the file's header (tcpdump's MAXIMUM_SNAPLEN).
const SNAPLEN: u32 = 262_144;
const SECOND: u64 = 1_000_000_000;

/// A pcap file that is being written, in little-endian byte order.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    resolution: Resolution,
}

impl<W: Write> Writer<W> {
    /// Writes the header of a file.
    ///
    /// # Errors
    /// The errors of `out`.
    pub fn new(mut out: W, resolution: Resolution) -> io::Result<Self> {
        let magic: u32 = match resolution {
            Resolution::Microseconds => 0xa1b2_c3d4,
            Resolution::Nanoseconds => 0xa1b2_3c4d,
        };
        // Version 2.4, then two unused fields.
        let header = [magic, 4 << 16 | 2, 0, 0, SNAPLEN, LINKTYPE_RAW];
        out.write_all(&header.map(u32::to_le_bytes).concat())?;
        Ok(Self { out, resolution })
    }

    /// Appends a packet that consists of `head` followed by `tail`. `time` is in nanoseconds since 1970.
    ///
    /// # Errors
    /// The errors of the output.
    pub fn write(&mut self, time: u64, head: &[u8], tail: &[u8]) -> io::Result<()> {
        let fraction = match self.resolution {
            Resolution::Microseconds => time % SECOND / 1000,
            Resolution::Nanoseconds => time % SECOND,
        };
        let length = (head.len() + tail.len()) as u32;
        let header = [(time / SECOND) as u32, fraction as u32, length, length];
        self.out.write_all(&header.map(u32::to_le_bytes).concat())?;
        self.out.write_all(head)?;
        self.out.write_all(tail)
    }

    /// Flushes the output and returns it.
    ///
    /// # Errors
    /// The errors of the output.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }
}

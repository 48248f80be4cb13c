//! Ethernet's framing, in bytes.

use super::Rate;

/// Preamble and start of frame.
const PREAMBLE: u32 = 8;
/// Addresses and type, without a VLAN tag.
const HEADER: u32 = 14;
/// Frame check sequence.
const FCS: u32 = 4;
/// The least gap between two frames, as bytes.
pub const GAP: u32 = 12;
/// The least payload of a frame; shorter packets are padded.
const LEAST: u32 = 46;

/// Returns the bytes that a packet of `length` bytes takes on a wire, from its preamble to the next one's.
pub fn wire_bytes(length: u32) -> u32 {
    PREAMBLE + HEADER + length.max(LEAST) + FCS + GAP
}

/// Returns the bytes of a packet's serialisation: as [`wire_bytes`], without the gap after it.
pub fn serialised_bytes(length: u32) -> u32 {
    wire_bytes(length) - GAP
}

/// Returns the frames per second of a tester that sends frames of `frame` bytes, FCS included, into a device that
/// makes them `overhead` bytes longer, in whole frames (RFC 8219 section 5.1 and appendix A, RFC 5180 section 5, RFC
/// 2544 section 9). At this rate the wider side is full.
pub fn frames_per_second(rate: Rate, frame: u32, overhead: u32) -> u64 {
    let bytes = u64::from(frame) + u64::from(overhead) + u64::from(PREAMBLE + GAP);
    rate.bits_per_second() / (8 * bytes)
}

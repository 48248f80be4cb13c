//! The tag that the generator writes to a frame and the receiver reads.
//!
//! It is the beginning of the UDP payload: 16 bits that say what it is, the time of sending in
//! nanoseconds, and a word with the frame's number (40 bits), its stream (8) and a check (16). The
//! check makes the ones' complement sum of the whole tag zero. So a changed bit shows, and the UDP
//! checksum is the same for every tag, and need not be computed again.
//!
//! Numbers are in the byte order of this machine, which writes and reads them.

use crate::frame::fold;

/// The first word of a tag.
pub const MAGIC: u16 = 0x1571;
/// Octets before the time.
pub const TIME: usize = 2;
/// Octets before the word.
pub const WORD: usize = 10;
/// Bits of a frame's number.
const NUMBER_BITS: u32 = 40;
/// Bits of the number and the stream.
const PLAIN_BITS: u32 = 48;

/// Returns the word of the tag of a frame that is sent at `time`. The stream lies above the bits of the number.
#[inline(always)]
pub fn word(time: u64, stream: u64, number: u64) -> u64 {
    let plain = stream | (number & ((1 << NUMBER_BITS) - 1));
    plain | u64::from(!fold(sum(time, plain))) << PLAIN_BITS
}

/// Returns whether the tag is unchanged since it was written.
#[inline(always)]
pub fn is_whole(magic: u16, time: u64, word: u64) -> bool {
    magic == MAGIC && fold(sum(time, word)) == 0xffff
}

/// Returns the number of a frame.
#[inline(always)]
pub fn number(word: u64) -> u64 {
    word & ((1 << NUMBER_BITS) - 1)
}

/// Returns the stream, above the bits of the number.
#[inline(always)]
pub fn stream(word: u64) -> u64 {
    word & (((1 << PLAIN_BITS) - 1) ^ ((1 << NUMBER_BITS) - 1))
}

/// Returns the unfolded sum over a tag, in 32-bit words.
#[inline(always)]
fn sum(time: u64, word: u64) -> u64 {
    let halves = |word: u64| (word & 0xffff_ffff) + (word >> 32);
    u64::from(MAGIC) + halves(time) + halves(word)
}

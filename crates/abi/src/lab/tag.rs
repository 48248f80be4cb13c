//! The tag that the generator writes to a frame and the receiver looks for: the beginning of the UDP
//! payload.
//!
//! | octets | content |
//! |---|---|
//! | 2 | [`MAGIC`] |
//! | 8 | the time of sending, in nanoseconds of the monotonic clock |
//! | 5 | the number of the frame |
//! | 1 | its stream |
//! | 2 | a check: with it the ones' complement sum of the tag is zero |
//!
//! The last three are one word. The check tells every tag in which one bit was changed, and the UDP
//! checksum is the same with every tag: nobody has to compute it again. Numbers lie in the order of this
//! machine, which writes and reads them.

/// The beginning of a tag.
pub const MAGIC: u16 = 0x1571;
/// Octets before the time.
pub const TIME: usize = 2;
/// Octets before the word.
pub const WORD: usize = 10;
/// Octets of a tag.
pub const LENGTH: usize = 18;

/// Bits of a frame's number.
pub const NUMBER_BITS: u32 = 40;
/// Bits of the number and the stream.
pub const PLAIN_BITS: u32 = 48;
const NUMBER: u64 = (1 << NUMBER_BITS) - 1;
const PLAIN: u64 = (1 << PLAIN_BITS) - 1;

/// Returns the word of the tag of a frame that is sent at `time`. The stream lies above the bits of the
/// number.
#[inline(always)]
#[must_use]
pub fn word(time: u64, stream: u64, number: u64) -> u64 {
    let plain = stream | (number & NUMBER);
    plain | u64::from(!fold(sum(time, plain))) << PLAIN_BITS
}

/// Whether nothing changed since the tag was written.
#[inline(always)]
#[must_use]
pub fn is_whole(magic: u16, time: u64, word: u64) -> bool {
    magic == MAGIC && fold(sum(time, word)) == 0xffff
}

/// Returns the number of a frame.
#[inline(always)]
#[must_use]
pub const fn number(word: u64) -> u64 {
    word & NUMBER
}

/// Returns the stream, above the bits of the number.
#[inline(always)]
#[must_use]
pub const fn stream(word: u64) -> u64 {
    word & (PLAIN ^ NUMBER)
}

/// Returns the 16-bit ones' complement sum of a sum that has not carried yet.
#[inline(always)]
#[must_use]
pub const fn fold(sum: u64) -> u16 {
    let sum = (sum & 0xffff_ffff) + (sum >> 32);
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = (sum & 0xffff) + (sum >> 16);
    sum as u16
}

/// Returns the sum over a tag, in 32-bit words that have not carried.
#[inline(always)]
fn sum(time: u64, word: u64) -> u64 {
    let halves = |word: u64| (word & 0xffff_ffff) + (word >> 32);
    u64::from(MAGIC) + halves(time) + halves(word)
}

//! The tag at the beginning of a generated frame's UDP payload; its layout is in [`isthmus_abi::lab::tag`].

use std::num::NonZeroU8;

use isthmus_abi::lab::tag::{LENGTH, NUMBER_BITS, TIME, WORD, is_whole, number, stream};

/// A stream of frames between a generator and a receiver: 1 to 255.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(transparent)]
pub struct StreamId(NonZeroU8);

impl StreamId {
    /// From left to right.
    pub const RIGHTWARD: Self = Self(NonZeroU8::MIN);
    /// From right to left.
    pub const LEFTWARD: Self = Self(NonZeroU8::MIN.saturating_add(1));

    /// Returns the number in its place in a tag, as programs see it.
    pub fn in_place(self) -> u64 {
        u64::from(self.0.get()) << NUMBER_BITS
    }
}

/// The content of a tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tag {
    /// Nanoseconds of the monotonic clock.
    pub time: u64,
    /// The stream.
    pub stream: u8,
    /// The number of the frame, of 40 bits.
    pub number: u64,
}

impl Tag {
    /// Reads the tag at the beginning of a payload. Returns `None` if there is none, or if it was changed.
    pub fn read(payload: &[u8]) -> Option<Self> {
        let tag: &[u8; LENGTH] = payload.first_chunk()?;
        let magic = u16::from_ne_bytes(*tag.first_chunk()?);
        let time = u64::from_ne_bytes(*tag[TIME..].first_chunk()?);
        let word = u64::from_ne_bytes(*tag[WORD..].first_chunk()?);
        is_whole(magic, time, word).then(|| Self {
            time,
            stream: (stream(word) >> NUMBER_BITS) as u8,
            number: number(word),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Number 7 of stream 1, sent at 0x0102030405060708. The words 1571, 0708, 0506, 0304, 0102, 0007, 0000 and 0100
    /// have the sum 268c. The check makes it ffff.
    const WHOLE: [u8; LENGTH] = [
        0x71, 0x15, 8, 7, 6, 5, 4, 3, 2, 1, 7, 0, 0, 0, 0, 1, 0x73, 0xd9,
    ];

    #[test]
    fn a_tag_says_what_was_written() {
        let tag = Tag::read(&WHOLE).unwrap();
        assert_eq!((tag.stream, tag.number), (1, 7));
        assert_eq!(tag.time, 0x0102_0304_0506_0708);
        assert_eq!(StreamId::RIGHTWARD.in_place(), 1 << 40);
    }

    #[test]
    fn every_changed_bit_shows() {
        for bit in 0..8 * LENGTH {
            let mut changed = WHOLE;
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Tag::read(&changed), None, "bit {bit}");
        }
        assert_eq!(Tag::read(&WHOLE[..17]), None);
    }
}

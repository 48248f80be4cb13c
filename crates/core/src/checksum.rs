//! The Internet checksum: whole sums and incremental changes (RFC 1071, RFC 1624).
//!
//! Sums are kept in 64 bits over words in memory order. One's-complement addition does not care
//! about byte order as long as everything that enters one sum has the same order (RFC 1071
//! section 2 (B)), and 2^32 = 1 modulo 2^16 - 1, so whole words can be added and folded at the end.

use core::ops::{Add, AddAssign, Sub};

use crate::word::Word;

/// How a protocol treats a checksum of zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChecksumKind {
    /// TCP and ICMP: 0x0000 is a checksum like any other.
    Plain,
    /// UDP: a computed 0x0000 is sent as 0xffff (RFC 768).
    Udp,
}

/// A checksum in a packet.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Where it lies in the packet.
    pub at: usize,
    /// How its protocol treats a zero.
    pub kind: ChecksumKind,
}

impl Field {
    /// The checksum of TCP or ICMP that lies `at` bytes into the packet.
    #[inline(always)]
    #[must_use]
    pub const fn plain(at: usize) -> Self {
        let kind = ChecksumKind::Plain;
        Self { at, kind }
    }

    /// The checksum of UDP that lies `at` bytes into the packet.
    #[inline(always)]
    #[must_use]
    pub const fn udp(at: usize) -> Self {
        let kind = ChecksumKind::Udp;
        Self { at, kind }
    }
}

/// The changes to the data that a transport checksum covers. The two are separate because a packet whose
/// checksum the hardware still has to complete (`CHECKSUM_PARTIAL`) carries the sum of the pseudo-header
/// only.
#[derive(Clone, Copy, Debug)]
pub struct Change {
    /// In the pseudo-header.
    pub pseudo: Delta,
    /// In the transport header and the payload.
    pub content: Delta,
}

impl Change {
    /// A change that the pseudo-header has no part in.
    #[inline(always)]
    #[must_use]
    pub const fn of_content(content: Delta) -> Self {
        let pseudo = Delta::NONE;
        Self { pseudo, content }
    }
}

/// A one's-complement sum of 16-bit words, not yet folded. It is below 2^47: a packet has fewer than 2^14 words of
/// 32 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum(u64);

/// A multiple of 2^16 - 1, and so a zero in one's-complement arithmetic, which is more than any sum.
const ZERO_ABOVE: u64 = 0xffff << 32;

impl Sum {
    /// The empty sum.
    pub const ZERO: Self = Self(0);

    /// The sum with one more word.
    #[inline(always)]
    pub const fn word(self, word: Word) -> Self {
        Self(self.0 + word.0 as u64)
    }

    /// The sum with several more words.
    #[inline(always)]
    pub fn words<const N: usize>(self, words: &[Word; N]) -> Self {
        let mut sum = self.0;
        for word in words {
            sum += u64::from(word.0);
        }
        Self(sum)
    }

    /// The sum with one more 16-bit number in its big-endian form.
    #[inline(always)]
    pub const fn number(self, number: u16) -> Self {
        Self(self.0 + number.to_be() as u64)
    }

    /// The sum with a run of bytes that starts at an even offset.
    pub fn bytes(self, bytes: &[u8]) -> Self {
        let mut sum = self.0;
        let mut chunks = bytes.chunks_exact(2);
        for pair in &mut chunks {
            sum += u64::from(u16::from_ne_bytes([pair[0], pair[1]]));
        }
        if let [last] = chunks.remainder() {
            sum += u64::from(u16::from_ne_bytes([*last, 0]));
        }
        Self(sum)
    }

    /// The folded sum, as the number that its memory form is in big-endian.
    #[inline(always)]
    #[must_use]
    pub const fn fold(self) -> u16 {
        u16::from_be(self.fold_memory())
    }

    /// The folded sum as it lies in memory.
    #[inline(always)]
    const fn fold_memory(self) -> u16 {
        // A number and the same with its halves exchanged: the lower halves add up to the carry that the upper ones
        // need.
        let sum = (self.0.wrapping_add(self.0.rotate_left(32)) >> 32) as u32;
        (sum.wrapping_add(sum.rotate_left(16)) >> 16) as u16
    }

    /// The checksum: the complement of the folded sum.
    #[inline(always)]
    #[must_use]
    pub const fn checksum(self) -> u16 {
        !self.fold()
    }
}

impl Add for Sum {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

/// The change from one sum to another: what an incremental update applies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Delta(Sum);

impl Delta {
    /// No change.
    pub const NONE: Self = Self(Sum::ZERO);

    /// The change from `old` to `new`: `new - old`, above a zero that is large enough.
    #[inline(always)]
    pub const fn between(old: Sum, new: Sum) -> Self {
        Self(Sum(new.0 + ZERO_ABOVE - old.0))
    }

    /// The checksum field after this change: RFC 1624 equation 3, `~(~old + change)`.
    #[inline(always)]
    #[must_use]
    pub const fn apply(self, old: u16, kind: ChecksumKind) -> u16 {
        u16::from_be(self.apply_memory(old.to_be(), kind))
    }

    /// [`apply`](Self::apply) to a field as it lies in memory, which spares both changes of byte order.
    #[inline(always)]
    #[must_use]
    pub const fn apply_memory(self, old: u16, kind: ChecksumKind) -> u16 {
        let Self(Sum(change)) = self;
        let new = !Sum(change + (!old) as u64).fold_memory();
        match kind {
            ChecksumKind::Udp if new == 0 => 0xffff,
            _ => new,
        }
    }

    /// The partial sum of the pseudo-header after this change: no complement on either side.
    #[inline(always)]
    #[must_use]
    pub const fn apply_partial(self, old: u16) -> u16 {
        self.0.number(old).fold()
    }

    /// The change as a folded number, for kernel helpers that take a difference.
    #[inline(always)]
    #[must_use]
    pub const fn fold(self) -> u16 {
        self.0.fold()
    }
}

impl Add for Delta {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Delta {
    #[inline(always)]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub<Sum> for Sum {
    type Output = Delta;
    /// The change from `old` (right) to `self` (left).
    #[inline(always)]
    fn sub(self, old: Sum) -> Delta {
        Delta::between(old, self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rfc1071_example() {
        // RFC 1071 section 3: the bytes 00 01 f2 03 f4 f5 f6 f7 sum to ddf2.
        let sum = Sum::ZERO.bytes(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]);
        assert_eq!(sum.fold(), 0xddf2);
        assert_eq!(sum.checksum(), !0xddf2);
    }

    #[test]
    fn rfc1624_example() {
        // RFC 1624 section 4: checksum dd2f, field 5555 becomes 3285, new checksum 0000.
        let change = Sum::ZERO.number(0x3285) - Sum::ZERO.number(0x5555);
        assert_eq!(change.apply(0xdd2f, ChecksumKind::Plain), 0x0000);
        assert_eq!(change.apply(0xdd2f, ChecksumKind::Udp), 0xffff);
    }

    #[test]
    fn a_change_is_a_number_that_sums_take() {
        // 3285 and the complement of 5555, which is aaaa.
        let change = Sum::ZERO.number(0x3285) - Sum::ZERO.number(0x5555);
        assert_eq!(change.fold(), 0xdd2f);
        assert_eq!(change.apply_partial(0x5555), 0x3285);
    }

    proptest! {
        /// An update equals a recomputation, modulo the two zeroes.
        #[test]
        fn incremental_equals_whole(mut bytes in prop::collection::vec(any::<u8>(), 8..200), word in any::<[u8; 4]>()) {
            let old_sum = Sum::ZERO.bytes(&bytes);
            let old = [bytes[4], bytes[5], bytes[6], bytes[7]];
            bytes[4..8].copy_from_slice(&word);
            let whole = Sum::ZERO.bytes(&bytes).checksum();
            let change = Sum::ZERO.word(Word::from_bytes(word)) - Sum::ZERO.word(Word::from_bytes(old));
            let updated = change.apply(old_sum.checksum(), ChecksumKind::Plain);
            prop_assert_eq!(u32::from(updated) % 0xffff, u32::from(whole) % 0xffff);
        }
    }
}

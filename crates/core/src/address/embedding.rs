//! IPv4 addresses inside of IPv6 addresses, wherever they lie: one rule of masks and shifts for all the
//! forms of RFC 6052 and RFC 6219, without a branch, so that a packet pays the same for each and the
//! verifier of BPF has one path to follow.

use super::{V4, V6};

/// A prefix, and where behind it an IPv4 address lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Embedding {
    /// The prefix, in halves.
    prefix: (u64, u64),
    /// The bits of an address that the prefix decides.
    mask: (u64, u64),
    /// The bits of the IPv4 address that lie in the upper half, and how far to the right of their
    /// place in a 32-bit number.
    upper: (u32, u32),
    /// How far to the left the other bits lie in the lower half.
    lower: u32,
    unused: u32,
}

impl Embedding {
    /// Nothing lies under it.
    pub const NOTHING: Self = Self {
        // Bits that the mask leaves out are never equal.
        prefix: (u64::MAX, u64::MAX),
        mask: (0, 0),
        upper: (0, 0),
        lower: 0,
        unused: 0,
    };

    /// Behind a prefix of `length` bits (up to 128), with the first `upper` bits (up to 32) of the
    /// IPv4 address at the end of the upper half and the others `lower` bits (up to 63) above the end
    /// of the lower half.
    pub(super) const fn new(prefix: (u64, u64), length: u32, upper: u32, lower: u32) -> Self {
        let mask = u128::MAX << (128 - length);
        Self {
            prefix,
            mask: ((mask >> 64) as u64, mask as u64),
            upper: (
                (u32::MAX as u64).wrapping_shl(32 - upper) as u32,
                32 - upper,
            ),
            lower,
            unused: 0,
        }
    }

    /// The first address of the prefix.
    #[must_use]
    pub const fn network(&self) -> V6 {
        V6::from_halves(self.prefix.0, self.prefix.1)
    }

    /// Whether an address lies under the prefix.
    #[inline(always)]
    #[must_use]
    pub const fn contains(&self, address: V6) -> bool {
        let (high, low) = address.halves();
        let differences =
            ((high & self.mask.0) ^ self.prefix.0) | ((low & self.mask.1) ^ self.prefix.1);
        differences == 0
    }

    /// The IPv6 address that represents an IPv4 address; all else behind the prefix is zero (RFC 6052 section
    /// 2.3, RFC 6219 section 3.1).
    #[inline(always)]
    #[must_use]
    pub const fn embed(&self, address: V4) -> V6 {
        let number = address.number();
        let (mask, right) = self.upper;
        let upper = ((number & mask) as u64).wrapping_shr(right);
        let lower = ((number & !mask) as u64).wrapping_shl(self.lower);
        V6::from_halves(self.prefix.0 | upper, self.prefix.1 | lower)
    }

    /// The IPv4 address that an address under the prefix represents, whatever the suffix is (RFC 6052 section
    /// 2.2, last paragraph).
    #[inline(always)]
    #[must_use]
    pub const fn extract(&self, address: V6) -> Option<V4> {
        if !self.contains(address) {
            return None;
        }
        Some(self.take(address))
    }

    /// The same, of an address that is known to be under the prefix.
    #[inline(always)]
    #[must_use]
    pub const fn take(&self, address: V6) -> V4 {
        let (high, low) = address.halves();
        let (mask, right) = self.upper;
        let upper = high.wrapping_shl(right) as u32 & mask;
        let lower = low.wrapping_shr(self.lower) as u32 & !mask;
        V4::from_number(upper | lower)
    }
}

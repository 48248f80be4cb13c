//! The operations on an address that rules for both families need.

use super::bits::{mask_v4, mask_v6};
use super::{V4, V6};
use crate::checksum::Sum;
use crate::word::Word;

/// An address of either family.
pub trait Address: Copy + Default {
    /// The first `length` bits of an address, all set.
    fn mask(length: u8) -> Self;

    /// The bits that two addresses have in common.
    fn and(self, other: Self) -> Self;

    /// The bits of a mask in which an address is not `other`; 0 if there are none. Without branches: a BPF
    /// verifier follows each.
    fn differs(&self, mask: &Self, other: &Self) -> u32;

    /// The sum of its bytes.
    fn sum(&self) -> Sum;
}

impl Address for V4 {
    #[inline(always)]
    fn mask(length: u8) -> Self {
        Self::from_number(mask_v4(length))
    }

    #[inline(always)]
    fn and(self, other: Self) -> Self {
        Self(Word(self.0.0 & other.0.0))
    }

    #[inline(always)]
    fn differs(&self, mask: &Self, other: &Self) -> u32 {
        self.0.0 & mask.0.0 ^ other.0.0
    }

    #[inline(always)]
    fn sum(&self) -> Sum {
        Sum::ZERO.word(self.0)
    }
}

impl Address for V6 {
    #[inline(always)]
    fn mask(length: u8) -> Self {
        let (high, low) = mask_v6(length);
        Self::from_halves(high, low)
    }

    #[inline(always)]
    fn and(self, other: Self) -> Self {
        let (a, b) = (self.0, other.0);
        Self([0, 1, 2, 3].map(|at| Word(a[at].0 & b[at].0)))
    }

    #[inline(always)]
    fn differs(&self, mask: &Self, other: &Self) -> u32 {
        let (a, m, n) = (&self.0, &mask.0, &other.0);
        (a[0].0 & m[0].0 ^ n[0].0)
            | (a[1].0 & m[1].0 ^ n[1].0)
            | (a[2].0 & m[2].0 ^ n[2].0)
            | (a[3].0 & m[3].0 ^ n[3].0)
    }

    #[inline(always)]
    fn sum(&self) -> Sum {
        Sum::ZERO.words(&self.0)
    }
}

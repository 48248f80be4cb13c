//! Prefixes and fields of bits in addresses, as masks and shifts for the packet path.

use super::V6;

/// The first `length` bits (up to 32) of an IPv4 address.
#[inline(always)]
pub(super) const fn mask_v4(length: u8) -> u32 {
    // In 64 bits, so that a length of 0 shifts everything out.
    (u32::MAX as u64).wrapping_shl(32 - length as u32) as u32
}

/// The first `length` bits (up to 128) of an IPv6 address, in halves.
#[inline(always)]
pub(crate) const fn mask_v6(length: u8) -> (u64, u64) {
    match length {
        0 => (0, 0),
        1..=64 => (u64::MAX.wrapping_shl(64 - length as u32), 0),
        _ => (u64::MAX, u64::MAX.wrapping_shl(128 - length as u32)),
    }
}

/// An IPv6 prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(super) struct Network {
    /// The first address, in halves.
    pub(super) start: (u64, u64),
    /// The bits of an address that the prefix decides.
    mask: (u64, u64),
}

impl Network {
    /// The prefix of `length` bits (up to 128); `None` if others are set.
    pub(super) const fn new(start: V6, length: u8) -> Option<Self> {
        let (start, mask) = (start.halves(), mask_v6(length));
        if start.0 & !mask.0 != 0 || start.1 & !mask.1 != 0 {
            return None;
        }
        Some(Self { start, mask })
    }

    /// The first address.
    pub(super) const fn first(&self) -> V6 {
        V6::from_halves(self.start.0, self.start.1)
    }

    /// Whether an address is under the prefix.
    #[inline(always)]
    pub(super) const fn contains(&self, address: V6) -> bool {
        self.differences(address) == 0
    }

    /// The bits of the prefix that an address has otherwise; 0 if it is under the prefix.
    #[inline(always)]
    pub(super) const fn differences(&self, address: V6) -> u64 {
        let (high, low) = address.halves();
        ((high & self.mask.0) ^ self.start.0) | ((low & self.mask.1) ^ self.start.1)
    }
}

/// A run of up to 64 bits anywhere in an IPv6 address.
///
/// A value of it is at the top of a word. To come to its place, or back, the word is rotated: bits
/// that go out on the right of the upper half come in at the left of the lower one. So there is
/// neither a branch nor a shift by 64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(super) struct Field {
    /// Its bits in an address.
    mask: (u64, u64),
    /// Bits in front of it, modulo 64.
    rotation: u64,
}

impl Field {
    /// The `length` bits (up to 64) from bit `start` on, together up to 128.
    pub(super) const fn new(start: u8, length: u8) -> Self {
        let (before, end) = (mask_v6(start), mask_v6(start + length));
        Self {
            mask: (end.0 & !before.0, end.1 & !before.1),
            rotation: start as u64 & 63,
        }
    }

    /// A value in its place, in halves. Bits of the value after the length of the field do not matter.
    #[inline(always)]
    pub(super) const fn put(&self, value: u64) -> (u64, u64) {
        let rotated = value.rotate_right(self.rotation as u32 & 63);
        (rotated & self.mask.0, rotated & self.mask.1)
    }

    /// The value in an address.
    #[inline(always)]
    pub(super) const fn get(&self, address: V6) -> u64 {
        let (high, low) = address.halves();
        ((high & self.mask.0) | (low & self.mask.1)).rotate_left(self.rotation as u32 & 63)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::net::Ipv6Addr;
    use proptest::prelude::*;

    proptest! {
        /// The same on numbers of 128 bits.
        #[test]
        fn fields_are_where_they_should_be(
            (start, length) in (0u8..=128).prop_flat_map(|start| (Just(start), 0..=(128 - start).min(64))),
            value in any::<u64>(), around in any::<u128>(),
        ) {
            let field = Field::new(start, length);
            let kept = u128::from(value) & u128::from(u64::MAX).checked_shl(64 - u32::from(length)).unwrap_or(0)
                & u128::from(u64::MAX);
            let there = (kept << 64).checked_shr(u32::from(start)).unwrap_or(0);
            let (high, low) = field.put(value);
            prop_assert_eq!(u128::from(high) << 64 | u128::from(low), there);
            let ones = field.put(u64::MAX);
            let mask = u128::from(ones.0) << 64 | u128::from(ones.1);
            prop_assert_eq!(mask.count_ones(), u32::from(length));
            let address = Ipv6Addr::from_bits(around & !mask | there);
            prop_assert_eq!(field.get(address.into()), kept as u64);
        }

        #[test]
        fn networks_contain_what_begins_like_them(length in 0u8..=128, a: u128, flip in 0u32..128) {
            let start = a.checked_shr(128 - u32::from(length)).unwrap_or(0);
            let start = start.checked_shl(128 - u32::from(length)).unwrap_or(0);
            let network = Network::new(Ipv6Addr::from_bits(start).into(), length).unwrap();
            prop_assert!(network.contains(Ipv6Addr::from_bits(a).into()));
            let other = Ipv6Addr::from_bits(a ^ (1 << (127 - flip)));
            prop_assert_eq!(network.contains(other.into()), flip >= u32::from(length));
        }
    }
}

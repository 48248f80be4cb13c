//! Deterministic port blocks (RFC 7422): the ports of a subscriber follow from the configuration, so
//! nothing has to be logged.

use core::num::NonZeroU32;

use crate::address::{V4, V6};
use crate::word::Word;

use super::pool::Pool;

/// Port blocks by calculation (RFC 7422 section 2.1): subscribers are numbered by the bits of
/// their address between the length of the inside prefix and that of a subscriber, and take the
/// blocks of the pool in ascending order, address by address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Deterministic {
    /// The prefix of all subscribers, as a number; for IPv4, the address in the low half.
    prefix: [u64; 2],
    /// Its mask.
    mask: [u64; 2],
    /// Bits of an address after those of a subscriber, 0 to 127.
    shift: u32,
    /// Ports in a block.
    pub(super) size: u16,
}

impl Deterministic {
    /// For the subscribers with prefixes of `subscriber` bits inside `prefix`, which has `bits`
    /// bits: `bits <= subscriber <= 128`, and `subscriber - bits <= 31`. `size` ports each, at
    /// least 1.
    #[must_use]
    pub const fn v6(prefix: V6, bits: u8, subscriber: u8, size: u16) -> Self {
        let (high, low) = prefix.halves();
        Self::new((high as u128) << 64 | low as u128, bits, subscriber, size)
    }

    /// For the hosts inside an IPv4 prefix of `bits` bits, at least 1.
    #[must_use]
    pub const fn v4(prefix: V4, bits: u8, size: u16) -> Self {
        Self::new(prefix.number() as u128, 96 + bits, 128, size)
    }

    const fn new(prefix: u128, bits: u8, subscriber: u8, size: u16) -> Self {
        let mask = if bits == 0 {
            0
        } else {
            u128::MAX << (128 - bits as u32)
        };
        let prefix = prefix & mask;
        Self {
            prefix: [(prefix >> 64) as u64, prefix as u64],
            mask: [(mask >> 64) as u64, mask as u64],
            shift: 128 - subscriber as u32,
            size,
        }
    }

    /// Ports that each subscriber has.
    #[must_use]
    pub const fn size(&self) -> u16 {
        self.size
    }

    /// The address and first port of the block of an inside endpoint; `None` if it is not under
    /// the prefix, or the pool is too small.
    #[inline(always)]
    pub(super) fn block_of(&self, pool: &Pool, inside: &[u64; 3]) -> Option<(V4, u16)> {
        let [high, low] = number_of(inside);
        if (high ^ self.prefix[0]) & self.mask[0] | (low ^ self.prefix[1]) & self.mask[1] != 0 {
            return None;
        }
        let (high, low) = (high & !self.mask[0], low & !self.mask[1]);
        // A shift of the 128-bit number, of which 32 bits matter.
        let number = if self.shift >= 64 {
            high >> (self.shift & 63)
        } else {
            low >> self.shift | high << 1 << (63 - self.shift)
        };
        self.block(pool, u32::try_from(number).ok()?)
    }

    /// The address and first port of the block with this number.
    #[inline(always)]
    fn block(&self, pool: &Pool, number: u32) -> Option<(V4, u16)> {
        // Once, and not in each round: the verifier of BPF looks at each of them.
        let size = self.divisor()?;
        let mut rest = number;
        for range in pool.all() {
            let (first, per_address) = blocks_in(size, range.low, range.high);
            let blocks = range.count.wrapping_mul(per_address);
            if rest < blocks {
                let address = rest.checked_div(per_address)?;
                let block = first + (rest - address * per_address);
                return Some((
                    V4::from_number(range.first.wrapping_add(address)),
                    (block * size.get()) as u16,
                ));
            }
            rest -= blocks;
        }
        None
    }

    /// The subscriber, as the first address of its prefix, that an outside endpoint belongs to;
    /// `None` if it belongs to none. An IPv4 subscriber is in the last 32 bits.
    #[must_use]
    pub fn subscriber_of(&self, pool: &Pool, address: V4, port: u16) -> Option<V6> {
        let size = self.divisor()?;
        let mut before = 0_u64;
        for range in pool.ranges() {
            let (first, per_address) = blocks_in(size, range.low, range.high);
            let offset = address.number().wrapping_sub(range.first);
            let block = u32::from(port) / size;
            if offset < range.count && (first..first + per_address).contains(&block) {
                let number =
                    before + u64::from(offset) * u64::from(per_address) + u64::from(block - first);
                let prefix = u128::from(self.prefix[0]) << 64 | u128::from(self.prefix[1]);
                let mask = u128::from(self.mask[0]) << 64 | u128::from(self.mask[1]);
                let host = u128::from(number) << self.shift;
                return (host & mask == 0).then(|| {
                    let whole = prefix | host;
                    V6::from_halves((whole >> 64) as u64, whole as u64)
                });
            }
            before += u64::from(range.count) * u64::from(per_address);
        }
        None
    }

    /// Ports in a block, to divide by.
    #[inline(always)]
    fn divisor(&self) -> Option<NonZeroU32> {
        NonZeroU32::new(self.size.into())
    }
}

/// Number of the first whole block of this size in a range of ports, and how many there are.
#[inline(always)]
fn blocks_in(size: NonZeroU32, low: u16, high: u16) -> (u32, u32) {
    let first = (u32::from(low) + (size.get() - 1)) / size;
    let end = (u32::from(high) + 1) / size;
    (first, end.saturating_sub(first))
}

/// The inside address as a number: IPv6, or IPv4 where there is no IPv6 address.
#[inline(always)]
fn number_of(inside: &[u64; 3]) -> [u64; 2] {
    if inside[0] | inside[1] == 0 {
        return [0, u64::from(Word((inside[2] >> 32) as u32).number())];
    }
    let number = |word: u64| {
        u64::from(Word((word >> 32) as u32).number()) << 32 | u64::from(Word(word as u32).number())
    };
    [number(inside[0]), number(inside[1])]
}

//! The pool of outside addresses and ports (pool4) of a stateful instance.

use core::hint::black_box;

use crate::address::V4;
use crate::address::port_set::PortSet;

use super::endpoint::Endpoint4;

/// Ranges that a pool has at most.
pub const POOL_RANGES: usize = 64;

/// Consecutive outside addresses with the same ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct PoolRange {
    /// First address, as a number.
    pub first: u32,
    /// Addresses; at least 1.
    pub count: u32,
    /// First port; at least 1.
    pub low: u16,
    /// Last port.
    pub high: u16,
    /// Addresses in the ranges before this one.
    before: u32,
}

impl PoolRange {
    /// An unused place of a pool: it is behind every other range, and has no addresses.
    const NONE: Self = Self {
        first: u32::MAX,
        count: 0,
        low: 0,
        high: 0,
        before: u32::MAX,
    };

    /// `count` addresses from `first` on, with the ports from `low` to `high`.
    #[must_use]
    pub const fn new(first: V4, count: u32, low: u16, high: u16) -> Self {
        Self {
            first: first.number(),
            count,
            low,
            high,
            before: 0,
        }
    }
}

/// The pool of outside addresses (pool4): ranges in ascending order that do not overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Pool {
    ranges: [PoolRange; POOL_RANGES],
    used: u32,
    addresses: u32,
    /// The last address of the last range, as a number.
    last: u32,
    /// The usable ports: all, or the port set of a CE that shares the address with others.
    set: PortSet,
}

/// A pool that cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolError {
    /// More than [`POOL_RANGES`] ranges.
    TooManyRanges,
    /// More than 65,536 addresses.
    TooManyAddresses,
    /// The range with this index is empty, or its ports are: port 0 is none.
    Empty(usize),
    /// The range with this index begins before the one before it ends.
    Order(usize),
}

impl Pool {
    /// No addresses.
    pub const NONE: Self = Self {
        ranges: [PoolRange::NONE; POOL_RANGES],
        used: 0,
        addresses: 0,
        last: 0,
        set: PortSet::WHOLE,
    };

    /// A pool of these ranges.
    ///
    /// # Errors
    /// [`PoolError`]
    pub fn new(ranges: &[PoolRange]) -> Result<Self, PoolError> {
        let mut pool = Self::NONE;
        if ranges.len() > POOL_RANGES {
            return Err(PoolError::TooManyRanges);
        }
        let mut end = 0_u64;
        for (index, (place, range)) in pool.ranges.iter_mut().zip(ranges).enumerate() {
            let first = u64::from(range.first);
            if range.count == 0 || range.low == 0 || range.low > range.high {
                return Err(PoolError::Empty(index));
            }
            if first < end {
                return Err(PoolError::Order(index));
            }
            end = first + u64::from(range.count);
            *place = PoolRange {
                before: pool.addresses,
                ..*range
            };
            pool.used += 1;
            pool.addresses = pool.addresses.saturating_add(range.count);
            if pool.addresses > 65_536 || end > 1 << 32 {
                return Err(PoolError::TooManyAddresses);
            }
            pool.last = (end - 1) as u32;
        }
        Ok(pool)
    }

    /// The pool of a CE: one address, whole or shared with others (RFC 7597 section 5.1).
    /// Port 0 is none.
    #[must_use]
    pub const fn of_ce(address: V4, set: PortSet) -> Self {
        let mut ranges = [PoolRange::NONE; POOL_RANGES];
        ranges[0] = PoolRange::new(address, 1, 1, u16::MAX);
        Self {
            ranges,
            used: 1,
            addresses: 1,
            last: address.number(),
            set,
        }
    }

    /// The ports that there are of those of the ranges.
    #[inline(always)]
    #[must_use]
    pub const fn port_set(&self) -> PortSet {
        self.set
    }

    /// Addresses of the pool.
    #[inline(always)]
    #[must_use]
    pub const fn addresses(&self) -> u32 {
        self.addresses
    }

    /// Ports of all addresses, of each protocol.
    #[must_use]
    pub fn ports(&self) -> u64 {
        let of_range = |range: &PoolRange| {
            let ports = u64::from(range.high - range.low) + 1;
            u64::from(range.count) * ports.min(self.set.count().into())
        };
        self.ranges().iter().map(of_range).sum()
    }

    /// The ranges.
    #[must_use]
    pub fn ranges(&self) -> &[PoolRange] {
        self.ranges.get(..self.used as usize).unwrap_or(&[])
    }

    /// All ranges, those that are not used as well: they have no addresses.
    #[inline(always)]
    pub(super) fn all(&self) -> &[PoolRange; POOL_RANGES] {
        &self.ranges
    }

    /// The address with this number, counted from 0 over all ranges, and its ports.
    #[inline(always)]
    pub(super) fn nth(&self, number: u32) -> Option<(V4, u16, u16)> {
        // Most pools have one range: it need not be searched for.
        let range = if number < self.ranges[0].count {
            &self.ranges[0]
        } else {
            self.last_not_after(number, |range| range.before)?
        };
        let offset = number.wrapping_sub(range.before);
        (offset < range.count).then(|| {
            (
                V4::from_number(range.first.wrapping_add(offset)),
                range.low,
                range.high,
            )
        })
    }

    /// The ports of an address of the pool.
    #[inline(always)]
    #[must_use]
    pub fn ports_of(&self, address: V4) -> Option<(u16, u16)> {
        let number = address.number();
        let range = self.last_not_after(number, |range| range.first)?;
        (number.wrapping_sub(range.first) < range.count).then_some((range.low, range.high))
    }

    /// Whether the address is in the pool.
    #[inline(always)]
    #[must_use]
    pub fn contains(&self, address: V4) -> bool {
        self.is_near(address) && self.ports_of(address).is_some()
    }

    /// Whether the address is between the first and the last of the pool: most addresses of an
    /// internet are not.
    #[inline(always)]
    #[must_use]
    pub const fn is_near(&self, address: V4) -> bool {
        let number = address.number();
        self.ranges[0].first <= number && number <= self.last
    }

    /// Whether the port of an endpoint is in the pool, too.
    #[inline(always)]
    #[must_use]
    pub fn has(&self, outside: Endpoint4) -> bool {
        match self.ports_of(outside.address) {
            Some((low, high)) => {
                (low..=high).contains(&outside.port) && self.set.contains(outside.port)
            }
            None => false,
        }
    }

    /// The last range whose `key` is not greater than `number`, by bisection in six steps. The
    /// steps are arithmetic: as branches they would be 64 paths to the verifier of BPF.
    #[inline(always)]
    fn last_not_after(&self, number: u32, key: impl Fn(&PoolRange) -> u32) -> Option<&PoolRange> {
        const LAST: u64 = POOL_RANGES as u64 - 1;
        let mut index = 0_u64;
        let mut step = POOL_RANGES as u64 / 2;
        while step != 0 {
            // Hidden from the compiler, which would leave the mask out: the verifier of Linux 6.1
            // does not see that the steps add up to less.
            let range = &self.ranges[(black_box(index | step) & LAST) as usize];
            // Negative if the key is not greater. The compiler must not know, or it would branch.
            let difference = black_box(i64::from(key(range)) - i64::from(number) - 1);
            index |= step & (difference >> 63) as u64;
            step /= 2;
        }
        let range = &self.ranges[(black_box(index) & LAST) as usize];
        (key(range) <= number).then_some(range)
    }
}

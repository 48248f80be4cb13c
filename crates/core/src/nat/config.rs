//! What a stateful instance is told: plain data for a BPF map. The gateway makes it and checks it.

use core::hint::black_box;

use crate::address::V4;
use crate::address::port_set::PortSet;
use crate::table::Seed;
use crate::time::Span;

use super::deterministic::Deterministic;
use super::endpoint::Endpoint4;
use super::layout::Layout;

/// Ranges that a pool has at most.
pub const POOL_RANGES: usize = 64;

/// Pool, limits, timers and table layout of one stateful instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct NatConfig {
    /// Where the tables lie.
    pub layout: Layout,
    /// Secret of all hashes: random, and the same as long as the tables live.
    pub seed: Seed,
    /// Which packets may come in.
    pub filtering: Filtering,
    /// What becomes of TCP connections from outside that nobody waits for.
    pub unsolicited_syn: UnsolicitedSyn,
    /// What happens when the ports of an outside address run out.
    pub pooling: Pooling,
    /// What makes two inside hosts one subscriber.
    pub subscriber: Subscriber,
    /// Bounds per subscriber.
    pub limits: Limits,
    /// Port blocks: how ports are given to subscribers.
    pub blocks: Blocks,
    /// Lifetimes.
    pub timers: Timers,
    /// Outside addresses and ports.
    pub pool: Pool,
}

impl NatConfig {
    /// Whether an IPv4 destination is the NAT's: a packet from outside to it may have a binding,
    /// and a packet from inside to it comes back (hairpinning, RFC 6146 section 3.8).
    #[inline(always)]
    #[must_use]
    pub fn owns(&self, destination: V4) -> bool {
        self.pool.contains(destination)
    }
}

/// Filtering behaviour (RFC 4787 section 5, RFC 6146 section 3.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Filtering {
    /// Whoever knows the outside endpoint of a binding may send to it.
    EndpointIndependent,
    /// Only addresses that the inside endpoint has sent to.
    AddressDependent,
}

/// What becomes of a SYN from outside that has no binding, or that the filtering does not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum UnsolicitedSyn {
    /// It is dropped silently (RFC 5382 section 4.3, REQ-4 a).
    Drop,
    /// Its sender is told after 6 seconds, unless the inside host opens the connection meanwhile (RFC
    /// 5382 section 4.3, REQ-4; RFC 6146 section 3.5.2.2).
    Answer,
}

/// IP address pooling (RFC 4787 section 4.1, RFC 7857 section 4): a subscriber's bindings have the
/// same outside address …
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Pooling {
    /// … always.
    Strict,
    /// … as long as it has ports.
    Soft,
}

/// The bits of an inside address that identify a subscriber.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Subscriber {
    /// Mask over the IPv6 address, in the words of the tables.
    pub(super) address: [u64; 2],
    /// Mask over the IPv4 address, in memory order.
    pub(super) v4: u32,
}

impl Subscriber {
    /// The first `bits` bits of the IPv6 address, 0 to 128.
    #[must_use]
    pub const fn v6_prefix(bits: u8) -> Self {
        let mask = match bits {
            0 => 0,
            1..=127 => !(u128::MAX >> bits),
            _ => u128::MAX,
        };
        let address = crate::address::V6::from_halves((mask >> 64) as u64, mask as u64);
        Self {
            address: super::endpoint::address_words(address),
            v4: 0,
        }
    }

    /// The whole IPv4 address.
    #[must_use]
    pub const fn v4_host() -> Self {
        Self {
            address: [0; 2],
            v4: u32::MAX,
        }
    }
}

/// Bounds per subscriber (RFC 6888 requirements 4 and 5); 0: no bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Limits {
    /// Bindings, that is outside ports, of all protocols.
    pub bindings: u32,
    /// Sessions.
    pub sessions: u32,
}

/// How ports are given to subscribers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, u32)]
pub enum Blocks {
    /// One by one.
    None,
    /// One by one, of the port set that a customer's pool has ([`Pool::of_customer`]).
    PortSet,
    /// In blocks of `size` ports, a power of two from 8 to 8192, `per_subscriber` of them at most
    /// (1 to 4). A block belongs to its subscriber until no binding uses it.
    Dynamic {
        /// Ports in a block.
        size: u16,
        /// Blocks per subscriber.
        per_subscriber: u16,
    },
    /// By calculation (RFC 7422).
    Deterministic(Deterministic),
}

/// Lifetimes (RFC 6146 section 4, RFC 7857 section 2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Timers {
    /// UDP sessions: at least 120 s, 300 s by default.
    pub udp: Span,
    /// Established TCP sessions: at least 7200 s.
    pub tcp_established: Span,
    /// TCP sessions that are being opened, 240 s by default.
    pub tcp_opening: Span,
    /// TCP sessions that are being closed or were reset: 240 s by default.
    pub tcp_closing: Span,
    /// ICMP sessions: 60 s by default.
    pub icmp: Span,
    /// Fragmented datagrams: at least 2 s.
    pub fragment: Span,
}

impl Default for Timers {
    fn default() -> Self {
        Self {
            udp: Span::from_secs(300),
            tcp_established: Span::from_secs(7440),
            tcp_opening: Span::from_secs(240),
            tcp_closing: Span::from_secs(240),
            icmp: Span::from_secs(60),
            fragment: Span::from_secs(2),
        }
    }
}

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
    /// What fills a pool: behind every other range, and without addresses.
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
    /// The ports that there are: all, but for a customer who shares the address with others.
    set: PortSet,
}

/// A pool that can not be.
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

    /// The pool of a customer: one address, whole or shared with others (RFC 7597 section 5.1).
    /// Port 0 is none.
    #[must_use]
    pub const fn of_customer(address: V4, set: PortSet) -> Self {
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
        let range = self.last_not_after(number, |range| range.before)?;
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

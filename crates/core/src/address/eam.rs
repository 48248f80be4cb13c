//! Explicit address mappings (RFC 7757): pairs of an IPv4 and an IPv6 prefix, looked up by longest
//! match in either direction.
//!
//! The table is read-only for the packet path and lies in the rules memory: one open-addressed
//! hash table per direction, keyed by a prefix and its length. A lookup tries the prefix lengths
//! in use from the longest to the shortest, so the usual table (hosts, and one or two lengths
//! more) costs one or two cache lines whatever its size.
//!
//! Layout (`table/cuckoo.rs`): a slot is the IPv4 prefix (bits 0 to 31), its length (32 to 39), the length of
//! the IPv6 prefix (40 to 47) and a mark that the slot is in use (bit 63), then the two halves of the
//! IPv6 prefix.

mod fill;
#[cfg(test)]
mod tests;

use core::fmt;

use super::bits::{mask_v4, mask_v6};
use super::{V4, V6};
use crate::table::cuckoo::{self, Entry, SLOT_WORDS, mix};
use crate::table::{MIX, Memory};

pub use crate::table::{FillError, Place};
pub use fill::{fill, lines_for};

/// Where the explicit mappings lie in the rules memory; see the [module](self).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct EamTable {
    /// The binary logarithm of `lines`.
    pub lines_log2: u8,
    /// [`FILLED`](Self::FILLED), and [`HOSTS`](Self::HOSTS) if there are IPv6 prefixes of 128 bits; 0 if there are
    /// no mappings.
    pub marks: u8,
    /// The length of all IPv6 prefixes, or [`SEVERAL`](Self::SEVERAL).
    pub v6_length: u8,
    /// The length of all IPv4 prefixes, or [`SEVERAL`](Self::SEVERAL).
    pub v4_length: u8,
    /// First line. What a search needs up to here is eight bytes, which an engine may pass as one number.
    pub base: u32,
    /// Lines per direction, a power of two; 0 if there are no mappings.
    pub lines: u32,
    /// The lowest and the highest IPv4 address that a mapping covers, as numbers.
    pub v4_bounds: (u32, u32),
    /// Bit `n` set: there is a mapping with an IPv4 prefix of `n` bits.
    pub v4_lengths: u64,
    /// Bit `n` set: there is a mapping with an IPv6 prefix of `n` bits (bit 128 of 129 is word 2).
    pub v6_lengths: [u64; 3],
}

impl EamTable {
    /// Not a length: prefixes have several.
    pub const SEVERAL: u8 = 255;
    /// One of the [`marks`](Self::marks): there are mappings.
    pub const FILLED: u8 = 2;
    /// One of the [`marks`](Self::marks): there are mappings of single IPv6 hosts.
    pub const HOSTS: u8 = 1;

    /// Whether a mapping may cover an IPv4 address: most destinations of an internet are far from
    /// the few addresses that stand for IPv6 hosts.
    #[inline(always)]
    #[must_use]
    pub const fn may_cover(&self, address: V4) -> bool {
        let (lowest, highest) = self.v4_bounds;
        let number = address.number();
        self.lines != 0 && lowest <= number && number <= highest
    }

    /// Whether one of the mappings is of all of IPv4.
    #[inline(always)]
    #[must_use]
    pub const fn maps_everything(&self) -> bool {
        self.v4_lengths & 1 != 0
    }
}

/// Bit of a slot's first word that is set if the slot is in use.
const IN_USE: u64 = 1 << 63;

/// One row of the table: an IPv4 prefix and an IPv6 prefix that stand for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mapping {
    v4: u32,
    v6: (u64, u64),
    v4_length: u8,
    v6_length: u8,
}

/// Why two prefixes cannot be a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MappingError {
    /// The IPv4 prefix is longer than 32 bits.
    V4Length(u8),
    /// The IPv6 prefix is longer than 128 bits.
    V6Length(u8),
    /// Bits after the IPv4 prefix are set.
    V4HostBits,
    /// Bits after the IPv6 prefix are set.
    V6HostBits,
    /// The IPv4 prefix has more suffix bits than the IPv6 prefix (RFC 7757 section 3.2).
    Suffix {
        /// Bits after the IPv4 prefix.
        v4: u8,
        /// Bits after the IPv6 prefix.
        v6: u8,
    },
}

impl fmt::Display for MappingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::V4Length(n) => write!(f, "an IPv4 prefix has at most 32 bits, not {n}"),
            Self::V6Length(n) => write!(f, "an IPv6 prefix has at most 128 bits, not {n}"),
            Self::V4HostBits => f.write_str("bits after the length of the IPv4 prefix are set"),
            Self::V6HostBits => f.write_str("bits after the length of the IPv6 prefix are set"),
            Self::Suffix { v4, v6 } => write!(
                f,
                "the IPv4 prefix leaves {v4} bits and the IPv6 prefix only {v6}; \
                 it must leave at least as many (RFC 7757 section 3.2)"
            ),
        }
    }
}

impl core::error::Error for MappingError {}

impl Mapping {
    /// A mapping between two prefixes, lengths in bits (RFC 7757 section 3.2).
    ///
    /// # Errors
    /// See [`MappingError`].
    pub const fn new(v4: V4, v4_length: u8, v6: V6, v6_length: u8) -> Result<Self, MappingError> {
        if v4_length > 32 {
            return Err(MappingError::V4Length(v4_length));
        }
        if v6_length > 128 {
            return Err(MappingError::V6Length(v6_length));
        }
        let number = v4.number();
        if number & mask_v4(v4_length) != number {
            return Err(MappingError::V4HostBits);
        }
        let halves = v6.halves();
        let mask = mask_v6(v6_length);
        if halves.0 & mask.0 != halves.0 || halves.1 & mask.1 != halves.1 {
            return Err(MappingError::V6HostBits);
        }
        if 32 - v4_length > 128 - v6_length {
            return Err(MappingError::Suffix {
                v4: 32 - v4_length,
                v6: 128 - v6_length,
            });
        }
        Ok(Self {
            v4: number,
            v6: halves,
            v4_length,
            v6_length,
        })
    }

    /// The IPv4 prefix and its length in bits.
    #[must_use]
    pub const fn v4(&self) -> (V4, u8) {
        (V4::from_number(self.v4), self.v4_length)
    }

    /// The IPv6 prefix and its length in bits.
    #[must_use]
    pub const fn v6(&self) -> (V6, u8) {
        (V6::from_halves(self.v6.0, self.v6.1), self.v6_length)
    }

    /// The IPv6 address that an IPv4 address maps to by this mapping alone; `None` if it does not
    /// lie under the IPv4 prefix (RFC 7757 section 3.3.1).
    #[must_use]
    pub const fn counterpart_of_v4(&self, address: V4) -> Option<V6> {
        let address = address.number();
        if address & mask_v4(self.v4_length) != self.v4 {
            return None;
        }
        Some(self.translate_v4(address))
    }

    /// The IPv4 address that an IPv6 address maps to by this mapping alone; `None` if it does not
    /// lie under the IPv6 prefix (RFC 7757 section 3.3.2).
    #[must_use]
    pub const fn counterpart_of_v6(&self, address: V6) -> Option<V4> {
        let (address, mask) = (address.halves(), mask_v6(self.v6_length));
        if address.0 & mask.0 != self.v6.0 || address.1 & mask.1 != self.v6.1 {
            return None;
        }
        Some(self.translate_v6(address))
    }

    /// The counterpart of an address under the IPv4 prefix: its suffix behind the IPv6 prefix,
    /// padded with zeros (RFC 7757 section 3.3.1, steps 3 to 6).
    #[inline(always)]
    const fn translate_v4(&self, address: u32) -> V6 {
        let suffix = ((address & !mask_v4(self.v4_length)) as u64) << 32;
        // The suffix bits at the top of a half, as if the IPv4 prefix had no bits.
        let suffix = suffix.wrapping_shl(self.v4_length as u32);
        let at = self.v6_length as u32;
        let (high, low) = match at {
            0 => (suffix, 0),
            1..=63 => (suffix.wrapping_shr(at), suffix.wrapping_shl(64 - at)),
            // At 128 bits there is no suffix: it is zero, wherever it is moved.
            _ => (0, suffix.wrapping_shr(at - 64)),
        };
        V6::from_halves(self.v6.0 | high, self.v6.1 | low)
    }

    /// Maps an address under the IPv6 prefix.
    #[inline(always)]
    const fn map_v6(&self, address: V6) -> MappedV4 {
        MappedV4 {
            address: self.translate_v6(address.halves()),
            of_everything: self.v4_length == 0,
        }
    }

    /// The counterpart of an address under the IPv6 prefix: as many of its suffix bits as fit
    /// behind the IPv4 prefix (RFC 7757 section 3.3.2, steps 3 to 6).
    #[inline(always)]
    const fn translate_v6(&self, address: (u64, u64)) -> V4 {
        let at = self.v6_length as u32;
        let suffix = match at {
            0 => address.0,
            1..=63 => address.0.wrapping_shl(at) | address.1.wrapping_shr(64 - at),
            64..=127 => address.1.wrapping_shl(at - 64),
            _ => 0,
        };
        // In 64 bits, so that a shift by all 32 leaves nothing.
        let suffix = (suffix >> 32).wrapping_shr(self.v4_length as u32) as u32;
        V4::from_number(self.v4 | suffix)
    }
}

impl Entry for Mapping {
    #[inline(always)]
    fn words(&self) -> [u64; SLOT_WORDS] {
        let first = IN_USE
            | u64::from(self.v6_length) << 40
            | u64::from(self.v4_length) << 32
            | u64::from(self.v4);
        [first, self.v6.0, self.v6.1]
    }

    #[inline(always)]
    fn from_words([first, high, low]: [u64; SLOT_WORDS]) -> Self {
        Self {
            v4: first as u32,
            v6: (high, low),
            v4_length: (first >> 32) as u8,
            v6_length: (first >> 40) as u8,
        }
    }
}

/// The IPv6 address that an IPv4 address maps to; `None` if no mapping covers it (RFC 7757
/// section 3.3.1).
#[inline(always)]
pub fn to_v6<M: Memory + ?Sized>(rules: &M, place: Place, address: V4) -> Option<V6> {
    let mapping: Mapping = place.read(rules)?;
    Some(mapping.translate_v4(address.number()))
}

/// Maps an IPv6 address by the mapping in a place (RFC 7757 section 3.3.2).
#[inline(always)]
pub fn to_v4<M: Memory + ?Sized>(rules: &M, place: Place, address: V6) -> Option<MappedV4> {
    let mapping: Mapping = place.read(rules)?;
    Some(mapping.map_v6(address))
}

/// The IPv4 address that a mapping gives for an IPv6 address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MappedV4 {
    /// The IPv4 address.
    pub address: V4,
    /// The mapping is of all of IPv4: its results are addresses of the IPv4 internet, like those under a
    /// translation prefix (RFC 7757 figure 2).
    pub of_everything: bool,
}

/// Whether a mapping is of all of IPv4: its results are addresses of the IPv4 internet, like those under a
/// translation prefix (RFC 7757 figure 2).
#[inline(always)]
pub fn is_of_everything<M: Memory + ?Sized>(rules: &M, place: Place) -> bool {
    let mapping: Option<Mapping> = place.read(rules);
    match mapping {
        Some(mapping) => mapping.v4_length == 0,
        None => false,
    }
}

/// The mapping with the longest IPv4 prefix that covers an address. Costs two comparisons for an
/// address that is far from all mappings.
#[inline(always)]
pub fn find_v4<M: Memory + ?Sized>(rules: &M, table: &EamTable, address: V4) -> Option<Place> {
    if !table.may_cover(address) {
        return None;
    }
    longest_v4(table, |length| probe_v4(rules, table, address, length))
}

/// Returns the result of `probe` for the longest length of IPv4 prefixes that has one.
#[inline(always)]
pub fn longest_v4(table: &EamTable, probe: impl Fn(u8) -> Option<Place>) -> Option<Place> {
    longest(table.v4_lengths, 0, probe)
}

/// Returns the result of `probe` for the longest of these lengths that has one. Each is a bit, the lowest that of the length
/// `least`.
#[inline(always)]
pub fn longest(lengths: u64, least: u8, probe: impl Fn(u8) -> Option<Place>) -> Option<Place> {
    let mut lengths = lengths;
    for _ in 0..64 {
        let (length, rest) = take_longest(lengths)?;
        lengths = rest;
        if let Some(found) = probe(length + least) {
            return Some(found);
        }
    }
    None
}

/// The mapping whose IPv4 prefix is the first `length` bits of an address.
#[inline(always)]
pub fn probe_v4<M: Memory + ?Sized>(
    rules: &M,
    table: &EamTable,
    address: V4,
    length: u8,
) -> Option<Place> {
    let prefix = address.number() & mask_v4(length);
    let matches = |m: &Mapping| m.v4 == prefix && m.v4_length == length;
    let hash = hash_v4(prefix, length);
    cuckoo::find(rules, table.base, table.lines, hash, matches).map(|(place, _)| place)
}

/// The mapping with the longest IPv6 prefix that covers an address. Costs one comparison where
/// there are no mappings.
#[inline(always)]
pub fn find_v6<M: Memory + ?Sized>(rules: &M, table: &EamTable, address: V6) -> Option<Place> {
    if table.lines == 0 {
        return None;
    }
    longest_v6(table, |lengths, least| {
        longest(lengths, least, |length| {
            probe_v6(rules, table, address, length)
        })
    })
}

/// Returns what `search` finds under the longest IPv6 prefixes. It takes the lengths as [`longest`] does.
#[inline(always)]
pub fn longest_v6(table: &EamTable, search: impl Fn(u64, u8) -> Option<Place>) -> Option<Place> {
    let [short, long, whole] = table.v6_lengths;
    search(whole, 128)
        .or_else(|| search(long, 64))
        .or_else(|| search(short, 0))
}

/// The mapping whose IPv6 prefix is the first `length` bits of an address.
#[inline(always)]
pub fn probe_v6<M: Memory + ?Sized>(
    rules: &M,
    table: &EamTable,
    address: V6,
    length: u8,
) -> Option<Place> {
    under_v6(rules, table, address, length).map(|(place, _)| place)
}

/// Maps an IPv6 address by the mapping whose IPv6 prefix is the first `length` bits of it.
#[inline(always)]
pub fn map_v6<M: Memory + ?Sized>(
    rules: &M,
    table: &EamTable,
    address: V6,
    length: u8,
) -> Option<MappedV4> {
    under_v6(rules, table, address, length).map(|(_, mapping)| mapping.map_v6(address))
}

#[inline(always)]
fn under_v6<M: Memory + ?Sized>(
    rules: &M,
    table: &EamTable,
    address: V6,
    length: u8,
) -> Option<(Place, Mapping)> {
    let address = address.halves();
    let mask = mask_v6(length);
    let prefix = (address.0 & mask.0, address.1 & mask.1);
    let matches = |m: &Mapping| m.v6 == prefix && m.v6_length == length;
    let hash = hash_v6(prefix, length);
    let base = table.base.wrapping_add(table.lines);
    cuckoo::find(rules, base, table.lines, hash, matches)
}

/// The number of the highest bit set, and the bits without it.
#[inline(always)]
const fn take_longest(bits: u64) -> Option<(u8, u64)> {
    if bits == 0 {
        return None;
    }
    let highest = 63 - bits.leading_zeros();
    Some((highest as u8, bits & !1u64.wrapping_shl(highest)))
}

#[inline(always)]
const fn hash_v4(prefix: u32, length: u8) -> u64 {
    mix((length as u64) << 32 | prefix as u64)
}

#[inline(always)]
const fn hash_v6(prefix: (u64, u64), length: u8) -> u64 {
    mix(prefix
        .0
        .wrapping_mul(MIX)
        .rotate_left(32)
        .wrapping_add(prefix.1)
        .wrapping_add(length as u64))
}

//! The state of the kernel's routes: how long a result of a FIB lookup holds, and for which destinations.
//!
//! All destinations of a family are divided into ranges. A destination is an IPv4 address as a number, or
//! the upper half of an IPv6 address.

/// The map of one [`EpochWords`].
pub const EPOCH: &str = "EPOCH";
/// The map of the ranges of IPv4, and then of IPv6.
pub const RANGES: &str = "RANGES";

/// The value of `EPOCH`: a line, of which two words are in use.
pub type EpochWords = [u64; 8];
/// The word that numbers the state of the tables of routes, neighbours and links. User space counts it up
/// when it hears of a change, and every second. While it is 0 nothing is cached.
pub const NUMBER: usize = 0;
/// The word that puts ranges in force: a power of two that is no less than the number of ranges of either
/// family, or 0 if none are in force. User space withdraws ranges before it counts, and counts after it
/// put others in force. So a program that reads the number first never takes the next hop of an old range
/// for that of a new one.
pub const SIZE: usize = 1;

/// The most ranges of a family.
pub const MOST: u32 = 1 << MOST_LOG2;
/// The binary logarithm of [`MOST`].
pub const MOST_LOG2: u32 = 10;
/// Entries of `RANGES`.
pub const ENTRIES: usize = 2 * MOST as usize;

/// A range: the first destination, and [`Granularity::word`]. The ranges of a family are in order. Places that
/// are not in use begin at the highest number.
pub type Range = [u64; 2];

/// The addresses that the next hop within a range depends on, beside the link of arrival and the type of
/// service. A later one is more cautious.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u64)]
pub enum Granularity {
    /// None: all destinations have one next hop.
    Range = 0,
    /// The destination, which may be a neighbour.
    Destination = 1,
    /// Both addresses, also where nothing is known.
    Addresses = 2,
}

impl Granularity {
    /// The word of a range.
    #[must_use]
    pub const fn word(self) -> u64 {
        self as u64
    }

    /// The meaning of the word of a range.
    #[inline(always)]
    #[must_use]
    pub const fn from_word(word: u64) -> Self {
        match word {
            0 => Self::Range,
            1 => Self::Destination,
            _ => Self::Addresses,
        }
    }
}

/// Returns the place of the first range of a family.
#[inline(always)]
#[must_use]
pub const fn first(ipv6: bool) -> u32 {
    (ipv6 as u32) << MOST_LOG2
}

//! Addresses in packet form and the stateless mappings between the families.
//!
//! [`V4`] and [`V6`] hold an address as the words of a packet header, so that the packet path
//! never changes byte order to copy one. Configuration and output convert from and to
//! [`core::net`].

pub(crate) mod bits;
pub mod eam;
pub mod embedding;
pub mod explain;
mod family;
pub mod isatap;
pub mod ivi;
pub mod map;
pub mod networks;
pub mod port_set;
pub mod pref64;
pub mod rfc6052;
pub mod sixrd;
pub mod softwire;
pub mod special;

use core::fmt;
use core::net::{Ipv4Addr, Ipv6Addr};

use crate::word::Word;

pub use family::Address;

/// An IPv4 address as it lies in a packet.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct V4(pub Word);

/// An IPv6 address as it lies in a packet.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct V6(pub [Word; 4]);

impl V4 {
    /// The address as a number.
    #[inline(always)]
    #[must_use]
    pub const fn number(self) -> u32 {
        self.0.number()
    }

    /// The address with this number.
    #[inline(always)]
    #[must_use]
    pub const fn from_number(number: u32) -> Self {
        Self(Word::from_number(number))
    }
}

impl V6 {
    /// Whether two addresses are the same. Word by word: for arrays the compiler calls a function
    /// with a loop, which a BPF verifier has no patience for.
    #[inline(always)]
    #[must_use]
    pub const fn is(self, other: Self) -> bool {
        let (a, b) = (&self.0, &other.0);
        (a[0].0 ^ b[0].0) | (a[1].0 ^ b[1].0) | (a[2].0 ^ b[2].0) | (a[3].0 ^ b[3].0) == 0
    }

    /// The two words that tables and masks use: memory order within 32 bits.
    #[inline(always)]
    pub(crate) const fn words(self) -> [u64; 2] {
        let a = self.0;
        [
            (a[0].0 as u64) << 32 | a[1].0 as u64,
            (a[2].0 as u64) << 32 | a[3].0 as u64,
        ]
    }

    /// The upper and the lower half as numbers.
    #[inline(always)]
    #[must_use]
    pub const fn halves(self) -> (u64, u64) {
        (
            (self.0[0].number() as u64) << 32 | self.0[1].number() as u64,
            (self.0[2].number() as u64) << 32 | self.0[3].number() as u64,
        )
    }

    /// The address with these halves.
    #[inline(always)]
    #[must_use]
    pub const fn from_halves(high: u64, low: u64) -> Self {
        Self([
            Word::from_number((high >> 32) as u32),
            Word::from_number(high as u32),
            Word::from_number((low >> 32) as u32),
            Word::from_number(low as u32),
        ])
    }
}

impl From<Ipv4Addr> for V4 {
    fn from(address: Ipv4Addr) -> Self {
        Self(Word::from_bytes(address.octets()))
    }
}

impl From<V4> for Ipv4Addr {
    fn from(address: V4) -> Self {
        address.0.bytes().into()
    }
}

impl From<Ipv6Addr> for V6 {
    fn from(address: Ipv6Addr) -> Self {
        let bits = address.to_bits();
        Self::from_halves((bits >> 64) as u64, bits as u64)
    }
}

impl From<V6> for Ipv6Addr {
    fn from(address: V6) -> Self {
        let (high, low) = address.halves();
        Self::from_bits(u128::from(high) << 64 | u128::from(low))
    }
}

impl fmt::Debug for V4 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ipv4Addr::from(*self).fmt(f)
    }
}

impl fmt::Debug for V6 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ipv6Addr::from(*self).fmt(f)
    }
}

impl fmt::Display for V4 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ipv4Addr::from(*self).fmt(f)
    }
}

impl fmt::Display for V6 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ipv6Addr::from(*self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use std::format;

    use crate::testing::{v4, v6};

    #[test]
    fn addresses_are_shown_as_people_write_them() {
        let (v4, v6) = (v4("203.0.113.1"), v6("2001:db8::1"));
        assert_eq!(format!("{v4} {v4:?}"), "203.0.113.1 203.0.113.1");
        assert_eq!(format!("{v6} {v6:?}"), "2001:db8::1 2001:db8::1");
    }
}

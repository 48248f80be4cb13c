//! IPv4-embedded IPv6 addresses (RFC 6052), in all six prefix lengths.

use core::fmt;
use core::net::Ipv6Addr;
use core::ops::Deref;

use super::embedding::Embedding;

/// The lengths that a translation prefix may have (RFC 6052 section 2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Length {
    /// /32
    L32 = 32,
    /// /40
    L40 = 40,
    /// /48
    L48 = 48,
    /// /56
    L56 = 56,
    /// /64
    L64 = 64,
    /// /96
    L96 = 96,
}

/// A translation prefix: what `64:ff9b::/96` is an example of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Prefix {
    embedding: Embedding,
    length: Length,
    well_known: bool,
}

/// Why a prefix cannot be used for translation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrefixError {
    /// The length is not one of the six of RFC 6052 section 2.2.
    Length(u8),
    /// Bits after the prefix are set.
    HostBits,
    /// Bits 64 to 71 of a /96 are not zero (RFC 6052 section 2.2).
    UOctet,
}

impl fmt::Display for PrefixError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length(n) => write!(
                f,
                "a translation prefix is 32, 40, 48, 56, 64 or 96 bits long (RFC 6052 section 2.2), not {n}"
            ),
            Self::HostBits => f.write_str("bits after the prefix length are set"),
            Self::UOctet => {
                f.write_str("bits 64 to 71 of a /96 must be zero (RFC 6052 section 2.2)")
            }
        }
    }
}

impl Prefix {
    /// The well-known prefix `64:ff9b::/96` (RFC 6052 section 2.1).
    pub const WELL_KNOWN: Self = Self::of(Self::WELL_KNOWN_HIGH, 0, Length::L96);
    const WELL_KNOWN_HIGH: u64 = 0x0064_ff9b_0000_0000;

    /// The places of RFC 6052 section 2.2, which leave out the octet of bits 64 to 71.
    const fn of(high: u64, low: u64, length: Length) -> Self {
        let (upper, lower) = match length {
            Length::L32 => (32, 0),
            Length::L40 => (24, 48),
            Length::L48 => (16, 40),
            Length::L56 => (8, 32),
            Length::L64 => (0, 24),
            Length::L96 => (0, 0),
        };
        Self {
            embedding: Embedding::new((high, low), length as u32, upper, lower),
            length,
            well_known: high == Self::WELL_KNOWN_HIGH && low == 0 && matches!(length, Length::L96),
        }
    }

    /// A prefix of `length` bits.
    ///
    /// # Errors
    /// See [`PrefixError`].
    pub const fn new(address: Ipv6Addr, length: u8) -> Result<Self, PrefixError> {
        let length = match length {
            32 => Length::L32,
            40 => Length::L40,
            48 => Length::L48,
            56 => Length::L56,
            64 => Length::L64,
            96 => Length::L96,
            other => return Err(PrefixError::Length(other)),
        };
        let bits = address.to_bits();
        if bits << (length as u32) != 0 {
            return Err(PrefixError::HostBits);
        }
        let (high, low) = ((bits >> 64) as u64, bits as u64);
        if low >> 56 != 0 {
            return Err(PrefixError::UOctet);
        }
        Ok(Self::of(high, low, length))
    }

    /// Whether this is `64:ff9b::/96`, which must not represent non-global IPv4 addresses
    /// (RFC 6052 section 3.1).
    #[inline(always)]
    #[must_use]
    pub const fn is_well_known(&self) -> bool {
        self.well_known
    }

    /// The prefix length in bits.
    #[must_use]
    pub const fn length(&self) -> u8 {
        self.length as u8
    }
}

/// RFC 6052 section 2.3.
impl Deref for Prefix {
    type Target = Embedding;

    #[inline(always)]
    fn deref(&self) -> &Embedding {
        &self.embedding
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.network(), self.length())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::{V4, V6};
    use core::net::Ipv4Addr;
    use proptest::prelude::*;

    /// RFC 6052 section 2.4, tables 1 and 2.
    const TABLE: [(&str, u8, &str); 7] = [
        ("2001:db8::", 32, "2001:db8:c000:221::"),
        ("2001:db8:100::", 40, "2001:db8:1c0:2:21::"),
        ("2001:db8:122::", 48, "2001:db8:122:c000:2:2100::"),
        ("2001:db8:122:300::", 56, "2001:db8:122:3c0:0:221::"),
        ("2001:db8:122:344::", 64, "2001:db8:122:344:c0:2:2100::"),
        ("2001:db8:122:344::", 96, "2001:db8:122:344::192.0.2.33"),
        ("64:ff9b::", 96, "64:ff9b::192.0.2.33"),
    ];

    fn v6(text: &str) -> Ipv6Addr {
        text.parse().unwrap()
    }

    #[test]
    fn rfc6052_tables() {
        let v4 = V4::from(Ipv4Addr::new(192, 0, 2, 33));
        for (network, length, expected) in TABLE {
            let prefix = Prefix::new(v6(network), length).unwrap();
            assert_eq!(prefix.embed(v4), V6::from(v6(expected)), "{prefix}");
            assert_eq!(prefix.extract(v6(expected).into()), Some(v4), "{prefix}");
        }
    }

    #[test]
    fn rfc6052_2_2_refuses_what_is_not_a_prefix() {
        assert_eq!(
            Prefix::new(v6("2001:db8::"), 95),
            Err(PrefixError::Length(95))
        );
        assert_eq!(
            Prefix::new(v6("2001:db8::1"), 96),
            Err(PrefixError::HostBits)
        );
        assert_eq!(
            Prefix::new(v6("2001:db8:0:0:100::"), 96),
            Err(PrefixError::UOctet)
        );
    }

    #[test]
    fn no_other_prefix_is_taken_for_this() {
        let prefix = Prefix::new(v6("64:ff9b::"), 96).unwrap();
        // The second differs in the same bits of both halves.
        for other in ["64:ff9a::192.0.2.33", "64:ff9a:0:0:0:1:192.0.2.33"] {
            assert_eq!(prefix.extract(v6(other).into()), None, "{other}");
        }
    }

    proptest! {
        /// Extraction undoes embedding, whatever the suffix holds.
        #[test]
        fn there_and_back(bits: u128, v4: u32, suffix: u128, which in 0usize..6) {
            let length = [32u8, 40, 48, 56, 64, 96][which];
            let mask = u128::MAX << (128 - u32::from(length));
            let u_octet = 0xff_u128 << 56;
            let prefix = Prefix::new(Ipv6Addr::from_bits(bits & mask & !u_octet), length).unwrap();
            let embedded = prefix.embed(V4::from_number(v4));
            prop_assert_eq!(prefix.extract(embedded), Some(V4::from_number(v4)));
            // RFC 6052 section 2.2: bits after the address are ignored.
            let used = if length == 96 { 128 } else { u32::from(length) + 32 + 8 };
            let suffix = if used >= 128 { 0 } else { suffix & (u128::MAX >> used) };
            let noisy = Ipv6Addr::from_bits(Ipv6Addr::from(embedded).to_bits() | suffix);
            prop_assert_eq!(prefix.extract(noisy.into()), Some(V4::from_number(v4)));
        }
    }
}

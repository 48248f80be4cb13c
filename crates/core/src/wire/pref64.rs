//! The PREF64 option, by which a router announces the prefix of a NAT64 (RFC 8781 section 4).

use core::fmt;
use core::net::Ipv6Addr;

use crate::address::rfc6052::{Prefix, PrefixError};

/// The type of the option (RFC 8781 section 6).
pub const KIND: u8 = 38;
/// Bytes of the option.
pub const LENGTH: usize = 16;

/// The lengths that a Prefix Length Code stands for, in the order of the codes.
const LENGTHS: [u8; 6] = [96, 64, 56, 48, 40, 32];

/// A prefix and its lifetime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pref64 {
    /// The prefix.
    pub prefix: Prefix,
    /// How long it may be used; zero: no more.
    pub lifetime: Lifetime,
}

/// Seconds in units of 8, as the option has them (RFC 8781 section 4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lifetime(u16);

impl Lifetime {
    /// The prefix is not to be used any more.
    pub const ZERO: Self = Self(0);
    /// 65528 seconds, the longest that the option can hold.
    pub const MAX: Self = Self(0x1fff);

    /// So many seconds, rounded up to a number that the option can hold, so that only zero is zero; the
    /// longest one for more.
    #[must_use]
    pub const fn of_secs(seconds: u32) -> Self {
        let units = seconds.div_ceil(8);
        if units > Self::MAX.0 as u32 {
            Self::MAX
        } else {
            Self(units as u16)
        }
    }

    /// Seconds, 0 to 65528.
    #[must_use]
    pub const fn secs(self) -> u32 {
        self.0 as u32 * 8
    }
}

/// Why an option is ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pref64Error {
    /// It is not 16 bytes long, or says that it is not.
    Length,
    /// The Prefix Length Code stands for nothing.
    LengthCode(u8),
    /// The prefix cannot be one.
    Prefix(PrefixError),
}

impl fmt::Display for Pref64Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length => f.write_str("the option is not 16 bytes long"),
            Self::LengthCode(code) => write!(f, "there is no prefix length code {code}"),
            Self::Prefix(error) => error.fmt(f),
        }
    }
}

impl Pref64 {
    /// Reads an option, its type and length included. Bits of it after the prefix do not count.
    ///
    /// # Errors
    /// See [`Pref64Error`]; the option is to be ignored then (RFC 8781 section 4).
    pub const fn parse(option: &[u8]) -> Result<Self, Pref64Error> {
        let Some((head, rest)) = option.split_first_chunk::<4>() else {
            return Err(Pref64Error::Length);
        };
        let (Some(bits), 12, 2) = (rest.first_chunk::<12>(), rest.len(), head[1]) else {
            return Err(Pref64Error::Length);
        };
        let field = u16::from_be_bytes([head[2], head[3]]);
        let code = field & 7;
        if code as usize >= LENGTHS.len() {
            return Err(Pref64Error::LengthCode(code as u8));
        }
        let length = LENGTHS[code as usize];
        let mut address = [0; 16];
        let (high, _) = address.split_at_mut(12);
        high.copy_from_slice(bits);
        let network = u128::from_be_bytes(address) & (u128::MAX << (128 - length as u32));
        match Prefix::new(Ipv6Addr::from_bits(network), length) {
            Ok(prefix) => Ok(Self {
                prefix,
                lifetime: Lifetime(field >> 3),
            }),
            Err(error) => Err(Pref64Error::Prefix(error)),
        }
    }

    /// The option, its type and length included.
    #[must_use]
    pub fn emit(&self) -> [u8; LENGTH] {
        let mut option = [0; LENGTH];
        let length = self.prefix.length();
        let code = LENGTHS.iter().position(|&known| known == length);
        // Every length that a prefix can have is one of the six.
        let code = code.unwrap_or_default() as u16;
        option[0] = KIND;
        option[1] = (LENGTH / 8) as u8;
        option[2..4].copy_from_slice(&(self.lifetime.0 << 3 | code).to_be_bytes());
        let network = Ipv6Addr::from(self.prefix.network()).octets();
        option[4..].copy_from_slice(&network[..12]);
        option
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn prefix(text: &str, length: u8) -> Prefix {
        Prefix::new(text.parse().unwrap(), length).unwrap()
    }

    /// RFC 8781 figure 1, filled in by hand, for every prefix length code of section 4; and the same as
    /// `ICMPv6NDOptPREF64` of scapy 2.6 makes.
    #[test]
    fn rfc8781_4_the_figure() {
        #[rustfmt::skip]
        let rows: [(&str, u8, u32, &str); 6] = [
            ("64:ff9b::", 96, 1800, "260207080064ff9b0000000000000000"),
            ("2001:db8:122:344::", 64, 8, "2602000920010db80122034400000000"),
            ("2001:db8:122:300::", 56, 65528, "2602fffa20010db80122030000000000"),
            ("2001:db8:122::", 48, 0, "2602000320010db80122000000000000"),
            ("2001:db8:100::", 40, 600, "2602025c20010db80100000000000000"),
            ("2001:db8::", 32, 16, "2602001520010db80000000000000000"),
        ];
        for (network, length, seconds, hex) in rows {
            let bytes: std::vec::Vec<u8> = (0..16)
                .map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap())
                .collect();
            let option = Pref64 {
                prefix: prefix(network, length),
                lifetime: Lifetime::of_secs(seconds),
            };
            assert_eq!(option.emit()[..], bytes, "{network}/{length}");
            assert_eq!(Pref64::parse(&bytes), Ok(option), "{network}/{length}");
            assert_eq!(option.lifetime.secs(), seconds);
        }
    }

    #[test]
    fn rfc8781_4_what_is_ignored() {
        let good = Pref64 {
            prefix: Prefix::WELL_KNOWN,
            lifetime: Lifetime::of_secs(1800),
        }
        .emit();
        for length in [0, 1, 3, 255] {
            let mut bad = good;
            bad[1] = length;
            assert_eq!(Pref64::parse(&bad), Err(Pref64Error::Length), "{length}");
        }
        assert_eq!(Pref64::parse(&good[..15]), Err(Pref64Error::Length));
        assert_eq!(
            Pref64::parse(&[&good[..], &[0]].concat()),
            Err(Pref64Error::Length)
        );
        for code in [6, 7] {
            let mut bad = good;
            bad[3] = bad[3] & !7 | code;
            assert_eq!(Pref64::parse(&bad), Err(Pref64Error::LengthCode(code)));
        }
        // RFC 6052 section 2.2: bits 64 to 71 of a /96 are zero.
        let mut bad = good;
        bad[12] = 1;
        assert_eq!(
            Pref64::parse(&bad),
            Err(Pref64Error::Prefix(PrefixError::UOctet))
        );
    }

    /// RFC 8781 section 4.1: rounded up, at most 65528, and only zero is zero.
    #[test]
    fn rfc8781_4_1_lifetimes() {
        for (seconds, told) in [
            (0, 0),
            (1, 8),
            (8, 8),
            (9, 16),
            (1800, 1800),
            (65_528, 65_528),
            (65_529, 65_528),
            (u32::MAX, 65_528),
        ] {
            assert_eq!(Lifetime::of_secs(seconds).secs(), told, "{seconds}");
        }
    }

    proptest! {
        /// Any bytes are read or refused, and a value that was read is written back the same but for bits
        /// after the prefix.
        #[test]
        fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..40), fit: bool) {
            let mut bytes = bytes;
            if fit && bytes.len() >= 16 {
                bytes.truncate(16);
                bytes[1] = 2;
            }
            if let Ok(option) = Pref64::parse(&bytes) {
                prop_assert_eq!(Pref64::parse(&option.emit()), Ok(option));
                prop_assert_eq!(option.emit()[2..4].to_vec(), bytes[2..4].to_vec());
            }
        }
    }
}

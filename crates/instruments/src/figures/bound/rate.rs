//! Line rates.

use std::num::NonZeroU64;
use std::str::FromStr;

use super::BoundError;

/// The fastest rate, in bits per second.
const FASTEST: u64 = 1_000_000_000_000;

/// A line rate in bits per second, 1 to 10¹².
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate(NonZeroU64);

impl Rate {
    /// Ethernet at 10 Mb/s.
    pub const ETHERNET: Self = Self(NonZeroU64::new(10_000_000).unwrap());

    /// Returns a rate of this many bits per second.
    ///
    /// # Errors
    ///
    /// [`BoundError::Rate`] outside of 1 to 10¹².
    /// [`BoundError::Rate`] outside of 1 to 10¹².
    pub fn new(bits_per_second: u64) -> Result<Self, BoundError> {
        match NonZeroU64::new(bits_per_second) {
            Some(rate) if bits_per_second <= FASTEST => Ok(Self(rate)),
            _ => Err(BoundError::Rate),
        }
    }

    /// Returns the bits per second.
    pub fn bits_per_second(self) -> u64 {
        self.0.get()
    }

    /// Returns the time of this many bytes, in seconds.
    pub fn seconds(self, bytes: u32) -> f64 {
        8.0 * f64::from(bytes) / self.as_f64()
    }

    pub(super) fn as_f64(self) -> f64 {
        // Exact: 10¹² is far below 2⁵³.
        self.0.get() as f64
    }
}

/// Bits per second, with `k`, `M` or `G` for thousands: `10M`, `2.5G`.
impl FromStr for Rate {
    type Err = BoundError;

    fn from_str(text: &str) -> Result<Self, BoundError> {
        let (number, unit) = match text.as_bytes().last() {
            Some(b'k' | b'K') => (&text[..text.len() - 1], 1e3),
            Some(b'M') => (&text[..text.len() - 1], 1e6),
            Some(b'G') => (&text[..text.len() - 1], 1e9),
            _ => (text, 1.0),
        };
        // Only plain decimals: Rust's numbers may also have exponents, signs and "inf".
        if !number
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'.')
        {
            return Err(BoundError::Rate);
        }
        let number: f64 = number.parse().map_err(|_| BoundError::Rate)?;
        Self::new((number * unit).round() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read() {
        for (text, rate) in [
            ("10M", 10_000_000),
            ("2.5G", 2_500_000_000),
            ("64k", 64_000),
            ("1", 1),
            ("1000G", FASTEST),
        ] {
            assert_eq!(text.parse(), Rate::new(rate), "{text}");
            assert!(Rate::new(rate).is_ok());
        }
    }

    #[test]
    fn invalid_rates_are_refused() {
        for text in [
            "", "M", "0", "0.1", "-1M", "10X", "1e6", "inf", "NaN", "1.2.3", "1001G", "10 M", "10é",
        ] {
            assert_eq!(text.parse::<Rate>(), Err(BoundError::Rate), "{text}");
        }
    }
}

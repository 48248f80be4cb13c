//! IVI addresses (RFC 6219): a provider's prefix of 32 bits, an octet of ones that marks them, and
//! the IPv4 address in bits 40 to 71, straight through the octet that RFC 6052 keeps zero.
//!
//! The bits after it are zero for a host with an IPv4 address of its own, and "some other value for future
//! extensions" otherwise (section 3). The extension in use at CERNET shares an IPv4 address between hosts
//! by port: sixteen bits after the address tell in how many parts it is divided and which of them this
//! host has; see [`Share`].

use core::fmt;
use core::net::Ipv6Addr;
use core::ops::Deref;

use super::embedding::Embedding;
use super::port_set::PortSet;
use super::{V4, V6};

/// The octet in bits 32 to 39 by which IVI addresses are known (RFC 6219 section 3.1).
const MARK: u64 = 0xff;

/// A provider's prefix for IVI addresses, such as `2001:db8:ff00::/40`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Prefix {
    embedding: Embedding,
}

/// Why a prefix cannot be used for IVI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrefixError {
    /// The length is neither 32 nor, with the marker octet, 40.
    Length(u8),
    /// Bits after the prefix are set.
    HostBits,
    /// Bits 32 to 39 of a prefix of 40 bits are not all ones.
    Marker,
}

impl fmt::Display for PrefixError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length(n) => write!(
                f,
                "an IVI prefix is 32 bits long, or 40 with its marker octet (RFC 6219 section 3.1), not {n}"
            ),
            Self::HostBits => f.write_str("bits after the prefix length are set"),
            Self::Marker => {
                f.write_str("bits 32 to 39 of an IVI prefix are all ones (RFC 6219 section 3.1)")
            }
        }
    }
}

impl core::error::Error for PrefixError {}

impl Prefix {
    /// The prefix of a provider: its 32 bits, or those and the marker octet.
    ///
    /// # Errors
    /// See [`PrefixError`].
    pub const fn new(address: Ipv6Addr, length: u8) -> Result<Self, PrefixError> {
        let bits = address.to_bits();
        if length != 32 && length != 40 {
            return Err(PrefixError::Length(length));
        }
        if bits << length != 0 {
            return Err(PrefixError::HostBits);
        }
        let high = (bits >> 64) as u64;
        if length == 40 && (high >> 24) & MARK != MARK {
            return Err(PrefixError::Marker);
        }
        // Bits 40 to 71: the octet of bits 64 to 71 is used.
        let prefix = (high | MARK << 24, 0);
        Ok(Self {
            embedding: Embedding::new(prefix, 40, 24, 56),
        })
    }

    /// The length in bits, marker octet included: 40.
    #[must_use]
    pub const fn length(&self) -> u8 {
        40
    }

    /// The IPv6 address of the host that has a part of the ports of an IPv4 address.
    #[inline(always)]
    #[must_use]
    pub const fn embed_shared(&self, address: V4, share: Share) -> V6 {
        let (high, low) = self.embedding.embed(address).halves();
        V6::from_halves(high, low | (share.code() as u64) << 40)
    }
}

/// RFC 6219 section 3.1, figure 4.
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

/// A part of the ports of an IPv4 address: those with the same remainder when divided by the
/// number of hosts that share it.
///
/// In an address it is coded in the sixteen bits after the IPv4 address: the binary logarithm of
/// the number of hosts in four bits, and the remainder in twelve. All zero is the whole address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    ratio_log2: u8,
    index: u16,
}

/// Why there is no such share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShareError {
    /// The number of hosts is not a power of two from 1 to 4096.
    Ratio(u32),
    /// The index is not below the number of hosts.
    Index {
        /// The index.
        index: u16,
        /// The number of hosts.
        ratio: u32,
    },
}

impl fmt::Display for ShareError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ratio(n) => write!(
                f,
                "an address is shared by a power of two of hosts, 1 to 4096, not {n}"
            ),
            Self::Index { index, ratio } => write!(
                f,
                "with {ratio} hosts to an address, the index is below {ratio}, not {index}"
            ),
        }
    }
}

impl core::error::Error for ShareError {}

impl Share {
    /// The part number `index` (0 and up) of an address that `ratio` hosts share (1 to 4096, a
    /// power of two).
    ///
    /// # Errors
    /// See [`ShareError`].
    pub const fn new(ratio: u32, index: u16) -> Result<Self, ShareError> {
        if !ratio.is_power_of_two() || ratio > 4096 {
            return Err(ShareError::Ratio(ratio));
        }
        if index as u32 >= ratio {
            return Err(ShareError::Index { index, ratio });
        }
        Ok(Self {
            ratio_log2: ratio.trailing_zeros() as u8,
            index,
        })
    }

    /// The part that a port belongs to, if the address is shared as this one is.
    #[inline(always)]
    #[must_use]
    pub const fn with_port(self, port: u16) -> Self {
        Self {
            ratio_log2: self.ratio_log2,
            index: port & ((1u32 << (self.ratio_log2 & 0xf)) - 1) as u16,
        }
    }

    /// Whether a port belongs to this part.
    #[inline(always)]
    #[must_use]
    pub const fn contains(self, port: u16) -> bool {
        self.with_port(port).index == self.index
    }

    /// How many hosts share the address: 1 to 4096.
    #[must_use]
    pub const fn ratio(self) -> u32 {
        1 << self.ratio_log2
    }

    /// Which of them this is: 0 and up.
    #[must_use]
    pub const fn index(self) -> u16 {
        self.index
    }

    /// Its ports as a port set of RFC 7597, from which a NAT can choose. They are the same but for those
    /// below the ratio, which that algorithm gives to nobody.
    #[must_use]
    pub const fn port_set(self) -> PortSet {
        let length = self.ratio_log2;
        // The remainder is the last bits of a port: nothing is contiguous.
        let offset = if length == 0 { 0 } else { 16 - length };
        match PortSet::new(offset, length, self.index) {
            Ok(set) => set,
            Err(_) => panic!("an offset of 4 to 15 bits and as many more as a port has"),
        }
    }

    /// The code as it stands in an address.
    #[inline(always)]
    #[must_use]
    pub const fn code(self) -> u16 {
        (self.ratio_log2 as u16) << 12 | self.index
    }

    /// The share that stands in the suffix of an IVI address; `None` if those bits are no code.
    #[inline(always)]
    #[must_use]
    pub const fn of(address: V6) -> Option<Self> {
        let code = (address.halves().1 >> 40) as u16;
        match Self::new(1 << (code >> 12), code & 0xfff) {
            Ok(share) => Some(share),
            Err(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{v4, v6};

    use proptest::prelude::*;

    fn prefix(text: &str) -> Prefix {
        Prefix::new(text.parse().unwrap(), 32).unwrap()
    }

    /// RFC 6219 section 6.1 and appendix B, figure 11; RFC 7757 section 5.
    #[test]
    fn rfc6219_examples() {
        for (network, address, expected) in [
            ("2001:db8::", "192.0.2.1", "2001:db8:ffc0:2:100::"),
            ("2001:db8::", "198.51.100.64", "2001:db8:ffc6:3364:4000::"),
            ("2001:da8::", "202.38.97.205", "2001:da8:ffca:2661:cd00::"),
            ("2001:da8::", "18.7.22.83", "2001:da8:ff12:716:5300::"),
            ("2001:da8::", "10.0.0.1", "2001:da8:ff0a:0:100::"),
            ("2001:da8::", "203.181.194.125", "2001:da8:ffcb:b5c2:7d00::"),
            ("2001:da8::", "192.5.89.221", "2001:da8:ffc0:559:dd00::"),
        ] {
            let prefix = prefix(network);
            assert_eq!(prefix.embed(v4(address)), v6(expected), "{address}");
            assert_eq!(prefix.extract(v6(expected)), Some(v4(address)));
        }
    }

    #[test]
    fn rfc6219_3_1_prefix() {
        let marked = Prefix::new("2001:db8:ff00::".parse().unwrap(), 40).unwrap();
        assert_eq!(marked, prefix("2001:db8::"));
        assert_eq!(marked.network(), v6("2001:db8:ff00::"));
        // Without the marker octet it is an address like any other.
        assert_eq!(marked.extract(v6("2001:db8:fec0:2:100::")), None);
        assert_eq!(marked.extract(v6("2001:db9:ffc0:2:100::")), None);
        let refused = |text: &str, length| Prefix::new(text.parse().unwrap(), length);
        assert_eq!(refused("2001:db8::", 48), Err(PrefixError::Length(48)));
        assert_eq!(refused("2001:db8:1::", 32), Err(PrefixError::HostBits));
        assert_eq!(refused("2001:db8:fe00::", 40), Err(PrefixError::Marker));
    }

    /// Four bits for the binary logarithm of the ratio, twelve for the index.
    #[test]
    fn shares_are_coded_after_the_address() {
        let prefix = prefix("2001:db8::");
        let share = Share::new(16, 5).unwrap();
        let address = v6("2001:db8:ffc0:2:140:500::");
        assert_eq!(prefix.embed_shared(v4("192.0.2.1"), share), address);
        assert_eq!(prefix.extract(address), Some(v4("192.0.2.1")));
        assert_eq!(Share::of(address), Some(share));
        let whole = Share::of(prefix.embed(v4("192.0.2.1"))).unwrap();
        assert_eq!((whole.ratio(), whole.index()), (1, 0));
        // Index 5 of 4 hosts, and a ratio of 2^13.
        assert_eq!(Share::of(v6("2001:db8:ffc0:2:120:500::")), None);
        assert_eq!(Share::of(v6("2001:db8:ffc0:2:1d0::")), None);
        assert_eq!(Share::new(3, 0), Err(ShareError::Ratio(3)));
        assert_eq!(Share::new(0, 0), Err(ShareError::Ratio(0)));
        assert_eq!(Share::new(8192, 0), Err(ShareError::Ratio(8192)));
        let error = ShareError::Index { index: 4, ratio: 4 };
        assert_eq!(Share::new(4, 4), Err(error));
    }

    proptest! {
        /// Every port belongs to exactly one host, the one that division tells.
        #[test]
        fn ports_are_divided(log2 in 0u32..=12, port: u16) {
            let ratio = 1u32 << log2;
            let expected = u32::from(port) % ratio;
            let share = Share::new(ratio, 0).unwrap().with_port(port);
            prop_assert_eq!(u32::from(share.index()), expected);
            for index in 0..ratio {
                let other = Share::new(ratio, index as u16).unwrap();
                prop_assert_eq!(other.contains(port), index == expected);
                // A port below the ratio is in no set of RFC 7597, unless there is but one.
                let given = log2 == 0 || u32::from(port) >= ratio;
                prop_assert_eq!(other.port_set().contains(port), index == expected && given);
            }
        }

        #[test]
        fn there_and_back(bits: u32, address: u32, log2 in 0u32..=12, port: u16) {
            let network = Ipv6Addr::from_bits(u128::from(bits) << 96);
            let prefix = Prefix::new(network, 32).unwrap();
            let share = Share::new(1 << log2, 0).unwrap().with_port(port);
            let address = V4::from_number(address);
            let shared = prefix.embed_shared(address, share);
            prop_assert_eq!(prefix.extract(shared), Some(address));
            prop_assert_eq!(Share::of(shared), Some(share));
        }
    }
}

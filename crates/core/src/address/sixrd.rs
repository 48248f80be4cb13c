//! 6rd, IPv6 rapid deployment (RFC 5969), and 6to4 (RFC 3056), which is the 6rd domain of everybody:
//! IPv6 prefixes that follow from IPv4 addresses.
//!
//! ```text
//!  |     n bits    |    o bits    |   m bits  |    128-n-o-m bits      |
//!  +---------------+--------------+-----------+------------------------+
//!  |  6rd prefix   | IPv4 address | subnet ID |     interface ID       |
//!  +---------------+--------------+-----------+------------------------+
//!  |<--- 6rd delegated prefix --->|
//! ```

use core::fmt;

use super::bits::{Field, Network, mask_v4};
use super::{V4, V6};

/// A 6rd domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Domain {
    /// 6rd prefix.
    prefix: Network,
    /// The bits of IPv4 addresses in an address.
    embedded: Field,
    /// The common bits of the IPv4 addresses of the domain.
    v4: u32,
    /// The bits that they have in common.
    v4_mask: u32,
    /// IPv4MaskLen
    v4_length: u8,
    v6_length: u8,
    unused: [u8; 6],
}

/// Why there is no such domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DomainError {
    /// IPv4MaskLen is more than 32 (RFC 5969 section 7.1.1).
    V4Length(u8),
    /// The 6rd prefix is longer than 128 bits.
    V6Length(u8),
    /// Bits after the common ones of IPv4 addresses are set.
    V4HostBits,
    /// Bits after the 6rd prefix are set.
    V6HostBits,
    /// The 6rd prefix leaves no room for the bits of IPv4 addresses that are not common (RFC 5969
    /// section 7.1.1).
    Room {
        /// Bits of the 6rd prefix.
        v6_length: u8,
        /// IPv4MaskLen
        v4_length: u8,
    },
}

impl fmt::Display for DomainError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::V4Length(n) => write!(
                f,
                "IPv4 addresses have 0 to 32 bits in common (RFC 5969 section 7.1.1), not {n}"
            ),
            Self::V6Length(n) => write!(f, "an IPv6 prefix has at most 128 bits, not {n}"),
            Self::V4HostBits => f.write_str("bits after the length of the IPv4 prefix are set"),
            Self::V6HostBits => f.write_str("bits after the length of the 6rd prefix are set"),
            Self::Room {
                v6_length,
                v4_length,
            } => write!(
                f,
                "{} bits of IPv4 addresses do not fit behind a 6rd prefix of {v6_length}; it may have at \
                 most {} bits (RFC 5969 section 7.1.1)",
                32 - v4_length,
                96 + v4_length
            ),
        }
    }
}

impl core::error::Error for DomainError {}

impl Domain {
    /// 6to4: `2002::/16` and all of the IPv4 address (RFC 3056 section 2).
    pub const SIX_TO_FOUR: Self = {
        let prefix = V6::from_halves(0x2002 << 48, 0);
        match Self::new((prefix, 16), (V4::from_number(0), 0)) {
            Ok(domain) => domain,
            Err(_) => panic!("48 bits fit"),
        }
    };

    /// The domain of a 6rd prefix (up to 128 bits) and the prefix (up to 32 bits, IPv4MaskLen) that the
    /// IPv4 addresses of all CEs and BRs have in common.
    ///
    /// # Errors
    /// See [`DomainError`].
    pub const fn new(
        (v6, v6_length): (V6, u8),
        (v4, v4_length): (V4, u8),
    ) -> Result<Self, DomainError> {
        if v4_length > 32 {
            return Err(DomainError::V4Length(v4_length));
        }
        if v6_length > 128 {
            return Err(DomainError::V6Length(v6_length));
        }
        let (v4, v4_mask) = (v4.number(), mask_v4(v4_length));
        if v4 & !v4_mask != 0 {
            return Err(DomainError::V4HostBits);
        }
        let Some(prefix) = Network::new(v6, v6_length) else {
            return Err(DomainError::V6HostBits);
        };
        if v6_length > 96 + v4_length {
            return Err(DomainError::Room {
                v6_length,
                v4_length,
            });
        }
        Ok(Self {
            prefix,
            embedded: Field::new(v6_length, 32 - v4_length),
            v4,
            v4_mask,
            v4_length,
            v6_length,
            unused: [0; 6],
        })
    }

    /// The 6rd prefix and its length in bits.
    #[must_use]
    pub const fn v6(&self) -> (V6, u8) {
        (self.prefix.first(), self.v6_length)
    }

    /// The prefix that all IPv4 addresses have in common, and its length in bits (IPv4MaskLen).
    #[must_use]
    pub const fn v4(&self) -> (V4, u8) {
        (V4::from_number(self.v4), self.v4_length)
    }

    /// Bits of a delegated prefix: 0 to 128, and no more than 64 for hosts that configure themselves
    /// (RFC 5969 section 4).
    #[must_use]
    pub const fn delegated_length(&self) -> u8 {
        self.v6_length + 32 - self.v4_length
    }

    /// Whether an IPv6 address is in the domain.
    #[inline(always)]
    #[must_use]
    pub const fn contains(&self, address: V6) -> bool {
        self.prefix.contains(address)
    }

    /// The first address of the prefix that is delegated to the CE with an IPv4 address (RFC 5969
    /// section 4); `None` if that has not what all have in common. As an address of its own it is the
    /// subnet-router anycast address (section 5).
    #[inline(always)]
    #[must_use]
    pub const fn delegated(&self, ce: V4) -> Option<V6> {
        if ce.number() & self.v4_mask != self.v4 {
            return None;
        }
        // In two steps, so that nothing is left of an address that is common as a whole.
        let suffix = ((ce.number() as u64) << 32).wrapping_shl(self.v4_length as u32);
        let (high, low) = self.embedded.put(suffix);
        let start = self.prefix.start;
        Some(V6::from_halves(start.0 | high, start.1 | low))
    }

    /// The IPv4 address of the CE behind which an IPv6 address is; `None` outside of the domain, where
    /// the BR is next (RFC 5969 section 7.1.1, the routes of a CE).
    #[inline(always)]
    #[must_use]
    pub const fn ce_of(&self, address: V6) -> Option<V4> {
        if !self.contains(address) {
            return None;
        }
        let suffix = (self.embedded.get(address) >> 32).wrapping_shr(self.v4_length as u32) as u32;
        Some(V4::from_number(self.v4 | suffix))
    }

    /// Whether an IPv6 source address belongs to the CE that sent the packet around it (RFC 5969 section
    /// 9.2, RFC 3964 section 5.2). Packets from a BR or relay have other sources and are not for this
    /// check.
    #[inline(always)]
    #[must_use]
    pub const fn is_consistent(&self, source: V6, outer_source: V4) -> bool {
        match self.ce_of(source) {
            Some(ce) => ce.number() == outer_source.number(),
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{v4, v6};
    use core::net::Ipv6Addr;
    use proptest::prelude::*;
    use std::string::ToString;

    /// RFC 5969 section 7.1.1: CE 10.100.100.1, BR 10.0.0.1, IPv4MaskLen 8, 2001:db8::/32.
    #[test]
    fn rfc5969_7_1_1_routes() {
        let domain = Domain::new((v6("2001:db8::"), 32), (v4("10.0.0.0"), 8)).unwrap();
        let ce = v4("10.100.100.1");
        let delegated = v6("2001:db8:6464:100::");
        assert_eq!(domain.delegated_length(), 56);
        assert_eq!(domain.delegated(ce), Some(delegated));
        assert_eq!(
            domain.delegated(v4("10.0.0.1")),
            Some(v6("2001:db8:0:100::"))
        );
        assert_eq!(domain.delegated(v4("11.100.100.1")), None);
        for (address, expected) in [
            ("2001:db8:6464:100::1", Some(ce)),
            ("2001:db8:6464:1ff:ffff::1", Some(ce)),
            ("2001:db8:6464:200::1", Some(v4("10.100.100.2"))),
            ("2001:db9:6464:100::1", None),
        ] {
            assert_eq!(domain.ce_of(v6(address)), expected, "{address}");
        }
    }

    /// RFC 5969 section 9.2.
    #[test]
    fn rfc5969_9_2_sources() {
        let domain = Domain::new((v6("2001:db8::"), 32), (v4("10.0.0.0"), 8)).unwrap();
        let source = v6("2001:db8:6464:100::1");
        assert!(domain.is_consistent(source, v4("10.100.100.1")));
        assert!(!domain.is_consistent(source, v4("10.100.100.2")));
        // The bits that are not in the IPv6 address count as well.
        assert!(!domain.is_consistent(source, v4("11.100.100.1")));
        assert!(!domain.is_consistent(v6("2001:db9:6464:100::1"), v4("10.100.100.1")));
    }

    /// RFC 3056 section 2: 2002:V4ADDR::/48.
    #[test]
    fn rfc3056_2_prefix() {
        let domain = Domain::SIX_TO_FOUR;
        assert_eq!(domain.delegated_length(), 48);
        assert_eq!(
            domain.delegated(v4("192.0.2.4")),
            Some(v6("2002:c000:204::"))
        );
        assert_eq!(
            domain.ce_of(v6("2002:c000:204:1::1")),
            Some(v4("192.0.2.4"))
        );
        assert_eq!(domain.ce_of(v6("2001:db8::1")), None);
        assert!(domain.is_consistent(v6("2002:c000:204::1"), v4("192.0.2.4")));
    }

    /// All bits of the address common: one CE, which has the whole 6rd prefix.
    #[test]
    fn rfc5969_4_one_ce() {
        let domain = Domain::new((v6("2001:db8:1::"), 48), (v4("192.0.2.1"), 32)).unwrap();
        assert_eq!(domain.delegated_length(), 48);
        assert_eq!(domain.delegated(v4("192.0.2.1")), Some(v6("2001:db8:1::")));
        assert_eq!(domain.ce_of(v6("2001:db8:1:2::3")), Some(v4("192.0.2.1")));
    }

    #[test]
    fn rfc5969_7_1_1_refuses() {
        #[rustfmt::skip]
        let rows = [
            ("2001:db8::", 32, "10.0.0.0", 33, DomainError::V4Length(33), "0 to 32"),
            ("2001:db8::", 129, "10.0.0.0", 8, DomainError::V6Length(129), "at most 128"),
            ("2001:db8::", 32, "10.0.0.1", 8, DomainError::V4HostBits, "IPv4"),
            ("2001:db8::1", 32, "10.0.0.0", 8, DomainError::V6HostBits, "6rd"),
            ("2001:db8::", 105, "10.0.0.0", 8, DomainError::Room { v6_length: 105, v4_length: 8 },
             "at most 104 bits"),
        ];
        for (prefix, length, common, common_length, error, says) in rows {
            let found = Domain::new((v6(prefix), length), (v4(common), common_length));
            assert_eq!(found, Err(error));
            let text = error.to_string();
            assert!(text.contains(says), "{text}");
        }
    }

    proptest! {
        /// Figure 1 of RFC 5969 section 4 on numbers of 128 bits; there and back.
        #[test]
        fn there_and_back(
            (mask, n) in (0u8..=32).prop_flat_map(|mask| (Just(mask), 0..=96 + mask)),
            bits in any::<(u128, u32, u32)>(), within in any::<u128>(), flip in 0u32..32,
        ) {
            let (n32, mask32) = (u32::from(n), u32::from(mask));
            let prefix = bits.0 & u128::MAX.checked_shl(128 - n32).unwrap_or(0);
            let common = bits.1 & u32::MAX.checked_shl(32 - mask32).unwrap_or(0);
            let own = bits.2 & u32::MAX.checked_shr(mask32).unwrap_or(0);
            let ce = V4::from_number(common | own);
            let domain = Domain::new(
                (Ipv6Addr::from_bits(prefix).into(), n),
                (V4::from_number(common), mask),
            ).unwrap();
            let length = n32 + 32 - mask32;
            let there = u128::from(own).checked_shl(128 - length).unwrap_or(0);
            let expected = V6::from(Ipv6Addr::from_bits(prefix | there));
            prop_assert_eq!(domain.delegated(ce), Some(expected));
            let host = prefix | there | within & u128::MAX.checked_shr(length).unwrap_or(0);
            let host = V6::from(Ipv6Addr::from_bits(host));
            prop_assert_eq!(domain.ce_of(host), Some(ce));
            prop_assert!(domain.is_consistent(host, ce));
            prop_assert!(!domain.is_consistent(host, V4::from_number(ce.number() ^ 1 << flip)));
        }
    }
}

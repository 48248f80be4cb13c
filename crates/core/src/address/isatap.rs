//! ISATAP addresses: an IPv4 address in the interface identifier of an IPv6 address (RFC 5214
//! section 6.1).

use super::{V4, V6, special};

/// The half before the IPv4 address: the OUI 00-00-5E and FE.
const MARK: u64 = 0x0000_5efe;
/// The "u" bit where it stands in an identifier.
const UNIVERSAL: u64 = 0x0200_0000 << 32;
/// The bits that mark an identifier of ISATAP.
const MARK_MASK: u64 = !(UNIVERSAL | 0xffff_ffff);

/// The "u" bit of an interface identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unique {
    /// Unique in the world.
    Globally,
    /// Unique on its link.
    Locally,
}

impl Unique {
    /// Returns where an IPv4 address is unique, as far as the address alone tells.
    #[must_use]
    pub const fn of(address: V4) -> Self {
        if special::is_non_global_v4(address) {
            Self::Locally
        } else {
            Self::Globally
        }
    }
}

/// The interface identifier of a node with an IPv4 address.
#[must_use]
pub const fn identifier(address: V4, unique: Unique) -> u64 {
    let universal = match unique {
        Unique::Globally => UNIVERSAL,
        Unique::Locally => 0,
    };
    universal | MARK << 32 | address.number() as u64
}

/// The address of that node under a prefix of 64 bits; later bits of the prefix are ignored.
#[must_use]
pub const fn embed(prefix: V6, address: V4, unique: Unique) -> V6 {
    V6::from_halves(prefix.halves().0, identifier(address, unique))
}

/// The IPv4 address in an ISATAP address, under whatever prefix it is; `None` if it is none.
#[inline(always)]
#[must_use]
pub const fn extract(address: V6) -> Option<V4> {
    let low = address.halves().1;
    if low & MARK_MASK != MARK << 32 {
        return None;
    }
    Some(V4::from_number(low as u32))
}

/// Returns where the IPv4 address in an ISATAP address is unique.
#[must_use]
pub const fn unique_in(address: V6) -> Unique {
    if address.halves().1 & UNIVERSAL == 0 {
        Unique::Locally
    } else {
        Unique::Globally
    }
}

/// Whether an IPv6 source is an ISATAP address that embeds the IPv4 source of the packet around it (RFC
/// 5214 section 7.3). Packets from routers of the Potential Router List need not have such a source.
#[inline(always)]
#[must_use]
pub const fn is_consistent(source: V6, outer_source: V4) -> bool {
    match extract(source) {
        Some(embedded) => embedded.number() == outer_source.number(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{v4, v6};

    use proptest::prelude::*;

    /// RFC 5214 section 6.1: 000000ug00000000 0101111011111110, then the address.
    #[test]
    fn rfc5214_6_1_identifiers() {
        #[rustfmt::skip]
        let rows = [
            ("192.0.2.143", "fe80::", Unique::Locally, "fe80::5efe:192.0.2.143"),
            ("192.0.2.143", "2001:db8:1:2::", Unique::Globally, "2001:db8:1:2:200:5efe:192.0.2.143"),
        ];
        for (address, prefix, unique, expected) in rows {
            assert_eq!(embed(v6(prefix), v4(address), unique), v6(expected));
            assert_eq!(extract(v6(expected)), Some(v4(address)));
            assert_eq!(unique_in(v6(expected)), unique);
        }
        // The "g" bit is for groups.
        assert_eq!(extract(v6("fe80::100:5efe:192.0.2.143")), None);
        assert_eq!(extract(v6("fe80::5eff:192.0.2.143")), None);
        assert_eq!(Unique::of(v4("10.0.0.1")), Unique::Locally);
        assert_eq!(Unique::of(v4("8.8.8.8")), Unique::Globally);
    }

    proptest! {
        /// RFC 5214 section 7.3.
        #[test]
        fn rfc5214_7_3_sources(prefix: (u64, u64), address: u32, other: u32, global: bool) {
            let unique = if global { Unique::Globally } else { Unique::Locally };
            let source = embed(V6::from_halves(prefix.0, prefix.1), V4::from_number(address), unique);
            let consistent = is_consistent(source, V4::from_number(other));
            prop_assert_eq!(consistent, other == address);
            prop_assert!(is_consistent(source, V4::from_number(address)));
        }
    }
}

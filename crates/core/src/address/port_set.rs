//! Parts of the ports of an IPv4 address: the port sets that its CEs have (RFC 7597 section
//! 5.1 and appendix B), for MAP-E, MAP-T (RFC 7599) and lw4o6 (RFC 7596), by the port parameters of
//! RFC 7598 section 4.5.
//!
//! ```text
//!   0                               15
//!  +-----------+-----------+-----------+
//!  |     A     |    PSID   |     j     |   a port
//!  +-----------+-----------+-----------+
//!  |  a bits   |  k bits   |  m bits   |
//! ```
//!
//! ICMP identifiers are divided in the same way (RFC 7597 section 8.2). All of this is masks and
//! shifts without a branch but for the answer, so that the packet path can do it.

use core::fmt;
use core::ops::RangeInclusive;

/// How the ports of an address are divided: the same for all that share it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Sharing {
    /// The bits of a port that are the PSID.
    mask: u16,
    /// Ports below are in no set: those with A = 0, where there are a bits.
    first: u16,
    /// a
    offset: u8,
    /// k
    length: u8,
}

/// The ports of one CE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct PortSet {
    sharing: Sharing,
    /// The PSID where it stands in a port.
    value: u16,
}

/// Why ports cannot be divided, or why there is no such set of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortSetError {
    /// The offset is more than 15 bits (RFC 7598 section 4.5).
    Offset(u8),
    /// The PSID is more than 16 bits long (RFC 7598 section 4.5).
    Length(u8),
    /// Offset and PSID together are more than the 16 bits of a port (RFC 7597 section 5.1).
    Sum {
        /// Bits of the offset.
        offset: u8,
        /// Bits of the PSID.
        length: u8,
    },
    /// The PSID does not fit into its bits.
    Psid {
        /// The PSID.
        psid: u16,
        /// Bits of a PSID.
        length: u8,
    },
}

impl fmt::Display for PortSetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Offset(n) => write!(
                f,
                "a PSID offset is 0 to 15 bits (RFC 7598 section 4.5), not {n}"
            ),
            Self::Length(n) => write!(
                f,
                "a PSID is 0 to 16 bits long (RFC 7598 section 4.5), not {n}"
            ),
            Self::Sum { offset, length } => write!(
                f,
                "a port has 16 bits: behind an offset of {offset} a PSID has at most {}, not {length}; \
                 or the offset is at most {} (RFC 7597 section 5.1)",
                16 - offset,
                16 - length
            ),
            Self::Psid { psid, length } => write!(
                f,
                "a PSID of {length} bits is at most {:#x}, not {psid:#x}",
                (1u32 << length) - 1
            ),
        }
    }
}

impl core::error::Error for PortSetError {}

impl Sharing {
    /// The address is one CE's, with all of its ports.
    pub const WHOLE: Self = Self {
        mask: 0,
        first: 0,
        offset: 0,
        length: 0,
    };

    /// The offset where nothing else is said: it leaves out the system ports, 0 to 1023 (RFC 7597
    /// section 5.1).
    pub const DEFAULT_OFFSET: u8 = 6;

    /// Sharing among 2^`length` CEs, by a PSID of `length` bits (0 to 16) behind `offset` bits (0 to 15),
    /// together up to 16. With an offset, the ports below 2^(16 - `offset`) are in no set; with a length
    /// of 0 the one CE has all ports, whatever the offset (RFC 7597 section 5.1 and example 4 of appendix
    /// A).
    ///
    /// # Errors
    /// See [`PortSetError`].
    pub const fn new(offset: u8, length: u8) -> Result<Self, PortSetError> {
        if offset > 15 {
            return Err(PortSetError::Offset(offset));
        }
        if length > 16 {
            return Err(PortSetError::Length(length));
        }
        if offset + length > 16 {
            return Err(PortSetError::Sum { offset, length });
        }
        if length == 0 {
            return Ok(Self::WHOLE);
        }
        Ok(Self {
            mask: (((1u32 << length) - 1) << (16 - offset - length)) as u16,
            first: if offset == 0 { 0 } else { 1 << (16 - offset) },
            offset,
            length,
        })
    }

    /// The same as one number, never 0, for [`unpack`](Self::unpack).
    #[inline(always)]
    pub(super) const fn pack(self) -> u64 {
        let ports = (self.mask as u64) << 32 | (self.first as u64) << 16;
        ports | (self.offset as u64) << 8 | self.length as u64 | 1 << 63
    }

    /// The sharing from a number of [`pack`](Self::pack); `None` for 0.
    #[inline(always)]
    pub(super) const fn unpack(number: u64) -> Option<Self> {
        if number == 0 {
            return None;
        }
        Some(Self {
            mask: (number >> 32) as u16,
            first: (number >> 16) as u16,
            offset: (number >> 8) as u8,
            length: number as u8,
        })
    }

    /// Bits of the offset (a): 0 to 15, and 0 for a whole address.
    #[inline(always)]
    #[must_use]
    pub const fn offset(self) -> u8 {
        self.offset
    }

    /// Bits of the PSID (k): 0 to 16.
    #[inline(always)]
    #[must_use]
    pub const fn length(self) -> u8 {
        self.length
    }

    /// How many CEs share the address: 1 to 65536.
    #[must_use]
    pub const fn ratio(self) -> u32 {
        1 << self.length
    }

    /// Whether one CE has all ports.
    #[inline(always)]
    #[must_use]
    pub const fn is_whole(self) -> bool {
        self.length == 0
    }

    /// The ports below this one are in no set.
    #[must_use]
    pub const fn first(self) -> u16 {
        self.first
    }

    /// Whether the ports of a set come in pairs of an even and an odd one.
    #[inline(always)]
    #[must_use]
    pub const fn has_pairs(self) -> bool {
        self.contiguous() != 0
    }

    /// The low bits of a port that neither A nor the PSID decide (m): 0 to 16.
    #[inline(always)]
    const fn contiguous(self) -> u32 {
        16 - self.offset as u32 - self.length as u32
    }

    /// The PSID of the CE that has a port; `None` if the port is in no set.
    #[inline(always)]
    #[must_use]
    pub const fn psid_of(self, port: u16) -> Option<u16> {
        if port < self.first {
            return None;
        }
        Some(self.bits_of(port))
    }

    /// The PSID bits of a port, whether the port is in a set or not.
    #[inline(always)]
    pub(super) const fn bits_of(self, port: u16) -> u16 {
        ((port & self.mask) as u32).wrapping_shr(self.contiguous()) as u16
    }

    /// The ports of the CE with this PSID.
    ///
    /// # Errors
    /// The PSID does not fit into its bits.
    pub const fn set(self, psid: u16) -> Result<PortSet, PortSetError> {
        let length = self.length;
        if psid as u32 >= self.ratio() {
            return Err(PortSetError::Psid { psid, length });
        }
        Ok(self.set_unchecked(psid))
    }

    /// The same for a PSID that fits.
    #[inline(always)]
    pub(super) const fn set_unchecked(self, psid: u16) -> PortSet {
        PortSet {
            sharing: self,
            value: (psid as u32).wrapping_shl(self.contiguous()) as u16,
        }
    }
}

impl PortSet {
    /// All ports of an address.
    pub const WHOLE: Self = Self {
        sharing: Sharing::WHOLE,
        value: 0,
    };

    /// The ports with this PSID, which has `length` bits behind `offset` bits; see
    /// [`Sharing::new`].
    ///
    /// # Errors
    /// See [`PortSetError`].
    pub const fn new(offset: u8, length: u8, psid: u16) -> Result<Self, PortSetError> {
        match Sharing::new(offset, length) {
            Ok(sharing) => sharing.set(psid),
            Err(error) => Err(error),
        }
    }

    /// How the address is divided.
    #[inline(always)]
    #[must_use]
    pub const fn sharing(self) -> Sharing {
        self.sharing
    }

    /// The Port Set Identifier; 0 for a whole address.
    #[inline(always)]
    #[must_use]
    pub const fn psid(self) -> u16 {
        self.sharing.bits_of(self.value)
    }

    /// Whether a port is in the set.
    #[inline(always)]
    #[must_use]
    pub const fn contains(self, port: u16) -> bool {
        self.misses(port) == 0
    }

    /// The bits by which a port is not in the set; 0 if it is. This is arithmetic, because a comparison is
    /// a branch in BPF.
    #[inline(always)]
    pub(super) const fn misses(self, port: u16) -> u64 {
        // The bit that is borrowed for a port below the first. A shift to it is a comparison to the compiler.
        let below = (port as u64).wrapping_sub(self.sharing.first as u64) & 1 << 16;
        (port & self.sharing.mask ^ self.value) as u64 | below
    }

    /// How many ports there are in the set: 1 to 65536 (RFC 7597 section 5.1: 2^(16 - k) - 2^m with
    /// an offset).
    #[inline(always)]
    #[must_use]
    pub const fn count(self) -> u32 {
        let m = self.sharing.contiguous();
        // A = 0 is left out where there is an offset: the first port of A = 1 has the bit 16 - a.
        let ranges =
            1u32.wrapping_shl(self.sharing.offset as u32) - (self.sharing.first != 0) as u32;
        ranges.wrapping_shl(m)
    }

    /// The port number `index` of the set, in ascending order; `None` from [`count`](Self::count)
    /// on.
    #[inline(always)]
    #[must_use]
    pub const fn nth(self, index: u32) -> Option<u16> {
        if index >= self.count() {
            return None;
        }
        let m = self.sharing.contiguous();
        let range = index
            .wrapping_shr(m)
            .wrapping_shl(16 - self.sharing.offset as u32);
        let j = index & (1u32.wrapping_shl(m) - 1);
        // Below 65536, because the index is below the count.
        Some((range + self.sharing.first as u32 + self.value as u32 + j) as u16)
    }

    /// The contiguous ranges of the set, in ascending order: up to 32767 of them.
    pub fn ranges(self) -> impl Iterator<Item = RangeInclusive<u16>> {
        let size = 1 << self.sharing.contiguous();
        (0..self.count() / size).filter_map(move |range| {
            Some(self.nth(range * size)?..=self.nth(range * size + (size - 1))?)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::string::ToString;
    use std::vec::Vec;

    fn ranges(set: PortSet) -> Vec<(u16, u16)> {
        set.ranges().map(RangeInclusive::into_inner).collect()
    }

    /// RFC 7597 appendix A, example 1, and appendix B.2, example 1.
    #[test]
    fn rfc7597_offset_6() {
        #[rustfmt::skip]
        let rows = [
            (0x34, [(1232, 1235), (2256, 2259), (63696, 63699), (64720, 64723)]),
            (0, [(1024, 1027), (2048, 2051), (63488, 63491), (64512, 64515)]),
        ];
        for (psid, expected) in rows {
            let set = PortSet::new(6, 8, psid).unwrap();
            let found = ranges(set);
            assert_eq!(found.len(), 63);
            assert_eq!([found[0], found[1], found[61], found[62]], expected);
            // RFC 7597 section 5.1: 2^(16 - k) - 2^m.
            assert_eq!(set.count(), 252);
            assert_eq!(set.sharing().psid_of(expected[0].0), Some(psid));
        }
        assert_eq!(Sharing::new(6, 8).unwrap().psid_of(1023), None);
    }

    /// RFC 7597 appendix B.2, example 2.
    #[test]
    fn rfc7597_offset_0() {
        let set = PortSet::new(0, 6, 0).unwrap();
        assert_eq!(ranges(set), [(0, 1023)]);
        assert_eq!(set.count(), 1024);
        let last = PortSet::new(0, 6, 63).unwrap();
        assert_eq!(ranges(last), [(64512, 65535)]);
    }

    /// RFC 7597 section 5.1: an offset of 4 leaves out the ports to 4095.
    #[test]
    fn rfc7597_offset_4() {
        let sharing = Sharing::new(4, 8).unwrap();
        assert_eq!(sharing.psid_of(4095), None);
        assert_eq!(sharing.psid_of(4096), Some(0));
        assert_eq!(sharing.psid_of(65535), Some(255));
        assert_eq!(sharing.ratio(), 256);
    }

    /// RFC 7597 appendix A, example 4: no sharing, the offset does not matter.
    #[test]
    fn rfc7597_whole_address() {
        let set = PortSet::new(6, 0, 0).unwrap();
        assert_eq!(set, PortSet::WHOLE);
        assert_eq!(set.count(), 65536);
        assert_eq!(ranges(set), [(0, 65535)]);
        assert!(set.contains(0) && set.contains(65535));
    }

    /// RFC 7597 section 5.2: 48 EA bits are an address and a single port.
    #[test]
    fn rfc7597_single_port() {
        let set = PortSet::new(0, 16, 8080).unwrap();
        assert_eq!(ranges(set), [(8080, 8080)]);
        assert_eq!(set.count(), 1);
    }

    #[test]
    fn rfc7598_4_5_refuses() {
        #[rustfmt::skip]
        let rows = [
            (16, 0, 0, PortSetError::Offset(16)),
            (0, 17, 0, PortSetError::Length(17)),
            (6, 11, 0, PortSetError::Sum { offset: 6, length: 11 }),
            (6, 8, 256, PortSetError::Psid { psid: 256, length: 8 }),
            (6, 0, 1, PortSetError::Psid { psid: 1, length: 0 }),
        ];
        for (offset, length, psid, error) in rows {
            assert_eq!(PortSet::new(offset, length, psid), Err(error));
        }
        let text = PortSetError::Sum {
            offset: 6,
            length: 11,
        }
        .to_string();
        assert!(text.contains("at most 10, not 11"), "{text}");
        assert!(text.contains("at most 5 "), "{text}");
    }

    /// The formula of RFC 7597 appendix B: P = R * M * i + M * PSID + j.
    fn by_formula(offset: u8, length: u8, psid: u16) -> Vec<u16> {
        let (r, m) = (1u32 << length, 1u32 << (16 - offset - length));
        let lowest = u32::from(offset > 0);
        let blocks = lowest..65536 / (r * m);
        let ports = blocks.flat_map(|i| (0..m).map(move |j| r * m * i + m * u32::from(psid) + j));
        ports.map(|port| u16::try_from(port).unwrap()).collect()
    }

    prop_compose! {
        /// Every offset and length with at least one bit of PSID, and a PSID that fits.
        fn parameters()(length in 1u8..=16)
            (length in Just(length), offset in 0..=(16 - length).min(15), psid in 0..=((1u32 << length) - 1) as u16)
            -> (u8, u8, u16) { (offset, length, psid) }
    }

    proptest! {
        #[test]
        fn is_what_the_formula_says((offset, length, psid) in parameters()) {
            let set = PortSet::new(offset, length, psid).unwrap();
            let expected = by_formula(offset, length, psid);
            prop_assert_eq!(set.psid(), psid);
            prop_assert_eq!(set.count() as usize, expected.len());
            let numbered: Vec<_> = (0..).map_while(|index| set.nth(index)).collect();
            prop_assert_eq!(&numbered, &expected);
            let contained: Vec<_> = (0..=u16::MAX).filter(|&port| set.contains(port)).collect();
            prop_assert_eq!(&contained, &expected);
            let ranged: Vec<_> = set.ranges().flatten().collect();
            prop_assert_eq!(&ranged, &expected);
        }

        /// Every port has one owner, or none below 2^(16 - a).
        #[test]
        fn ports_have_one_owner((offset, length, _) in parameters(), port: u16) {
            let sharing = Sharing::new(offset, length).unwrap();
            let owners = (0..sharing.ratio()).filter(|&psid| {
                sharing.set(psid as u16).unwrap().contains(port)
            });
            let owners: Vec<_> = owners.map(|psid| psid as u16).collect();
            let expected: Vec<_> = sharing.psid_of(port).into_iter().collect();
            prop_assert_eq!(owners, expected);
            let excluded = offset > 0 && u32::from(port) < 1 << (16 - offset);
            prop_assert_eq!(sharing.psid_of(port).is_none(), excluded);
        }
    }
}

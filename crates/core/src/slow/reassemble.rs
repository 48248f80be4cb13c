//! Checks the fragments of one datagram: whether they may be reassembled, and when all are there (RFC 791
//! section 3.2, RFC 8200 section 4.5).
//!
//! Both families follow the strict rule of IPv6 (RFC 5722, now RFC 8200 section 4.5): a datagram
//! with fragments that overlap is dropped as a whole. IPv4 would allow to let one of them win, but
//! that is what the attacks of RFC 1858 and RFC 3128 live on.

use core::ops::Range;

use crate::wire::ipv4::Fragment;
use crate::wire::protocol;

/// The longest payload that a reassembled datagram can have.
pub const LONGEST_PAYLOAD: usize = 65_535;

/// Where the payload of a fragment lies in its datagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Bytes of the datagram's payload.
    pub bytes: Range<usize>,
    /// Whether more follow.
    pub more: bool,
}

/// Why a fragment cannot be part of any datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Impossible {
    /// It has no payload, or more follow and its payload is not a multiple of eight bytes.
    Length,
    /// It reaches past 65,535 bytes.
    TooLong,
    /// The transport header is cut in two (RFC 1858 section 3, RFC 3128).
    Tiny,
}

impl Extent {
    /// The extent of a fragment with `length` bytes of payload of this transport `protocol`.
    ///
    /// # Errors
    /// [`Impossible`].
    pub const fn new(fragment: Fragment, protocol: u8, length: usize) -> Result<Self, Impossible> {
        let start = fragment.offset as usize * 8;
        let header = shortest_header(protocol);
        if length == 0 || (fragment.more && !length.is_multiple_of(8)) {
            return Err(Impossible::Length);
        }
        if start + length > LONGEST_PAYLOAD {
            return Err(Impossible::TooLong);
        }
        let cuts_header = if start == 0 {
            length < header
        } else {
            start < header
        };
        if cuts_header {
            return Err(Impossible::Tiny);
        }
        Ok(Self {
            bytes: start..start + length,
            more: fragment.more,
        })
    }
}

/// Bytes of transport header that must be in the first fragment, whole.
const fn shortest_header(protocol: u8) -> usize {
    match protocol {
        // Up to the flags at least; we ask for the fixed header, as RFC 6146 section 3.4 allows.
        protocol::TCP => 20,
        protocol::UDP | protocol::ICMP | protocol::ICMPV6 => 8,
        _ => 0,
    }
}

/// The relation of a fragment to those that are there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// It fills a hole: insert it at this index.
    At(usize),
    /// One like it is there already; this one may be ignored (RFC 8200 section 4.5).
    Duplicate,
    /// It overlaps another, or contradicts where the datagram ends: drop the datagram.
    Overlap,
}

/// Finds the place of a new fragment among others, which are sorted and do not overlap.
#[must_use]
pub fn place(others: &[Extent], new: &Extent) -> Placement {
    let index = others.partition_point(|other| other.bytes.start < new.bytes.start);
    if others.get(index) == Some(new) {
        return Placement::Duplicate;
    }
    let free_before = index
        .checked_sub(1)
        .is_none_or(|before| others[before].more && others[before].bytes.end <= new.bytes.start);
    let free_behind = others
        .get(index)
        .is_none_or(|behind| new.more && new.bytes.end <= behind.bytes.start);
    if free_before && free_behind {
        Placement::At(index)
    } else {
        Placement::Overlap
    }
}

/// Bytes of the whole payload if the sorted fragments leave no hole.
#[must_use]
pub fn complete(fragments: &[Extent]) -> Option<usize> {
    let last = fragments.last().filter(|last| !last.more)?;
    let mut end = 0;
    for fragment in fragments {
        if fragment.bytes.start != end {
            return None;
        }
        end = fragment.bytes.end;
    }
    Some(last.bytes.end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    fn extent(offset: u16, length: usize, more: bool) -> Result<Extent, Impossible> {
        Extent::new(Fragment { offset, more }, protocol::ICMP, length)
    }

    #[test]
    fn impossible_fragments() {
        assert_eq!(extent(0, 12, true), Err(Impossible::Length));
        assert_eq!(extent(4, 0, false), Err(Impossible::Length));
        assert_eq!(extent(8191, 8, false), Err(Impossible::TooLong));
        assert_eq!(
            extent(8191, 7, false).map(|e| e.bytes.end),
            Ok(LONGEST_PAYLOAD)
        );
    }

    #[test]
    fn rfc1858_tiny_fragments() {
        let tcp = |offset, length, more| {
            Extent::new(Fragment { offset, more }, protocol::TCP, length).map(|_| ())
        };
        assert_eq!(tcp(0, 8, true), Err(Impossible::Tiny));
        assert_eq!(tcp(1, 400, false), Err(Impossible::Tiny));
        assert_eq!(tcp(2, 400, false), Err(Impossible::Tiny));
        assert_eq!(tcp(0, 24, true), Ok(()));
        assert_eq!(tcp(3, 1, false), Ok(()));
    }

    #[test]
    fn rfc5722_overlaps() {
        let there = [extent(0, 64, true).unwrap(), extent(16, 64, true).unwrap()];
        let place = |offset, length, more| place(&there, &extent(offset, length, more).unwrap());
        assert_eq!(place(0, 64, true), Placement::Duplicate);
        assert_eq!(place(8, 64, true), Placement::At(1));
        assert_eq!(place(24, 8, false), Placement::At(2));
        assert_eq!(place(0, 56, true), Placement::Overlap);
        assert_eq!(place(7, 8, true), Placement::Overlap);
        assert_eq!(place(8, 72, true), Placement::Overlap);
        assert_eq!(place(16, 64, false), Placement::Overlap);
        // The end lies before an existing fragment.
        assert_eq!(place(8, 64, false), Placement::Overlap);
    }

    proptest! {
        /// Fragments of a datagram in any order are complete exactly when all have come.
        #[test]
        fn any_order(
            (lengths, order) in prop::collection::vec(1usize..20, 2..20)
                .prop_flat_map(|l| { let n = l.len(); (Just(l), Just((0..n).collect::<Vec<_>>()).prop_shuffle()) })
        ) {
            let mut start = 0;
            let mut fragments = Vec::new();
            for (index, eights) in lengths.iter().enumerate() {
                let last = index + 1 == lengths.len();
                fragments.push(extent(start, eights * 8 - usize::from(last), !last).unwrap());
                start += *eights as u16;
            }
            let mut there: Vec<Extent> = Vec::new();
            for (count, index) in order.iter().enumerate() {
                prop_assert!(complete(&there).is_none(), "complete after {} of {}", count, order.len());
                match place(&there, &fragments[*index]) {
                    Placement::At(at) => there.insert(at, fragments[*index].clone()),
                    other => prop_assert!(false, "{:?}", other),
                }
            }
            prop_assert_eq!(complete(&there), Some(usize::from(start) * 8 - 1));
        }
    }
}

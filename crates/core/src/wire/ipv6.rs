//! The IPv6 header and its fragment header (RFC 8200).

use super::ipv4::Fragment;
use crate::address::V6;
use crate::checksum::Sum;
use crate::packet::{Packet, Truncated};
use crate::word::Word;

/// Bytes of the fixed header.
pub const HEADER: usize = 40;
/// Bytes of a fragment header.
pub const FRAGMENT_HEADER: usize = 8;
/// The smallest MTU an IPv6 link may have (RFC 8200 section 5).
pub const MINIMUM_MTU: u16 = 1280;

/// The fixed IPv6 header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header(pub [Word; 10]);

impl Header {
    /// Reads the header `at` bytes into a packet.
    ///
    /// # Errors
    /// [`Truncated`] if there are fewer than 40 bytes.
    #[inline(always)]
    pub fn read<P: Packet>(packet: &P, at: usize) -> Result<Self, Truncated> {
        packet.words(at).map(Self)
    }

    /// IP version; 6.
    #[inline(always)]
    #[must_use]
    pub const fn version(&self) -> u8 {
        (self.0[0].number() >> 28) as u8
    }

    /// Traffic class: DSCP and ECN.
    #[inline(always)]
    #[must_use]
    pub const fn traffic_class(&self) -> u8 {
        (self.0[0].number() >> 20) as u8
    }

    /// Bytes that follow the fixed header.
    #[inline(always)]
    #[must_use]
    pub const fn payload_length(&self) -> u16 {
        self.0[1].high()
    }

    /// Type of the header that follows.
    #[inline(always)]
    #[must_use]
    pub const fn next_header(&self) -> u8 {
        (self.0[1].number() >> 8) as u8
    }

    /// Hop limit.
    #[inline(always)]
    #[must_use]
    pub const fn hop_limit(&self) -> u8 {
        self.0[1].number() as u8
    }

    /// Source address.
    #[inline(always)]
    #[must_use]
    pub const fn source(&self) -> V6 {
        V6([self.0[2], self.0[3], self.0[4], self.0[5]])
    }

    /// Destination address.
    #[inline(always)]
    #[must_use]
    pub const fn destination(&self) -> V6 {
        V6([self.0[6], self.0[7], self.0[8], self.0[9]])
    }

    /// The sum of the 40 bytes.
    #[inline(always)]
    pub fn sum(&self) -> Sum {
        Sum::ZERO.words(&self.0)
    }
}

/// The fields of a new header. The flow label is 0 (RFC 7915 section 4.1).
#[derive(Clone, Copy, Debug)]
pub struct Fields {
    /// Traffic class.
    pub traffic_class: u8,
    /// Bytes that follow the header.
    pub payload_length: u16,
    /// Type of the header that follows.
    pub next_header: u8,
    /// Hop limit.
    pub hop_limit: u8,
    /// Source.
    pub source: V6,
    /// Destination.
    pub destination: V6,
}

impl From<Fields> for Header {
    #[inline(always)]
    fn from(f: Fields) -> Self {
        let V6(s) = f.source;
        let V6(d) = f.destination;
        Self([
            Word::from_number(0x6000_0000 | u32::from(f.traffic_class) << 20),
            Word::from_number(
                u32::from(f.payload_length) << 16
                    | u32::from(f.next_header) << 8
                    | u32::from(f.hop_limit),
            ),
            s[0],
            s[1],
            s[2],
            s[3],
            d[0],
            d[1],
            d[2],
            d[3],
        ])
    }
}

/// The fragment header (RFC 8200 section 4.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FragmentHeader {
    /// Type of the first header of the fragmentable part.
    pub next_header: u8,
    /// Place in the datagram.
    pub fragment: Fragment,
    /// Identification of the datagram.
    pub identification: u32,
}

impl FragmentHeader {
    /// Reads the header from its two words.
    #[inline(always)]
    #[must_use]
    pub const fn from_words(words: [Word; 2]) -> Self {
        let first = words[0].number();
        Self {
            next_header: (first >> 24) as u8,
            fragment: Fragment {
                offset: (first as u16) >> 3,
                more: first & 1 != 0,
            },
            identification: words[1].number(),
        }
    }

    /// The header as words.
    #[inline(always)]
    #[must_use]
    pub const fn to_words(self) -> [Word; 2] {
        let first = (self.next_header as u32) << 24
            | (self.fragment.offset as u32) << 3
            | self.fragment.more as u32;
        [
            Word::from_number(first),
            Word::from_number(self.identification),
        ]
    }
}

/// A fragment header that may be absent, in a form whose bytes are always written: the BPF verifier
/// refuses a program that copies bytes that were not written.
#[derive(Clone, Copy, Debug, Default)]
pub struct OptionalFragment {
    present: bool,
    header: FragmentHeader,
}

impl OptionalFragment {
    /// The header, if there is one.
    #[inline(always)]
    #[must_use]
    pub const fn get(self) -> Option<FragmentHeader> {
        if self.present {
            Some(self.header)
        } else {
            None
        }
    }

    /// Whether there is one.
    #[inline(always)]
    #[must_use]
    pub const fn is_present(self) -> bool {
        self.present
    }

    /// Whether there is one with a fragment behind it. That of a whole packet (RFC 6946) has the packet.
    #[inline(always)]
    #[must_use]
    pub const fn is_fragment(self) -> bool {
        self.header.fragment.is_fragment()
    }
}

impl From<FragmentHeader> for OptionalFragment {
    #[inline(always)]
    fn from(header: FragmentHeader) -> Self {
        Self {
            present: true,
            header,
        }
    }
}

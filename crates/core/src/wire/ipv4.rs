//! The IPv4 header (RFC 791).

use crate::address::V4;
use crate::checksum::Sum;
use crate::packet::{Packet, Truncated};
use crate::word::Word;

/// Bytes of a header without options.
pub const HEADER: usize = 20;
/// Offset of the checksum.
pub const CHECKSUM: usize = 10;

/// The fixed part of an IPv4 header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header(pub [Word; 5]);

/// Where a packet stands in its datagram: the fields that both families share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fragment {
    /// Offset of the payload in units of 8 bytes; 13 bits.
    pub offset: u16,
    /// Whether more fragments follow.
    pub more: bool,
}

impl Fragment {
    /// A packet that is not a fragment.
    pub const WHOLE: Self = Self {
        offset: 0,
        more: false,
    };

    /// Whether the packet is one of several.
    #[inline(always)]
    #[must_use]
    pub const fn is_fragment(self) -> bool {
        self.offset != 0 || self.more
    }
}

impl Header {
    /// Reads the header `at` bytes into a packet.
    ///
    /// # Errors
    /// [`Truncated`] if there are fewer than 20 bytes.
    #[inline(always)]
    pub fn read<P: Packet>(packet: &P, at: usize) -> Result<Self, Truncated> {
        packet.words(at).map(Self)
    }

    /// IP version; 4.
    #[inline(always)]
    #[must_use]
    pub const fn version(&self) -> u8 {
        (self.0[0].number() >> 28) as u8
    }

    /// Bytes of the header with its options: IHL times four.
    #[inline(always)]
    #[must_use]
    pub const fn header_length(&self) -> usize {
        ((self.0[0].number() >> 24 & 0xf) * 4) as usize
    }

    /// Type of service: DSCP and ECN.
    #[inline(always)]
    #[must_use]
    pub const fn tos(&self) -> u8 {
        (self.0[0].number() >> 16) as u8
    }

    /// Bytes of the packet, header included.
    #[inline(always)]
    #[must_use]
    pub const fn total_length(&self) -> u16 {
        self.0[0].low()
    }

    /// Identification of the datagram.
    #[inline(always)]
    #[must_use]
    pub const fn identification(&self) -> u16 {
        self.0[1].high()
    }

    /// The Don't Fragment flag.
    #[inline(always)]
    #[must_use]
    pub const fn dont_fragment(&self) -> bool {
        self.0[1].number() & 0x4000 != 0
    }

    /// Fragment offset and More Fragments.
    #[inline(always)]
    #[must_use]
    pub const fn fragment(&self) -> Fragment {
        let word = self.0[1].number();
        Fragment {
            offset: (word & 0x1fff) as u16,
            more: word & 0x2000 != 0,
        }
    }

    /// Time to live.
    #[inline(always)]
    #[must_use]
    pub const fn ttl(&self) -> u8 {
        (self.0[2].number() >> 24) as u8
    }

    /// Number of the transport protocol.
    #[inline(always)]
    #[must_use]
    pub const fn protocol(&self) -> u8 {
        (self.0[2].number() >> 16) as u8
    }

    /// Source address.
    #[inline(always)]
    #[must_use]
    pub const fn source(&self) -> V4 {
        V4(self.0[3])
    }

    /// Destination address.
    #[inline(always)]
    #[must_use]
    pub const fn destination(&self) -> V4 {
        V4(self.0[4])
    }

    /// The sum of the 20 bytes: 0xffff if there are no options and the checksum is right.
    #[inline(always)]
    pub fn sum(&self) -> Sum {
        Sum::ZERO.words(&self.0)
    }
}

/// The fields of a new header without options.
#[derive(Clone, Copy, Debug)]
pub struct Fields {
    /// Type of service.
    pub tos: u8,
    /// Bytes of the packet, header included.
    pub total_length: u16,
    /// Identification.
    pub identification: u16,
    /// The Don't Fragment flag.
    pub dont_fragment: bool,
    /// Place in the datagram.
    pub fragment: Fragment,
    /// Time to live.
    pub ttl: u8,
    /// Transport protocol.
    pub protocol: u8,
    /// Source.
    pub source: V4,
    /// Destination.
    pub destination: V4,
}

impl From<Fields> for Header {
    /// The header with its checksum computed (RFC 791 section 3.1).
    #[inline(always)]
    fn from(f: Fields) -> Self {
        let flags =
            if f.dont_fragment { 0x4000 } else { 0 } | if f.fragment.more { 0x2000 } else { 0 };
        let mut words = [
            Word::from_number(0x4500_0000 | u32::from(f.tos) << 16 | u32::from(f.total_length)),
            Word::from_halves(f.identification, flags | f.fragment.offset),
            Word::from_number(u32::from(f.ttl) << 24 | u32::from(f.protocol) << 16),
            f.source.0,
            f.destination.0,
        ];
        let checksum = Sum::ZERO.words(&words).checksum();
        words[2] = Word::from_halves(words[2].high(), checksum);
        Self(words)
    }
}

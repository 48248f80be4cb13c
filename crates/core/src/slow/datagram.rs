//! The datagram that a fragment belongs to, the offset of its payload, and reassembly.

use super::reassemble::{Extent, Impossible};
use crate::checksum::Sum;
use crate::wire::{ipv4, ipv6, protocol};
use crate::word::Word;

/// The sender of fragments, as far as it cannot choose it at will: an IPv4 address, or the upper half of an
/// IPv6 address, of the softwire if there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// An IPv4 address.
    V4([u8; 4]),
    /// The first 64 bits of an IPv6 address.
    V6([u8; 8]),
}

/// The fields that all fragments of a datagram share (RFC 791 section 3.2, RFC 8200 section 4.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    /// An IPv4 datagram.
    V4 {
        /// Source and destination address.
        addresses: [u8; 8],
        /// Source and destination of the softwire that carried the fragments, if any. The addresses above have a
        /// meaning only within it.
        softwire: Option<[u8; 32]>,
        /// Identification.
        identification: u16,
        /// Transport protocol.
        protocol: u8,
    },
    /// An IPv6 datagram.
    V6 {
        /// Source and destination address.
        addresses: [u8; 32],
        /// Identification.
        identification: u32,
    },
}

impl Key {
    /// Identification of the datagram.
    #[must_use]
    pub fn identification(&self) -> u32 {
        match *self {
            Self::V4 { identification, .. } => identification.into(),
            Self::V6 { identification, .. } => identification,
        }
    }

    /// Returns the source that the store of fragments knows this datagram by.
    #[must_use]
    pub fn source(&self) -> Source {
        let v6 = |ends: &[u8; 32]| {
            let [a, b, c, d, e, f, g, h, ..] = *ends;
            Source::V6([a, b, c, d, e, f, g, h])
        };
        match self {
            Self::V4 {
                softwire: Some(ends),
                ..
            } => v6(ends),
            Self::V4 { addresses, .. } => {
                let [a, b, c, d, ..] = *addresses;
                Source::V4([a, b, c, d])
            }
            Self::V6 { addresses, .. } => v6(addresses),
        }
    }

    /// Whether a softwire carried the datagram.
    #[must_use]
    pub fn is_in_softwire(&self) -> bool {
        let Self::V4 { softwire, .. } = self else {
            return false;
        };
        softwire.is_some()
    }
}

/// The fragmentation fields of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// Its datagram.
    pub key: Key,
    /// The offset of its payload in the datagram.
    pub extent: Extent,
    /// Offset of the header of the fragmented packet: 0, or the end of the softwire's header.
    start: usize,
    /// End of the headers that every fragment has: of the IPv4 header, or of the headers before the fragment
    /// header.
    headers: usize,
    /// Offset of the payload.
    payload: usize,
    /// IPv6: the protocol in the fragment header, and the offset of the field that names this header's type.
    next_header: u8,
    next_header_at: usize,
}

/// The reason why a packet cannot be read as a fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoFragment {
    /// It is not fragmented.
    Whole,
    /// It ends inside its headers, or its lengths contradict each other.
    Malformed,
    /// It cannot be part of any datagram.
    Impossible(Impossible),
}

impl Fragment {
    /// Reads a packet.
    ///
    /// # Errors
    /// [`NoFragment`].
    pub fn read(packet: &[u8]) -> Result<Self, NoFragment> {
        match packet.first().map(|first| first >> 4) {
            Some(4) => Self::read_v4(packet, 0),
            Some(6) => Self::read_v6(packet),
            _ => Err(NoFragment::Malformed),
        }
    }

    /// Whether this is the first fragment of its datagram.
    #[must_use]
    pub fn is_first(&self) -> bool {
        self.extent.bytes.start == 0
    }

    /// Returns the length of the packet without link-layer padding.
    #[must_use]
    pub fn end(&self) -> usize {
        self.payload + self.extent.bytes.len()
    }

    /// Reads an IPv4 packet that begins at the offset `start`.
    fn read_v4(whole: &[u8], start: usize) -> Result<Self, NoFragment> {
        let packet = whole.get(start..).ok_or(NoFragment::Malformed)?;
        let header = ipv4::Header(leading_words(packet)?);
        if header.version() != 4 {
            return Err(NoFragment::Malformed);
        }
        let fragment = header.fragment();
        if !fragment.is_fragment() {
            return Err(NoFragment::Whole);
        }
        let end = usize::from(header.total_length());
        let payload = header.header_length();
        if end > packet.len() || payload < ipv4::HEADER {
            return Err(NoFragment::Malformed);
        }
        let length = end.checked_sub(payload).ok_or(NoFragment::Malformed)?;
        let mut addresses = [0; 8];
        addresses.copy_from_slice(&packet[12..20]);
        let softwire = match start {
            0 => None,
            _ => whole[8..40].try_into().ok(),
        };
        Ok(Self {
            key: Key::V4 {
                addresses,
                softwire,
                identification: header.identification(),
                protocol: header.protocol(),
            },
            extent: Extent::new(fragment, header.protocol(), length)
                .map_err(NoFragment::Impossible)?,
            start,
            headers: start + payload,
            payload: start + payload,
            next_header: header.protocol(),
            next_header_at: start + 9,
        })
    }

    fn read_v6(packet: &[u8]) -> Result<Self, NoFragment> {
        let header = ipv6::Header(leading_words(packet)?);
        let end = ipv6::HEADER + usize::from(header.payload_length());
        let packet = packet.get(..end).ok_or(NoFragment::Malformed)?;
        let (mut at, mut next_header_at) = (ipv6::HEADER, 6);
        loop {
            let rest = packet.get(at..).ok_or(NoFragment::Malformed)?;
            match packet[next_header_at] {
                protocol::FRAGMENT => {
                    let fragment = ipv6::FragmentHeader::from_words(leading_words(rest)?);
                    if fragment.fragment.is_fragment() {
                        return Self::behind(packet, (at, next_header_at), fragment);
                    }
                    // RFC 6946: round a whole packet it is a header like any other.
                    next_header_at = at;
                    at += ipv6::FRAGMENT_HEADER;
                }
                // RFC 2473: the datagram is one of those inside the softwire.
                protocol::IPV4 => return Self::read_v4(packet, at),
                protocol::HOP_BY_HOP | protocol::ROUTING | protocol::DESTINATION_OPTIONS => {
                    let [_, length, ..] = rest else {
                        return Err(NoFragment::Malformed);
                    };
                    next_header_at = at;
                    at += 8 + usize::from(*length) * 8;
                }
                _ => return Err(NoFragment::Whole),
            }
        }
    }

    /// The fragment of an IPv6 packet behind a fragment header at this offset, whose type is named at the other.
    fn behind(
        packet: &[u8],
        (at, next_header_at): (usize, usize),
        fragment: ipv6::FragmentHeader,
    ) -> Result<Self, NoFragment> {
        let payload = at + ipv6::FRAGMENT_HEADER;
        let mut addresses = [0; 32];
        addresses.copy_from_slice(&packet[8..40]);
        Ok(Self {
            key: Key::V6 {
                addresses,
                identification: fragment.identification,
            },
            extent: Extent::new(
                fragment.fragment,
                fragment.next_header,
                packet.len() - payload,
            )
            .map_err(NoFragment::Impossible)?,
            start: 0,
            headers: at,
            payload,
            next_header: fragment.next_header,
            next_header_at,
        })
    }

    /// Returns the payload of the packet that this was read from.
    fn payload<'a>(&self, packet: &'a [u8]) -> &'a [u8] {
        &packet[self.payload..][..self.extent.bytes.len()]
    }
}

/// Writes the packet that the fragments make, which are sorted and complete, and returns its length. `None` if it is longer
/// than a packet can be, or than there is room. Its length never exceeds that of all fragments together.
#[must_use]
pub fn join<'a>(
    mut fragments: impl Iterator<Item = (&'a Fragment, &'a [u8])>,
    whole: &mut [u8],
) -> Option<usize> {
    let (first, packet) = fragments.next()?;
    let mut length = 0;
    let mut add = |bytes: &[u8]| {
        whole
            .get_mut(length..)?
            .get_mut(..bytes.len())?
            .copy_from_slice(bytes);
        length += bytes.len();
        Some(())
    };
    add(&packet[..first.headers])?;
    add(first.payload(packet))?;
    for (fragment, packet) in fragments {
        add(fragment.payload(packet))?;
    }
    first.complete(whole.get_mut(..length)?)?;
    Some(length)
}

impl Fragment {
    /// Makes the headers of a first fragment those of the whole packet.
    fn complete(&self, whole: &mut [u8]) -> Option<()> {
        match self.key {
            Key::V4 { .. } => {
                if self.start > 0 {
                    let length = u16::try_from(whole.len() - ipv6::HEADER).ok()?;
                    whole[4..6].copy_from_slice(&length.to_be_bytes());
                }
                let datagram = &mut whole[self.start..];
                let total = u16::try_from(datagram.len()).ok()?;
                datagram[2..4].copy_from_slice(&total.to_be_bytes());
                // DF stays. More Fragments and the offset go.
                datagram[6] &= 0x40;
                datagram[7] = 0;
                datagram[10..12].fill(0);
                let header = &datagram[..self.headers - self.start];
                let checksum = Sum::ZERO.bytes(header).checksum();
                datagram[10..12].copy_from_slice(&checksum.to_be_bytes());
            }
            Key::V6 { .. } => {
                let length = u16::try_from(whole.len() - ipv6::HEADER).ok()?;
                whole[4..6].copy_from_slice(&length.to_be_bytes());
                whole[self.next_header_at] = self.next_header;
            }
        }
        Some(())
    }
}

fn leading_words<const N: usize>(bytes: &[u8]) -> Result<[Word; N], NoFragment> {
    super::leading_words(bytes).ok_or(NoFragment::Malformed)
}

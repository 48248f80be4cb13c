//! Cuts a translated packet into fragments that fit a link: RFC 791 section 3.2, RFC 8200
//! section 4.5, RFC 7915 sections 4.1 and 5.1.1.
//!
//! The packet may itself be a fragment; its pieces then keep its place in the datagram. No payload
//! is copied: a [`Piece`] is a header of its own and a part of the packet it came from.

use crate::checksum::Sum;
use crate::packet::Family;
use crate::verdict::Split;
use crate::wire::ipv4::Fragment;
use crate::wire::ipv6::{self, FragmentHeader};
use crate::wire::{ipv4, protocol};
use crate::word::Word;

/// The longest header a piece can have: IPv4 with 40 bytes of options.
pub const LONGEST_HEADER: usize = 60;

/// Why a packet cannot be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CannotSplit {
    /// It is neither IPv4 nor IPv6, or shorter than its header says.
    Malformed,
    /// The MTU leaves no room for eight bytes of payload.
    MtuTooSmall,
    /// A fragment with more to follow whose payload is not a multiple of eight bytes, or one that
    /// reaches past 65,535 bytes.
    BadFragment,
    /// IPv6 hop-by-hop options or a routing header, which a translator never writes.
    UnfragmentableHeaders,
}

/// One fragment: its bytes are those of [`header`](Self::header) followed by `payload`.
#[derive(Clone, Copy, Debug)]
pub struct Piece<'a> {
    header: Header,
    /// The payload.
    pub payload: &'a [u8],
}

impl Piece<'_> {
    /// The IP header, with its fragment header in IPv6.
    #[must_use]
    pub fn header(&self) -> &[u8] {
        self.header.bytes()
    }
}

/// The pieces of one packet, in order. Every piece has at most `Split::mtu` bytes.
///
/// `Split::identification` is used where the packet has none of its own: IPv6 without a fragment
/// header. Options of an IPv4 packet stay whole in the first piece; later pieces have those that
/// are marked as copied (RFC 791 section 3.1).
#[derive(Clone, Debug)]
pub struct Pieces<'a> {
    family: Family,
    /// Header of the next piece, but for its lengths and its place.
    next: Header,
    /// The same for all pieces after that.
    later: Header,
    payload: &'a [u8],
    /// Offset of `payload` in the datagram, in units of eight bytes.
    offset: u16,
    /// Whether more follows after the last byte of `payload`.
    more: bool,
    mtu: usize,
}

impl<'a> Pieces<'a> {
    /// Looks at the packet; cuts nothing yet. Bytes beyond the length in the IP header (link-layer
    /// padding) are left out.
    ///
    /// # Errors
    /// [`CannotSplit`].
    pub fn new(packet: &'a [u8], split: Split) -> Result<Self, CannotSplit> {
        let mtu = usize::from(split.mtu);
        let pieces = match packet.first().map(|first| first >> 4) {
            Some(4) => Self::v4(packet, mtu)?,
            Some(6) => Self::v6(packet, mtu, split.identification)?,
            _ => return Err(CannotSplit::Malformed),
        };
        if pieces.room() < 8 {
            return Err(CannotSplit::MtuTooSmall);
        }
        let end = usize::from(pieces.offset) * 8 + pieces.payload.len();
        if end > 65_535 || (pieces.more && !pieces.payload.len().is_multiple_of(8)) {
            return Err(CannotSplit::BadFragment);
        }
        Ok(pieces)
    }

    fn v4(packet: &'a [u8], mtu: usize) -> Result<Self, CannotSplit> {
        let header = ipv4::Header(leading_words(packet)?);
        let (bytes, payload) = packet
            .get(..usize::from(header.total_length()))
            .and_then(|packet| packet.split_at_checked(header.header_length()))
            .filter(|(bytes, _)| bytes.len() >= ipv4::HEADER)
            .ok_or(CannotSplit::Malformed)?;
        let (fixed, options) = bytes.split_at(ipv4::HEADER);
        let mut next = Header::new(fixed);
        next.push(options);
        let mut later = Header::new(fixed);
        push_copied_options(&mut later, options);
        let Fragment { offset, more } = header.fragment();
        Ok(Self {
            family: Family::V4,
            next,
            later,
            payload,
            offset,
            more,
            mtu,
        })
    }

    fn v6(packet: &'a [u8], mtu: usize, identification: u32) -> Result<Self, CannotSplit> {
        let header = ipv6::Header(leading_words(packet)?);
        let (fixed, mut payload) = packet
            .get(..ipv6::HEADER + usize::from(header.payload_length()))
            .ok_or(CannotSplit::Malformed)?
            .split_at(ipv6::HEADER);
        let fragment = match header.next_header() {
            protocol::HOP_BY_HOP | protocol::ROUTING => {
                return Err(CannotSplit::UnfragmentableHeaders);
            }
            protocol::FRAGMENT => {
                let fragment = FragmentHeader::from_words(leading_words(payload)?);
                payload = &payload[ipv6::FRAGMENT_HEADER..];
                fragment
            }
            next_header => FragmentHeader {
                next_header,
                fragment: Fragment::WHOLE,
                identification,
            },
        };
        let mut next = Header::new(fixed);
        next.bytes[6] = protocol::FRAGMENT;
        for word in fragment.to_words() {
            next.push(&word.bytes());
        }
        let Fragment { offset, more } = fragment.fragment;
        Ok(Self {
            family: Family::V6,
            next,
            later: next,
            payload,
            offset,
            more,
            mtu,
        })
    }

    /// Bytes of payload that the next piece takes.
    fn room(&self) -> usize {
        self.mtu.saturating_sub(self.next.length)
    }
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        if self.payload.is_empty() {
            return None;
        }
        // The last piece of the packet need not be the last of the datagram. Its length is a multiple of
        // eight then, as `new` has checked.
        let length = if self.payload.len() <= self.room() {
            self.payload.len()
        } else {
            self.room() & !7
        };
        let (payload, rest) = self.payload.split_at(length);
        let mut header = self.next;
        let fragment = Fragment {
            offset: self.offset,
            more: self.more || !rest.is_empty(),
        };
        match self.family {
            Family::V4 => header.place_v4(fragment, length),
            Family::V6 => header.place_v6(fragment, length),
        }
        self.next = self.later;
        self.payload = rest;
        self.offset += (length / 8) as u16;
        Some(Piece { header, payload })
    }
}

/// A header that is being put together.
#[derive(Clone, Copy, Debug)]
struct Header {
    bytes: [u8; LONGEST_HEADER],
    length: usize,
}

impl Header {
    fn new(bytes: &[u8]) -> Self {
        let mut header = Self {
            bytes: [0; LONGEST_HEADER],
            length: 0,
        };
        header.push(bytes);
        header
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    fn push(&mut self, bytes: &[u8]) {
        self.bytes[self.length..][..bytes.len()].copy_from_slice(bytes);
        self.length += bytes.len();
    }

    fn set_number(&mut self, at: usize, number: u16) {
        self.bytes[at..at + 2].copy_from_slice(&number.to_be_bytes());
    }

    /// Writes what distinguishes this IPv4 piece: IHL, total length, flags (DF clear: RFC 7915
    /// section 5.1.1), offset, checksum.
    fn place_v4(&mut self, fragment: Fragment, payload: usize) {
        self.bytes[0] = 0x40 | (self.length / 4) as u8;
        self.set_number(2, (self.length + payload) as u16);
        let more = if fragment.more { 0x2000 } else { 0 };
        self.set_number(6, more | fragment.offset);
        self.set_number(10, 0);
        self.set_number(10, Sum::ZERO.bytes(self.bytes()).checksum());
    }

    /// Writes what distinguishes this IPv6 piece: payload length, offset and M.
    fn place_v6(&mut self, fragment: Fragment, payload: usize) {
        self.set_number(4, (ipv6::FRAGMENT_HEADER + payload) as u16);
        self.set_number(
            ipv6::HEADER + 2,
            fragment.offset << 3 | u16::from(fragment.more),
        );
    }
}

/// The first words of some bytes.
fn leading_words<const N: usize>(bytes: &[u8]) -> Result<[Word; N], CannotSplit> {
    super::leading_words(bytes).ok_or(CannotSplit::Malformed)
}

/// Appends the options that every fragment has: type octet with its highest bit set (RFC 791
/// section 3.1). The rest of the last word is End of Option List, which is 0.
fn push_copied_options(header: &mut Header, mut options: &[u8]) {
    const END: u8 = 0;
    const NO_OPERATION: u8 = 1;
    while let [kind, rest @ ..] = options {
        options = match *kind {
            END => break,
            NO_OPERATION => rest,
            kind => {
                let length = usize::from(rest.first().copied().unwrap_or(0));
                // An impossible length ends the list: the bytes after it have no meaning.
                let Some((option, rest)) = options.split_at_checked(length) else {
                    break;
                };
                if length < 2 {
                    break;
                }
                if kind & 0x80 != 0 {
                    header.push(option);
                }
                rest
            }
        };
    }
    header.length = header.length.next_multiple_of(4);
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{IpFragOffset, Ipv4Header, Ipv4HeaderSlice, Ipv6FragmentHeader, Ipv6Header};
    use proptest::prelude::*;
    use std::vec::Vec;

    /// An IPv4 packet by etherparse.
    fn ipv4(payload: &[u8], offset: u16, more: bool, options: &[u8]) -> Vec<u8> {
        let mut header = Ipv4Header::new(
            payload.len() as u16,
            61,
            etherparse::IpNumber::UDP,
            [192, 0, 2, 1],
            [198, 51, 100, 7],
        )
        .unwrap();
        header.identification = 0xbeef;
        header.dont_fragment = false;
        header.more_fragments = more;
        header.fragment_offset = IpFragOffset::try_new(offset).unwrap();
        header.options = options.try_into().unwrap();
        header.set_payload_len(payload.len()).unwrap();
        header.header_checksum = header.calc_header_checksum();
        let mut bytes = Vec::new();
        header.write(&mut bytes).unwrap();
        bytes.extend_from_slice(payload);
        bytes
    }

    /// An IPv6 packet by etherparse, with a fragment header if `fragment` is given.
    fn ipv6(payload: &[u8], fragment: Option<(u16, bool, u32)>) -> Vec<u8> {
        let mut header = Ipv6Header {
            hop_limit: 63,
            next_header: etherparse::IpNumber::UDP,
            source: [0x20; 16],
            destination: [0x30; 16],
            ..Default::default()
        };
        header.set_payload_length(payload.len()).unwrap();
        let mut bytes = Vec::new();
        if let Some((offset, more, id)) = fragment {
            header.next_header = etherparse::IpNumber::IPV6_FRAGMENTATION_HEADER;
            header.set_payload_length(payload.len() + 8).unwrap();
            header.write(&mut bytes).unwrap();
            let offset = IpFragOffset::try_new(offset).unwrap();
            Ipv6FragmentHeader::new(etherparse::IpNumber::UDP, offset, more, id)
                .write(&mut bytes)
                .unwrap();
        } else {
            header.write(&mut bytes).unwrap();
        }
        bytes.extend_from_slice(payload);
        bytes
    }

    /// Reads a piece independently: offset in bytes, more fragments, identification, payload.
    fn read(piece: &[u8]) -> (usize, bool, u32, Vec<u8>) {
        if piece[0] >> 4 == 4 {
            let header = Ipv4HeaderSlice::from_slice(piece).unwrap();
            assert_eq!(usize::from(header.total_len()), piece.len());
            assert_eq!(
                header.header_checksum(),
                header.to_header().calc_header_checksum()
            );
            assert!(!header.dont_fragment());
            (
                usize::from(header.fragments_offset().byte_offset()),
                header.more_fragments(),
                u32::from(header.identification()),
                piece[header.slice().len()..].to_vec(),
            )
        } else {
            let (header, rest) = Ipv6Header::from_slice(piece).unwrap();
            assert_eq!(usize::from(header.payload_length), rest.len());
            assert_eq!(
                header.next_header,
                etherparse::IpNumber::IPV6_FRAGMENTATION_HEADER
            );
            assert_eq!(header.hop_limit, 63);
            let (fragment, payload) = Ipv6FragmentHeader::from_slice(rest).unwrap();
            assert_eq!(fragment.next_header, etherparse::IpNumber::UDP);
            (
                usize::from(fragment.fragment_offset.byte_offset()),
                fragment.more_fragments,
                fragment.identification,
                payload.to_vec(),
            )
        }
    }

    fn cut(packet: &[u8], mtu: u16) -> Result<Vec<Vec<u8>>, CannotSplit> {
        let split = Split {
            mtu,
            identification: 0x1234_5678,
        };
        let pieces = Pieces::new(packet, split)?;
        Ok(pieces
            .map(|piece| [piece.header(), piece.payload].concat())
            .collect())
    }

    #[test]
    fn rfc7915_4_1_pieces_of_1280_carry_1232() {
        // RFC 7915 section 4.1: 1280 minus 40 for the IPv6 header and 8 for the fragment header.
        let pieces = cut(&ipv6(&[7; 1480], None), 1280).unwrap();
        let lengths: Vec<_> = pieces.iter().map(Vec::len).collect();
        assert_eq!(lengths, [1280, 48 + 1480 - 1232]);
        assert_eq!(read(&pieces[0]).2, 0x1234_5678);
    }

    #[test]
    fn rfc791_only_copied_options_follow() {
        // Record Route (7, not copied), then Stream Identifier (136, copied).
        let options = [7, 7, 4, 0, 0, 0, 0, 1, 136, 4, 0xab, 0xcd];
        let pieces = cut(&ipv4(&[1; 600], 0, false, &options), 300).unwrap();
        let first = Ipv4HeaderSlice::from_slice(&pieces[0]).unwrap();
        assert_eq!(first.options(), options);
        for later in &pieces[1..] {
            let header = Ipv4HeaderSlice::from_slice(later).unwrap();
            assert_eq!(header.options(), [136, 4, 0xab, 0xcd]);
        }
    }

    #[test]
    fn a_middle_fragment_stays_in_the_middle() {
        for packet in [
            ipv4(&[3; 1200], 185, true, &[]),
            ipv6(&[3; 1200], Some((185, true, 9))),
        ] {
            let pieces = cut(&packet, 600).unwrap();
            let last = read(pieces.last().unwrap());
            assert_eq!(read(&pieces[0]).0, 185 * 8);
            assert!(last.1, "the datagram goes on after the last piece");
            assert_eq!(last.0 + last.3.len(), 185 * 8 + 1200);
        }
    }

    #[test]
    fn what_can_not_be_cut_is_refused() {
        assert_eq!(cut(&[], 1280), Err(CannotSplit::Malformed));
        assert_eq!(cut(&[0x45; 19], 1280), Err(CannotSplit::Malformed));
        assert_eq!(
            cut(&ipv4(&[0; 64], 0, false, &[]), 27),
            Err(CannotSplit::MtuTooSmall)
        );
        assert_eq!(
            cut(&ipv4(&[0; 63], 0, true, &[]), 68),
            Err(CannotSplit::BadFragment)
        );
        assert_eq!(
            cut(&ipv4(&[0; 64], 8191, false, &[]), 68),
            Err(CannotSplit::BadFragment)
        );
        let mut routing = ipv6(&[0; 64], None);
        routing[6] = protocol::ROUTING;
        assert_eq!(cut(&routing, 100), Err(CannotSplit::UnfragmentableHeaders));
        let short = ipv6(&[0; 64], None);
        assert_eq!(cut(&short[..103], 100), Err(CannotSplit::Malformed));
    }

    proptest! {
        /// Pieces fit, follow one another without gap or overlap, and give the payload back.
        #[test]
        fn pieces_reassemble(
            payload in prop::collection::vec(any::<u8>(), 1..9000),
            mtu in 68u16..1600,
            offset in 0u16..1000,
            more: bool,
            is_v6: bool,
            padding in 0usize..20,
        ) {
            let length = if more { payload.len() & !7 } else { payload.len() };
            let payload = &payload[..length];
            let mut packet = if is_v6 {
                ipv6(payload, Some((offset, more, 77)))
            } else {
                ipv4(payload, offset, more, &[])
            };
            packet.extend_from_slice(&[0xee; 20][..padding]);
            let mut end = usize::from(offset) * 8;
            let mut back = Vec::new();
            let mut went_on = true;
            for piece in cut(&packet, mtu).unwrap() {
                prop_assert!(piece.len() <= usize::from(mtu));
                let (at, piece_more, id, bytes) = read(&piece);
                prop_assert!(went_on);
                prop_assert_eq!(at, end);
                prop_assert_eq!(id, if is_v6 { 77 } else { 0xbeef });
                end += bytes.len();
                back.extend(bytes);
                went_on = piece_more;
            }
            prop_assert_eq!(back, payload);
            prop_assert!(went_on == more || payload.is_empty());
        }

        #[test]
        fn any_bytes_are_safe(packet in prop::collection::vec(any::<u8>(), 0..200), mtu: u16) {
            let _ = cut(&packet, mtu);
        }
    }
}

//! A packet in a byte buffer with headroom, which user space lends to the core.

use isthmus_core::checksum::{Change, Field, Sum};
use isthmus_core::packet::{Abilities, Family, NoRoom, Packet, Truncated, patch_complete};
use isthmus_core::wire::ipv6;
use isthmus_core::word::Word;

/// Headroom for a received packet: enough for every header that the core may put before it (40 bytes of IPv6 and
/// 8 of fragment header in place of 20 of IPv4), and for the header that a TUN device expects before the
/// packet.
pub const HEADROOM: usize = 128;

/// The work on a packet that is left to the kernel or the hardware.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offload {
    /// Payload bytes per segment, if it is a super-packet (GSO).
    pub segment: Option<u16>,
    /// The transport checksum that is still incomplete, if any.
    pub checksum: Option<PartialChecksum>,
}

/// A checksum field that holds the sum of the pseudo-header only (`CHECKSUM_PARTIAL`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartialChecksum {
    /// Offset of the transport header in the packet.
    pub start: usize,
    /// Offset of the checksum field in the transport header.
    pub field: usize,
}

/// A packet in the middle of a buffer.
#[derive(Debug)]
pub struct Buffer<'a> {
    storage: &'a mut [u8],
    /// The packet is `storage[start..end]`; `start <= end <= storage.len()` always holds.
    start: usize,
    end: usize,
    offload: Offload,
    reassembled: Option<u32>,
    rewritten: bool,
}

impl<'a> Buffer<'a> {
    /// Returns the packet that fills `storage` from `start` to its end. The bytes before `start` are headroom. A
    /// `start` past the end gives an empty packet.
    #[must_use]
    pub fn new(storage: &'a mut [u8], start: usize) -> Self {
        let start = start.min(storage.len());
        Self {
            end: storage.len(),
            storage,
            start,
            offload: Offload::default(),
            reassembled: None,
            rewritten: false,
        }
    }

    /// Returns the packet with work left to the kernel.
    #[must_use]
    pub fn with_offload(self, offload: Offload) -> Self {
        Self { offload, ..self }
    }

    /// Returns the packet, marked as reassembled from fragments of this datagram.
    #[must_use]
    pub fn with_reassembled(self, identification: u32) -> Self {
        Self {
            reassembled: Some(identification),
            ..self
        }
    }

    /// Returns the packet, marked as seen by an application level gateway.
    #[must_use]
    pub fn with_rewritten(self) -> Self {
        Self {
            rewritten: true,
            ..self
        }
    }

    /// Returns the offset of the packet in the storage.
    #[must_use]
    pub fn start(&self) -> usize {
        self.start
    }

    /// Returns the work left to the kernel or the hardware.
    #[must_use]
    pub fn offload(&self) -> Offload {
        self.offload
    }

    /// Returns the bytes of the packet.
    #[must_use]
    pub fn packet(&self) -> &[u8] {
        &self.storage[self.start..self.end]
    }

    fn packet_mut(&mut self) -> &mut [u8] {
        &mut self.storage[self.start..self.end]
    }

    /// Removes the bytes that follow the packet by its own IP header: link-layer padding, or the rest of a quoted
    /// packet that has to be cut. A header whose length exceeds the packet changes nothing.
    #[inline]
    pub fn trim(&mut self) {
        let packet = self.packet();
        let number = |at: usize| {
            let bytes: Option<[u8; 2]> = packet.get(at..at + 2)?.try_into().ok();
            bytes.map(u16::from_be_bytes).map(usize::from)
        };
        let length = match packet.first().map(|first| first >> 4) {
            Some(4) => number(2),
            Some(6) => number(4).map(|payload| payload + ipv6::HEADER),
            _ => None,
        };
        let length = length.unwrap_or(packet.len()).min(packet.len());
        self.end = self.start + length;
    }

    /// Returns `prefix` bytes of headroom and the packet after them; `None` if there is less headroom.
    #[must_use]
    pub fn packet_with_prefix(&mut self, prefix: usize) -> Option<&mut [u8]> {
        let start = self.start.checked_sub(prefix)?;
        self.storage.get_mut(start..self.end)
    }

    /// Completes the checksum that was left to the hardware, for a packet that is to be fragmented or inspected. A
    /// packet without such a checksum does not change.
    pub fn complete_checksum(&mut self) {
        let Some(PartialChecksum { start, field }) = self.offload.checksum.take() else {
            return;
        };
        let Some(transport) = self.packet_mut().get_mut(start..) else {
            return;
        };
        let sum = Sum::ZERO.bytes(transport);
        if let Some(bytes) = transport.get_mut(field..field + 2) {
            // 0x0000 would mean "no checksum" in UDP, and 0xffff is as good in TCP.
            let checksum = match sum.checksum() {
                0 => 0xffff,
                checksum => checksum,
            };
            bytes.copy_from_slice(&checksum.to_be_bytes());
        }
    }
}

impl Packet for Buffer<'_> {
    const ABILITIES: Abilities = Abilities::USER_SPACE;

    #[inline(always)]
    fn len(&self) -> usize {
        self.end - self.start
    }

    #[inline(always)]
    fn words<const N: usize>(&self, at: usize) -> Result<[Word; N], Truncated> {
        let bytes = self.packet().get(at..).ok_or(Truncated)?;
        let words = bytes.as_chunks::<4>().0.first_chunk::<N>();
        Ok(words.ok_or(Truncated)?.map(Word::from_bytes))
    }

    #[inline(always)]
    fn set_words<const N: usize>(&mut self, at: usize, words: [Word; N]) -> Result<(), Truncated> {
        let bytes = self.packet_mut().get_mut(at..).ok_or(Truncated)?;
        let place = bytes.as_chunks_mut::<4>().0.first_chunk_mut::<N>();
        *place.ok_or(Truncated)? = words.map(Word::bytes);
        Ok(())
    }

    #[inline(always)]
    fn replace_front(&mut self, remove: usize, insert: usize, _: Family) -> Result<(), NoRoom> {
        if remove > self.len() {
            return Err(NoRoom);
        }
        let kept = self.start + remove;
        self.start = kept.checked_sub(insert).ok_or(NoRoom)?;
        if let Some(checksum) = &mut self.offload.checksum {
            match (checksum.start + insert).checked_sub(remove) {
                Some(start) => checksum.start = start,
                // The transport header was removed, and its checksum with it.
                None => self.offload.checksum = None,
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn patch_checksum(&mut self, field: Field, change: Change) -> Result<(), Truncated> {
        match self.offload.checksum {
            Some(partial) if partial.start + partial.field == field.at => {
                let at = field.at;
                let bytes = self.packet_mut().get_mut(at..at + 2).ok_or(Truncated)?;
                let old = u16::from_be_bytes([bytes[0], bytes[1]]);
                bytes.copy_from_slice(&change.pseudo.apply_partial(old).to_be_bytes());
                Ok(())
            }
            _ => patch_complete(self, field.at, field.kind, change.pseudo + change.content),
        }
    }

    #[inline(always)]
    fn truncate(&mut self, length: usize) {
        self.end = self.end.min(self.start + length);
    }

    #[inline(always)]
    fn gso_size(&self) -> Option<u16> {
        self.offload.segment
    }

    #[inline(always)]
    fn bytes(&self) -> Option<&[u8]> {
        Some(self.packet())
    }

    #[inline(always)]
    fn bytes_mut(&mut self) -> Option<&mut [u8]> {
        Some(self.packet_mut())
    }

    #[inline(always)]
    fn reassembled(&self) -> Option<u32> {
        self.reassembled
    }

    #[inline(always)]
    fn is_rewritten(&self) -> bool {
        self.rewritten
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::PacketBuilder;
    use proptest::prelude::*;

    proptest! {
        /// An access succeeds exactly if it lies within the packet, and reads the packet's bytes.
        #[test]
        fn never_past_the_packet(length in 0usize..64, start in 0usize..32, at in 0usize..80) {
            let mut storage: Vec<u8> = (0..(start + length) as u8).collect();
            let expected: Vec<u8> = storage[start..].to_vec();
            let mut buffer = Buffer::new(&mut storage, start);
            prop_assert_eq!(buffer.len(), length);
            let inside = at + 8 <= length;
            match buffer.words::<2>(at) {
                Ok(words) => {
                    prop_assert!(inside);
                    prop_assert_eq!(words.map(Word::bytes).concat(), &expected[at..at + 8]);
                }
                Err(Truncated) => prop_assert!(!inside),
            }
            prop_assert_eq!(buffer.set_words(at, [Word(0); 2]).is_ok(), inside);
            if !inside {
                prop_assert_eq!(buffer.packet(), expected);
            }
        }

        #[test]
        fn front_grows_and_shrinks(start in 0usize..64, remove in 0usize..80, insert in 0usize..80) {
            let mut storage = [0u8; 128];
            storage[start + remove.min(64)] = 7;
            let mut buffer = Buffer::new(&mut storage[..start + 64], start);
            let before = buffer.packet().to_vec();
            let fits = remove <= 64 && insert <= start + remove;
            prop_assert_eq!(buffer.replace_front(remove, insert, Family::V6).is_ok(), fits);
            if fits {
                prop_assert_eq!(buffer.len(), 64 - remove + insert);
                prop_assert_eq!(&buffer.packet()[insert..], &before[remove..]);
            } else {
                prop_assert_eq!(buffer.packet(), before);
            }
        }
    }

    #[test]
    fn a_start_past_the_end_is_an_empty_packet() {
        assert!(Buffer::new(&mut [1, 2], 3).packet().is_empty());
    }

    #[test]
    fn trims_to_the_length_in_the_header() {
        let (packet, _, _) = partial();
        let mut storage = [packet.clone(), vec![9; 40]].concat();
        let mut buffer = Buffer::new(&mut storage, 0);
        buffer.trim();
        assert_eq!(buffer.packet(), packet);
        assert!(buffer.words::<1>(packet.len()).is_err());
        // A header whose length is too large, and bytes that are no packet.
        storage[2] = 0xff;
        let mut buffer = Buffer::new(&mut storage, 0);
        buffer.trim();
        assert_eq!(buffer.len(), packet.len() + 40);
        let mut buffer = Buffer::new(&mut storage[..0], 0);
        buffer.trim();
        assert_eq!(buffer.len(), 0);
    }

    /// A packet with the checksum that a kernel leaves to the hardware.
    fn partial() -> (Vec<u8>, Vec<u8>, Offload) {
        let mut complete = Vec::new();
        PacketBuilder::ipv4([192, 0, 2, 1], [192, 0, 2, 2], 64)
            .udp(1000, 2000)
            .write(&mut complete, b"payload")
            .unwrap();
        let mut packet = complete.clone();
        let pseudo = Sum::ZERO
            .bytes(&packet[12..20])
            .number(17)
            .number((packet.len() - 20) as u16);
        packet[26..28].copy_from_slice(&pseudo.fold().to_be_bytes());
        let offload = Offload {
            segment: None,
            checksum: Some(PartialChecksum {
                start: 20,
                field: 6,
            }),
        };
        (packet, complete, offload)
    }

    #[test]
    fn completes_a_partial_checksum() {
        let (mut packet, complete, offload) = partial();
        let mut buffer = Buffer::new(&mut packet, 0).with_offload(offload);
        buffer.complete_checksum();
        assert_eq!(buffer.packet(), complete);
        assert_eq!(buffer.offload().checksum, None);
    }

    #[test]
    fn a_partial_checksum_follows_the_pseudo_header_only() {
        let (mut packet, _, offload) = partial();
        let mut expected = Vec::new();
        PacketBuilder::ipv4([192, 0, 2, 1], [198, 51, 100, 9], 64)
            .udp(1000, 2001)
            .write(&mut expected, b"payload")
            .unwrap();
        let old = Sum::ZERO.bytes(&packet[16..20]);
        packet[16..20].copy_from_slice(&[198, 51, 100, 9]);
        packet[10..12].copy_from_slice(&expected[10..12]);
        packet[22..24].copy_from_slice(&2001u16.to_be_bytes());
        let pseudo = Sum::ZERO.bytes(&packet[16..20]) - old;
        let content = Sum::ZERO.number(2001) - Sum::ZERO.number(2000);
        let mut buffer = Buffer::new(&mut packet, 0).with_offload(offload);
        buffer
            .patch_checksum(Field::udp(26), Change { pseudo, content })
            .unwrap();
        buffer.complete_checksum();
        assert_eq!(buffer.packet(), expected);
    }

    #[test]
    fn the_partial_checksum_moves_with_the_front() {
        let (packet, _, offload) = partial();
        let mut storage = [vec![0; 64], packet].concat();
        let mut buffer = Buffer::new(&mut storage, 64).with_offload(offload);
        buffer.replace_front(20, 48, Family::V6).unwrap();
        let expected = PartialChecksum {
            start: 48,
            field: 6,
        };
        assert_eq!(buffer.offload().checksum, Some(expected));
    }
}

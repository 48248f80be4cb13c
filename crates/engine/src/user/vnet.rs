//! The header that a TUN device puts before each packet (`struct virtio_net_hdr`). It describes the work left
//! for the kernel. Its numbers are in the byte order of the machine.

use isthmus_core::packet::Family;

use crate::buffer::{Offload, PartialChecksum};

/// Length of the header in bytes.
pub(super) const LENGTH: usize = 10;

const NEEDS_CHECKSUM: u8 = 1;
const GSO_NONE: u8 = 0;
const GSO_TCP_V4: u8 = 1;
const GSO_TCP_V6: u8 = 4;
const GSO_UDP: u8 = 5;
/// Flag beside the type: the segments carry congestion notification.
const GSO_ECN: u8 = 0x80;

/// The header as received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Header {
    flags: u8,
    gso_type: u8,
    header_length: u16,
    gso_size: u16,
    checksum_start: u16,
    checksum_field: u16,
}

impl Header {
    pub(super) fn from_bytes(bytes: [u8; LENGTH]) -> Self {
        let number = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        Self {
            flags: bytes[0],
            gso_type: bytes[1],
            header_length: number(2),
            gso_size: number(4),
            checksum_start: number(6),
            checksum_field: number(8),
        }
    }

    fn to_bytes(self) -> [u8; LENGTH] {
        let mut bytes = [0; LENGTH];
        bytes[0] = self.flags;
        bytes[1] = self.gso_type;
        let numbers = [
            self.header_length,
            self.gso_size,
            self.checksum_start,
            self.checksum_field,
        ];
        for (place, number) in bytes[2..].chunks_exact_mut(2).zip(numbers) {
            place.copy_from_slice(&number.to_ne_bytes());
        }
        bytes
    }

    /// Returns the work that the header describes.
    pub(super) fn offload(&self) -> Offload {
        Offload {
            segment: (self.gso_type != GSO_NONE).then_some(self.gso_size),
            checksum: (self.flags & NEEDS_CHECKSUM != 0).then(|| PartialChecksum {
                start: self.checksum_start.into(),
                field: self.checksum_field.into(),
            }),
        }
    }

    /// Returns the header for sending a packet that arrived with this header and now is of `family`, with
    /// `offload` left to do.
    pub(super) fn translated(&self, family: Family, offload: Offload) -> [u8; LENGTH] {
        let mut header = Self::default();
        if let Some(PartialChecksum { start, field }) = offload.checksum {
            header.flags = NEEDS_CHECKSUM;
            header.checksum_start = start as u16;
            header.checksum_field = field as u16;
        }
        if let Some(segment) = offload.segment {
            let ecn = self.gso_type & GSO_ECN;
            header.gso_type = ecn
                | match (self.gso_type & !GSO_ECN, family) {
                    (GSO_TCP_V4 | GSO_TCP_V6, Family::V4) => GSO_TCP_V4,
                    (GSO_TCP_V4 | GSO_TCP_V6, Family::V6) => GSO_TCP_V6,
                    (other, _) => other,
                };
            header.gso_size = segment;
            // The transport header keeps its length. Only the headers before it have changed.
            let transport = self.header_length.saturating_sub(self.checksum_start);
            header.header_length = header.checksum_start + transport;
        }
        header.to_bytes()
    }

    /// Whether super-packets of this kind can be translated.
    pub(super) fn is_known(&self) -> bool {
        matches!(
            self.gso_type & !GSO_ECN,
            GSO_NONE | GSO_TCP_V4 | GSO_TCP_V6 | GSO_UDP
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(flags: u8, kind: u8, numbers: [u16; 4]) -> [u8; LENGTH] {
        let mut bytes = vec![flags, kind];
        bytes.extend(numbers.map(u16::to_ne_bytes).concat());
        bytes.try_into().unwrap()
    }

    #[test]
    fn a_super_packet_changes_family_and_offsets_only() {
        // TCP with 12 bytes of options over IPv4, ECN, segments of 1448 bytes.
        let received = Header::from_bytes(bytes(1, 0x81, [52, 1448, 20, 16]));
        let mut offload = received.offload();
        assert_eq!(offload.segment, Some(1448));
        offload.checksum.as_mut().unwrap().start += 20;
        assert_eq!(
            received.translated(Family::V6, offload),
            bytes(1, 0x84, [72, 1448, 40, 16])
        );
        // And back.
        let received = Header::from_bytes(bytes(1, 4, [72, 1448, 40, 16]));
        let mut offload = received.offload();
        offload.checksum.as_mut().unwrap().start -= 20;
        assert_eq!(
            received.translated(Family::V4, offload),
            bytes(1, 1, [52, 1448, 20, 16])
        );
    }

    #[test]
    fn a_udp_super_packet_keeps_its_type() {
        let received = Header::from_bytes(bytes(1, 5, [28, 1200, 20, 6]));
        let mut offload = received.offload();
        offload.checksum.as_mut().unwrap().start = 40;
        assert_eq!(
            received.translated(Family::V6, offload),
            bytes(1, 5, [48, 1200, 40, 6])
        );
    }

    #[test]
    fn an_ordinary_packet_has_nothing_to_say() {
        // DATA_VALID (2) reports a receiver's check. It is no work left to do.
        let received = Header::from_bytes(bytes(2, 0, [0; 4]));
        assert_eq!(received.offload(), Offload::default());
        let sent = received.translated(Family::V6, Offload::default());
        assert_eq!(sent, [0; LENGTH]);
    }
}

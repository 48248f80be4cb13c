//! Finds the IP packet in a frame.

use std::ops::Range;

/// Link types that can be read (from the registry of tcpdump.org).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Link {
    /// LINKTYPE_ETHERNET.
    Ethernet,
    /// LINKTYPE_RAW, _IPV4 and _IPV6: the packet without a header.
    Raw,
}

impl Link {
    /// Returns the link type with this number; `None` if it cannot be read.
    pub(super) fn from_number(number: i32) -> Option<Self> {
        match number {
            1 => Some(Self::Ethernet),
            // Some systems wrote 12 and 14 for raw IP.
            12 | 14 | 101 | 228 | 229 => Some(Self::Raw),
            _ => None,
        }
    }

    /// Returns the IP packet's place in a frame; `None` if the frame carries another protocol.
    pub(super) fn packet(self, frame: &[u8]) -> Option<Range<usize>> {
        let start = match self {
            Self::Raw => 0,
            Self::Ethernet => ethernet_payload(frame)?,
        };
        let packet = &frame[start..];
        // Frames shorter than 60 bytes are padded. The gateway refuses a length that is not possible.
        let length = ip_length(packet).filter(|length| (20..packet.len()).contains(length));
        Some(start..start + length.unwrap_or(packet.len()))
    }
}

/// Returns the length of a packet from its header.
fn ip_length(packet: &[u8]) -> Option<usize> {
    let number = |at| {
        Some(usize::from(u16::from_be_bytes(
            *packet.get(at..)?.first_chunk()?,
        )))
    };
    match packet.first()? >> 4 {
        4 => number(2),
        6 => Some(40 + number(4)?),
        _ => None,
    }
}

/// Returns the offset of the IP packet in an Ethernet frame, behind any VLAN tags (IEEE 802.1Q, 802.1ad).
fn ethernet_payload(frame: &[u8]) -> Option<usize> {
    let mut at = 12;
    loop {
        let kind = frame.get(at..at + 2)?;
        match u16::from_be_bytes([kind[0], kind[1]]) {
            0x8100 | 0x88a8 | 0x9100 => at += 4,
            0x0800 | 0x86dd => return Some(at + 2),
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_is_no_part_of_the_packet() {
        let mut packet = [0; 64];
        packet[..4].copy_from_slice(&[0x45, 0, 0, 28]);
        assert_eq!(Link::Raw.packet(&packet), Some(0..28));
        packet[3] = 19;
        assert_eq!(Link::Raw.packet(&packet), Some(0..64));
        packet[..6].copy_from_slice(&[0x60, 0, 0, 0, 0, 8]);
        assert_eq!(Link::Raw.packet(&packet), Some(0..48));
        packet[5] = 100;
        assert_eq!(Link::Raw.packet(&packet), Some(0..64));
    }

    #[test]
    fn ethernet_with_and_without_tags() {
        let frame = |kinds: &[u16]| {
            let mut frame = vec![0; 12];
            for kind in kinds {
                frame.extend_from_slice(&kind.to_be_bytes());
                if kind & 0xff00 != 0x0800 && *kind != 0x86dd {
                    frame.extend_from_slice(&[0, 7]);
                }
            }
            frame.push(0x45);
            frame
        };
        let find = |kinds: &[u16]| Link::Ethernet.packet(&frame(kinds));
        assert_eq!(find(&[0x0800]), Some(14..15));
        assert_eq!(find(&[0x86dd]), Some(14..15));
        assert_eq!(find(&[0x8100, 0x0800]), Some(18..19));
        assert_eq!(find(&[0x88a8, 0x8100, 0x86dd]), Some(22..23));
        assert_eq!(find(&[0x0806]), None);
        assert_eq!(Link::Ethernet.packet(&[0; 13]), None);
    }
}

//! Finds the IP packet in a frame.

use std::ops::Range;

/// Link types that can be read (from the registry of tcpdump.org).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Link {
    /// LINKTYPE_ETHERNET.
    Ethernet,
    /// LINKTYPE_RAW, _IPV4 and _IPV6: the packet without a header.
    Raw,
    /// LINKTYPE_LINUX_SLL: what tcpdump writes for `any`, until 2021.
    Cooked,
    /// LINKTYPE_LINUX_SLL2: what it writes since.
    Cooked2,
}

/// Kinds of links (ARPHRD) under which the protocol in a cooked header is no EtherType: radiotap, Frame Relay,
/// netlink.
const OTHER_PROTOCOLS: [u16; 3] = [803, 770, 824];

impl Link {
    /// Returns the link type with this number; `None` if it cannot be read.
    pub(super) fn from_number(number: i32) -> Option<Self> {
        match number {
            1 => Some(Self::Ethernet),
            113 => Some(Self::Cooked),
            276 => Some(Self::Cooked2),
            // Some systems wrote 12 and 14 for raw IP.
            12 | 14 | 101 | 228 | 229 => Some(Self::Raw),
            _ => None,
        }
    }

    /// Returns the IP packet's place in a frame; `None` if the frame carries another protocol.
    pub(super) fn packet(self, frame: &[u8]) -> Option<Range<usize>> {
        let start = match self {
            Self::Raw => 0,
            Self::Ethernet => payload(frame, 12, 14)?,
            Self::Cooked => cooked_payload(frame, 2, 14, 16)?,
            Self::Cooked2 => cooked_payload(frame, 8, 0, 20)?,
        };
        let packet = &frame[start..];
        // Frames shorter than 60 bytes are padded. The gateway refuses a length that is not possible.
        let length = ip_length(packet).filter(|length| (20..packet.len()).contains(length));
        Some(start..start + length.unwrap_or(packet.len()))
    }
}

/// Returns the length of a packet from its header.
fn ip_length(packet: &[u8]) -> Option<usize> {
    let number = |at| word(packet, at).map(usize::from);
    match packet.first()? >> 4 {
        4 => number(2),
        6 => Some(40 + number(4)?),
        _ => None,
    }
}

/// Returns the offset of the IP packet behind a cooked header, whose link kind and protocol stand there.
fn cooked_payload(frame: &[u8], kind_at: usize, type_at: usize, next: usize) -> Option<usize> {
    let kind = word(frame, kind_at)?;
    let foreign = OTHER_PROTOCOLS.contains(&kind);
    payload(frame, type_at, next).filter(|_| !foreign)
}

/// Returns the offset of the IP packet in a frame whose EtherType stands at `type_at`, and whose header ends at
/// `next`: behind any VLAN tags (IEEE 802.1Q, 802.1ad).
fn payload(frame: &[u8], mut type_at: usize, mut next: usize) -> Option<usize> {
    loop {
        match word(frame, type_at)? {
            0x8100 | 0x88a8 | 0x9100 => (type_at, next) = (next + 2, next + 4),
            0x0800 | 0x86dd => return (next <= frame.len()).then_some(next),
            _ => return None,
        }
    }
}

fn word(frame: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*frame.get(at..)?.first_chunk()?))
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

    /// The layouts of tcpdump.org's LINKTYPE_LINUX_SLL and LINKTYPE_LINUX_SLL2, with and without a VLAN tag.
    #[test]
    fn cooked_frames() {
        let v1 = |kind: u16, ether: &[u16]| {
            let mut frame = [[0, 4], kind.to_be_bytes(), [0, 6]].concat();
            frame.extend_from_slice(&[2; 8]);
            frame.extend(ether.iter().flat_map(|word| word.to_be_bytes()));
            frame.push(0x60);
            frame
        };
        let v2 = |kind: u16, ether: u16, rest: &[u16]| {
            let mut frame = [
                ether.to_be_bytes(),
                [0, 0],
                [0, 0],
                [0, 9],
                kind.to_be_bytes(),
            ]
            .concat();
            frame.extend_from_slice(&[4, 6]);
            frame.extend_from_slice(&[2; 8]);
            frame.extend(rest.iter().flat_map(|word| word.to_be_bytes()));
            frame.push(0x45);
            frame
        };
        assert_eq!(Link::Cooked.packet(&v1(1, &[0x86dd])), Some(16..17));
        assert_eq!(
            Link::Cooked.packet(&v1(1, &[0x8100, 7, 0x86dd])),
            Some(20..21)
        );
        assert_eq!(Link::Cooked.packet(&v1(1, &[0x0806])), None);
        assert_eq!(Link::Cooked.packet(&v1(824, &[0x0800])), None, "netlink");
        assert_eq!(Link::Cooked2.packet(&v2(1, 0x0800, &[])), Some(20..21));
        assert_eq!(
            Link::Cooked2.packet(&v2(1, 0x8100, &[7, 0x0800])),
            Some(24..25)
        );
        assert_eq!(Link::Cooked2.packet(&v2(824, 0x0800, &[])), None);
        for cut in 0..16 {
            assert_eq!(Link::Cooked.packet(&v1(1, &[0x86dd])[..cut]), None);
            assert_eq!(Link::Cooked2.packet(&v2(1, 0x0800, &[])[..cut]), None);
        }
    }
}

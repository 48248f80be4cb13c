//! A second opinion on packets: lengths and checksums, written without the core's code.

/// The transport protocols whose checksum is known here.
const ICMP: u8 = 1;
const TCP: u8 = 6;
const UDP: u8 = 17;
const FRAGMENT: u8 = 44;
const ICMPV6: u8 = 58;

/// Where the parts of a packet are.
#[derive(Debug)]
pub(crate) struct Layout {
    /// Length of the whole packet by its own header.
    pub(crate) length: usize,
    /// Where the transport header begins.
    pub(crate) transport: usize,
    pub(crate) protocol: u8,
    /// It is a part of a datagram, or a whole one with a fragment header.
    pub(crate) fragment: bool,
}

impl Layout {
    /// Looks at an IP packet; `None` if its lengths contradict each other, or if it is IPv6 with
    /// extension headers other than one fragment header.
    pub(crate) fn of(packet: &[u8]) -> Option<Self> {
        let layout = match packet.first()? >> 4 {
            4 => {
                let fixed = packet.first_chunk::<20>()?;
                let field = u16::from_be_bytes([fixed[6], fixed[7]]);
                Self {
                    length: u16::from_be_bytes([fixed[2], fixed[3]]).into(),
                    transport: usize::from(fixed[0] & 15) * 4,
                    protocol: fixed[9],
                    fragment: field & 0x3fff != 0,
                }
            }
            6 => {
                let fixed = packet.first_chunk::<40>()?;
                let length = 40 + usize::from(u16::from_be_bytes([fixed[4], fixed[5]]));
                // A router does not look behind the fixed header: one that is cut short passes.
                let fragment = fixed[6] == FRAGMENT && length >= 48;
                Self {
                    length,
                    transport: if fragment { 48 } else { 40 },
                    protocol: if fragment { *packet.get(40)? } else { fixed[6] },
                    fragment,
                }
            }
            _ => return None,
        };
        let sound = layout.transport >= 20
            && layout.transport <= layout.length
            && layout.length <= packet.len();
        sound.then_some(layout)
    }

    /// Offset of the checksum in the transport header.
    fn checksum_offset(&self, v4: bool) -> Option<usize> {
        let (offset, shortest) = match self.protocol {
            TCP => (16, 20),
            UDP => (6, 8),
            ICMP if v4 => (2, 8),
            ICMPV6 if !v4 => (2, 8),
            _ => return None,
        };
        (self.length >= self.transport + shortest).then_some(self.transport + offset)
    }
}

/// The one's complement sum of bytes.
fn sum(bytes: &[u8]) -> u64 {
    let pairs = bytes.chunks(2);
    pairs
        .map(|pair| u64::from(pair[0]) << 8 | u64::from(pair.get(1).copied().unwrap_or(0)))
        .sum()
}

fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// The sum that a transport checksum covers, the field included: 0xffff if it is right.
fn transport_sum(packet: &[u8], layout: &Layout) -> u16 {
    let covered = &packet[layout.transport..layout.length];
    let pseudo = match (packet[0] >> 4, layout.protocol) {
        (4, ICMP) => 0,
        (4, _) => sum(&packet[12..20]) + u64::from(layout.protocol) + covered.len() as u64,
        _ => sum(&packet[8..40]) + u64::from(layout.protocol) + covered.len() as u64,
    };
    fold(pseudo + sum(covered))
}

/// What can be said about a packet's transport checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Checksum {
    Right,
    Wrong,
    /// Another protocol, a fragment, a header that is cut off or contradicts the packet.
    Unknown,
}

/// Judges the transport checksum.
pub(crate) fn transport(packet: &[u8]) -> Checksum {
    let Some(layout) = Layout::of(packet).filter(|layout| !layout.fragment) else {
        return Checksum::Unknown;
    };
    let v4 = packet[0] >> 4 == 4;
    let Some(at) = layout.checksum_offset(v4) else {
        return Checksum::Unknown;
    };
    if layout.protocol == UDP {
        let said = u16::from_be_bytes([packet[at - 2], packet[at - 1]]);
        if usize::from(said) != layout.length - layout.transport {
            return Checksum::Unknown;
        }
        if packet[at..at + 2] == [0, 0] {
            return if v4 { Checksum::Right } else { Checksum::Wrong };
        }
    }
    if transport_sum(packet, &layout) == 0xffff {
        Checksum::Right
    } else {
        Checksum::Wrong
    }
}

/// Makes the checksums of a packet right as far as that is possible, so that an input gets past
/// the places where they are verified.
pub(crate) fn repair(packet: &mut [u8]) {
    let Some(layout) = Layout::of(packet) else {
        return;
    };
    let v4 = packet[0] >> 4 == 4;
    if v4 {
        packet[10..12].fill(0);
        let header = fold(sum(&packet[..layout.transport]));
        packet[10..12].copy_from_slice(&(!header).to_be_bytes());
    }
    if layout.fragment {
        return;
    }
    let Some(at) = layout.checksum_offset(v4) else {
        return;
    };
    packet[at..at + 2].fill(0);
    let checksum = match !transport_sum(packet, &layout) {
        0 if layout.protocol == UDP => 0xffff,
        checksum => checksum,
    };
    packet[at..at + 2].copy_from_slice(&checksum.to_be_bytes());
}

/// The packet that the receiver of this one may answer with: addresses and ports change places.
pub(crate) fn answer(packet: &[u8]) -> Option<Vec<u8>> {
    let layout = Layout::of(packet)?;
    let mut packet = packet[..layout.length].to_vec();
    let (source, destination, size) = if packet[0] >> 4 == 4 {
        (12, 16, 4)
    } else {
        (8, 24, 16)
    };
    for byte in 0..size {
        packet.swap(source + byte, destination + byte);
    }
    let at = layout.transport;
    match layout.protocol {
        TCP | UDP if packet.len() >= at + 4 => {
            packet.swap(at, at + 2);
            packet.swap(at + 1, at + 3);
        }
        ICMP if packet.get(at) == Some(&8) => packet[at] = 0,
        ICMPV6 if packet.get(at) == Some(&128) => packet[at] = 129,
        _ => {}
    }
    repair(&mut packet);
    Some(packet)
}

/// Panics unless lengths and header checksum of a packet are right.
pub(crate) fn assert_sound(packet: &[u8]) {
    let layout = Layout::of(packet).unwrap_or_else(|| panic!("malformed: {packet:02x?}"));
    assert_eq!(layout.length, packet.len(), "wrong length: {packet:02x?}");
    if packet[0] >> 4 == 4 {
        let header = fold(sum(&packet[..layout.transport]));
        assert_eq!(header, 0xffff, "wrong header checksum: {packet:02x?}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example header of <https://en.wikipedia.org/wiki/Internet_checksum>, with checksum b861.
    #[test]
    fn a_known_header_checksum() {
        let mut header = *b"\x45\0\0\x73\0\0\x40\0\x40\x11\xb8\x61\xc0\xa8\0\x01\xc0\xa8\0\xc7";
        assert_eq!(fold(sum(&header)), 0xffff);
        header[8] -= 1;
        assert_ne!(fold(sum(&header)), 0xffff);
    }

    #[test]
    fn a_repaired_packet_is_right_and_a_damaged_one_is_not() {
        let mut packet = b"\x45\0\0\x1e\0\0\0\0\x40\x11\0\0\xc0\0\x02\x01\xc6\x33\x64\x02".to_vec();
        packet.extend(*b"\x04\xd2\x00\x35\0\x0a\x12\x34hi");
        assert_eq!(transport(&packet), Checksum::Wrong);
        repair(&mut packet);
        assert_sound(&packet);
        assert_eq!(transport(&packet), Checksum::Right);
        let answer = answer(&packet).unwrap();
        assert_sound(&answer);
        assert_eq!(transport(&answer), Checksum::Right);
        assert_eq!(answer[20..24], *b"\x00\x35\x04\xd2");
        packet[28] ^= 1;
        assert_eq!(transport(&packet), Checksum::Wrong);
    }
}

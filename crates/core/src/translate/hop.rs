//! A translation is one hop, also where the kernel forwards the packet afterwards.

use crate::checksum::{ChecksumKind, Sum};
use crate::packet::{Family, Packet, Truncated, patch_complete};
use crate::word::Word;

/// The words of TTL and of hop limit.
const TTL: usize = 8;
const HOP_LIMIT: usize = 4;
/// The header checksum of IPv4.
const CHECKSUM: usize = 10;

/// Takes back that the hop limit of a translated packet went down, for an engine that hands it to a
/// router which decrements it again: as part of forwarding, the translator decrements the one or the
/// other once (RFC 7915 sections 4.1 and 5.1).
///
/// # Errors
/// [`Truncated`] if there is no header; the packet is unchanged then.
#[inline(always)]
pub fn leave_to_router<P: Packet>(packet: &mut P, family: Family) -> Result<(), Truncated> {
    match family {
        Family::V4 => {
            let [old] = packet.words::<1>(TTL)?;
            let [ttl, protocol, high, low] = old.bytes();
            let new = Word::from_bytes([ttl.wrapping_add(1), protocol, high, low]);
            packet.set_words(TTL, [new])?;
            // The checksum itself is in both sums and cancels.
            let change = Sum::ZERO.word(new) - Sum::ZERO.word(old);
            patch_complete(packet, CHECKSUM, ChecksumKind::Plain, change)
        }
        Family::V6 => {
            let [old] = packet.words::<1>(HOP_LIMIT)?;
            let [high, low, next, limit] = old.bytes();
            let new = Word::from_bytes([high, low, next, limit.wrapping_add(1)]);
            packet.set_words(HOP_LIMIT, [new])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Bytes;

    /// The ones' complement sum of RFC 1071 over a whole header: 0xffff if its checksum is right.
    fn sum(header: &[u8]) -> u32 {
        let mut sum: u32 = header
            .chunks_exact(2)
            .map(|half| u32::from(half[0]) << 8 | u32::from(half[1]))
            .sum();
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        sum
    }

    #[test]
    fn an_ipv4_header_gets_its_hop_back_and_stays_valid() {
        for ttl in 0..255 {
            let mut header = [
                0x45, 0, 0, 84, 0x12, 0x34, 0x40, 0, ttl, 1, 0, 0, 192, 0, 2, 1, 198, 51, 100, 7,
            ];
            let checksum = !(sum(&header) as u16);
            header[10..12].copy_from_slice(&checksum.to_be_bytes());
            let mut packet = Bytes(header.to_vec());
            leave_to_router(&mut packet, Family::V4).unwrap();
            assert_eq!(packet.0[8], ttl + 1);
            assert_eq!(sum(&packet.0), 0xffff, "{ttl}");
            assert_eq!(packet.0[9], 1);
            assert_eq!(
                (&packet.0[..8], &packet.0[12..]),
                (&header[..8], &header[12..])
            );
        }
    }

    #[test]
    fn an_ipv6_header_gets_its_hop_back() {
        let mut packet = Bytes([0x60, 0, 0, 0, 0, 16, 17, 62].to_vec());
        leave_to_router(&mut packet, Family::V6).unwrap();
        assert_eq!(packet.0, [0x60, 0, 0, 0, 0, 16, 17, 63]);
    }

    #[test]
    fn what_is_no_header_stays() {
        let mut packet = Bytes([0x45, 0, 0, 84].to_vec());
        assert_eq!(leave_to_router(&mut packet, Family::V4), Err(Truncated));
        assert_eq!(packet.0, [0x45, 0, 0, 84]);
    }
}

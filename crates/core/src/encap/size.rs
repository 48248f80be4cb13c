//! Whether a packet fits the path MTU of a tunnel, and what to do if it does not (RFC 2473 section 7, RFC
//! 4213 section 3.2).

use crate::packet::Packet;
use crate::verdict::{Refusal, Slow, Split};
use crate::wire::{ipv4, ipv6, protocol, tcp, udp};

/// How a packet travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// As it is.
    Whole,
    /// The outer packet is cut into fragments.
    Cut(Split),
}

impl Fit {
    /// The cut to make, if any.
    #[inline(always)]
    #[must_use]
    pub const fn split(self) -> Option<Split> {
        match self {
            Self::Whole => None,
            Self::Cut(split) => Some(split),
        }
    }
}

/// Bytes of an IP packet as it will be on the wire: a super-packet is cut into segments later.
/// `transport` begins `headers` bytes into the packet.
#[inline(always)]
fn on_the_wire<P: Packet>(packet: &P, total: usize, headers: usize, transport: u8) -> usize {
    let Some(segment) = packet.gso_size() else {
        return total;
    };
    let header = match transport {
        // Data offset: the upper half of the 13th octet.
        protocol::TCP => packet
            .words::<1>(headers + 12)
            .map_or(tcp::HEADER, |[word]| usize::from(word.bytes()[0] >> 4) * 4),
        _ => udp::HEADER,
    };
    headers + header + usize::from(segment)
}

/// Decides for an IPv4 packet that enters a tunnel over IPv6 with the path MTU `link`. A packet that must
/// not be cut is refused (RFC 2473 section 7.2 a). Of another the outer packet is cut, because the
/// receiver then gets the inner packet as it was sent (section 7.2 b).
///
/// # Errors
/// The sender gets an error, or only the slow path can cut the packet.
#[inline(always)]
pub fn four_in_six<P: Packet>(
    packet: &P,
    header: &ipv4::Header,
    link: u16,
    identification: impl FnOnce() -> u32,
) -> Result<Fit, Refusal> {
    let total = usize::from(header.total_length());
    let length = header.header_length();
    let most = link.saturating_sub(ipv6::HEADER as u16);
    if on_the_wire(packet, total, length, header.protocol()) <= usize::from(most) {
        return Ok(Fit::Whole);
    }
    if header.dont_fragment() && packet.reassembled().is_none() {
        return Err(Refusal::too_big::<P>(most));
    }
    cut::<P>(link, identification)
}

/// Decides for an IPv6 packet that enters a tunnel over IPv4. A packet of up to 1280 bytes is cut if the
/// path MTU is less (RFC 4213 section 3.2.2).
///
/// # Errors
/// The sender gets an error, or only the slow path can cut the packet.
#[inline(always)]
pub fn six_in_four<P: Packet>(
    packet: &P,
    header: &ipv6::Header,
    link: u16,
    identification: impl FnOnce() -> u32,
) -> Result<Fit, Refusal> {
    let total = ipv6::HEADER + usize::from(header.payload_length());
    let most = link.saturating_sub(ipv4::HEADER as u16);
    let wire = on_the_wire(packet, total, ipv6::HEADER, header.next_header());
    if wire <= usize::from(most) {
        return Ok(Fit::Whole);
    }
    if wire > usize::from(ipv6::MINIMUM_MTU) {
        let mtu = most.max(ipv6::MINIMUM_MTU);
        return Err(Refusal::too_big::<P>(mtu));
    }
    cut::<P>(link, identification)
}

/// Decides for an IPv6 packet that left a tunnel and goes on over a link of this MTU. Routers never cut
/// it.
///
/// # Errors
/// The sender gets an error.
#[inline(always)]
pub fn out_v6<P: Packet>(packet: &P, header: &ipv6::Header, link: u16) -> Result<(), Refusal> {
    let total = ipv6::HEADER + usize::from(header.payload_length());
    if on_the_wire(packet, total, ipv6::HEADER, header.next_header()) <= usize::from(link) {
        return Ok(());
    }
    Err(Refusal::too_big::<P>(link))
}

/// The same for IPv4, which is cut unless the sender forbids it (RFC 791 section 2.3).
///
/// # Errors
/// The sender gets an error, or only the slow path can cut the packet.
#[inline(always)]
pub fn out_v4<P: Packet>(packet: &P, header: &ipv4::Header, link: u16) -> Result<Fit, Refusal> {
    let total = usize::from(header.total_length());
    let length = header.header_length();
    if on_the_wire(packet, total, length, header.protocol()) <= usize::from(link) {
        return Ok(Fit::Whole);
    }
    if header.dont_fragment() && packet.reassembled().is_none() {
        return Err(Refusal::too_big::<P>(link));
    }
    // The packet has an identification of its own.
    cut::<P>(link, || 0)
}

#[inline(always)]
fn cut<P: Packet>(mtu: u16, identification: impl FnOnce() -> u32) -> Result<Fit, Refusal> {
    if !P::ABILITIES.splits {
        return Err(Refusal::Slow(Slow::Split));
    }
    Ok(Fit::Cut(Split {
        mtu,
        identification: identification(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bytes, Words};
    use std::vec;

    /// A TCP header with timestamps.
    const TCP: usize = 32;

    /// An IPv4 packet of 9,000 bytes, with DF.
    fn four(segment: Option<u16>) -> Words {
        let mut bytes = vec![0; 9000];
        bytes[0] = 0x45;
        bytes[2..4].copy_from_slice(&9000_u16.to_be_bytes());
        bytes[6] = 0x40;
        bytes[9] = 6;
        bytes[ipv4::HEADER + 12] = (TCP as u8 / 4) << 4;
        Words(Bytes(bytes), segment)
    }

    /// The same in IPv6.
    fn six(segment: Option<u16>) -> Words {
        let mut bytes = vec![0; 9000];
        bytes[0] = 0x60;
        bytes[4..6].copy_from_slice(&(9000 - 40_u16).to_be_bytes());
        bytes[6] = 6;
        bytes[ipv6::HEADER + 12] = (TCP as u8 / 4) << 4;
        Words(Bytes(bytes), segment)
    }

    /// A segment of a super-packet is what has to fit, into a tunnel as out of it.
    #[test]
    fn a_super_packet_is_as_large_as_its_segments() {
        let too_big = Err(Refusal::Slow(Slow::TooBig));
        let out_four = |segment| {
            let packet = four(segment);
            out_v4(&packet, &ipv4::Header::read(&packet, 0).unwrap(), 1500)
        };
        assert_eq!(out_four(Some(1448)), Ok(Fit::Whole));
        assert_eq!(out_four(Some(1449)), too_big);
        assert_eq!(out_four(None), too_big);
        let out_six = |segment| {
            let packet = six(segment);
            out_v6(&packet, &ipv6::Header::read(&packet, 0).unwrap(), 1500)
        };
        assert_eq!(out_six(Some(1428)), Ok(()));
        assert_eq!(out_six(Some(1429)), Err(Refusal::Slow(Slow::TooBig)));
        assert_eq!(out_six(None), Err(Refusal::Slow(Slow::TooBig)));
        let into_six = |segment| {
            let packet = four(segment);
            four_in_six(
                &packet,
                &ipv4::Header::read(&packet, 0).unwrap(),
                1500,
                || 0,
            )
        };
        assert_eq!(into_six(Some(1408)), Ok(Fit::Whole));
        assert_eq!(into_six(Some(1409)), too_big);
        let into_four = |segment| {
            let packet = six(segment);
            six_in_four(
                &packet,
                &ipv6::Header::read(&packet, 0).unwrap(),
                1500,
                || 0,
            )
        };
        assert_eq!(into_four(Some(1408)), Ok(Fit::Whole));
        assert_eq!(into_four(Some(1409)), too_big);
    }
}

//! Whether a packet fits the path MTU of a tunnel, and what to do if it does not (RFC 2473 section 7, RFC
//! 4213 section 3.2).

use crate::packet::Packet;
use crate::reason::Counter;
use crate::verdict::{IcmpError, Refusal, Slow, Split};
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
        return Err(Refusal::Reply(IcmpError::TooBig(most), Counter::TooBig));
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
        return Err(Refusal::Reply(IcmpError::TooBig(mtu), Counter::TooBig));
    }
    cut::<P>(link, identification)
}

/// Decides for an IPv6 packet that left a tunnel and goes on over a link of this MTU. Routers never cut
/// it.
///
/// # Errors
/// The sender gets an error.
#[inline(always)]
pub fn out_v6(header: &ipv6::Header, link: u16) -> Result<(), Refusal> {
    let total = ipv6::HEADER + usize::from(header.payload_length());
    if total <= usize::from(link) {
        return Ok(());
    }
    Err(Refusal::Reply(IcmpError::TooBig(link), Counter::TooBig))
}

/// The same for IPv4, which is cut unless the sender forbids it (RFC 791 section 2.3).
///
/// # Errors
/// The sender gets an error, or only the slow path can cut the packet.
#[inline(always)]
pub fn out_v4<P: Packet>(packet: &P, header: &ipv4::Header, link: u16) -> Result<Fit, Refusal> {
    if usize::from(header.total_length()) <= usize::from(link) {
        return Ok(Fit::Whole);
    }
    if header.dont_fragment() && packet.reassembled().is_none() {
        return Err(Refusal::Reply(IcmpError::TooBig(link), Counter::TooBig));
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

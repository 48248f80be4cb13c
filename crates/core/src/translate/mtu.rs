//! Whether a translated packet fits its link, and what to do if it does not (RFC 7915 sections 4.1, 5.1,
//! 5.1.1).

use crate::incoming::v6;
use crate::packet::Packet;
use crate::verdict::{Refusal, Slow, Split};
use crate::wire::{ipv4, ipv6};

/// The sizes of an IPv6 packet made from an IPv4 packet.
#[derive(Clone, Copy, Debug)]
pub struct ToV6 {
    /// Bytes after the IP headers.
    pub payload: usize,
    /// Bytes of the transport header, which every segment of a super-packet has.
    pub transport: u8,
    /// Bytes of IPv6 header and fragment header.
    pub headers: usize,
    /// The IPv4 sender set DF.
    pub dont_fragment: bool,
    /// Identification for fragments.
    pub identification: u32,
    /// The configured lowest IPv6 MTU.
    pub lowest: u16,
    /// MTU of the next link.
    pub link: u16,
}

/// Decides for a packet from IPv4 to IPv6 (RFC 7915 section 4.1).
///
/// # Errors
/// The sender gets an error, or only the slow path can cut the packet.
#[inline(always)]
pub fn to_v6<P: Packet>(packet: &P, size: &ToV6) -> Result<Option<Split>, Refusal> {
    let wire = wire_size(packet, size.headers, size.payload, size.transport);
    if size.dont_fragment && packet.reassembled().is_none() {
        if wire <= usize::from(size.link) {
            return Ok(None);
        }
        // RFC 7915 section 4.1: the sender may send what fits after its header has grown.
        let grown = (size.headers - ipv4::HEADER) as u16;
        let mtu = size.link.saturating_sub(grown);
        return Err(Refusal::too_big::<P>(mtu));
    }
    let limit = size.lowest.min(size.link).max(ipv6::MINIMUM_MTU);
    if wire <= usize::from(limit) || packet.gso_size().is_some() && wire <= usize::from(size.link) {
        return Ok(None);
    }
    split::<P>(Split {
        mtu: limit,
        identification: size.identification,
    })
}

/// The sizes of an IPv4 packet made from an IPv6 packet.
#[derive(Clone, Copy, Debug)]
pub struct ToV4 {
    /// Bytes after the IP headers.
    pub payload: usize,
    /// Bytes of the transport header, which every segment of a super-packet has.
    pub transport: u8,
    /// Bytes of the IPv6 packet, all headers included.
    pub received: usize,
    /// The IPv6 packet has a fragment header, so that the IPv4 packet has DF clear.
    pub fragment_header: Option<u32>,
    /// Identification for fragments.
    pub identification: u16,
    /// MTU of the next link.
    pub link: u16,
}

/// Decides for a packet from IPv6 to IPv4 (RFC 7915 sections 5.1 and 5.1.1).
///
/// # Errors
/// The sender gets an error, or only the slow path can cut the packet.
#[inline(always)]
pub fn to_v4<P: Packet>(packet: &P, size: &ToV4) -> Result<Option<Split>, Refusal> {
    let wire = wire_size(packet, ipv4::HEADER, size.payload, size.transport);
    // IPv4 counts its header in the total length, IPv6 does not.
    let representable = ipv4::HEADER + size.payload <= usize::from(u16::MAX);
    if wire <= usize::from(size.link) && representable {
        return Ok(None);
    }
    // An IPv6 sender need not send packets of less than 1280 bytes. A packet that is or was in fragments
    // has no DF in IPv4, so that any router may cut it.
    let may_cut = size.received <= usize::from(ipv6::MINIMUM_MTU)
        || size.fragment_header.is_some()
        || packet.reassembled().is_some();
    if may_cut && representable {
        return split::<P>(Split {
            mtu: size.link,
            identification: u32::from(size.identification),
        });
    }
    let mtu = (size.link.saturating_add(20)).max(ipv6::MINIMUM_MTU);
    Err(Refusal::too_big::<P>(mtu))
}

/// Decides for a packet from IPv6 that turns back to IPv6, by a link of 1280 bytes at least: the second half of a hairpin cuts
/// it, unless it sees Don't Fragment, which a packet of more bytes has that is and was in no fragments (RFC 7915 sections 4.1 and
/// 5.1).
///
/// # Errors
/// The sender gets an error.
#[inline(always)]
pub fn turning<P: Packet>(packet: &P, incoming: &v6::Incoming, link: u16) -> Result<(), Refusal> {
    let transport = &incoming.transport;
    let wire = wire_size(packet, ipv6::HEADER, transport.length, transport.header);
    let may_cut = incoming.fragment.is_present() || packet.reassembled().is_some();
    if wire > usize::from(link) && !may_cut {
        return Err(Refusal::too_big::<P>(link));
    }
    Ok(())
}

/// The sizes of an IPv4 packet that stays one.
#[derive(Clone, Copy, Debug)]
pub struct WithinV4 {
    /// Bytes after the IP header.
    pub payload: usize,
    /// Bytes of the transport header, which every segment of a super-packet has.
    pub transport: u8,
    /// Bytes of the IP header with its options.
    pub headers: usize,
    /// The sender set DF.
    pub dont_fragment: bool,
    /// The packet goes into a softwire: an IPv6 header comes before it.
    pub softwire: bool,
    /// Identification for fragments of that.
    pub identification: u32,
    /// MTU of the next link.
    pub link: u16,
}

/// Decides for a packet from IPv4 to IPv4, as any router does (RFC 791 section 2.3, RFC 1191 section
/// 3). Of a packet that goes into a softwire the outer packet is cut (RFC 2473 section 7.2 b).
///
/// # Errors
/// The sender gets an error, or only the slow path can cut the packet.
#[inline(always)]
pub fn within_v4<P: Packet>(packet: &P, size: &WithinV4) -> Result<Option<Split>, Refusal> {
    let outer = if size.softwire {
        ipv6::HEADER as u16
    } else {
        0
    };
    let most = size.link.saturating_sub(outer);
    let wire = wire_size(packet, size.headers, size.payload, size.transport);
    if wire <= usize::from(most) {
        return Ok(None);
    }
    if size.dont_fragment && packet.reassembled().is_none() {
        return Err(Refusal::too_big::<P>(most));
    }
    split::<P>(Split {
        mtu: size.link,
        // An IPv4 packet has one of its own.
        identification: size.identification,
    })
}

/// Bytes of the largest packet on the wire: a super-packet is cut into segments later, each with
/// its own headers.
#[inline(always)]
fn wire_size<P: Packet>(packet: &P, headers: usize, payload: usize, transport: u8) -> usize {
    match packet.gso_size() {
        Some(segment) => headers + usize::from(transport) + usize::from(segment),
        None => headers + payload,
    }
}

#[inline(always)]
fn split<P: Packet>(split: Split) -> Result<Option<Split>, Refusal> {
    if P::ABILITIES.splits {
        Ok(Some(split))
    } else {
        Err(Refusal::Slow(Slow::Split))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reason::Counter;
    use crate::testing::Bytes;
    use crate::verdict::IcmpError;

    /// RFC 791 section 3.1: a total length has 16 bits. A fragment header does not help: nobody cuts what
    /// cannot be described.
    #[test]
    fn rfc791_3_1_no_total_length_overflows() {
        let packet = Bytes(std::vec::Vec::new());
        let decide = |payload, fragment_header| {
            let size = ToV4 {
                payload,
                transport: 8,
                received: 48 + payload,
                fragment_header,
                identification: 0,
                link: u16::MAX,
            };
            to_v4(&packet, &size)
        };
        let told = Err(Refusal::Reply(IcmpError::TooBig(65_535), Counter::TooBig));
        for header in [None, Some(7)] {
            assert_eq!(decide(65_515, header), Ok(None));
            assert_eq!(decide(65_516, header), told);
        }
    }

    /// RFC 7915 sections 5.1 and 5.1.1: who need not send less than 1280 bytes is not told to, and what is in
    /// fragments may be cut again.
    #[test]
    fn rfc7915_5_1_what_has_no_dont_fragment_in_ipv4_is_cut() {
        let packet = Bytes(std::vec::Vec::new());
        let decide = |received, fragment_header| {
            let size = ToV4 {
                payload: received - 40,
                transport: 8,
                received,
                fragment_header,
                identification: 0,
                link: 1000,
            };
            to_v4(&packet, &size)
        };
        let told = Err(Refusal::Reply(IcmpError::TooBig(1280), Counter::TooBig));
        let cut = Err(Refusal::Slow(Slow::Split));
        assert_eq!(decide(1280, None), cut);
        assert_eq!(decide(1281, None), told);
        assert_eq!(decide(1281, Some(7)), cut);
    }
}

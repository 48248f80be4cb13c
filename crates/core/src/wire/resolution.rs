//! The answers to neighbours that ask for the Ethernet address of an address that a gateway translates: ARP (RFC 826)
//! and neighbour discovery (RFC 4861 section 7.2). The gateway has these addresses: no other node of the link does.
//!
//! Messages are bytes from the network header on, without the Ethernet header.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::icmpv6::{NEIGHBOUR_ADVERTISEMENT, NEIGHBOUR_SOLICITATION};
use super::{ipv6, protocol, router};
use crate::checksum::Sum;

/// Bytes of an Ethernet address.
pub const ETHERNET: usize = 6;
/// The Ethernet address of a node.
pub type Mac = [u8; ETHERNET];

/// Ethernet, IPv4, and the lengths of their addresses (RFC 826).
const ARP_OF_IPV4: [u8; 6] = [0, 1, 8, 0, ETHERNET as u8, 4];
const REQUEST: [u8; 2] = [0, 1];
const REPLY: [u8; 2] = [0, 2];

/// Bytes of an ARP message.
pub const ARP: usize = 28;
/// Bytes of a neighbour advertisement with its header and one option.
pub const ADVERTISEMENT: usize = ipv6::HEADER + MESSAGE;

/// Bytes of a solicitation without options, up to its target.
const TARGET: usize = 8;
const SOLICITATION: usize = TARGET + 16;
const MESSAGE: usize = SOLICITATION + 8;
/// Router, Solicited, Override (RFC 4861 section 4.4).
const ROUTER: u8 = 1 << 7;
const SOLICITED: u8 = 1 << 6;
const OVERRIDE: u8 = 1 << 5;
/// Target Link-Layer Address (RFC 4861 section 4.6.1), with its length in units of eight bytes.
const TARGET_LINK_LAYER: [u8; 2] = [2, 1];
/// All nodes of the link (RFC 4291 section 2.7.1), and their Ethernet address (RFC 2464 section 7).
const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
const ALL_NODES_MAC: Mac = [0x33, 0x33, 0, 0, 0, 1];

/// The reply to an ARP request for an address that is `ours`, from the node that has `mac`. `None`: nobody asks, or
/// not for ours. A node that looks whether it may have an address (RFC 5227 section 2.1.1) is answered, too, but not
/// one that announces its own.
#[must_use]
pub fn arp(request: &[u8], mac: Mac, ours: impl Fn(IpAddr) -> bool) -> Option<([u8; ARP], Mac)> {
    let request: &[u8; ARP] = request.first_chunk()?;
    let (head, rest) = request.split_first_chunk()?;
    let (operation, rest) = rest.split_first_chunk()?;
    let (asker, rest) = rest.split_first_chunk::<ETHERNET>()?;
    let (from, rest) = rest.split_first_chunk::<4>()?;
    let target = rest.last_chunk::<4>()?;
    let is_request = *head == ARP_OF_IPV4 && *operation == REQUEST && from != target;
    if !is_request || !ours(Ipv4Addr::from(*target).into()) {
        return None;
    }
    let mut reply = [0; ARP];
    let parts: [&[u8]; 6] = [&ARP_OF_IPV4, &REPLY, &mac, target, asker, from];
    join(&mut reply, &parts);
    Some((reply, *asker))
}

/// The advertisement that answers a neighbour solicitation for an address that is `ours`; the asker's Ethernet address
/// is that of its frame. `None`: it is another packet, fails a check of RFC 4861 section 7.1.1, or is for another
/// address.
#[must_use]
pub fn neighbour(
    packet: &[u8],
    asker: Mac,
    mac: Mac,
    ours: impl Fn(IpAddr) -> bool,
) -> Option<([u8; ADVERTISEMENT], Mac)> {
    let (header, rest) = packet.split_first_chunk::<{ ipv6::HEADER }>()?;
    let length = usize::from(u16::from_be_bytes([header[4], header[5]]));
    let message = rest.get(..length)?;
    let source = Ipv6Addr::from(*header[8..].first_chunk::<16>()?);
    let destination = Ipv6Addr::from(*header.last_chunk::<16>()?);
    let target = Ipv6Addr::from(*message.get(TARGET..)?.first_chunk::<16>()?);
    let is_solicitation = header[6] == protocol::ICMPV6
        && message.starts_with(&[NEIGHBOUR_SOLICITATION, 0])
        && header[7] == router::HOP_LIMIT
        && router::fit(message.get(SOLICITATION..)?)
        && pseudo(source, destination, length).bytes(message).fold() == 0xffff;
    if !is_solicitation || !ours(target.into()) {
        return None;
    }
    // RFC 4861 section 7.2.4: who asks without an address hears it like everybody.
    let (to, to_mac, flags) = if source.is_unspecified() {
        (ALL_NODES, ALL_NODES_MAC, ROUTER | OVERRIDE)
    } else {
        (source, asker, ROUTER | SOLICITED | OVERRIDE)
    };
    let mut answer = [0; ADVERTISEMENT];
    let head = [
        0x60,
        0,
        0,
        0,
        0,
        MESSAGE as u8,
        protocol::ICMPV6,
        router::HOP_LIMIT,
    ];
    let kind = [NEIGHBOUR_ADVERTISEMENT, 0, 0, 0, flags, 0, 0, 0];
    let (from, to, of) = (target.octets(), to.octets(), target.octets());
    let parts: [&[u8]; 7] = [&head, &from, &to, &kind, &of, &TARGET_LINK_LAYER, &mac];
    join(&mut answer, &parts);
    let sum = pseudo(target, to.into(), MESSAGE).bytes(&answer[ipv6::HEADER..]);
    answer[ipv6::HEADER + 2..][..2].copy_from_slice(&sum.checksum().to_be_bytes());
    Some((answer, to_mac))
}

/// Writes parts one after the other. They fill `whole`.
fn join(whole: &mut [u8], parts: &[&[u8]]) {
    let bytes = parts.iter().copied().flatten();
    for (place, byte) in whole.iter_mut().zip(bytes) {
        *place = *byte;
    }
}

/// RFC 8200 section 8.1.
fn pseudo(source: Ipv6Addr, destination: Ipv6Addr, length: usize) -> Sum {
    Sum::ZERO
        .bytes(&source.octets())
        .bytes(&destination.octets())
        .number(length as u16)
        .number(u16::from(protocol::ICMPV6))
}

/// The link-local address of the node that has `mac` (RFC 4291 section 2.5.6), with the identifier of RFC 2464 section 4.
#[must_use]
pub const fn link_local(mac: Mac) -> Ipv6Addr {
    let [a, b, c, d, e, f] = mac;
    let identifier = u64::from_be_bytes([a ^ 2, b, c, 0xff, 0xfe, d, e, f]);
    Ipv6Addr::from_bits(0xfe80 << 112 | identifier as u128)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAC: Mac = [2, 0, 0, 0, 0, 1];
    const ASKER: Mac = [2, 0, 0, 0, 0, 2];
    const OURS4: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 7);
    const OURS6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0x464);

    fn ours(address: IpAddr) -> bool {
        address == OURS4 || address == OURS6
    }

    #[test]
    fn link_local_address_of_rfc2464() {
        let address: Ipv6Addr = "fe80::3656:78ff:fe9a:bcde".parse().unwrap();
        assert_eq!(link_local([0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde]), address);
    }

    fn request(from: Ipv4Addr, target: Ipv4Addr) -> [u8; ARP] {
        let mut request = [0; ARP];
        let (from, target) = (from.octets(), target.octets());
        let parts: [&[u8]; 6] = [&ARP_OF_IPV4, &REQUEST, &ASKER, &from, &[0; 6], &target];
        join(&mut request, &parts);
        request
    }

    fn solicitation(source: Ipv6Addr, target: Ipv6Addr) -> [u8; ADVERTISEMENT] {
        let to = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff00, 0x464);
        let mut packet = [0; ADVERTISEMENT];
        let head = [0x60, 0, 0, 0, 0, MESSAGE as u8, protocol::ICMPV6, 255];
        let kind = [NEIGHBOUR_SOLICITATION, 0, 0, 0, 0, 0, 0, 0];
        let (from, at, of) = (source.octets(), to.octets(), target.octets());
        let parts: [&[u8]; 7] = [&head, &from, &at, &kind, &of, &[1, 1], &ASKER];
        join(&mut packet, &parts);
        let sum = pseudo(source, to, MESSAGE).bytes(&packet[ipv6::HEADER..]);
        packet[42..44].copy_from_slice(&sum.checksum().to_be_bytes());
        packet
    }

    #[test]
    fn arp_is_answered_for_ours() {
        let from = Ipv4Addr::new(192, 0, 2, 2);
        let (reply, to) = arp(&request(from, OURS4), MAC, ours).unwrap();
        assert_eq!(to, ASKER);
        assert_eq!(reply[6..8], REPLY);
        assert_eq!(reply[8..14], MAC);
        assert_eq!(reply[14..18], OURS4.octets());
        assert_eq!(reply[18..24], ASKER);
        assert_eq!(reply[24..28], from.octets());
        // A probe; another address; an announcement; a reply; another network; too short.
        assert!(arp(&request(Ipv4Addr::UNSPECIFIED, OURS4), MAC, ours).is_some());
        assert!(arp(&request(from, from), MAC, |_| true).is_none());
        assert!(arp(&request(from, Ipv4Addr::new(192, 0, 2, 8)), MAC, ours).is_none());
        assert!(arp(&reply, MAC, |_| true).is_none());
        let mut other = request(from, OURS4);
        other[1] = 6;
        assert!(arp(&other, MAC, ours).is_none());
        assert!(arp(&request(from, OURS4)[..27], MAC, ours).is_none());
    }

    #[test]
    fn a_solicitation_is_answered_for_ours() {
        let from: Ipv6Addr = "fe80::2".parse().unwrap();
        let asked = solicitation(from, OURS6);
        let (answer, to) = neighbour(&asked, ASKER, MAC, ours).unwrap();
        assert_eq!(to, ASKER);
        assert_eq!(answer[8..24], OURS6.octets());
        assert_eq!(answer[24..40], from.octets());
        assert_eq!(answer[40], NEIGHBOUR_ADVERTISEMENT);
        assert_eq!(answer[44], ROUTER | SOLICITED | OVERRIDE);
        assert_eq!(answer[48..64], OURS6.octets());
        assert_eq!(answer[64..72], [2, 1, 2, 0, 0, 0, 0, 1]);
        let sum = pseudo(OURS6, from, MESSAGE).bytes(&answer[ipv6::HEADER..]);
        assert_eq!(sum.fold(), 0xffff);
        assert!(neighbour(&answer, ASKER, MAC, |_| true).is_none());
    }

    #[test]
    fn a_node_without_an_address_hears_it_like_everybody() {
        let asked = solicitation(Ipv6Addr::UNSPECIFIED, OURS6);
        let (answer, to) = neighbour(&asked, ASKER, MAC, ours).unwrap();
        assert_eq!(to, ALL_NODES_MAC);
        assert_eq!(answer[24..40], ALL_NODES.octets());
        assert_eq!(answer[44], ROUTER | OVERRIDE);
    }

    #[test]
    fn what_fails_a_check_is_not_answered() {
        let asked = solicitation("fe80::2".parse().unwrap(), OURS6);
        let other = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0x465);
        let not_ours = solicitation("fe80::2".parse().unwrap(), other);
        assert!(neighbour(&not_ours, ASKER, MAC, ours).is_none());
        // Hop limit, code, an option of length 0, the checksum, the end.
        for (at, value) in [(7, 254), (41, 1), (65, 0), (42, asked[42] ^ 1)] {
            let mut wrong = asked;
            wrong[at] = value;
            assert!(neighbour(&wrong, ASKER, MAC, ours).is_none(), "{at}");
        }
        for length in 0..asked.len() {
            assert!(neighbour(&asked[..length], ASKER, MAC, ours).is_none());
        }
    }
}

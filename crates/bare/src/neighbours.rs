//! The Ethernet addresses of neighbours: asked for by ARP (RFC 826) and neighbour discovery (RFC 4861 section 7.2), and
//! remembered in a table of fixed size. A packet waits for the answer, one for each neighbour (RFC 1122 section 2.3.2.2,
//! RFC 4861 section 7.2.2).

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use isthmus_core::wire::resolution::{ARP, Mac};
use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{
    ArpOperation, ArpPacket, ArpRepr, EthernetAddress, Icmpv6Packet, Icmpv6Repr, IpProtocol,
    Ipv6Packet, Ipv6Repr, NdiscRepr,
};

use crate::frame::Frame;
use crate::host::Way;

/// Neighbours that are known or asked for at most.
pub const MOST: usize = 256;
/// Places that are looked at for a neighbour.
const PROBES: usize = 8;
const SECOND: u64 = 1_000_000_000;
/// An answer is good for so long; then it is asked for again, and used meanwhile (RFC 4861 section 10: REACHABLE_TIME).
const FRESH: u64 = 30 * SECOND;
/// An answer that nobody has confirmed for so long is forgotten.
const STALE: u64 = FRESH + 3 * SECOND;
/// The limit of a hop of messages that no router has forwarded (RFC 4861 section 7.1.1).
const UNFORWARDED: u8 = 255;
/// Bytes of a neighbour solicitation: header, message, and the option with the asker's Ethernet address.
pub const SOLICITATION: usize = 40 + 24 + 8;

struct Neighbour {
    way: Way,
    mac: Mac,
    /// When it answered; `None`: not yet.
    answered: Option<u64>,
    asked: u64,
    waiting: Option<Frame>,
}

impl Neighbour {
    /// Whether its Ethernet address can be used.
    fn is_there(&self, now: u64) -> bool {
        self.answered.is_some_and(|answered| now < answered + STALE)
    }
}

/// The neighbours.
pub struct Neighbours([Option<Neighbour>; MOST]);

/// What to do with a packet for a neighbour.
pub enum Answer {
    /// Send it there.
    Known(Frame, Mac),
    /// Send it there, and ask again.
    Old(Frame, Mac),
    /// It waits: ask.
    Ask(Option<Frame>),
    /// It waits, or takes the place of one that did: that one is lost.
    Asked(Option<Frame>),
}

impl Neighbours {
    /// Knows nobody.
    pub const fn new() -> Self {
        Self([const { None }; MOST])
    }

    /// The places that a neighbour may have.
    fn places(way: Way) -> impl Iterator<Item = usize> {
        let first = hash(way);
        (0..PROBES).map(move |probe| (first + probe) % MOST)
    }

    /// The neighbour, if it was asked for.
    #[inline]
    fn known(&mut self, way: Way) -> Option<&mut Neighbour> {
        let is_it = |neighbour: &Neighbour| {
            neighbour.way.next == way.next && neighbour.way.card == way.card
        };
        let at = Self::places(way).find(|at| self.0[*at].as_ref().is_some_and(is_it))?;
        self.0[at].as_mut()
    }

    /// A place for a new neighbour: an empty one, or that of one who has not answered, or else that of the one who was
    /// asked for longest ago. So who looks for neighbours that are not there takes no place of one that is.
    fn place(&mut self, way: Way, now: u64) -> &mut Option<Neighbour> {
        let worth = |at: &usize| {
            let neighbour = self.0[*at].as_ref()?;
            Some((neighbour.is_there(now), neighbour.asked))
        };
        let at = Self::places(way).min_by_key(worth).unwrap_or(0);
        &mut self.0[at]
    }

    /// Finds the Ethernet address of the neighbour that a packet goes to.
    #[inline]
    pub fn find(&mut self, way: Way, frame: Frame, now: u64) -> Answer {
        let Some(known) = self.known(way) else {
            let before = self.place(way, now).replace(Neighbour {
                way,
                mac: [0; 6],
                answered: None,
                asked: now,
                waiting: Some(frame),
            });
            return Answer::Ask(before.and_then(|other| other.waiting));
        };
        let ask = now >= known.asked + SECOND;
        if known.is_there(now) {
            let is_fresh = known
                .answered
                .is_some_and(|answered| now < answered + FRESH);
            if ask && !is_fresh {
                known.asked = now;
                return Answer::Old(frame, known.mac);
            }
            return Answer::Known(frame, known.mac);
        }
        known.answered = None;
        let before = known.waiting.replace(frame);
        if ask {
            known.asked = now;
            return Answer::Ask(before);
        }
        Answer::Asked(before)
    }

    /// Remembers what a neighbour said about itself, if somebody asked for it; returns the packet that waited for it.
    pub fn learn(&mut self, way: Way, mac: Mac, now: u64) -> Option<Frame> {
        let known = self.known(way)?;
        known.mac = mac;
        known.answered = Some(now);
        known.waiting.take()
    }
}

#[inline]
fn hash(way: Way) -> usize {
    (way.next.folded().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48) as usize
}

/// The question for an IPv4 neighbour.
pub fn request(mac: Mac, own: Ipv4Addr, target: Ipv4Addr) -> [u8; ARP] {
    let mut message = [0; ARP];
    ArpRepr::EthernetIpv4 {
        operation: ArpOperation::Request,
        source_hardware_addr: EthernetAddress(mac),
        source_protocol_addr: own,
        target_hardware_addr: EthernetAddress([0; 6]),
        target_protocol_addr: target,
    }
    .emit(&mut ArpPacket::new_unchecked(&mut message));
    message
}

/// The question for an IPv6 neighbour.
pub fn solicitation(mac: Mac, own: Ipv6Addr, target: Ipv6Addr) -> [u8; SOLICITATION] {
    let mut packet = [0; SOLICITATION];
    let to = solicited_node(target);
    let message = Icmpv6Repr::Ndisc(NdiscRepr::NeighborSolicit {
        target_addr: target,
        lladdr: Some(EthernetAddress(mac).into()),
    });
    let header = Ipv6Repr {
        src_addr: own,
        dst_addr: to,
        next_header: IpProtocol::Icmpv6,
        payload_len: message.buffer_len(),
        hop_limit: UNFORWARDED,
    };
    let mut view = Ipv6Packet::new_unchecked(&mut packet[..]);
    header.emit(&mut view);
    let mut payload = Icmpv6Packet::new_unchecked(view.payload_mut());
    message.emit(&own, &to, &mut payload, &ChecksumCapabilities::default());
    packet
}

/// The multicast address of a node (RFC 4291 section 2.7.1).
fn solicited_node(target: Ipv6Addr) -> Ipv6Addr {
    let [.., a, b] = target.segments();
    Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff00 | (a & 0xff), b)
}

/// The Ethernet address of the group that hears the question for a neighbour (RFC 2464 section 7).
pub fn group(target: Ipv6Addr) -> Mac {
    let [.., a, b, c, d] = solicited_node(target).octets();
    [0x33, 0x33, a, b, c, d]
}

/// What an ARP message says about its sender, question or answer.
pub fn read_arp(message: &[u8]) -> Option<(IpAddr, Mac)> {
    let ArpRepr::EthernetIpv4 {
        source_hardware_addr,
        source_protocol_addr,
        ..
    } = ArpRepr::parse(&ArpPacket::new_checked(message).ok()?).ok()?
    else {
        return None;
    };
    Some((source_protocol_addr.into(), source_hardware_addr.0))
}

/// What a neighbour advertisement or solicitation says about its sender; checked by RFC 4861 section 7.1.
pub fn read_neighbour(packet: &[u8]) -> Option<(IpAddr, Mac)> {
    let header = Ipv6Packet::new_checked(packet).ok()?;
    if header.next_header() != IpProtocol::Icmpv6 || header.hop_limit() != UNFORWARDED {
        return None;
    }
    let message = Icmpv6Packet::new_checked(header.payload()).ok()?;
    let checks = ChecksumCapabilities::default();
    let (address, mac) =
        match Icmpv6Repr::parse(&header.src_addr(), &header.dst_addr(), &message, &checks) {
            Ok(Icmpv6Repr::Ndisc(NdiscRepr::NeighborAdvert {
                target_addr,
                lladdr: Some(mac),
                ..
            })) => (target_addr, mac),
            Ok(Icmpv6Repr::Ndisc(NdiscRepr::NeighborSolicit {
                lladdr: Some(mac), ..
            })) => (header.src_addr(), mac),
            _ => return None,
        };
    Some((address.into(), *mac.as_bytes().first_chunk()?))
}

//! Packets to the machine's own addresses: it answers pings, and has no services.

use isthmus_core::checksum::{ChecksumKind, Delta, Sum};
use isthmus_core::encap::four_in_six::{self, Softwire};
use isthmus_core::packet::Packet as _;
use isthmus_core::reason::Counter;
use isthmus_core::slow::own::Datagram;
use isthmus_core::wire::ipv6;
use smoltcp::wire::{
    Icmpv4Message, Icmpv4Packet, Icmpv6Message, Icmpv6Packet, IpProtocol, Ipv4Packet, Ipv6Packet,
};

use crate::frame::Frame;

/// The limit of hops of an answer.
const HOPS: u8 = 64;

/// Turns an echo request into its reply (RFC 792, RFC 4443 section 4.2). `None`: it is something else, and has no answer.
pub fn answer(frame: &mut Frame) -> Option<()> {
    frame.trim();
    match frame.packet().first()? >> 4 {
        4 => answer_v4(frame.packet_mut()),
        6 => answer_v6(frame.packet_mut()),
        _ => None,
    }
}

/// The kind of packet that a host in a softwire sent to the machine.
pub enum InSoftwire {
    /// A datagram, which a service would take.
    Datagram,
    /// Nothing that has an answer.
    Other(Counter),
}

/// Looks into a softwire (RFC 6333 section 6.5).
pub fn in_softwire<const N: usize>(frame: &mut Frame<N>) -> InSoftwire {
    let Ok(outer) = ipv6::Header::read(frame, 0) else {
        return InSoftwire::Other(Counter::EngineError);
    };
    if !four_in_six::carries(outer.next_header()) {
        return InSoftwire::Other(Counter::TunnelSource);
    }
    let Ok(softwire) = Softwire::open(frame, &outer) else {
        return InSoftwire::Other(Counter::EngineError);
    };
    match Datagram::read(&outer, softwire.inner.bytes().unwrap_or(&[])) {
        Some(_) => InSoftwire::Datagram,
        None => InSoftwire::Other(Counter::IllegalDestination),
    }
}

fn answer_v4(packet: &mut [u8]) -> Option<()> {
    let mut header = Ipv4Packet::new_checked(packet).ok()?;
    let is_fragment = header.more_frags() || header.frag_offset() != 0;
    if header.next_header() != IpProtocol::Icmp || is_fragment || !header.verify_checksum() {
        return None;
    }
    let (from, to) = (header.src_addr(), header.dst_addr());
    // Network zero, loopback, multicast, class E with the limited broadcast (RFC 1122 section 3.2.1.3).
    if matches!(from.octets()[0], 0 | 127 | 224..) {
        return None;
    }
    let message = Icmpv4Packet::new_checked(header.payload_mut()).ok()?;
    if message.msg_type() != Icmpv4Message::EchoRequest || !message.verify_checksum() {
        return None;
    }
    turn(message.into_inner(), Icmpv4Message::EchoReply.into())?;
    header.set_src_addr(to);
    header.set_dst_addr(from);
    header.set_hop_limit(HOPS);
    header.fill_checksum();
    Some(())
}

fn answer_v6(packet: &mut [u8]) -> Option<()> {
    let mut header = Ipv6Packet::new_checked(packet).ok()?;
    let (from, to) = (header.src_addr(), header.dst_addr());
    // No host has such a source (RFC 4291 sections 2.5.2, 2.5.3 and 2.7).
    let is_of_no_host = from.is_unspecified() || from.is_loopback() || from.is_multicast();
    if header.next_header() != IpProtocol::Icmpv6 || is_of_no_host {
        return None;
    }
    let message = Icmpv6Packet::new_checked(header.payload_mut()).ok()?;
    if message.msg_type() != Icmpv6Message::EchoRequest || !message.verify_checksum(&from, &to) {
        return None;
    }
    turn(message.into_inner(), Icmpv6Message::EchoReply.into())?;
    header.set_src_addr(to);
    header.set_dst_addr(from);
    header.set_hop_limit(HOPS);
    Some(())
}

/// Makes a message one of another type. Its checksum changes by that only (RFC 1624), since the ends of the packet change places: so a
/// flood of long pings costs one look at their bytes, and not two.
fn turn(message: &mut [u8], to: u8) -> Option<()> {
    let [kind, _, high, low] = message.first_chunk_mut()?;
    let number = |kind| Sum::ZERO.number(u16::from_be_bytes([kind, 0]));
    let change = Delta::between(number(*kind), number(to));
    let checksum = u16::from_be_bytes([*high, *low]);
    [*high, *low] = change.apply(checksum, ChecksumKind::Plain).to_be_bytes();
    *kind = to;
    Some(())
}

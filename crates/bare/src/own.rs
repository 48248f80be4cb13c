//! Packets to the machine's own addresses: it answers pings.

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

fn answer_v4(packet: &mut [u8]) -> Option<()> {
    let mut header = Ipv4Packet::new_checked(packet).ok()?;
    let is_fragment = header.more_frags() || header.frag_offset() != 0;
    if header.next_header() != IpProtocol::Icmp || is_fragment || !header.verify_checksum() {
        return None;
    }
    let mut message = Icmpv4Packet::new_checked(header.payload_mut()).ok()?;
    if message.msg_type() != Icmpv4Message::EchoRequest || !message.verify_checksum() {
        return None;
    }
    message.set_msg_type(Icmpv4Message::EchoReply);
    message.fill_checksum();
    let (from, to) = (header.src_addr(), header.dst_addr());
    header.set_src_addr(to);
    header.set_dst_addr(from);
    header.set_hop_limit(HOPS);
    header.fill_checksum();
    Some(())
}

fn answer_v6(packet: &mut [u8]) -> Option<()> {
    let mut header = Ipv6Packet::new_checked(packet).ok()?;
    let (from, to) = (header.src_addr(), header.dst_addr());
    if header.next_header() != IpProtocol::Icmpv6 {
        return None;
    }
    let mut message = Icmpv6Packet::new_checked(header.payload_mut()).ok()?;
    if message.msg_type() != Icmpv6Message::EchoRequest || !message.verify_checksum(&from, &to) {
        return None;
    }
    message.set_msg_type(Icmpv6Message::EchoReply);
    message.fill_checksum(&to, &from);
    header.set_src_addr(to);
    header.set_dst_addr(from);
    header.set_hop_limit(HOPS);
    Some(())
}

//! A message's packets on every link of a path.

use super::packet::Piece;
use super::{Family, Form, Link, Packet, Path, ethernet};

/// A packet on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The packet on this link.
    pub packet: Packet,
    /// The index of the packet on the link before (in [`OnLink::packets`]) that must have arrived as a whole before
    /// this one can be sent. It has no meaning on the first link.
    pub after: usize,
}

/// The packets of a message on one link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnLink {
    /// The link.
    pub link: Link,
    /// The packets, in order. There is at least one.
    pub packets: Vec<Sent>,
}

impl OnLink {
    /// Returns all bytes on the wire, with gaps.
    pub fn wire_bytes(&self) -> u32 {
        let bytes = |sent: &Sent| ethernet::wire_bytes(sent.packet.length());
        self.packets.iter().map(bytes).sum()
    }
}

/// A packet inside a tunnel, and the index on the link of the last packet that carries a piece of it.
#[derive(Clone, Copy)]
struct Carried {
    packet: Packet,
    last: usize,
}

impl Path {
    /// Returns the packets of a host on each link, the first link first.
    pub fn carry(&self, packets: &[Packet]) -> Vec<OnLink> {
        let mut links = Vec::new();
        let mut inside: Vec<Carried> = packets
            .iter()
            .map(|&packet| Carried { packet, last: 0 })
            .collect();
        for stretch in self.stretches() {
            inside = self.translate(&inside, stretch.form.inner());
            let mut on_wire = Vec::new();
            for carried in &mut inside {
                let pieces = wrap(carried.packet, stretch.form, stretch.mtu.bytes());
                let after = carried.last;
                on_wire.extend(pieces.into_iter().map(|packet| Sent { packet, after }));
                carried.last = on_wire.len() - 1;
            }
            for &link in &stretch.links {
                links.push(OnLink {
                    link,
                    packets: on_wire.clone(),
                });
                // Routers within the stretch forward packets one by one.
                for (place, sent) in on_wire.iter_mut().enumerate() {
                    sent.after = place;
                }
            }
        }
        links
    }

    fn translate(&self, packets: &[Carried], family: Family) -> Vec<Carried> {
        let translate = |carried: &Carried| {
            let last = carried.last;
            translated(carried.packet, family, self.translators_cut_to())
                .into_iter()
                .map(move |packet| Carried { packet, last })
        };
        packets.iter().flat_map(translate).collect()
    }
}

/// Translates a packet: IPv4 without DF to pieces of at most `lowest_ipv6_mtu` (RFC 7915 section 4.1), any other to
/// one packet (RFC 7915 sections 4.1 and 5.1).
fn translated(packet: Packet, family: Family, lowest_ipv6_mtu: u32) -> Vec<Packet> {
    if packet.family() == family {
        return vec![packet];
    }
    let packet = packet.translated(family);
    match (family, packet.piece()) {
        (Family::V6, Piece::Fragment) => packet.cut(lowest_ipv6_mtu),
        (Family::V6, Piece::Whole) | (Family::V4, _) => vec![packet],
    }
}

/// Puts a packet into a tunnel (RFC 4213 section 3.1, RFC 2473 section 3).
fn wrap(packet: Packet, form: Form, mtu: u32) -> Vec<Packet> {
    let outer = match form {
        Form::Plain(_) => return vec![packet],
        Form::SixInFour(_) => Family::V4,
        Form::FourInSix(_) => Family::V6,
    };
    Packet::whole(outer, packet.length()).cut(mtu)
}

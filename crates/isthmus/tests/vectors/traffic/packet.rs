//! Packets as octets: made, taken apart, cut in fragments and damaged.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::operation::{Content, Form};

pub(super) const ICMP: u8 = 1;
pub(super) const IPV4: u8 = 4;
pub(super) const TCP: u8 = 6;
pub(super) const UDP: u8 = 17;
pub(super) const FRAGMENT: u8 = 44;
pub(super) const ICMPV6: u8 = 58;
const OPTIONS: u8 = 60;

/// Source and destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ends {
    V4(Ipv4Addr, Ipv4Addr),
    V6(Ipv6Addr, Ipv6Addr),
}

impl Ends {
    pub(super) fn reversed(self) -> Self {
        match self {
            Self::V4(from, to) => Self::V4(to, from),
            Self::V6(from, to) => Self::V6(to, from),
        }
    }

    /// Both addresses, as they stand in a header and in the pseudo-header of a checksum.
    fn octets(self) -> Vec<u8> {
        match self {
            Self::V4(from, to) => [from.octets(), to.octets()].concat(),
            Self::V6(from, to) => [from.octets(), to.octets()].concat(),
        }
    }
}

/// The addresses and ports of a packet, and the softwire that it is in. An ICMP query has its identifier in
/// the place of both ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Flow {
    pub(super) softwire: Option<(Ipv6Addr, Ipv6Addr)>,
    pub(super) ends: Ends,
    pub(super) ports: (u16, u16),
}

impl Flow {
    /// The same between the same hosts in the other direction.
    pub(super) fn reversed(self) -> Self {
        Self {
            softwire: self.softwire.map(|(from, to)| (to, from)),
            ends: self.ends.reversed(),
            ports: (self.ports.1, self.ports.0),
        }
    }

    /// The flow of a packet, and the number of its protocol; `None` for what has no ports, such as an error
    /// and a fragment that is not the first.
    pub(super) fn of(packet: &[u8]) -> Option<(Self, u8)> {
        let outer = Header::of(packet)?;
        let inner = Header::of(packet.get(outer.length..)?).filter(|_| outer.protocol == IPV4);
        let (softwire, header, at) = match (outer.ends, inner) {
            (Ends::V6(from, to), Some(inner)) => (Some((from, to)), inner, outer.length),
            _ => (None, outer, 0),
        };
        let transport = packet.get(at + header.length..)?;
        let number = |at: usize| {
            Some(u16::from_be_bytes([
                *transport.get(at)?,
                *transport.get(at + 1)?,
            ]))
        };
        let ports = match (header.protocol, transport.first()?) {
            _ if header.continues => return None,
            (TCP | UDP, _) => (number(0)?, number(2)?),
            (ICMP, 0 | 8 | 13 | 14) | (ICMPV6, 128 | 129) => (number(4)?, number(4)?),
            _ => return None,
        };
        let flow = Self {
            softwire,
            ends: header.ends,
            ports,
        };
        Some((flow, header.protocol))
    }
}

/// The headers of a packet up to its transport.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    pub(super) ends: Ends,
    pub(super) protocol: u8,
    pub(super) length: usize,
    /// Whether the packet is a fragment, or has the header of one.
    pub(super) fragment: bool,
    /// Whether it is a fragment that is not the first.
    pub(super) continues: bool,
}

impl Header {
    pub(super) fn of(packet: &[u8]) -> Option<Self> {
        match packet.first()? >> 4 {
            4 => Self::of_v4(packet),
            6 => Self::of_v6(packet),
            _ => None,
        }
    }

    fn of_v4(packet: &[u8]) -> Option<Self> {
        let address = |at: usize| -> Option<Ipv4Addr> {
            Some(<[u8; 4]>::try_from(packet.get(at..at + 4)?).ok()?.into())
        };
        let offset = u16::from_be_bytes([*packet.get(6)?, *packet.get(7)?]);
        Some(Self {
            ends: Ends::V4(address(12)?, address(16)?),
            protocol: packet[9],
            length: usize::from(packet[0] & 15) * 4,
            fragment: offset & 0x3fff != 0,
            continues: offset & 0x1fff != 0,
        })
    }

    fn of_v6(packet: &[u8]) -> Option<Self> {
        let address = |at: usize| -> Option<Ipv6Addr> {
            Some(<[u8; 16]>::try_from(packet.get(at..at + 16)?).ok()?.into())
        };
        let mut header = Self {
            ends: Ends::V6(address(8)?, address(24)?),
            protocol: packet[6],
            length: 40,
            fragment: false,
            continues: false,
        };
        if header.protocol == OPTIONS {
            header.protocol = *packet.get(header.length)?;
            header.length += 8;
        }
        if header.protocol == FRAGMENT {
            let extension = packet.get(header.length..header.length + 8)?;
            header.protocol = extension[0];
            header.length += 8;
            header.fragment = true;
            header.continues = u16::from_be_bytes([extension[2], extension[3]]) >> 3 != 0;
        }
        Some(header)
    }
}

/// A packet of a flow.
pub(super) fn make(flow: &Flow, content: Content, form: Form) -> Vec<u8> {
    let (protocol, transport) = transport(flow, content, usize::from(form.payload));
    wrap(flow.softwire, packet(flow.ends, protocol, &transport, form))
}

/// A packet in its softwire, if it has one.
pub(super) fn wrap(softwire: Option<(Ipv6Addr, Ipv6Addr)>, packet: Vec<u8>) -> Vec<u8> {
    match softwire {
        Some((from, to)) => [v6_header(from, to, IPV4, packet.len(), 64), packet].concat(),
        None => packet,
    }
}

/// An ICMP error about a packet, to its sender.
pub(super) fn error(
    about: &[u8],
    from: Ends,
    kind: u8,
    code: u8,
    rest: u32,
    quoted: usize,
) -> Vec<u8> {
    let quoted = &about[..quoted.min(about.len())];
    let mut message = [&[kind, code, 0, 0][..], &rest.to_be_bytes(), quoted].concat();
    let protocol = match from {
        Ends::V4(..) => ICMP,
        Ends::V6(..) => ICMPV6,
    };
    put_checksum(&mut message, 2, from, protocol);
    packet(from, protocol, &message, Form::default())
}

fn transport(flow: &Flow, content: Content, payload: usize) -> (u8, Vec<u8>) {
    let (from, to) = flow.ports;
    let payload: Vec<u8> = (0..payload).map(|n| n as u8).collect();
    let ports = [from.to_be_bytes(), to.to_be_bytes()].concat();
    let v4 = matches!(flow.ends, Ends::V4(..));
    let icmp = if v4 { ICMP } else { ICMPV6 };
    let query = |kind: u8| [&[kind, 0, 0, 0][..], &from.to_be_bytes(), &[0, 1], &payload].concat();
    let (protocol, mut octets, checksum) = match content {
        Content::Udp | Content::UdpWithoutChecksum => {
            let length = (8 + payload.len()) as u16;
            (
                UDP,
                [&ports[..], &length.to_be_bytes(), &[0, 0], &payload].concat(),
                6,
            )
        }
        Content::Tcp { flags, mss } => {
            let options: &[u8] = if mss { &[2, 4, 0x05, 0xb4] } else { &[] };
            let words = 5 + options.len() as u8 / 4;
            let fixed = [0, 0, 0, 1, 0, 0, 0, 2, words << 4, flags, 1, 0, 0, 0, 0, 0];
            (TCP, [&ports[..], &fixed, options, &payload].concat(), 16)
        }
        Content::Echo => (icmp, query(if v4 { 8 } else { 128 }), 2),
        Content::EchoReply => (icmp, query(if v4 { 0 } else { 129 }), 2),
        Content::Timestamp => (icmp, query(13), 2),
        Content::Protocol(number) => return (number, [ports, payload].concat()),
    };
    if content != Content::UdpWithoutChecksum {
        put_checksum(&mut octets, checksum, flow.ends, protocol);
    }
    (protocol, octets)
}

fn put_checksum(octets: &mut [u8], at: usize, ends: Ends, protocol: u8) {
    let mut covered = octets.to_vec();
    if protocol != ICMP {
        covered = [
            &ends.octets()[..],
            &(octets.len() as u32).to_be_bytes(),
            &[0, 0, 0, protocol],
            octets,
        ]
        .concat();
    }
    let checksum = match checksum(&covered) {
        0 if protocol == UDP => 0xffff,
        other => other,
    };
    octets[at..at + 2].copy_from_slice(&checksum.to_be_bytes());
}

fn packet(ends: Ends, protocol: u8, transport: &[u8], form: Form) -> Vec<u8> {
    match ends {
        Ends::V4(from, to) => {
            // Loose source route, of which nothing is left; or an option that nobody needs to know.
            let options: &[u8] = match (form.extension, form.ttl % 2) {
                (false, _) => &[],
                (true, 0) => &[131, 7, 8, 192, 0, 2, 1, 0],
                (true, _) => &[148, 4, 0, 0],
            };
            let words = 5 + options.len() / 4;
            let length = (words * 4 + transport.len()) as u16;
            let flags = if form.dont_fragment { 0x40 } else { 0 };
            let mut header = vec![0x40 | words as u8, 0x2e];
            header.extend(length.to_be_bytes());
            header.extend(form.identification.to_be_bytes());
            header.extend([flags, 0, form.ttl, protocol, 0, 0]);
            header.extend(Ends::V4(from, to).octets());
            header.extend(options);
            fix_header(&mut header);
            [&header, transport].concat()
        }
        Ends::V6(from, to) => {
            let mut next = protocol;
            let mut extensions = Vec::new();
            if form.fragment_header {
                let identification = u32::from(form.identification) << 16 | 7;
                extensions = [&[next, 0, 0, 0][..], &identification.to_be_bytes()].concat();
                next = FRAGMENT;
            }
            if form.extension {
                extensions = [&[next, 0, 1, 4, 0, 0, 0, 0][..], &extensions].concat();
                next = OPTIONS;
            }
            let length = extensions.len() + transport.len();
            let header = v6_header(from, to, next, length, form.ttl);
            [&header[..], &extensions, transport].concat()
        }
    }
}

fn v6_header(from: Ipv6Addr, to: Ipv6Addr, next: u8, length: usize, hops: u8) -> Vec<u8> {
    let mut header = vec![0x62, 0xe0, 0x12, 0x34];
    header.extend((length as u16).to_be_bytes());
    header.extend([next, hops]);
    header.extend(Ends::V6(from, to).octets());
    header
}

/// Writes the checksum of an IPv4 header.
pub(super) fn fix_header(packet: &mut [u8]) {
    let length = usize::from(packet[0] & 15) * 4;
    if let Some(header) = packet.get_mut(..length.max(20)) {
        header[10..12].fill(0);
        let sum = checksum(header).to_be_bytes();
        header[10..12].copy_from_slice(&sum);
    }
}

/// The fragments of a packet, each with so many octets of payload, a multiple of 8.
pub(super) fn cut(packet: &[u8], size: usize) -> Vec<Vec<u8>> {
    let Some(header) =
        Header::of(packet).filter(|header| !header.fragment && header.length <= packet.len())
    else {
        return vec![packet.to_vec()];
    };
    let (front, payload) = packet.split_at(header.length);
    let pieces = payload.chunks(size).enumerate();
    pieces
        .map(|(number, piece)| {
            let more = (number + 1) * size < payload.len();
            match header.ends {
                Ends::V4(..) => v4_piece(front, piece, number * size, more),
                Ends::V6(..) => v6_piece(front, header.protocol, piece, number * size, more),
            }
        })
        .collect()
}

fn v4_piece(front: &[u8], piece: &[u8], offset: usize, more: bool) -> Vec<u8> {
    let mut fragment = [front, piece].concat();
    let length = fragment.len() as u16;
    fragment[2..4].copy_from_slice(&length.to_be_bytes());
    let place = (offset / 8) as u16 | u16::from(more) << 13;
    fragment[6..8].copy_from_slice(&place.to_be_bytes());
    fix_header(&mut fragment);
    fragment
}

fn v6_piece(front: &[u8], protocol: u8, piece: &[u8], offset: usize, more: bool) -> Vec<u8> {
    let place = offset as u16 | u16::from(more);
    let mut fragment = front.to_vec();
    // The last of the headers before says what follows.
    let says = if front.len() == 40 { 6 } else { 40 };
    fragment[says] = FRAGMENT;
    fragment.extend([protocol, 0]);
    fragment.extend(place.to_be_bytes());
    fragment.extend([0, 0, 0x12, 0x34]);
    fragment.extend(piece);
    let length = (fragment.len() - 40) as u16;
    fragment[4..6].copy_from_slice(&length.to_be_bytes());
    fragment
}

/// RFC 1071.
fn checksum(octets: &[u8]) -> u16 {
    let words = octets.chunks(2).map(|pair| match *pair {
        [high, low] => u32::from(u16::from_be_bytes([high, low])),
        [high] => u32::from(high) << 8,
        _ => 0,
    });
    let mut sum: u32 = words.sum();
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

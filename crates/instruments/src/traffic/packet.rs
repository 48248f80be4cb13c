//! The UDP packets that the generator sends, alone or in a tunnel, as octets.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Octets of payload after the UDP header; the first four are the number of the frame.
const PAYLOAD: usize = 18;
const UDP: usize = 8;
/// Octets of the header of Ethernet.
pub const ETHERNET: u16 = 14;
/// IP protocol numbers.
const IPV4_PROTOCOL: u8 = 4;
const UDP_PROTOCOL: u8 = 17;
const IPV6_PROTOCOL: u8 = 41;
/// TTL or hop limit.
const TTL: u8 = 64;

/// Source and destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ends {
    /// Of IPv4.
    V4(Ipv4Addr, Ipv4Addr),
    /// Of IPv6.
    V6(Ipv6Addr, Ipv6Addr),
}

/// A packet with a UDP datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// The tunnel that it is in.
    pub tunnel: Option<Ends>,
    /// The source and the destination of the datagram.
    pub ends: Ends,
    /// UDP ports of source and destination.
    pub ports: (u16, u16),
}

/// The headers that carry a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
    /// IPv6 in IPv4.
    SixInFour,
    /// IPv4 in IPv6.
    FourInSix,
}

impl Form {
    /// Returns the form of this host's datagrams, in no tunnel.
    pub fn of(host: IpAddr) -> Self {
        match host {
            IpAddr::V4(_) => Self::V4,
            IpAddr::V6(_) => Self::V6,
        }
    }

    /// Returns the octets of all headers, from Ethernet's to UDP's.
    pub fn headers(self) -> u16 {
        let (ipv4, ipv6) = (20, 40);
        let ip = match self {
            Self::V4 => ipv4,
            Self::V6 => ipv6,
            Self::SixInFour | Self::FourInSix => ipv4 + ipv6,
        };
        ETHERNET + ip + UDP as u16
    }
}

impl std::fmt::Display for Form {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::V4 => "IPv4",
            Self::V6 => "IPv6",
            Self::SixInFour => "IPv6 in IPv4",
            Self::FourInSix => "IPv4 in IPv6",
        })
    }
}

impl Packet {
    /// Returns a packet in no tunnel.
    pub fn new(ends: Ends, ports: (u16, u16)) -> Self {
        Self {
            tunnel: None,
            ends,
            ports,
        }
    }

    /// Puts the packet into a tunnel.
    pub fn within(self, tunnel: Ends) -> Self {
        Self {
            tunnel: Some(tunnel),
            ..self
        }
    }

    /// Returns the frame with this number, without FCS, from one Ethernet address to another. Frames of one form have
    /// one length.
    pub fn frame(&self, number: u32, to: [u8; 6], from: [u8; 6]) -> Vec<u8> {
        let number = number.to_be_bytes();
        let mut frame = self.headers(PAYLOAD, sum(&number), to, from);
        let headers = frame.len();
        frame.extend_from_slice(&number);
        frame.resize(headers + PAYLOAD, 0);
        frame
    }

    /// Returns the headers of a frame whose payload has this length in octets and this sum of 16-bit words, from one
    /// Ethernet address to another.
    pub fn headers(&self, payload: usize, payload_sum: u32, to: [u8; 6], from: [u8; 6]) -> Vec<u8> {
        let length = (UDP + payload) as u16;
        let mut headers = Vec::with_capacity(usize::from(self.form().headers()) + payload);
        headers.extend_from_slice(&to);
        headers.extend_from_slice(&from);
        let kind = self.tunnel.unwrap_or(self.ends).kind();
        headers.extend_from_slice(&kind.to_be_bytes());
        if let Some(tunnel) = self.tunnel {
            let inner = self.ends.header_length() + length;
            tunnel.write_header(&mut headers, self.ends.protocol(), inner);
        }
        self.ends.write_header(&mut headers, UDP_PROTOCOL, length);
        let pseudo = match self.ends {
            Ends::V4(source, destination) => sum(&source.octets()) + sum(&destination.octets()),
            Ends::V6(source, destination) => sum(&source.octets()) + sum(&destination.octets()),
        };
        let ports = u32::from(self.ports.0) + u32::from(self.ports.1);
        // The length is in the pseudo-header and in the header.
        let total = pseudo + ports + 2 * u32::from(length) + u32::from(UDP_PROTOCOL) + payload_sum;
        // A UDP checksum of zero means "none": all ones stand for it (RFC 768).
        let checksum = match !fold(total) {
            0 => 0xffff,
            other => other,
        };
        for field in [self.ports.0, self.ports.1, length, checksum] {
            headers.extend_from_slice(&field.to_be_bytes());
        }
        headers
    }

    /// Returns the form of the packet.
    pub fn form(&self) -> Form {
        match (self.tunnel, self.ends) {
            (Some(Ends::V4(..)), Ends::V6(..)) => Form::SixInFour,
            (Some(Ends::V6(..)), Ends::V4(..)) => Form::FourInSix,
            (_, ends) => ends.form(),
        }
    }
}

impl Ends {
    /// Returns the ends from one host to another; `None` if their protocols differ.
    pub fn between(source: IpAddr, destination: IpAddr) -> Option<Self> {
        match (source, destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => Some(Self::V4(source, destination)),
            (IpAddr::V6(source), IpAddr::V6(destination)) => Some(Self::V6(source, destination)),
            _ => None,
        }
    }

    /// Returns the form of a datagram between them.
    pub fn form(&self) -> Form {
        match self {
            Self::V4(..) => Form::V4,
            Self::V6(..) => Form::V6,
        }
    }

    /// Returns the Ethernet type.
    fn kind(&self) -> u16 {
        match self {
            Self::V4(..) => 0x0800,
            Self::V6(..) => 0x86dd,
        }
    }

    /// Returns its protocol number in an outer header.
    fn protocol(&self) -> u8 {
        match self {
            Self::V4(..) => IPV4_PROTOCOL,
            Self::V6(..) => IPV6_PROTOCOL,
        }
    }

    /// Returns the length of an IP header between them, in octets.
    fn header_length(&self) -> u16 {
        match self {
            Self::V4(..) => 20,
            Self::V6(..) => 40,
        }
    }

    /// Puts an IP header before other headers, which are followed by this many octets of payload.
    pub fn carry(&self, protocol: u8, headers: &[u8], payload: u16) -> Vec<u8> {
        let mut packet = Vec::new();
        self.write_header(&mut packet, protocol, headers.len() as u16 + payload);
        packet.extend_from_slice(headers);
        packet
    }

    /// Writes the IP header of a packet that carries so many octets of this protocol.
    fn write_header(&self, packet: &mut Vec<u8>, protocol: u8, length: u16) {
        let start = packet.len();
        match self {
            Self::V4(source, destination) => {
                packet.extend_from_slice(&[0x45, 0]);
                packet.extend_from_slice(&(self.header_length() + length).to_be_bytes());
                // Identification 0, DF set, checksum zero for now.
                packet.extend_from_slice(&[0, 0, 0x40, 0, TTL, protocol, 0, 0]);
                packet.extend_from_slice(&source.octets());
                packet.extend_from_slice(&destination.octets());
                let checksum = !fold(sum(&packet[start..]));
                packet[start + 10..start + 12].copy_from_slice(&checksum.to_be_bytes());
            }
            Self::V6(source, destination) => {
                packet.extend_from_slice(&[0x60, 0, 0, 0]);
                packet.extend_from_slice(&length.to_be_bytes());
                packet.extend_from_slice(&[protocol, TTL]);
                packet.extend_from_slice(&source.octets());
                packet.extend_from_slice(&destination.octets());
            }
        }
    }
}

/// Returns the sum of 16-bit words.
fn sum(octets: &[u8]) -> u32 {
    octets
        .chunks_exact(2)
        .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])))
        .sum()
}

/// Returns the ones' complement sum of a sum that has not been folded yet (RFC 1071).
fn fold(sum: u32) -> u16 {
    let sum = (sum & 0xffff) + (sum >> 16);
    ((sum & 0xffff) + (sum >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    const V4: Ends = Ends::V4(Ipv4Addr::new(192, 0, 2, 6), Ipv4Addr::new(198, 51, 100, 4));
    const V6: Ends = Ends::V6(
        Ipv6Addr::new(0x2001, 0xdb8, 6, 0, 0, 0, 0, 6),
        Ipv6Addr::new(0x2001, 0xdb8, 4, 0, 0, 0, 0, 4),
    );

    fn frame(packet: Packet) -> Vec<u8> {
        packet.frame(7, [1; 6], [2; 6])
    }

    #[test]
    fn frames_have_the_lengths_that_programs_are_made_for() {
        let v4 = Packet::new(V4, (1024, 9));
        let v6 = Packet::new(V6, (1024, 9));
        let lengths = [v4, v6, v4.within(V6), v6.within(V4)].map(|packet| frame(packet).len());
        assert_eq!(lengths, [60, 80, 100, 100]);
    }

    #[test]
    fn a_packet_in_a_tunnel_is_the_packet_behind_a_header() {
        let inner = Packet::new(V4, (1024, 9));
        let outer = frame(inner.within(V6));
        assert_eq!(outer[12..15], [0x86, 0xdd, 0x60]);
        assert_eq!(outer[20], IPV4_PROTOCOL);
        assert_eq!(outer[54..], frame(inner)[14..]);
        assert_eq!(inner.within(V6).form(), Form::FourInSix);
        let inner = Packet::new(V6, (1024, 9));
        let outer = frame(inner.within(V4));
        assert_eq!(outer[12..15], [0x08, 0x00, 0x45]);
        assert_eq!(outer[23], IPV6_PROTOCOL);
        assert_eq!(outer[34..], frame(inner)[14..]);
        assert_eq!(inner.within(V4).form(), Form::SixInFour);
    }

    #[test]
    fn a_frame_has_its_number_in_the_payload() {
        assert_eq!(frame(Packet::new(V4, (1024, 9)))[42..46], [0, 0, 0, 7]);
    }
}

//! Followed packets: what the programs beside those of a hook are told, and what they tell.

use bytemuck::{Pod, Zeroable};

use crate::counts;

/// The map of one [`Settings`].
pub const SETTINGS: &str = "SETTINGS";
/// The ring buffer of [`Event`]s. Each is followed by the bytes that came and by those that left.
pub const EVENTS: &str = "EVENTS";
/// The map of the number of events on each processor for which there was no room.
pub const LOST: &str = "LOST";
/// Bytes of `EVENTS`.
pub const ROOM: usize = 1 << 22;

/// Bytes of a packet that are told at most: a jumbo frame with its tags.
pub const LONGEST: usize = 9216;
/// Bytes of the IP packet that a [`Filter`] looks at: the longest IPv4 header, and ports.
pub const HEAD: usize = 64;
/// Rows of counters: those of the instances, and of the gateway behind them.
pub const ROWS: usize = (counts::ENTRIES / counts::ROW) as usize;
const _: () = assert!(counts::ROW == u64::BITS);

/// Where the kernel's structures have what the programs read, in bytes. They differ between kernels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Offsets {
    /// First byte of the packet.
    pub data: u32,
    /// Of `xdp_buff`: its end. Of `sk_buff`: its length, of which `paged` bytes are elsewhere.
    pub end: u32,
    /// Of `sk_buff`: bytes that are elsewhere.
    pub paged: u32,
    /// The device, or for `xdp_buff` the queue.
    pub device: u32,
    /// The device of a queue.
    pub device_of_queue: u32,
    /// The number of a device.
    pub number: u32,
}

/// Which packets are told: those of which the form that came or the form that left meets all conditions. A zero
/// in [`Filter::conditions`] says that one is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Filter {
    /// The network of one of the addresses: IPv4 in the first word, in network byte order.
    pub network: [u32; 4],
    /// Its mask.
    pub mask: [u32; 4],
    /// Numbers of a protocol, for IPv4 and for IPv6.
    pub protocols: [u8; 2],
    /// One of the ports.
    pub port: u16,
    /// The conditions that count.
    pub conditions: u32,
}

impl Filter {
    /// One of the addresses is of this IPv4 network.
    pub const V4: u32 = 1;
    /// One of the addresses is of this IPv6 network.
    pub const V6: u32 = 2;
    /// The protocol is this.
    pub const PROTOCOL: u32 = 4;
    /// One of the ports is this.
    pub const PORT: u32 = 8;

    #[inline(always)]
    fn wants(&self, condition: u32) -> bool {
        self.conditions & condition != 0
    }

    /// Whether the packet that begins with `head` meets all conditions.
    #[inline(always)]
    #[must_use]
    pub fn admits(&self, head: &[u8; HEAD]) -> bool {
        if self.conditions == 0 {
            return true;
        }
        let (v4, at) = match head[0] >> 4 {
            4 => (true, usize::from(head[0] & 15) * 4),
            6 => (false, 40),
            _ => return false,
        };
        let protocol = if v4 { head[9] } else { head[6] };
        let of_protocol = self.protocols[if v4 { 0 } else { 1 }] == protocol;
        if self.wants(Self::PROTOCOL) && !of_protocol {
            return false;
        }
        if self.wants(Self::V4 | Self::V6) {
            let meets = if v4 {
                self.wants(Self::V4) && (self.is_of(head, 12, 1) || self.is_of(head, 16, 1))
            } else {
                self.wants(Self::V6) && (self.is_of(head, 8, 4) || self.is_of(head, 24, 4))
            };
            if !meets {
                return false;
            }
        }
        // TCP, UDP, DCCP, SCTP.
        let has_ports = matches!(protocol, 6 | 17 | 33 | 132);
        let port = |at: usize| u16::from_be_bytes([head[at & 63], head[(at + 1) & 63]]);
        !self.wants(Self::PORT) || has_ports && (port(at) == self.port || port(at + 2) == self.port)
    }

    /// Whether the address of this many words, at this place, is of the network.
    #[inline(always)]
    fn is_of(&self, head: &[u8; HEAD], at: usize, words: usize) -> bool {
        let mut number = 0;
        while number < words {
            let place = at + number * 4;
            let word = [
                head[place],
                head[place + 1],
                head[place + 2],
                head[place + 3],
            ];
            if u32::from_ne_bytes(word) & self.mask[number] != self.network[number] {
                return false;
            }
            number += 1;
        }
        true
    }
}

/// What the programs are told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Settings {
    /// Of `xdp_buff`.
    pub frame: Offsets,
    /// Of `sk_buff`.
    pub skb: Offsets,
    /// The packets that are told.
    pub filter: Filter,
    /// Bytes of each form that are told.
    pub snap: u32,
    /// Nothing.
    pub padding: u32,
}

/// A form of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Form {
    /// Its length.
    pub length: u32,
    /// The bytes of it that are told.
    pub told: u32,
}

/// What a program has done with a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Event {
    /// When it came, in nanoseconds of the monotonic clock.
    pub time: u64,
    /// The number of the link.
    pub link: u32,
    /// What the program told the kernel.
    pub answer: i32,
    /// As it came.
    pub came: Form,
    /// As it left, whoever got it.
    pub left: Form,
    /// The hook: 0 is XDP, 1 is tc.
    pub hook: u32,
    /// Nothing.
    pub padding: u32,
    /// The counters that changed: a bit for each, by row.
    pub changes: [u64; ROWS],
}

layout!(Event: 176, link: 8, came: 16, left: 24, hook: 32, changes: 40);
layout!(Filter: 40, protocols: 32, port: 34, conditions: 36);
layout!(Settings: 96, skb: 24, filter: 48, snap: 88);

#[cfg(test)]
mod tests {
    use super::*;

    /// UDP from 192.0.2.7:4711 to 203.0.113.1:53.
    fn v4() -> [u8; HEAD] {
        let mut head = [0; HEAD];
        head[0] = 0x46;
        head[9] = 17;
        head[12..20].copy_from_slice(&[192, 0, 2, 7, 203, 0, 113, 1]);
        head[24..28].copy_from_slice(&[0x12, 0x67, 0, 53]);
        head
    }

    fn v6() -> [u8; HEAD] {
        let mut head = [0; HEAD];
        head[0] = 0x60;
        head[6] = 58;
        head[8..12].copy_from_slice(&[0x20, 0x01, 0x0d, 0xb8]);
        head[23] = 1;
        head[25] = 1;
        head
    }

    fn network(address: &[u8], length: usize) -> ([u32; 4], [u32; 4]) {
        let (mut network, mut mask) = ([[0_u8; 4]; 4], [[0_u8; 4]; 4]);
        for (place, octet) in address.iter().enumerate() {
            network[place / 4][place % 4] = *octet;
        }
        for bit in 0..length {
            mask[bit / 32][bit / 8 % 4] |= 128 >> (bit % 8);
        }
        (
            network.map(u32::from_ne_bytes),
            mask.map(u32::from_ne_bytes),
        )
    }

    #[test]
    fn conditions_count_together() {
        let all = Filter::default();
        assert!(all.admits(&v4()) && all.admits(&v6()) && all.admits(&[0; HEAD]));
        let (net, mask) = network(&[203, 0, 113, 0], 24);
        let mut filter = Filter {
            network: net,
            mask,
            protocols: [17, 17],
            port: 4711,
            conditions: Filter::V4 | Filter::PROTOCOL | Filter::PORT,
        };
        assert!(filter.admits(&v4()) && !filter.admits(&v6()) && !filter.admits(&[0; HEAD]));
        filter.port = 54;
        assert!(!filter.admits(&v4()));
        filter.port = 53;
        filter.protocols = [6, 6];
        assert!(!filter.admits(&v4()));
    }

    #[test]
    fn networks_end_at_any_bit() {
        let of = |address: &[u8], length| {
            let (network, mask) = network(address, length);
            Filter {
                network,
                mask,
                conditions: Filter::V6,
                ..Filter::default()
            }
        };
        assert!(of(&[0x20, 0x01, 0x0d, 0xb8], 32).admits(&v6()));
        assert!(
            of(
                &[0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
                128
            )
            .admits(&v6())
        );
        assert!(!of(&[0x20, 0x01, 0x0d, 0xb9], 32).admits(&v6()));
        assert!(of(&[0x20, 0x01, 0x0d, 0xb8], 31).admits(&v6()));
        assert!(!of(&[0x20, 0x01, 0x0d, 0xb8], 32).admits(&v4()));
        assert!(of(&[0, 1], 16).admits(&v6()));
    }
}

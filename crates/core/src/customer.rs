//! The customer whom a packet on the slow path is from or for: by its headers, and where a mechanism knows more, by that.

use crate::address::bits::mask_v6;
use crate::address::{V4, V6};
use crate::packet::{Family, Packet, Truncated};
use crate::wire::{ipv4, ipv6, protocol};

/// The queues of the slow path. What fills one of them takes no place in another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// Packets of customers.
    Inside = 0,
    /// Packets for customers.
    Outside = 1,
    /// Fragments for customers whom nobody knows by them, or of datagrams whose first fragment is not known: strangers can
    /// make them up.
    Fragments = 2,
    /// TCP SYNs that nobody has asked for.
    Unasked = 3,
    /// Packets whose sender is told of an error, as often as [`icmp_errors`](crate::policy::Policy::icmp_errors) says.
    Errors = 4,
}

impl Queue {
    /// All queues, in the order of their numbers.
    pub const ALL: [Self; 5] = [
        Self::Inside,
        Self::Outside,
        Self::Fragments,
        Self::Unasked,
        Self::Errors,
    ];

    /// The queue with this number.
    #[inline(always)]
    #[must_use]
    pub fn from_number(number: u32) -> Option<Self> {
        // Not by a place in `ALL`: the verifier forgets that a number is in it.
        Some(match number {
            0 => Self::Inside,
            1 => Self::Outside,
            2 => Self::Fragments,
            3 => Self::Unasked,
            4 => Self::Errors,
            _ => return None,
        })
    }

    /// The packets that may wait in the queue: user space takes no more than some milliseconds for all of them, which is as long
    /// as somebody's packet has to wait for others'. While [nobody sends too many](crate::slow::shares), [`BURST`] times as many may.
    #[inline(always)]
    #[must_use]
    pub const fn places(self) -> u32 {
        match self {
            Self::Inside | Self::Outside => 128,
            Self::Fragments | Self::Unasked => 64,
            Self::Errors => 0,
        }
    }

    /// The packets of one customer that may wait in the queue while somebody sends too many: others wait for them. 16 that user
    /// space has to cut take some 150 us; a datagram that is cut takes 250 to 400 us alone. Strangers are one customer, and have
    /// what is left for them.
    #[inline(always)]
    #[must_use]
    pub const fn each(self) -> u32 {
        match self {
            Self::Inside | Self::Outside => 16,
            Self::Fragments | Self::Unasked | Self::Errors => self.places(),
        }
    }

    /// The packets that may wait in all queues together, at most.
    pub const PLACES: u32 = {
        let mut all = 0;
        let mut queue = 0;
        while queue < Self::ALL.len() {
            all += Self::ALL[queue].places() * BURST;
            queue += 1;
        }
        all
    };
}

/// A queue has so many times its places until somebody sends too many: a burst is no flood, and a processor that is busy
/// elsewhere lets packets wait for tens of milliseconds. Not more, because a flood has as much in its first round, and again
/// in each that the clock has to end.
pub const BURST: u32 = 2;

/// A customer as the [shares](crate::slow::shares) know it: packets with the same words are of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Customer {
    /// The queue for such packets.
    pub queue: Queue,
    /// The words that tell the customer from others.
    pub words: [u64; 2],
}

impl Customer {
    /// Nobody: strangers, who are all one.
    pub const NOBODY: Self = Self {
        queue: Queue::Unasked,
        words: [0; 2],
    };

    /// The customer of a packet, which sends it if `sends` says so of its family, and of its source if that is an IPv4 address;
    /// else it receives the packet, and `receiver` may know its [words](Receiver::words). Of a later fragment, `port` may know the
    /// destination port. An IPv6 network has `bits` bits.
    ///
    /// # Errors
    /// The packet ends inside its header.
    #[inline(always)]
    pub fn of<P: Packet>(
        packet: &P,
        bits: u8,
        sends: impl FnOnce(Family, V4) -> bool,
        port: impl FnOnce(&ipv4::Header) -> Option<u16>,
        receiver: impl FnOnce(&Destination) -> Option<[u64; 2]>,
    ) -> Result<Self, Truncated> {
        let header = ipv4::Header::read(packet, 0)?;
        let (family, source) = match header.version() {
            4 => (Family::V4, header.source()),
            _ => (Family::V6, V4::default()),
        };
        // A closure that is called twice may be a function, which the BPF object must not have.
        let sends = sends(family, source);
        let mut queue = if sends { Queue::Inside } else { Queue::Outside };
        let words = match family {
            Family::V4 if sends => Receiver::V4(source).words(bits),
            Family::V4 => {
                let destination = Destination::of(packet, &header, port);
                let known = receiver(&destination);
                if known.is_none() && destination.port.is_none() {
                    queue = Queue::Fragments;
                }
                known.unwrap_or(destination.words(source))
            }
            Family::V6 => {
                let header = ipv6::Header::read(packet, 0)?;
                let address = if sends {
                    header.source()
                } else {
                    header.destination()
                };
                network(address, bits)
            }
        };
        Ok(Self { queue, words })
    }

    /// The same customer for a fragment that waits for the first of its datagram.
    #[inline(always)]
    #[must_use]
    pub const fn with_fragment(mut self) -> Self {
        if let Queue::Outside = self.queue {
            self.queue = Queue::Fragments;
        }
        self
    }
}

/// A customer that a mechanism knows by its addresses inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Receiver {
    /// One with IPv6, or at the end of a softwire.
    V6(V6),
    /// One with IPv4 alone.
    V4(V4),
}

impl Receiver {
    /// The words of the customer; an IPv6 network has `bits` bits.
    #[inline(always)]
    #[must_use]
    pub fn words(self, bits: u8) -> [u64; 2] {
        match self {
            Self::V6(address) => network(address, bits),
            Self::V4(address) => [0, address.0.number().into()],
        }
    }
}

/// The receiver of an IPv4 packet, as the packet tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Destination {
    /// Address.
    pub address: V4,
    /// The number of the protocol.
    pub protocol: u8,
    /// Port, or identifier of a ping; 0 for what has neither. A later fragment has none, unless its datagram is known.
    pub port: Option<u16>,
}

impl Destination {
    #[inline(always)]
    fn of<P: Packet>(
        packet: &P,
        header: &ipv4::Header,
        later: impl FnOnce(&ipv4::Header) -> Option<u16>,
    ) -> Self {
        let protocol = header.protocol();
        let port = if header.fragment().offset != 0 {
            later(header)
        } else if header.header_length() == ipv4::HEADER {
            Some(port(packet, protocol))
        } else {
            Some(0)
        };
        Self {
            address: header.destination(),
            protocol,
            port,
        }
    }

    /// The words of whoever has the port of an address that may be shared. A later fragment is told by both addresses.
    #[inline(always)]
    fn words(&self, source: V4) -> [u64; 2] {
        let address: u64 = self.address.0.number().into();
        match self.port {
            Some(port) => [2, address << 16 | u64::from(port)],
            None => [1, u64::from(source.0.number()) << 32 | address],
        }
    }
}

/// The words of the first `bits` bits of an address.
#[inline(always)]
fn network(address: V6, bits: u8) -> [u64; 2] {
    let ((high, low), mask) = (address.halves(), mask_v6(bits));
    [high & mask.0, low & mask.1]
}

/// The destination port of an IPv4 packet without options, or the identifier of a ping; 0 for what has neither.
#[inline(always)]
fn port<P: Packet>(packet: &P, number: u8) -> u16 {
    let at = match number {
        protocol::TCP | protocol::UDP => ipv4::HEADER,
        protocol::ICMP => ipv4::HEADER + 4,
        _ => return 0,
    };
    let Ok([word]) = packet.words::<1>(at) else {
        return 0;
    };
    let [a, b, c, d] = word.bytes();
    u16::from_be_bytes(match number {
        protocol::ICMP => [a, b],
        _ => [c, d],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bytes, v4, v6};
    use proptest::prelude::*;
    use std::vec;
    use std::vec::Vec;

    /// An IPv4 packet from 192.0.2.1 to 203.0.113.9 with these flags and fragment offset, protocol and payload.
    fn packet(fragment: u16, protocol: u8, payload: &[u8]) -> Bytes {
        let mut bytes = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 64, protocol, 0, 0];
        bytes[6..8].copy_from_slice(&fragment.to_be_bytes());
        bytes.extend([192, 0, 2, 1, 203, 0, 113, 9]);
        bytes.extend(payload);
        Bytes(bytes)
    }

    /// A UDP header between these ports.
    fn udp(from: u16, to: u16) -> Vec<u8> {
        [from.to_be_bytes(), to.to_be_bytes(), [0, 8], [0, 0]].concat()
    }

    /// Nothing is known of a datagram.
    fn unknown(_: &ipv4::Header) -> Option<u16> {
        None
    }

    fn outside(packet: &Bytes) -> Customer {
        Customer::of(packet, 64, |_, _| false, unknown, |_| None).unwrap()
    }

    #[test]
    fn a_sender_is_one_customer_whatever_it_sends() {
        let sends = |family, source| family == Family::V4 && source == v4("192.0.2.1");
        let one = Customer::of(&packet(0, 17, &udp(1, 2)), 64, sends, unknown, |_| None).unwrap();
        let other = Customer::of(&packet(7, 6, &[]), 64, sends, unknown, |_| None).unwrap();
        assert_eq!(one.queue, Queue::Inside);
        assert_eq!(one, other);
    }

    #[test]
    fn a_receiver_is_told_by_its_port_and_not_by_who_sends() {
        let one = outside(&packet(0, 17, &udp(1, 500)));
        assert_eq!(one.queue, Queue::Outside);
        assert_eq!(one, outside(&packet(0, 17, &udp(2, 500))));
        assert_ne!(one, outside(&packet(0, 17, &udp(1, 501))));
        let ping = outside(&packet(0, 1, &[8, 0, 0, 0, 1, 244, 0, 1]));
        assert_eq!(ping, one, "a ping has an identifier in place of a port");
    }

    #[test]
    fn fragments_for_nobody_known_wait_for_themselves() {
        let first = outside(&packet(0x2000, 17, &udp(1, 500)));
        assert_eq!(first, outside(&packet(0, 17, &udp(1, 500))));
        let later = packet(7, 17, &udp(1, 500));
        assert_eq!(outside(&later).queue, Queue::Fragments);
        assert_eq!(outside(&later), outside(&packet(7, 17, &udp(1, 501))));
        let known = |_: &Destination| Some([5, 5]);
        let received = Customer::of(&later, 64, |_, _| false, unknown, known).unwrap();
        assert_eq!(received.queue, Queue::Outside);
        assert_eq!(received.with_fragment().queue, Queue::Fragments);
        let of_known = Customer::of(&later, 64, |_, _| false, |_| Some(500), |_| None).unwrap();
        assert_eq!(of_known, first, "a datagram whose first fragment is known");
        let sent = Customer::of(&later, 64, |_, _| true, unknown, known).unwrap();
        assert_eq!(sent.queue, Queue::Inside);
        assert_eq!(sent.with_fragment(), sent);
    }

    #[test]
    fn a_receiver_that_a_mechanism_knows_is_one_at_all_its_ports() {
        let inside = v6("2001:db8:1:2::7");
        let known = |to: &Destination| {
            assert_eq!(to.address, v4("203.0.113.9"));
            to.port.map(|_| Receiver::V6(inside).words(64))
        };
        let of = |packet| Customer::of(&packet, 64, |_, _| false, unknown, known).unwrap();
        let one = of(packet(0, 17, &udp(1, 500)));
        assert_eq!(one, of(packet(0, 6, &udp(2, 501))));
        assert_eq!(one.queue, Queue::Outside);
        assert_eq!(one.words, Receiver::V6(v6("2001:db8:1:2::8")).words(64));
        assert_ne!(one.words, Receiver::V6(v6("2001:db8:1:2::8")).words(128));
        let later = of(packet(7, 17, &[]));
        assert_eq!(later, outside(&packet(7, 17, &[])));
    }

    #[test]
    fn a_packet_that_ends_early_has_no_port() {
        assert_eq!(
            outside(&packet(0, 17, &[0, 1])),
            outside(&packet(0, 50, &[]))
        );
        assert_eq!(
            Customer::of(&Bytes(vec![0x45; 8]), 64, |_, _| true, unknown, |_| None),
            Err(Truncated)
        );
    }

    #[test]
    fn a_network_has_as_many_bits_as_are_asked_for() {
        let address = v6("2001:db8:ffff:ffff:ffff:ffff:ffff:ffff");
        let high = 0x2001_0db8_ffff_ffff;
        for (bits, words) in [
            (32, [0x2001_0db8_0000_0000, 0]),
            (56, [high & !0xff, 0]),
            (64, [high, 0]),
            (65, [high, 1 << 63]),
            (128, [high, u64::MAX]),
        ] {
            assert_eq!(network(address, bits), words, "{bits}");
        }
    }

    #[test]
    fn an_ipv6_network_is_one_customer() {
        let between = |source: [u8; 16], destination: [u8; 16]| {
            let mut bytes = vec![0x60, 0, 0, 0, 0, 0, 59, 64];
            bytes.extend(source);
            bytes.extend(destination);
            Bytes(bytes)
        };
        let of = |one, other, sends| {
            Customer::of(&between(one, other), 64, |_, _| sends, unknown, |_| None)
        };
        let (mut one, mut other) = ([1; 16], [2; 16]);
        let sent = of(one, other, true).unwrap();
        one[15] = 9;
        assert_eq!(of(one, other, true), Ok(sent));
        one[7] = 9;
        assert_ne!(of(one, other, true), Ok(sent));
        let received = of(one, other, false).unwrap();
        other[8] = 9;
        assert_eq!(of(one, other, false), Ok(received));
        assert_eq!(
            (sent.queue, received.queue),
            (Queue::Inside, Queue::Outside)
        );
    }

    proptest! {
        #[test]
        fn any_bytes_are_safe(bytes: Vec<u8>, bits in 32..=128_u8, sends: bool) {
            let _customer = Customer::of(&Bytes(bytes), bits, |_, _| sends, unknown, |_| None);
        }
    }
}

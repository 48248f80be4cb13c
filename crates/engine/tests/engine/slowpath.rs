//! The parts that the engine adds to the core: fragmentation, waiting packets, ICMP errors. etherparse makes and
//! reads the packets.

use chacha20::ChaCha8Rng;
use chacha20::rand_core::SeedableRng;

use crate::common::{HOST_V4, OTHER_V4, OWN_V4, OWN_V6, policy, ruleset, v6};
use etherparse::{
    Icmpv4Slice, Icmpv6Slice, IpFragOffset, IpNumber, Ipv4HeaderSlice, Ipv6FragmentHeader,
    Ipv6Header, PacketBuilder,
};
use isthmus_core::reason::{Counter, Kind};
use isthmus_engine::buffer::{Buffer, HEADROOM};
use isthmus_engine::counters::{Counters, Owner};
use isthmus_engine::host::UserHost;
use isthmus_engine::memory::Region;
use isthmus_engine::ruleset::Ruleset;
use isthmus_engine::slowpath::{Output, SlowPath};
use proptest::prelude::*;

const SECOND: u64 = 1_000_000_000;

struct Engine {
    ruleset: Ruleset,
    state: Region,
    random: ChaCha8Rng,
    counters: Counters,
    slowpath: SlowPath,
}

#[derive(Default)]
struct Sent(Vec<Vec<u8>>);

impl Output for Sent {
    fn packet(&mut self, packet: &mut Buffer<'_>) {
        self.0.push(packet.packet().to_vec());
    }

    fn parts(&mut self, head: &[u8], tail: &[u8]) {
        self.0.push([head, tail].concat());
    }
}

impl Engine {
    fn new(ruleset: Ruleset) -> Self {
        Self {
            ruleset,
            state: Region::anonymous(0).unwrap(),
            random: ChaCha8Rng::seed_from_u64(1),
            counters: Counters::default(),
            slowpath: SlowPath::default(),
        }
    }

    fn at(&mut self, now: u64, packet: &[u8]) -> Vec<Vec<u8>> {
        let mut storage = [&[0xaa; HEADROOM][..], packet].concat();
        let mut sent = Sent::default();
        let mut host = UserHost {
            ruleset: &self.ruleset,
            state: &self.state,
            now,
            random: &mut self.random,
            counters: &self.counters,
            owner: Owner::Gateway,
        };
        let mut buffer = Buffer::new(&mut storage, HEADROOM);
        self.slowpath.handle(&mut buffer, &mut host, &mut sent);
        sent.0
    }

    fn count(&self, counter: Counter) -> u64 {
        self.counters.total().get(counter)
    }
}

fn engine() -> Engine {
    Engine::new(ruleset(policy(), 1000))
}

fn udp_v4(length: usize, ttl: u8) -> Vec<u8> {
    let mut packet = Vec::new();
    PacketBuilder::ipv4(HOST_V4, OTHER_V4, ttl)
        .udp(4000, 53)
        .write(&mut packet, &vec![5; length])
        .unwrap();
    packet
}

fn udp_v6(length: usize, hop_limit: u8) -> Vec<u8> {
    let mut packet = Vec::new();
    PacketBuilder::ipv6(v6(OTHER_V4), v6(HOST_V4), hop_limit)
        .udp(4000, 53)
        .write(&mut packet, &vec![5; length])
        .unwrap();
    packet
}

fn clear_dont_fragment(packet: &mut [u8]) {
    let mut header = Ipv4HeaderSlice::from_slice(packet).unwrap().to_header();
    header.dont_fragment = false;
    header.identification = 0x77;
    header.header_checksum = header.calc_header_checksum();
    packet[..20].copy_from_slice(&header.to_bytes());
}

#[test]
fn rfc7915_4_1_a_packet_without_df_is_cut_to_the_lowest_mtu() {
    let mut packet = udp_v4(1400, 64);
    clear_dont_fragment(&mut packet);
    let mut engine = engine();
    let sent = engine.at(0, &packet);
    assert_eq!(engine.count(Counter::Split), 1);
    let mut payload = Vec::new();
    for piece in &sent {
        assert!(piece.len() <= 1280);
        let (header, rest) = Ipv6Header::from_slice(piece).unwrap();
        assert_eq!(usize::from(header.payload_length), rest.len());
        let (fragment, rest) = Ipv6FragmentHeader::from_slice(rest).unwrap();
        assert_eq!(fragment.identification, 0x77);
        let offset = usize::from(fragment.fragment_offset.byte_offset());
        assert_eq!(offset, payload.len());
        payload.extend_from_slice(rest);
        assert_eq!(fragment.more_fragments, payload.len() < 1408);
    }
    let udp = etherparse::UdpSlice::from_slice(&payload).unwrap();
    assert_eq!(udp.payload(), [5; 1400]);
    let checksum = udp
        .to_header()
        .calc_checksum_ipv6_raw(v6(HOST_V4), v6(OTHER_V4), udp.payload());
    assert_eq!(udp.checksum(), checksum.unwrap());
}

#[test]
fn rfc7915_4_1_a_packet_with_df_that_does_not_fit_is_answered() {
    let mut policy = policy();
    policy.ipv6_mtu = 1400;
    let mut engine = Engine::new(ruleset(policy, 1000));
    let packet = udp_v4(1400, 64);
    let sent = engine.at(0, &packet);
    assert_eq!(sent.len(), 1);
    let header = Ipv4HeaderSlice::from_slice(&sent[0]).unwrap();
    assert_eq!(header.source_addr(), OWN_V4);
    assert_eq!(header.destination(), HOST_V4);
    let icmp = Icmpv4Slice::from_slice(&sent[0][20..]).unwrap();
    let needed =
        etherparse::icmpv4::DestUnreachableHeader::FragmentationNeeded { next_hop_mtu: 1380 };
    assert_eq!(
        icmp.icmp_type(),
        etherparse::Icmpv4Type::DestinationUnreachable(needed)
    );
    assert_eq!(icmp.payload(), &packet[..548]);
    assert_eq!(engine.count(Counter::TooBig), 1);
    assert_eq!(engine.count(Counter::IcmpErrorSent), 1);
}

#[test]
fn time_exceeded_is_sent_as_fast_as_the_limit_allows() {
    let mut engine = Engine::new(ruleset(policy(), 5));
    let mut answers = Vec::new();
    for _ in 0..20 {
        answers.extend(engine.at(SECOND, &udp_v6(30, 1)));
    }
    assert_eq!(answers.len(), 5);
    let (header, rest) = Ipv6Header::from_slice(&answers[0]).unwrap();
    assert_eq!(header.source_addr(), OWN_V6);
    assert_eq!(header.destination, v6(OTHER_V4));
    let icmp = Icmpv6Slice::from_slice(rest).unwrap();
    assert_eq!((icmp.type_u8(), icmp.code_u8()), (3, 0));
    assert_eq!(engine.count(Counter::HopLimitExceeded), 20);
    assert_eq!(engine.count(Counter::IcmpErrorSent), 5);
    assert_eq!(engine.count(Counter::IcmpErrorSuppressed), 15);
}

/// Returns an ICMPv6 echo request of `length` bytes in fragments with `size` bytes of payload.
fn echo_v6_fragments(length: usize, size: usize) -> Vec<Vec<u8>> {
    let mut whole = Vec::new();
    let body: Vec<u8> = (0..length).map(|i| (i * 7) as u8).collect();
    PacketBuilder::ipv6(v6(OTHER_V4), v6(HOST_V4), 64)
        .icmpv6_echo_request(9, 1)
        .write(&mut whole, &body)
        .unwrap();
    let mut fragments = Vec::new();
    let parts: Vec<&[u8]> = whole[40..].chunks(size).collect();
    for (index, part) in parts.iter().enumerate() {
        let mut header = Ipv6Header::from_slice(&whole).unwrap().0;
        header.next_header = IpNumber::IPV6_FRAGMENTATION_HEADER;
        header.set_payload_length(part.len() + 8).unwrap();
        let offset = IpFragOffset::try_new((index * size / 8) as u16).unwrap();
        let more = index + 1 < parts.len();
        let mut packet = Vec::new();
        header.write(&mut packet).unwrap();
        Ipv6FragmentHeader::new(IpNumber::IPV6_ICMP, offset, more, 0xabcd_1234)
            .write(&mut packet)
            .unwrap();
        packet.extend_from_slice(part);
        fragments.push(packet);
    }
    fragments
}

#[test]
fn icmp_fragments_are_translated_as_a_whole() {
    let fragments = echo_v6_fragments(4000, 1232);
    assert_eq!(fragments.len(), 4);
    for order in [[0, 1, 2, 3], [3, 1, 0, 2], [2, 3, 1, 0]] {
        let mut engine = engine();
        let mut sent = Vec::new();
        for index in order {
            assert!(sent.is_empty());
            sent = engine.at(SECOND, &fragments[index]);
        }
        let mut message = Vec::new();
        for piece in &sent {
            assert!(piece.len() <= 1500);
            let header = Ipv4HeaderSlice::from_slice(piece).unwrap();
            assert_eq!(usize::from(header.total_len()), piece.len());
            assert_eq!(header.identification(), 0x1234);
            assert_eq!(header.protocol(), IpNumber::ICMP);
            assert_eq!(
                header.header_checksum(),
                header.to_header().calc_header_checksum()
            );
            let offset = usize::from(header.fragments_offset().byte_offset());
            assert_eq!(offset, message.len());
            message.extend_from_slice(&piece[20..]);
            assert_eq!(header.more_fragments(), message.len() < 4008);
        }
        assert_eq!(message.len(), 4008);
        let icmp = Icmpv4Slice::from_slice(&message).unwrap();
        let checksum = icmp.icmp_type().calc_checksum(icmp.payload());
        assert_eq!(icmp.checksum(), checksum);
        assert_eq!(icmp.type_u8(), 8);
        assert_eq!(engine.count(Counter::FragmentHeld), 3);
    }
}

#[test]
fn rfc5722_overlapping_fragments_drop_the_datagram() {
    let fragments = echo_v6_fragments(4000, 1232);
    let mut overlapping = fragments[1].clone();
    overlapping[43] -= 8;
    let mut engine = engine();
    for packet in [
        &fragments[0],
        &fragments[2],
        &overlapping,
        &fragments[1],
        &fragments[3],
    ] {
        assert!(engine.at(SECOND, packet).is_empty());
    }
    // Two waiting fragments, the one that overlapped, and two later ones.
    assert_eq!(engine.count(Counter::BadFragment), 5);
}

#[test]
fn a_duplicate_fragment_does_no_harm() {
    let fragments = echo_v6_fragments(2000, 1232);
    let mut engine = engine();
    assert!(engine.at(SECOND, &fragments[0]).is_empty());
    assert!(engine.at(SECOND, &fragments[0]).is_empty());
    assert!(!engine.at(SECOND, &fragments[1]).is_empty());
    assert_eq!(engine.count(Counter::BadFragment), 1);
}

#[test]
fn rfc6146_3_4_fragments_wait_two_seconds() {
    let fragments = echo_v6_fragments(2000, 1232);
    let mut patient = engine();
    assert!(patient.at(SECOND, &fragments[1]).is_empty());
    assert!(!patient.at(3 * SECOND - 1, &fragments[0]).is_empty());

    let mut impatient = engine();
    assert!(impatient.at(SECOND, &fragments[1]).is_empty());
    assert!(
        impatient
            .at(3 * SECOND + SECOND / 100, &fragments[0])
            .is_empty()
    );
    assert_eq!(impatient.count(Counter::FragmentTimeout), 1);
    // The first fragment now waits alone.
    assert_eq!(impatient.count(Counter::FragmentHeld), 2);
}

/// A packet of an interesting kind, with some bytes changed.
fn damaged() -> impl Strategy<Value = Vec<u8>> {
    let mut fragment = udp_v4(64, 64);
    clear_dont_fragment(&mut fragment);
    fragment[6] = 0x20;
    let kinds = [
        vec![udp_v4(40, 64), udp_v4(1472, 64), udp_v6(40, 64), fragment],
        echo_v6_fragments(200, 96),
    ]
    .concat();
    let changes = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6);
    (prop::sample::select(kinds), changes).prop_map(|(mut packet, changes)| {
        for (place, byte) in changes {
            // Change headers only: the payload has no effect.
            let place = place.index(packet.len().min(80));
            packet[place] = byte;
        }
        packet
    })
}

proptest! {
    /// For any input, every output packet has the length and the header checksum that its header says, and
    /// every packet is accounted for.
    #[test]
    fn damaged_packets_do_no_harm(packets in prop::collection::vec(damaged(), 1..40)) {
        let mut engine = engine();
        for (second, packet) in packets.iter().enumerate() {
            for sent in engine.at(second as u64 * SECOND / 4, packet) {
                match sent[0] >> 4 {
                    4 => {
                        let header = Ipv4HeaderSlice::from_slice(&sent).unwrap();
                        prop_assert_eq!(usize::from(header.total_len()), sent.len());
                        let checksum = header.to_header().calc_header_checksum();
                        prop_assert_eq!(header.header_checksum(), checksum);
                    }
                    6 => {
                        let (header, rest) = Ipv6Header::from_slice(&sent).unwrap();
                        prop_assert_eq!(usize::from(header.payload_length), rest.len());
                    }
                    other => prop_assert!(false, "version {other}"),
                }
            }
        }
        let total = engine.counters.total();
        let ends = |(counter, count): (Counter, u64)| match counter.kind() {
            Kind::Forwarded | Kind::Passed | Kind::Dropped => count,
            Kind::Event => 0,
        };
        let accounted: u64 = total.iter().map(ends).sum();
        prop_assert!(accounted >= packets.len() as u64, "{accounted} of {}", packets.len());
    }
}

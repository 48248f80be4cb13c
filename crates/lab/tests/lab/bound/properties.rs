//! Properties of every path.

use isthmus_lab::figures::bound::{
    Cutting, Family, Form, Link, MECHANISMS, Mechanism, Mtu, Path, Payload, Rate, Stretch,
    TcpOptions, Transport, TunnelMtu, ethernet, packet::Piece,
};
use proptest::prelude::*;

use super::{TCP, TIMESTAMPS};

fn form() -> impl Strategy<Value = Form> {
    prop_oneof![
        Just(Form::Plain(Family::V4)),
        Just(Form::Plain(Family::V6)),
        Just(Form::SixInFour(TunnelMtu::OfLink)),
        Just(Form::SixInFour(TunnelMtu::Least)),
        Just(Form::FourInSix(Cutting::Inner)),
        Just(Form::FourInSix(Cutting::Outer)),
    ]
}

fn rate() -> impl Strategy<Value = Rate> {
    prop_oneof![
        Just(10_000_000),
        Just(1_000_000_000),
        1_000_u64..1_000_000_000_000
    ]
    .prop_map(|rate| Rate::new(rate).unwrap())
}

fn mtu() -> impl Strategy<Value = Mtu> {
    prop_oneof![Just(1280), Just(1500), Just(9000), 1280_u32..=65_535]
        .prop_map(|mtu| Mtu::new(mtu).unwrap())
}

fn payload() -> impl Strategy<Value = Payload> {
    prop_oneof![1_u32..100, 1_u32..2_000, 1_u32..=65_507]
        .prop_map(|size| Payload::new(size).unwrap())
}

fn transport() -> impl Strategy<Value = Transport> {
    prop_oneof![Just(Transport::Udp), Just(TCP), Just(TIMESTAMPS)]
}

/// Stretches of one link each.
type Stretches = Vec<(Form, Mtu, Rate)>;

fn stretches() -> impl Strategy<Value = Stretches> {
    prop::collection::vec((form(), mtu(), rate()), 1..6)
}

/// Returns a path whose last stretch has this many links in addition.
fn build(stretches: &Stretches, more: usize) -> Path {
    let last = stretches.len() - 1;
    let mut parts = stretches
        .iter()
        .enumerate()
        .map(|(place, &(form, mtu, rate))| {
            let links = if place == last { more } else { 0 };
            (0..links).fold(Stretch::new(form, mtu, Link::new(rate)), |stretch, _| {
                stretch.link(Link::new(rate))
            })
        });
    let first = parts.next().unwrap();
    parts.fold(Path::new(first), Path::then)
}

/// Returns the bytes that the transport hands to IP for a message.
fn transport_bytes(transport: Transport, payload: Payload, packets: usize) -> u32 {
    let packets = packets as u32;
    match transport {
        Transport::Udp => payload.bytes() + 8,
        Transport::Tcp(TcpOptions::None) => payload.bytes() + 20 * packets,
        Transport::Tcp(TcpOptions::Timestamps) => payload.bytes() + 32 * packets,
    }
}

proptest! {
    #[test]
    fn throughput_stays_below_the_slowest_link(
        stretches in stretches(), transport in transport(), payload in payload(),
    ) {
        let path = build(&stretches, 0);
        let slowest = path.links().map(|link| link.rate.bits_per_second()).min().unwrap() as f64;
        prop_assert!(path.streaming(transport, payload) < slowest);
        prop_assert!(path.ping_pong(transport, payload) < slowest);
    }

    #[test]
    fn every_packet_takes_a_minimal_frame_and_fits_its_link(
        stretches in stretches(), transport in transport(), payload in payload(),
    ) {
        let path = build(&stretches, 0);
        let links = path.carry(&transport.packets(payload, &path));
        for (on_link, (form, mtu, _)) in links.iter().zip(&stretches) {
            prop_assert!(on_link.wire_bytes() >= 84 * on_link.packets.len() as u32);
            let fragments = on_link.packets.iter().map(|sent| sent.packet);
            for packet in fragments {
                prop_assert!(ethernet::wire_bytes(packet.length()) >= 84);
                prop_assert_eq!(ethernet::wire_bytes(packet.length()) - 12, ethernet::serialised_bytes(packet.length()));
                prop_assert!(packet.length() <= mtu.bytes(), "{form:?} {packet:?}");
            }
        }
    }

    /// IP carries the transport's bytes, however often they were fragmented and translated. A tunnel carries whole
    /// packets inside.
    #[test]
    fn pieces_carry_all_bytes(
        stretches in stretches(), transport in transport(), payload in payload(),
    ) {
        let path = build(&stretches, 0);
        let packets = transport.packets(payload, &path);
        let all = transport_bytes(transport, payload, packets.len());
        for (on_link, (form, ..)) in path.carry(&packets).iter().zip(&stretches) {
            let carried: u32 = on_link.packets.iter().map(|sent| sent.packet.payload()).sum();
            match form {
                Form::Plain(_) => prop_assert_eq!(carried, all),
                Form::SixInFour(_) => prop_assert!(carried >= all + 40),
                Form::FourInSix(_) => prop_assert!(carried >= all + 20),
            }
        }
    }

    /// Only the last fragment of a packet may end anywhere.
    #[test]
    fn fragments_end_at_multiples_of_eight(payload in 1_u32..=65_507, mtu in mtu(), family in prop_oneof![Just(Family::V4), Just(Family::V6)]) {
        let packet = isthmus_lab::figures::bound::Packet::whole(family, payload);
        let pieces = packet.cut(mtu.bytes());
        if pieces.len() == 1 {
            prop_assert_eq!(pieces[0].piece(), Piece::Whole);
        }
        for piece in &pieces[..pieces.len() - 1] {
            prop_assert_eq!(piece.payload() % 8, 0);
            prop_assert_eq!(piece.piece(), Piece::Fragment);
            // No larger fragment would have fitted.
            prop_assert!(piece.length() + 8 > mtu.bytes());
        }
    }

    #[test]
    fn more_links_take_no_less_time(
        stretches in stretches(), more in 0_usize..4, transport in transport(), payload in payload(),
    ) {
        let shorter = build(&stretches, more);
        let longer = build(&stretches, more + 1);
        prop_assert!(longer.delay(transport, payload) > shorter.delay(transport, payload));
        prop_assert!(longer.streaming(transport, payload) <= shorter.streaming(transport, payload));
    }

    /// A message cannot arrive before its own bits.
    #[test]
    fn delay_is_at_least_the_payload_on_each_link(
        stretches in stretches(), transport in transport(), payload in payload(),
    ) {
        let path = build(&stretches, 0);
        let slowest = path.links().map(|link| link.rate.seconds(payload.bytes())).fold(0.0, f64::max);
        prop_assert!(path.delay(transport, payload) > slowest);
    }

    #[test]
    fn a_mechanism_never_beats_its_host_s_native_protocol(
        rate in rate(), mtu in mtu(), transport in transport(), payload in payload(),
    ) {
        for mechanism in MECHANISMS {
            let path = mechanism.path(rate, mtu);
            let native = match path.source() {
                Family::V4 => "native-ipv4",
                Family::V6 => "native-ipv6",
            };
            let native = Mechanism::named(native).unwrap().path(rate, mtu);
            let most = native.streaming(transport, payload);
            prop_assert!(path.streaming(transport, payload) <= most, "{}", mechanism.name);
        }
    }

    #[test]
    fn overhead_never_raises_the_frame_rate(rate in rate(), frame in 64_u32..9216, overhead in 0_u32..100) {
        prop_assert!(ethernet::frames_per_second(rate, frame, overhead + 1) <= ethernet::frames_per_second(rate, frame, overhead));
    }
}

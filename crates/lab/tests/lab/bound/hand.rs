//! Delays calculated by hand: 0.8 µs per byte at 10 Mb/s, 9.6 µs between frames.

use std::num::NonZeroU64;

use isthmus_lab::figures::bound::{
    Capacity, Cutting, Family, Form, Link, Mtu, Path, Rate, Stretch, TcpOptions, Transport,
};

use super::{TCP, TIMESTAMPS, bytes, in_megabits, path};

/// Returns a delay in tenths of a microsecond.
fn tenths(path: &Path, transport: Transport, payload: u32) -> i64 {
    (path.delay(transport, bytes(payload)) * 1e7).round() as i64
}

/// One segment of 1040 bytes, so 1066 bytes and 852.8 µs per link.
#[test]
fn a_segment_is_stored_and_forwarded() {
    assert_eq!(tenths(&path("direct-ipv4"), TCP, 1000), 8_528);
    assert_eq!(tenths(&path("native-ipv4"), TCP, 1000), 17_056);
}

/// Packets of 1500 and 48 bytes. The first ends on the first link at 1220.8 µs and on the second at
/// 2441.6; the other follows after the gap, in 59.2.
#[test]
fn fragments_overtake_the_end_of_the_message() {
    let native = path("native-ipv4");
    assert_eq!(tenths(&path("direct-ipv4"), Transport::Udp, 1472), 12_208);
    assert_eq!(tenths(&native, Transport::Udp, 1472), 24_416);
    assert_eq!(tenths(&native, Transport::Udp, 1500), 25_104);
}

/// The same packets with a second link of 1 Gb/s: the first is through (12.208 µs) long before the other one
/// is there, 1289.6 µs after the start; that takes 0.592 more.
#[test]
fn a_fast_link_waits_for_a_slow_one() {
    let link = |rate: &str| Link::new(rate.parse().unwrap());
    let stretch = Stretch::new(Form::Plain(Family::V4), Mtu::ETHERNET, link("10M"));
    let path = Path::new(stretch.link(link("1G")));
    assert_eq!(tenths(&path, Transport::Udp, 1500), 12_902);
}

/// From IPv4, 1500 and 48 bytes end at 1220.8 and 1289.6 µs. In IPv6 these are 1280, 296 and 76 bytes: the
/// first begins when all of the 1500 bytes are there and takes 1044.8, the others 257.6 and 81.6, with gaps.
#[test]
fn a_translator_cuts_when_it_has_all() {
    assert_eq!(
        tenths(&path("nat64-4to6"), Transport::Udp, 1500),
        12_208 + 10_448 + 96 + 2_576 + 96 + 816
    );
}

/// A packet of 1500 bytes in outer fragments of 1496 and 100 bytes (1217.6 and 100.8 µs). The second router of the
/// core forwards them one by one, and the end of the tunnel reassembles them.
#[test]
fn a_tunnel_end_waits_for_all_pieces() {
    let until_core = 12_208;
    let second_link_begins = until_core + 12_176;
    let reassembled = second_link_begins + 12_176 + 96 + 1_008;
    assert_eq!(
        tenths(&path("4in6-outer"), Transport::Udp, 1472),
        reassembled + 12_208
    );
}

/// Each 20 bytes cost 16 µs per link: IPv6 32 µs over IPv4, and translation half of that; a tunnel on one of the
/// links 16 µs less than on both.
#[test]
fn mechanisms_are_steps_of_sixteen_microseconds() {
    let over_ipv4 = |name| (tenths(&path(name), TCP, 1000) - 17_056) / 10;
    assert_eq!(over_ipv4("nat64-6to4"), 16);
    assert_eq!(over_ipv4("nat64-4to6"), 16);
    assert_eq!(over_ipv4("native-ipv6"), 32);
    assert_eq!(over_ipv4("isatap"), 48);
    assert_eq!(over_ipv4("6to4"), 64);
}

/// Half of a round trip through NAT64 is shorter than IPv6's as long as nothing is fragmented. Fragments of IPv4 are
/// fragmented again, and reverse that.
#[test]
fn cut_fragments_make_nat64_slower_than_ipv6() {
    let udp = |name, payload| tenths(&path(name), Transport::Udp, payload);
    for payload in [50, 500, 1250, 1500, 4000, 5000, 10_000] {
        let there_and_back = udp("nat64-6to4", payload) + udp("nat64-4to6", payload);
        let than_ipv6 = there_and_back > 2 * udp("native-ipv6", payload);
        let than_6to4 = there_and_back > 2 * udp("6to4", payload);
        assert_eq!(than_ipv6, payload >= 1500, "{payload}");
        assert_eq!(than_6to4, payload >= 5000, "{payload}");
    }
}

/// Twelve bytes more in each segment: 10,000 bytes of IPv6 need an eighth segment.
#[test]
fn timestamps_cost() {
    for (name, payload, megabits) in [
        ("direct-ipv4", 1000, "9.1743"),
        ("direct-ipv6", 1000, "9.0090"),
        ("direct-ipv4", 10_000, "9.4073"),
        ("direct-ipv6", 10_000, "9.1912"),
    ] {
        let found = path(name).streaming(TIMESTAMPS, bytes(payload));
        assert_eq!(in_megabits(found), megabits, "{name}, {payload} bytes");
    }
    let path = path("direct-ipv6");
    assert_eq!(TIMESTAMPS.packets(bytes(10_000), &path).len(), 8);
}

/// The largest datagram in one packet, and one byte more.
#[test]
fn the_largest_datagram_in_one_packet() {
    for (name, most) in [
        ("native-ipv4", 1472),
        ("native-ipv6", 1452),
        ("6to4", 1432),
        ("6to4-1280", 1232),
        ("4in6-inner", 1432),
    ] {
        let path = path(name);
        let packets = |payload| Transport::Udp.packets(bytes(payload), &path).len();
        assert_eq!((packets(most), packets(most + 1)), (1, 2), "{name}");
    }
    for (name, payload, megabits) in [
        ("native-ipv4", 1472, "9.5709"),
        ("native-ipv6", 1452, "9.4408"),
    ] {
        let found = path(name).streaming(Transport::Udp, bytes(payload));
        assert_eq!(in_megabits(found), megabits, "{name}");
    }
}

/// From IPv4 to IPv6 a datagram between 1453 and 1472 bytes fits the host's link and not the next. Hosts set DF on
/// unfragmented packets, so they learn the path's MTU of 1480 and cut to it: pieces of 1456 bytes (RFC 7915 section
/// 4.1 on DF).
#[test]
fn a_translated_path_has_a_smaller_mtu() {
    let path = path("nat64-4to6");
    let lengths = |payload| {
        let packets = Transport::Udp.packets(bytes(payload), &path);
        packets
            .iter()
            .map(|packet| packet.length())
            .collect::<Vec<_>>()
    };
    assert_eq!(lengths(1452), [1480]);
    assert_eq!(lengths(1453), [1476, 25]);
    assert_eq!(lengths(1472), [1476, 44]);
    assert_eq!(lengths(1473), [1500, 21]);
}

/// Two full segments and an acknowledgement with these bytes on the wire.
#[test]
fn tcp_both_ways_pays_for_acknowledgements() {
    for (name, options, segment, acknowledgement) in [
        ("direct-ipv4", TcpOptions::None, 1460.0, 84.0),
        ("direct-ipv4", TcpOptions::Timestamps, 1448.0, 90.0),
        ("direct-ipv6", TcpOptions::None, 1440.0, 98.0),
        ("direct-ipv6", TcpOptions::Timestamps, 1428.0, 110.0),
    ] {
        let expected = 10e6 * 2.0 * segment / (2.0 * 1538.0 + acknowledgement);
        let found = path(name).both_ways(options);
        assert!(
            (found - expected).abs() < 1.0,
            "{name} {options:?}: {found}"
        );
    }
}

/// The narrowest link limits, then the slowest, then the slowest node: 1000 packets per second are 500 messages of
/// two packets.
#[test]
fn the_narrowest_place_decides() {
    let link = |rate: &str| Link::new(rate.parse().unwrap());
    let plain = |link| Stretch::new(Form::Plain(Family::V4), Mtu::ETHERNET, link);
    let streaming = |path: Path| in_megabits(path.streaming(Transport::Udp, bytes(1500)));
    let fast = Path::new(plain(link("100M")));
    assert_eq!(streaming(fast.clone()), "92.3645");
    assert_eq!(streaming(fast.clone().then(plain(link("10M")))), "9.2365");
    let slow_node = Link {
        rate: Rate::ETHERNET,
        sender: Capacity::PacketsPerSecond(NonZeroU64::new(1000).unwrap()),
    };
    assert_eq!(streaming(fast.then(plain(slow_node))), "6.0000");
}

/// RFC 4213 section 3.2: an IPv6 link of 1280 bytes over an IPv4 link of 1280 bytes leaves 20 bytes for the outer
/// fragmentation. 1280 bytes are sent as 1276 (8 × 157 and a header) and 44.
#[test]
fn six_in_four_never_goes_below_1280() {
    let form = Form::SixInFour(isthmus_lab::figures::bound::TunnelMtu::OfLink);
    let path = Path::new(Stretch::new(form, Mtu::LEAST, Link::new(Rate::ETHERNET)));
    let packets = Transport::Udp.packets(bytes(1232), &path);
    assert_eq!(packets.len(), 1);
    let links = path.carry(&packets);
    let lengths = links[0].packets.iter().map(|sent| sent.packet.length());
    assert_eq!(lengths.collect::<Vec<_>>(), [1276, 44]);
}

/// A translator that knows that 1500 bytes always fit fragments only longer fragments: 1528 become 1496 (8 × 181 and
/// 48) and 80, and 76 stay.
#[test]
fn the_lowest_ipv6_mtu_can_be_raised() {
    let plain = |family| {
        Stretch::new(
            Form::Plain(family),
            Mtu::ETHERNET,
            Link::new(Rate::ETHERNET),
        )
    };
    let path = Path::new(plain(Family::V4))
        .then(plain(Family::V6))
        .lowest_ipv6_mtu(Mtu::ETHERNET);
    let links = path.carry(&Transport::Udp.packets(bytes(1500), &path));
    let lengths = links[1].packets.iter().map(|sent| sent.packet.length());
    assert_eq!(lengths.collect::<Vec<_>>(), [1496, 80, 76]);
}

/// A host that is its own tunnel's end has no narrower link before it.
#[test]
fn outer_cutting_sets_no_limit_inside() {
    let form = Form::FourInSix(Cutting::Outer);
    let path = Path::new(Stretch::new(form, Mtu::ETHERNET, Link::new(Rate::ETHERNET)));
    let packets = Transport::Udp.packets(bytes(10_000), &path);
    assert_eq!(packets.len(), 1);
    // 10,028 bytes in pieces of 1448.
    assert_eq!(path.carry(&packets)[0].packets.len(), 7);
}

/// 1500 bytes over TCP with timestamps are IPv6 packets of 1480 and 164 bytes, as the tunnel has an MTU of 1480: 1526
/// and 210 bytes of Ethernet on the tunnel's link, 1506 and 190 on the plain one. On the second link the second packet
/// follows the first after a gap of 12.
#[test]
fn isatap_has_another_way_back() {
    let delay = |name| tenths(&path(name), TIMESTAMPS, 1500);
    assert_eq!(delay("isatap"), (1526 + 1506 + 12 + 190) * 8);
    assert_eq!(delay("isatap-back"), (1506 + 1526 + 12 + 210) * 8);
    let widest = |name: &str| path(name).streaming(TIMESTAMPS, bytes(1500));
    assert_eq!(widest("isatap"), widest("isatap-back"));
}

/// An answer may carry the acknowledgement, so that the bound of one after the other is the delay alone.
#[test]
fn a_ping_pong_does_not_wait_for_acknowledgements() {
    for size in [1448, 1449, 2896, 4000] {
        let path = path("native-ipv4");
        let rate = path.ping_pong(TIMESTAMPS, bytes(size));
        let delay = path.delay(TIMESTAMPS, bytes(size));
        assert!(
            (rate * delay / f64::from(8 * size) - 1.0).abs() < 1e-12,
            "{size}"
        );
    }
}

//! Every value of the tables.

use isthmus_lab::bound::{Transport, ethernet};

use crate::rows::{Value, values};
use crate::{TCP, bytes, in_megabits, megabits, path, path_at};

const PAYLOADS: usize = 18;

#[test]
fn udp_takes_these_wire_bytes_and_packets() {
    let vectors = values(include_str!("udp-wire-bytes.txt"));
    assert_eq!(vectors.len(), PAYLOADS * 10);
    for Value {
        size,
        heading,
        text,
    } in vectors
    {
        let path = path(heading);
        let links = path.carry(&Transport::Udp.packets(bytes(size), &path));
        let widest = links.iter().max_by_key(|link| link.wire_bytes());
        let link = match heading {
            "nat64-6to4" => links.last(),
            _ => widest,
        };
        let link = link.unwrap();
        let found = format!("{}/{}", link.wire_bytes(), link.packets.len());
        assert_eq!(found, text, "{heading}, {size} bytes");
    }
}

#[test]
fn udp_reaches_this_throughput_at_every_rate() {
    let vectors = values(include_str!("udp-throughput.txt"));
    assert_eq!(vectors.len(), PAYLOADS * 10);
    for Value {
        size,
        heading,
        text,
    } in vectors
    {
        for rate in [10, 100, 1000] {
            let found = path_at(heading, rate).streaming(Transport::Udp, bytes(size));
            let at_ten = in_megabits(found * 10.0 / rate as f64);
            assert_eq!(at_ten, text, "{heading}, {size} bytes at {rate} Mb/s");
        }
    }
}

/// Streams and ping-pong differ by one gap per message; TCP and UDP can not be told apart by streams of
/// the one and ping-pong of the other below 1500 bytes, so both are looked at in both.
#[test]
fn one_link_reaches_this() {
    let vectors = values(include_str!("one-link.txt"));
    assert_eq!(vectors.len(), PAYLOADS * 4);
    for Value {
        size,
        heading,
        text,
    } in vectors
    {
        let (transport, path) = match heading {
            "udp-v4" => (Transport::Udp, path("direct-ipv4")),
            "udp-v6" => (Transport::Udp, path("direct-ipv6")),
            "tcp-v4" => (TCP, path("direct-ipv4")),
            "tcp-v6" => (TCP, path("direct-ipv6")),
            other => panic!("{other}"),
        };
        let found = format!(
            "{}/{}",
            in_megabits(path.streaming(transport, bytes(size))),
            in_megabits(path.ping_pong(transport, bytes(size)))
        );
        assert_eq!(found, text, "{heading}, {size} bytes");
    }
}

#[test]
fn testers_send_these_frame_rates() {
    let vectors = values(include_str!("frame-rates.txt"));
    assert_eq!(vectors.len(), 14 * 3);
    for Value {
        size,
        heading,
        text,
    } in vectors
    {
        let overhead = heading.parse().unwrap();
        let found = [10, 100, 1000, 10_000]
            .map(|rate| ethernet::frames_per_second(megabits(rate), size, overhead).to_string());
        assert_eq!(found.join("/"), text, "{size} bytes and {overhead}");
    }
}

//! Every value of the tables.

use isthmus_lab::figures::bound::{Transport, ethernet};

use super::rows::{Value, values};
use super::{TCP, bytes, in_megabits, megabits, path, path_at};

const PAYLOADS: usize = 18;

/// All `count` values of a table agree with the model for a size and a heading.
fn agree(table: &'static str, count: usize, model: impl Fn(u32, &str) -> String) {
    let values = values(table);
    assert_eq!(values.len(), count);
    for Value {
        size,
        heading,
        text,
    } in values
    {
        assert_eq!(model(size, heading), text, "{heading}, {size} bytes");
    }
}

#[test]
fn udp_takes_these_wire_bytes_and_packets() {
    let table = include_str!("udp-wire-bytes.txt");
    agree(table, PAYLOADS * 10, |size, heading| {
        let path = path(heading);
        let links = path.carry(&Transport::Udp.packets(bytes(size), &path));
        let widest = links.iter().max_by_key(|link| link.wire_bytes());
        let link = match heading {
            "nat64-6to4" => links.last(),
            _ => widest,
        };
        let link = link.unwrap();
        format!("{}/{}", link.wire_bytes(), link.packets.len())
    });
}

#[test]
fn udp_reaches_this_throughput_at_every_rate() {
    let table = include_str!("udp-throughput.txt");
    for rate in [10, 100, 1000] {
        println!("{rate} Mb/s");
        agree(table, PAYLOADS * 10, |size, heading| {
            let found = path_at(heading, rate).streaming(Transport::Udp, bytes(size));
            in_megabits(found * 10.0 / rate as f64)
        });
    }
}

/// Streams and ping-pong differ by one gap per message. Streams of one transport equal ping-pong of the other below
/// 1500 bytes, so all four are tested.
#[test]
fn one_link_reaches_this() {
    let table = include_str!("one-link.txt");
    agree(table, PAYLOADS * 4, |size, heading| {
        let (transport, path) = match heading {
            "udp-v4" => (Transport::Udp, path("direct-ipv4")),
            "udp-v6" => (Transport::Udp, path("direct-ipv6")),
            "tcp-v4" => (TCP, path("direct-ipv4")),
            "tcp-v6" => (TCP, path("direct-ipv6")),
            other => panic!("{other}"),
        };
        format!(
            "{}/{}",
            in_megabits(path.streaming(transport, bytes(size))),
            in_megabits(path.ping_pong(transport, bytes(size)))
        )
    });
}

#[test]
fn testers_send_these_frame_rates() {
    let table = include_str!("frame-rates.txt");
    agree(table, 14 * 3, |size, heading| {
        let overhead = heading.parse().unwrap();
        let found = [10, 100, 1000, 10_000]
            .map(|rate| ethernet::frames_per_second(megabits(rate), size, overhead).to_string());
        found.join("/")
    });
}

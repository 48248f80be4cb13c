//! Throughput over links with a line rate, against the bound.

use std::time::Duration;

use isthmus_lab::{
    sockets::{
        bulk::Bulk,
        pingpong::Protocol,
        streaming::{Offered, Stream},
    },
    topology::{HOST_INTERFACE, HOST6},
    wire::Ethernet,
};

use crate::{path, payload, rate, report, routed, strangers, transport, with};

#[test]
fn datagrams_fill_the_line() {
    for megabits in [10, 100] {
        with(&routed(Ethernet::new(rate(megabits))), |network| {
            for (name, pair) in strangers(network) {
                for bytes in [250, 1000, 1500, 10_000] {
                    let stream = Stream {
                        payload: payload(bytes),
                        offered: Offered::Line,
                        duration: Duration::from_millis(800),
                    };
                    let seen = stream.run(&pair).unwrap();
                    let bound = path(name, rate(megabits))
                        .streaming(transport(Protocol::Udp), payload(bytes));
                    let what = format!("{name} UDP {bytes} bytes at {megabits} Mb/s");
                    let ratio = report(&what, seen.goodput(), bound);
                    assert_eq!(
                        (seen.lost(), seen.duplicates, seen.corrupted),
                        (0, 0, 0),
                        "{what}"
                    );
                    assert!((0.95..1.005).contains(&ratio), "{what}: {ratio}");
                }
            }
        });
    }
}

#[test]
fn a_connection_fills_the_line() {
    for megabits in [10, 100] {
        with(&routed(Ethernet::new(rate(megabits))), |network| {
            for (name, pair) in strangers(network) {
                let bulk = Bulk {
                    write: payload(65_507),
                    warm_up: Duration::from_secs(1),
                    duration: Duration::from_secs(2),
                };
                let seen = bulk.run(&pair).unwrap();
                let bound =
                    path(name, rate(megabits)).streaming(transport(Protocol::Tcp), payload(65_507));
                let what = format!("{name} TCP at {megabits} Mb/s");
                let ratio = report(&what, seen.goodput(), bound);
                assert!((0.95..1.005).contains(&ratio), "{what}: {ratio}");
            }
        });
    }
}

/// What is offered beyond the line rate waits, and is dropped and counted when the queue is full.
#[test]
fn what_does_not_fit_is_dropped_and_counted() {
    let ethernet = Ethernet::new(rate(10)).queue(20.try_into().unwrap());
    with(&routed(ethernet), |network| {
        let (_, pair) = &strangers(network)[0];
        let tap = network.wires().unwrap().tap(HOST6, HOST_INTERFACE).unwrap();
        let before = tap.left();
        let stream = Stream {
            payload: payload(1000),
            offered: Offered::PerSecond(2345.0),
            duration: Duration::from_millis(800),
        };
        let seen = stream.run(pair).unwrap();
        let counts = tap.left().since(&before);
        assert_eq!(counts.frames, seen.sent);
        assert_eq!(counts.overflowed, seen.lost());
        // 1066 bytes each: 1172.6 of 2345 messages per second are carried; the queue has 20 more.
        let carried = 10e6 / (8.0 * 1066.0) * 0.8 + 20.0;
        let ratio = report("messages carried", seen.received as f64, carried);
        assert!((0.97..1.03).contains(&ratio), "{ratio}");
    });
}

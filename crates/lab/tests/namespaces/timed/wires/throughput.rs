//! Throughput over links with a line rate, against the bound.

use std::{fs, time::Duration};

use isthmus_lab::{
    network::{
        topology::{HOST_INTERFACE, HOST6, Network},
        wire::Ethernet,
    },
    traffic::sockets::{
        Protocol,
        bulk::Bulk,
        streaming::{Offered, Stream},
    },
};

use super::{
    Attempt, measure, path, payload, rate, report, routed, strangers, transport, with,
    without_cables,
};

/// A frame that is late by more than this leaves a gap behind it.
const LATE: Duration = Duration::from_micros(100);
/// How many times the bound hosts have to carry without cables so that they do not hold up those that have cables.
const SPARE: f64 = 2.0;

/// Does something, and says whether the cable of the sender kept time meanwhile.
fn watched<T>(network: &Network, task: impl FnOnce() -> T) -> (T, bool) {
    let tap = network.wires().unwrap().tap(HOST6, HOST_INTERFACE).unwrap();
    let before = tap.left();
    let done = task();
    let counts = tap.left().since(&before);
    (done, counts.unpunctual(LATE) < 0.01)
}

/// Good if a ratio is within 5 % below one. More than the bound is never right: it happens if the sockets' thread had
/// to wait when the first message came.
fn full(ratio: f64, punctual: bool) -> Attempt {
    match (0.95..1.005).contains(&ratio) {
        true => Attempt::Good,
        false if punctual => Attempt::Bad,
        false => Attempt::Void,
    }
}

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
                    let bound = path(name, rate(megabits))
                        .streaming(transport(Protocol::Udp), payload(bytes));
                    let what = format!("{name} UDP {bytes} bytes at {megabits} Mb/s");
                    measure(&what, || {
                        let (seen, punctual) = watched(network, || stream.run(&pair).unwrap());
                        let wrong = (seen.lost(), seen.duplicates, seen.corrupted);
                        assert_eq!(wrong, (0, 0, 0), "{what}: {seen:?}");
                        full(report(&what, seen.goodput(), bound), punctual)
                    });
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
                for bytes in [250, 1500, 65_507] {
                    let bulk = Bulk {
                        message: payload(bytes),
                        warm_up: Duration::from_secs(1),
                        duration: Duration::from_secs(1),
                    };
                    let bound = path(name, rate(megabits))
                        .streaming(transport(Protocol::Tcp), payload(bytes));
                    let what = format!("{name} TCP {bytes} bytes at {megabits} Mb/s");
                    measure(&what, || {
                        let (seen, punctual) = watched(network, || bulk.run(&pair).unwrap());
                        let ratio = report(&what, seen.goodput(), bound);
                        match full(ratio, punctual) {
                            // Too much is bad whatever the hosts can do.
                            Attempt::Bad if ratio < 1.0 && !can_fill(&bulk, name, bound) => {
                                Attempt::Void
                            }
                            attempt => attempt,
                        }
                    });
                }
            }
        });
    }
}

/// Whether the hosts' own work leaves time for the cables' ends, which take more of it than those of a veth: without cables
/// they carry [`SPARE`] times the bound.
fn can_fill(bulk: &Bulk, name: &str, bound: f64) -> bool {
    let network = without_cables().build().unwrap();
    let mut pairs = strangers(&network).into_iter();
    let (_, pair) = pairs.find(|(path, _)| *path == name).unwrap();
    let seen = bulk.run(&pair).unwrap();
    report(&format!("{name} without cables"), seen.goodput(), bound) >= SPARE
}

/// Small segments lose nothing and do not beat the bound, whichever congestion control the namespaces have: Reno and CUBIC
/// fill any queue, and more than the line carries would be read after a loss.
#[test]
fn no_congestion_control_beats_the_bound() {
    let allowed = fs::read_to_string("/proc/sys/net/ipv4/tcp_allowed_congestion_control").unwrap();
    with(&routed(Ethernet::new(rate(10))), |network| {
        let [(name, pair), _] = &strangers(network);
        let tap = network.wires().unwrap().tap(HOST6, HOST_INTERFACE).unwrap();
        let bulk = Bulk {
            message: payload(250),
            warm_up: Duration::from_secs(1),
            duration: Duration::from_secs(1),
        };
        let bound = path(name, rate(10)).streaming(transport(Protocol::Tcp), bulk.message);
        for algorithm in allowed.split_whitespace() {
            for (_, namespace) in network.nodes() {
                let setting = ("net.ipv4.tcp_congestion_control", algorithm);
                namespace.sysctl(&[setting]).unwrap();
            }
            let what = format!("TCP by {algorithm}");
            measure(&what, || {
                let before = tap.left();
                let (seen, punctual) = watched(network, || bulk.run(pair).unwrap());
                assert_eq!(tap.left().since(&before).overflowed, 0, "{what}");
                full(report(&what, seen.goodput(), bound), punctual)
            });
        }
    });
}

/// A load beyond the line rate waits, and is dropped and counted when the queue is full.
#[test]
fn excess_messages_are_dropped_and_counted() {
    let ethernet = Ethernet::new(rate(10)).queue(20.try_into().unwrap());
    with(&routed(ethernet), |network| {
        let (_, pair) = &strangers(network)[0];
        let tap = network.wires().unwrap().tap(HOST6, HOST_INTERFACE).unwrap();
        // 1066 bytes each: 1172.6 of 2345 messages per second are carried; the queue has 20 more.
        let carried = 10e6 / (8.0 * 1066.0) * 0.8 + 20.0;
        let stream = Stream {
            payload: payload(1000),
            offered: Offered::PerSecond(2345.0),
            duration: Duration::from_millis(800),
        };
        let what = "messages carried";
        measure(what, || {
            let before = tap.left();
            let (seen, punctual) = watched(network, || stream.run(pair).unwrap());
            let counts = tap.left().since(&before);
            // Hosts look for routers and for each other now and then.
            assert!((seen.sent..=seen.sent + 5).contains(&counts.frames));
            assert!((seen.lost()..=seen.lost() + 5).contains(&counts.overflowed));
            full(report(what, seen.received as f64, carried), punctual)
        });
    });
}

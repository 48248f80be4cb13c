//! One-way delay over links with a line rate, against the bound.

use std::time::Duration;

use isthmus_lab::{
    sockets::pingpong::{PingPong, Protocol},
    topology::{Neighbours, Offloads, Topology},
    wire::Ethernet,
};

use crate::{
    delays, direct, median, neighbours, path, payload, punctual, rate, report, routed, strangers,
    transport, with,
};

const PAYLOADS: [u32; 6] = [250, 500, 1000, 1500, 4000, 10_000];

#[test]
fn through_a_router_at_10_megabits_it_is_the_bound_at_the_sockets() {
    through_a_router(10, |sockets, _| sockets);
}

#[test]
fn through_a_router_at_100_megabits_it_is_the_bound_between_the_cables() {
    through_a_router(100, |_, wires| wires);
}

/// Compares what `of` chooses of the delay at the sockets and between the cables' ends.
fn through_a_router(megabits: u64, of: fn(f64, f64) -> f64) {
    let rate = rate(megabits);
    with(&routed(Ethernet::new(rate)), |network| {
        for (name, pair) in strangers(network) {
            for protocol in [Protocol::Udp, Protocol::Tcp] {
                for bytes in PAYLOADS {
                    let game = PingPong {
                        exchanges: 50,
                        ..PingPong::new(protocol, payload(bytes))
                    };
                    let series = game.play(&pair).unwrap();
                    assert_eq!(
                        (series.lost_forth, series.lost_back, series.corrupted),
                        (0, 0, 0)
                    );
                    let bound = path(name, rate).delay(transport(protocol), payload(bytes));
                    let tolerance = Duration::from_secs_f64(bound / 20.0);
                    let Some(exchanges) = punctual(&series, tolerance) else {
                        continue;
                    };
                    let (sockets, wires) = delays(&exchanges);
                    let what = format!("{name} {protocol:?} {bytes} bytes at {megabits} Mb/s");
                    report(&format!("{what}, sockets"), sockets, bound);
                    report(&format!("{what}, wires"), wires, bound);
                    let ratio = of(sockets, wires) / bound;
                    assert!((0.999..1.05).contains(&ratio), "{what}: {ratio}");
                    assert!(sockets > wires, "{what}: the hosts took less than nothing");
                }
            }
        }
    });
}

#[test]
fn a_millisecond_of_cable_is_a_millisecond() {
    let ethernet = Ethernet::new(rate(1000)).delay(Duration::from_millis(1));
    with(&direct(ethernet), |network| {
        let game = PingPong::new(Protocol::Udp, payload(100));
        let series = game.play(&neighbours(network)).unwrap();
        assert_eq!(series.exchanges.len(), 100);
        if let Some(exchanges) = punctual(&series, Duration::from_micros(10)) {
            // 154 bytes at 8 ns are on top.
            let (sockets, wires) = delays(&exchanges);
            for seen in [sockets, wires] {
                let ratio = report("1 ms", seen, 1e-3);
                assert!((1.0..1.02).contains(&ratio), "{ratio}");
            }
            let half = median(exchanges.iter().map(|exchange| exchange.round_trip)) / 2.0;
            assert!((1.0..1.02).contains(&(half / 1e-3)), "{half}");
        }
    });
}

#[test]
fn without_a_line_rate_there_is_no_time_of_a_wire() {
    with(
        &Topology::direct(Neighbours::Static, Offloads::Off),
        |network| {
            assert!(network.wires().is_none());
            for protocol in [Protocol::Udp, Protocol::Tcp] {
                for bytes in [1, 65_507] {
                    let game = PingPong::new(protocol, payload(bytes));
                    let series = game.play(&neighbours(network)).unwrap();
                    assert_eq!(series.exchanges.len(), 100, "{series:?}");
                    let none = |exchange: &isthmus_lab::sockets::pingpong::Exchange| {
                        exchange.forth.wires.is_none() && exchange.wires_error.is_none()
                    };
                    assert!(series.exchanges.iter().all(none));
                }
            }
        },
    );
}

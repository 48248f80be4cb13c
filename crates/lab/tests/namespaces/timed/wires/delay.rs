//! One-way delay over links with a line rate, against the bound.

use std::time::Duration;

use isthmus_lab::{
    figures::statistics::median,
    network::{
        topology::{Neighbours, Offloads, Topology},
        wire::Ethernet,
    },
    traffic::sockets::{Protocol, pingpong::PingPong},
};

use super::{
    Attempt, Delays, at_most, bare_either_way, direct, measure, neighbours, path, patient, payload,
    punctual, rate, report, routed, strangers, transport, with, without_cables,
};

/// In one packet, and in several.
const PAYLOADS: [u32; 2] = [1000, 4000];

/// The lateness of cables in an exchange that counts, or a hundredth of the bound if that is more.
const LATE: Duration = Duration::from_micros(10);

#[test]
fn through_a_router_at_10_megabits_it_is_the_bound_at_the_sockets() {
    through_a_router(10, &PAYLOADS, |delays| delays.sockets);
}

#[test]
fn through_a_router_at_100_megabits_it_is_the_bound_between_the_cables() {
    through_a_router(100, &PAYLOADS, |delays| delays.wires);
}

/// The other sizes: `make test-long PARTS=measurements` runs these.
mod long_timed {
    use super::through_a_router;

    const PAYLOADS: [u32; 4] = [250, 500, 1500, 10_000];

    #[test]
    fn through_a_router_at_10_megabits_it_is_the_bound_at_the_sockets() {
        through_a_router(10, &PAYLOADS, |delays| delays.sockets);
    }

    #[test]
    fn through_a_router_at_100_megabits_it_is_the_bound_between_the_cables() {
        through_a_router(100, &PAYLOADS, |delays| delays.wires);
    }
}

/// Compares what `of` chooses of the delay at the sockets and between the cables' ends.
fn through_a_router(megabits: u64, payloads: &[u32], of: fn(&Delays) -> f64) {
    let rate = rate(megabits);
    with(&routed(Ethernet::new(rate)), |network| {
        let plain = without_cables().build().unwrap();
        for ((name, pair), (_, plain)) in strangers(network).into_iter().zip(strangers(&plain)) {
            for protocol in [Protocol::Udp, Protocol::Tcp] {
                for &bytes in payloads {
                    let game = PingPong {
                        exchanges: 50,
                        ..patient(protocol, payload(bytes))
                    };
                    let what = format!("{name} {protocol:?} {bytes} bytes at {megabits} Mb/s");
                    let path = path(name, rate);
                    let (transport, payload) = (transport(protocol), payload(bytes));
                    let bound = path.delay(transport, payload);
                    // With an even number of segments, the answer may wait behind an acknowledgement (RFC 9293 section
                    // 3.8.6.3), which has up to 110 bytes on the wire.
                    let expected = bound + 110.0 * 8.0 / rate.bits_per_second() as f64;
                    let tolerance = LATE.max(Duration::from_secs_f64(bound / 100.0));
                    measure(&what, || {
                        let series = game.play(&pair).unwrap();
                        assert_eq!(
                            (series.lost_forth, series.lost_back, series.corrupted),
                            (0, 0, 0)
                        );
                        let Some(exchanges) = punctual(&series, tolerance) else {
                            return Attempt::Void;
                        };
                        let delays = Delays::of(&exchanges);
                        report(&format!("{what}, sockets"), delays.sockets, bound);
                        report(&format!("{what}, wires"), delays.wires, bound);
                        assert!(delays.wires > bound * 0.999, "{what}");
                        assert!(delays.hosts > 0.0, "{what}: {:e} s", delays.hosts);
                        if of(&delays) < at_most(expected, bare_either_way(&game, &plain)) {
                            Attempt::Good
                        } else {
                            Attempt::Bad
                        }
                    });
                }
            }
        }
    });
}

#[test]
fn a_millisecond_of_cable_is_a_millisecond() {
    let ethernet = Ethernet::new(rate(1000)).delay(Duration::from_millis(1));
    with(&direct(ethernet), |network| {
        let plain = Topology::direct(Neighbours::Static, Offloads::Off);
        let plain = plain.build().unwrap();
        let game = patient(Protocol::Udp, payload(100));
        measure("a millisecond", || {
            let series = game.play(&neighbours(network)).unwrap();
            assert_eq!(series.exchanges.len(), 100);
            let Some(exchanges) = punctual(&series, LATE) else {
                return Attempt::Void;
            };
            let delays = Delays::of(&exchanges);
            let round_trips = exchanges.iter().map(|exchange| exchange.round_trip);
            let half = median(
                &mut round_trips
                    .map(|time| time.as_secs_f64() / 2.0)
                    .collect::<Vec<_>>(),
            );
            report("at the sockets", delays.sockets, 1e-3);
            report("on the wire", delays.wires, 1e-3);
            report("half a round trip", half, 1e-3);
            assert!(delays.wires > 1e-3 && half > 1e-3 && delays.hosts > 0.0);
            // The hosts take time as well.
            let most = at_most(1e-3, bare_either_way(&game, &neighbours(&plain)));
            if delays.wires < 1.02e-3 && delays.sockets < most && half < most {
                Attempt::Good
            } else {
                Attempt::Bad
            }
        });
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
                    let game = patient(protocol, payload(bytes));
                    let series = game.play(&neighbours(network)).unwrap();
                    assert_eq!(series.exchanges.len(), 100, "{series:?}");
                    let none = |exchange: &isthmus_lab::traffic::sockets::pingpong::Exchange| {
                        exchange.forth.wires.is_none() && exchange.wires_error.is_none()
                    };
                    assert!(series.exchanges.iter().all(none));
                }
            }
        },
    );
}

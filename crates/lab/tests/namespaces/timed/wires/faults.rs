//! Each fault of a cable is seen by measurements over it.

use std::{num::NonZeroU32, time::Duration};

use isthmus_lab::{
    network::{
        topology::{HOST_INTERFACE, HOST6, Network},
        wire::{Direction, Ethernet, Fault, What, When},
    },
    traffic::sockets::{
        Protocol,
        pingpong::PingPong,
        streaming::{Arrivals, Offered, Stream},
    },
};

use super::{direct, neighbours, patient, payload, rate, with};

fn every(nth: u32, what: What) -> Fault {
    let nth = NonZeroU32::new(nth).unwrap();
    Fault {
        what,
        when: When::EveryNth(nth),
    }
}

fn faulty(fault: Fault) -> Ethernet {
    // So slow that no machine is too busy to take what comes.
    Ethernet::new(rate(10)).fault(Direction::Forth, fault)
}

/// Returns how often the fault occurred, by the cable's count.
fn happened(network: &Network, what: What) -> u64 {
    let tap = network.wires().unwrap().tap(HOST6, HOST_INTERFACE);
    tap.unwrap().left().wrong(what)
}

/// A stream over a cable with this fault, and how often it happened, which is three times at least: the stream lasts
/// longer where a busy machine sends less in a while.
fn stream(fault: Fault, check: impl FnOnce(Arrivals, u64)) {
    let mut duration = Duration::from_millis(500);
    let mut seen = None;
    while seen.is_none() {
        with(&direct(faulty(fault)), |network| {
            let stream = Stream {
                payload: payload(100),
                offered: Offered::Line,
                duration,
            };
            let arrivals = stream.run(&neighbours(network)).unwrap();
            println!("{fault:?}: {arrivals:?}");
            seen = Some((arrivals, happened(network, fault.what)));
        });
        match seen {
            // It was said why.
            None => return,
            Some((_, 0..3)) if duration < Duration::from_secs(60) => seen = None,
            Some(_) => {}
        }
        duration *= 4;
    }
    let (arrivals, happened) = seen.expect("a stream");
    check(arrivals, happened);
}

#[test]
fn one_lost_in_a_thousand_is_a_tenth_of_a_percent() {
    stream(every(1000, What::Drop), |seen, happened| {
        assert!(happened > 0, "{seen:?}");
        // Other frames than messages may be among them: hosts look for routers.
        assert!((seen.lost()..=seen.lost() + 2).contains(&happened));
        assert!((seen.sent / 1000).abs_diff(happened) <= 1, "{seen:?}");
        assert_eq!((seen.duplicates, seen.reordered, seen.corrupted), (0, 0, 0));
    });
}

#[test]
fn losses_by_chance_are_counted_one_by_one() {
    let frames = NonZeroU32::new(100).unwrap();
    let when = When::OneIn { frames, seed: 7 };
    let what = What::Drop;
    stream(Fault { what, when }, |seen, happened| {
        // Other frames than messages may be among them: hosts look for routers.
        assert!(seen.lost() > 0 && (seen.lost()..=seen.lost() + 2).contains(&happened));
    });
}

#[test]
fn duplicates_are_seen() {
    stream(every(100, What::Duplicate), |seen, happened| {
        assert!(seen.duplicates > 0 && happened.abs_diff(seen.duplicates) <= 2);
        assert_eq!((seen.lost(), seen.reordered, seen.corrupted), (0, 0, 0));
    });
}

#[test]
fn another_order_is_seen() {
    stream(every(100, What::Reorder), |seen, happened| {
        assert!(seen.reordered > 0 && happened.abs_diff(seen.reordered) <= 2);
        assert_eq!((seen.lost(), seen.duplicates, seen.corrupted), (0, 0, 0));
    });
}

#[test]
fn corruption_is_seen_although_the_checksum_is_right() {
    stream(every(100, What::Corrupt), |seen, happened| {
        assert!(seen.corrupted > 0);
        assert_eq!((seen.corrupted, seen.lost()), (happened, happened));
        assert_eq!((seen.duplicates, seen.reordered), (0, 0));
    });
}

#[test]
fn held_frames_are_late_and_out_of_order() {
    let hold = Duration::from_millis(5);
    stream(every(100, What::Hold(hold)), |seen, happened| {
        assert!(seen.reordered > 0 && happened.abs_diff(seen.reordered) <= 2);
        assert_eq!((seen.lost(), seen.duplicates, seen.corrupted), (0, 0, 0));
    });
    with(&direct(faulty(every(10, What::Hold(hold)))), |network| {
        let game = patient(Protocol::Udp, payload(100));
        let series = game.play(&neighbours(network)).unwrap();
        let held = |exchange: &&isthmus_lab::traffic::sockets::pingpong::Exchange| {
            exchange.forth.sockets > hold
        };
        // A busy machine may hold others.
        let late = series.exchanges.iter().filter(held).count();
        assert!(late >= 9, "{late} of 100");
        let happened = happened(network, What::Hold(hold));
        assert!((10..=13).contains(&happened), "{happened} of 110");
        let back = series
            .exchanges
            .iter()
            .map(|exchange| exchange.back.sockets);
        assert!(back.min().unwrap() < hold);
    });
}

/// A lost message of a ping-pong is not sent again: it is counted, in its direction.
#[test]
fn a_lost_message_is_lost() {
    for (direction, forth, back) in [(Direction::Forth, 10, 0), (Direction::Back, 0, 10)] {
        let drop = every(10, What::Drop);
        let ethernet = Ethernet::new(rate(100)).fault(direction, drop);
        with(&direct(ethernet), |network| {
            let game = PingPong {
                timeout: Duration::from_millis(200),
                ..PingPong::new(Protocol::Udp, payload(100))
            };
            let series = game.play(&neighbours(network)).unwrap();
            let lost = (series.lost_forth, series.lost_back);
            // A busy machine may have been late for others, which are strays then.
            let near = |seen: u32, expected: u32| {
                (expected.saturating_sub(1)..=expected + 1 + series.strays).contains(&seen)
            };
            assert!(near(lost.0, forth) && near(lost.1, back), "{lost:?}");
            assert_eq!(series.exchanges.len() as u32 + lost.0 + lost.1, 100);
            assert_eq!(series.corrupted, 0);
        });
    }
}

/// A late message that was given up is not taken for the next one.
#[test]
fn a_message_that_comes_too_late_is_a_stray() {
    let hold = What::Hold(Duration::from_millis(30));
    with(&direct(faulty(every(10, hold))), |network| {
        let game = PingPong {
            timeout: Duration::from_millis(20),
            warm_up: 0,
            ..PingPong::new(Protocol::Udp, payload(2000))
        };
        let series = game.play(&neighbours(network)).unwrap();
        assert!(series.lost_forth > 0 && series.strays > 0, "{series:?}");
        assert_eq!(series.corrupted, 0);
    });
}

//! What sessions carried, where that is counted.

use std::ops::ControlFlow;

use crate::support::*;
use isthmus_core::nat::*;

const HOST: &str = "2001:db8:1::1";
const SERVER: &str = "192.0.2.1";

fn counting(counts: bool) -> Nat {
    let mut setup = Setup::default();
    setup.capacity.sessions = 64;
    setup.capacity.traffic = counts;
    setup.nat()
}

impl Nat {
    fn carry(&self, outside: Endpoint4, port: u16, from: Side, bytes: usize) {
        let passed = Passed {
            outside,
            remote: v4(SERVER, port),
            protocol: 17,
            from,
            bytes,
        };
        count(&self.host, &self.cfg, passed);
    }

    fn carried(&self) -> Vec<(u16, Option<Traffic>)> {
        let mut list = Vec::new();
        let all = 0..self.cfg.layout.buckets();
        let _to_the_end = sessions(&self.host.memory[..], &self.cfg, all, |session| {
            list.push((session.remote.port, session.traffic));
            ControlFlow::Continue(())
        });
        list.sort_unstable_by_key(|(port, _)| *port);
        list
    }
}

fn amount(packets: u64, bytes: u64) -> Amount {
    Amount { packets, bytes }
}

#[test]
fn each_session_has_its_own_of_each_direction() {
    let mut nat = counting(true);
    let first = nat.out(inside(HOST, 5000), v4(SERVER, 1), Udp).unwrap();
    let second = nat.out(inside(HOST, 5000), v4(SERVER, 2), Udp).unwrap();
    nat.carry(first, 1, Side::Inside, 100);
    nat.carry(first, 1, Side::Inside, 28);
    nat.carry(first, 1, Side::Outside, 65_515);
    nat.carry(second, 2, Side::Outside, 8);
    // It passed by the binding, and has no session.
    nat.carry(second, 3, Side::Outside, 8);
    let expected = [
        (1, amount(2, 128), amount(1, 65_515)),
        (2, amount(0, 0), amount(1, 8)),
    ];
    let expected = expected.map(|(port, out, back)| (port, Some(Traffic { out, back })));
    assert_eq!(nat.carried(), expected);
}

#[test]
fn a_new_session_has_nothing_of_the_one_before() {
    let mut nat = counting(true);
    for turn in 0..100 {
        for port in 1..=8 {
            let outside = nat.out(inside(HOST, 5000), v4(SERVER, port), Udp);
            nat.carry(outside.unwrap(), port, Side::Inside, 10);
        }
        let expected = Traffic {
            out: amount(1, 10),
            back: amount(0, 0),
        };
        assert_eq!(nat.carried().len(), 8, "{turn}");
        for (port, carried) in nat.carried() {
            assert_eq!(carried, Some(expected), "{turn} {port}");
        }
        nat.pass(301);
        nat.sweep();
    }
}

/// The end of a session tells what it carried.
#[test]
fn an_ended_session_is_told_with_what_it_carried() {
    let mut nat = counting(true);
    let outside = nat.out(inside(HOST, 5000), v4(SERVER, 1), Udp).unwrap();
    nat.carry(outside, 1, Side::Outside, 77);
    nat.pass(301);
    let ended = nat.sweep().into_iter().find_map(|event| match event {
        Event::SessionRemoved(session) => session.traffic,
        _ => None,
    });
    assert_eq!(ended.unwrap().back, amount(1, 77));
}

#[test]
fn nothing_is_counted_unless_it_is_asked_for() {
    let mut nat = counting(false);
    let lines = nat.cfg.layout.end();
    assert!(lines < counting(true).cfg.layout.end());
    let outside = nat.out(inside(HOST, 5000), v4(SERVER, 1), Udp).unwrap();
    nat.carry(outside, 1, Side::Inside, 100);
    assert_eq!(nat.carried(), [(1, None)]);
}

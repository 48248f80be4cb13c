//! What the sweeper's walk costs, and that it may be done a part at a time.

use std::cell::Cell;

use crate::support::*;
use isthmus_core::nat::*;
use isthmus_core::table::{Line, Memory};

const SERVER: &str = "192.0.2.1";

/// Memory that counts how often somebody looks at a line of it.
struct Counting<'a> {
    memory: &'a [Line],
    looks: Cell<u32>,
}

impl Memory for Counting<'_> {
    fn line(&self, index: u32) -> Option<&Line> {
        self.looks.set(self.looks.get() + 1);
        self.memory.line(index)
    }
}

fn looks(nat: &Nat) -> u32 {
    let memory = Counting {
        memory: &nat.host.memory,
        looks: Cell::new(0),
    };
    let all = 0..nat.cfg.layout.buckets();
    sweep(&memory, &nat.cfg, nat.host.now, all, |event| {
        panic!("{event:?}")
    });
    memory.looks.get()
}

/// An idle gateway walks over its tables all day, on small routers too.
#[test]
fn an_empty_bucket_costs_one_look() {
    let nat = Setup::default().nat();
    assert_eq!(looks(&nat), nat.cfg.layout.buckets());
}

#[test]
fn a_session_that_was_reported_costs_its_line_and_its_bindings() {
    let mut nat = Setup::default().nat();
    for port in 0..100 {
        nat.out(inside("2001:db8:1::1", 5000 + port), v4(SERVER, 53), Udp)
            .unwrap();
    }
    assert!(!nat.sweep().is_empty());
    // A session has its control word and its slot, and so has its binding, whose references are looked at once more.
    let most = nat.cfg.layout.buckets() + 100 * 6 + 10;
    assert!(looks(&nat) <= most, "{} and not {most}", looks(&nat));
}

#[test]
fn parts_find_what_one_walk_finds() {
    let busy = || {
        let mut nat = Setup::default().nat();
        for port in 0..500 {
            nat.out(inside("2001:db8:1::1", 5000 + port), v4(SERVER, 53), Udp)
                .unwrap();
        }
        nat
    };
    let sorted = |mut events: Vec<Event>| {
        events.sort_by_key(|event| format!("{event:?}"));
        events
    };
    let mut whole = busy();
    let wanted = sorted(whole.sweep());
    assert!(wanted.len() >= 1000, "{}", wanted.len());
    for part in [1, 7, 64] {
        let nat = busy();
        let mut found = Vec::new();
        let mut from = 0;
        while from < nat.cfg.layout.buckets() {
            let buckets = from..from + part;
            sweep(
                &nat.host.memory[..],
                &nat.cfg,
                nat.host.now,
                buckets,
                |event| found.push(event),
            );
            from += part;
        }
        assert_eq!(sorted(found), wanted, "in parts of {part}");
    }
}

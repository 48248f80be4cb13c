//! The cost of the sweeper's walk, which may be done a part at a time.

use crate::support::*;
use isthmus_core::nat::*;

/// How often a walk over all tables, which finds nothing to tell of, asks for a line.
fn looks(nat: &Nat) -> u64 {
    let memory = Counting::new(&nat.host.memory);
    let all = 0..nat.cfg.layout.buckets();
    sweep(&memory, &nat.cfg, nat.host.now, all, |event| {
        panic!("{event:?}")
    });
    memory.reads.get()
}

/// An idle gateway walks over its tables all day, on small routers too.
#[test]
fn an_empty_bucket_costs_one_look() {
    let nat = Setup::default().nat();
    assert_eq!(looks(&nat), u64::from(nat.cfg.layout.buckets()));
}

#[test]
fn a_session_that_was_reported_costs_its_line_and_its_bindings() {
    let mut nat = with_sessions(100);
    assert!(!nat.sweep().is_empty());
    // A session has its control word and its slot, and so has its binding, whose references are looked at once more.
    let most = u64::from(nat.cfg.layout.buckets()) + 100 * 6 + 10;
    assert!(looks(&nat) <= most, "{} and not {most}", looks(&nat));
}

#[test]
fn parts_find_what_one_walk_finds() {
    let sorted = |mut events: Vec<Event>| {
        events.sort_by_key(|event| format!("{event:?}"));
        events
    };
    let wanted = sorted(with_sessions(500).sweep());
    assert!(wanted.len() >= 1000, "{}", wanted.len());
    for part in [1, 7, 64] {
        let nat = with_sessions(500);
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

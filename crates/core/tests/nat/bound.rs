//! The bounds of the tables are what was configured, to the last entry (RFC 6146 section 5.3).

use std::thread;

use crate::support::*;
use isthmus_core::host::Thorough;
use isthmus_core::nat::*;
use isthmus_core::reason::Counter;
use isthmus_core::time::Span;
use isthmus_core::verdict::Refusal;

const FULL: Refusal = Refusal::Drop(Counter::TableFull);

fn bounded(sessions: u32, bindings: u32) -> Setup {
    Setup {
        capacity: Capacity {
            sessions,
            bindings,
            permissions: 0,
            subscribers: 0,
            fragments: 8,
            traffic: false,
        },
        ..Setup::default()
    }
}

/// How many of these many new sessions are made, each of an inside endpoint of its own or all of
/// one.
fn made(nat: &mut Nat, tries: u16, port: impl Fn(u16) -> u16) -> u32 {
    let mut made = 0;
    for number in 0..tries {
        let host = inside("2001:db8::1", port(number));
        match nat.out(host, v4("192.0.2.1", 1 + number), Udp) {
            Ok(_) => made += 1,
            Err(refusal) => assert_eq!(refusal, FULL),
        }
    }
    made
}

/// How many sessions there are.
fn sessions(nat: &Nat) -> u64 {
    let mut fills = fills(&nat.host.memory[..], &nat.cfg);
    fills
        .find(|fill| fill.table == Counted::Sessions)
        .unwrap()
        .used
}

#[test]
fn sessions_are_never_more_and_come_again_when_some_have_ended() {
    let mut nat = bounded(1000, 1000).nat();
    for _ in 0..3 {
        // Those that get none pass by their binding, and leave an eighth to others.
        assert_eq!(made(&mut nat, 2000, |_| 4000), 2000);
        assert_eq!(sessions(&nat), 875);
        // A session that is there is no new one.
        assert_eq!(made(&mut nat, 2000, |_| 4000), 2000);
        assert_eq!(sessions(&nat), 875);
        assert_eq!(made(&mut nat, 1000, |number| 5000 + number), 125);
        assert_eq!(sessions(&nat), 1000);
        nat.pass(301);
        nat.sweep();
    }
    assert_eq!(
        occupancy(&nat.host.memory[..], &nat.cfg),
        Occupancy::default()
    );
}

#[test]
fn bindings_are_never_more_static_ones_among_them() {
    let mut nat = bounded(4000, 1000).nat();
    let fixed = StaticBinding {
        protocol: Protocol::Udp,
        inside: inside("2001:db8::80", 53),
        outside: v4("203.0.113.1", 53),
    };
    let now = nat.host.now;
    insert_static(&nat.host.memory[..], &nat.cfg, now, &fixed).unwrap();
    for _ in 0..3 {
        assert_eq!(made(&mut nat, 2000, |number| 1 + number), 999);
        let other = StaticBinding {
            inside: inside("2001:db8::81", 53),
            outside: v4("203.0.113.1", 54),
            ..fixed
        };
        assert_eq!(
            insert_static(&nat.host.memory[..], &nat.cfg, now, &other),
            Err(StaticError::Full)
        );
        nat.pass(301);
        nat.sweep();
    }
}

#[test]
fn what_was_refused_for_another_reason_takes_no_place() {
    let mut nat = Setup {
        pool: vec![range("203.0.113.1", 1, 1024, 1033)],
        ..bounded(1000, 1000)
    }
    .nat();
    for number in 0..5000 {
        let _ = nat.out(inside("2001:db8::1", 1 + number), v4("192.0.2.1", 1), Udp);
    }
    // Ten ports, five of either parity: all are in use, and nothing else was counted.
    let used = occupancy(&nat.host.memory[..], &nat.cfg);
    assert_eq!(used.bindings, 10);
    nat.pass(301);
    nat.sweep();
    nat.cfg.pool = Pool::new(&[range("203.0.113.1", 1, 1024, 65_535)]).unwrap();
    assert_eq!(made(&mut nat, 1100, |number| 1 + number), 1000);
}

#[test]
fn processors_at_the_same_time_do_not_pass_the_bound() {
    let cfg = bounded(500, 500).config();
    let memory = memory(&cfg);
    let sessions: u32 = thread::scope(|scope| {
        let threads: Vec<_> = (0..4_u16)
            .map(|thread| {
                let (cfg, memory) = (&cfg, &memory[..]);
                scope.spawn(move || {
                    let mut host = SharedHost::new(memory, u64::from(thread) + 1);
                    let mut made = 0;
                    for number in 0..400 {
                        let host_of_thread = inside("2001:db8::1", thread * 1000 + number + 1);
                        let outcome = outbound(
                            &mut host,
                            cfg,
                            Thorough,
                            &host_of_thread,
                            v4("192.0.2.1", 1),
                            Udp,
                        );
                        made += u32::from(outcome.is_ok());
                    }
                    made
                })
            })
            .collect();
        threads.into_iter().map(|t| t.join().unwrap()).sum()
    });
    assert!((490..=500).contains(&sessions), "{sessions}");
    assert_eq!(occupancy(&memory[..], &cfg).sessions, sessions);
    let later = SharedHost::NOW + Span::from_secs(301);
    sweep(&memory[..], &cfg, later, 0..cfg.layout.buckets(), |_| {});
    assert_eq!(occupancy(&memory[..], &cfg), Occupancy::default());
}

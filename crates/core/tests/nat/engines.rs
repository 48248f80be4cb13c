//! Programs of BPF, which hand on what they cannot do, come to the same end as user space, which does all of it.

use crate::support::*;
use isthmus_core::host::Bounded;
use isthmus_core::nat::*;
use isthmus_core::reason::Counter;
use isthmus_core::verdict::{Refusal, Slow};

/// Without limits that need a table of subscribers, which programs leave to user space.
fn nat(mut setup: Setup) -> Nat {
    setup.capacity.subscribers = 0;
    setup.nat()
}

fn server() -> Endpoint4 {
    v4("192.0.2.1", 53)
}

/// A packet through a program that makes sessions, and then, if that gives up, through user space.
fn out_by_program(nat: &mut Nat, inside: Inside) -> Result<Endpoint4, Refusal> {
    let made = outbound(&mut nat.host, &nat.cfg, Bounded, &inside, server(), Udp);
    match made {
        Err(Refusal::Slow(Slow::Table)) => nat.out(inside, server(), Udp),
        made => made,
    }
}

#[test]
fn both_find_the_same_ports_where_few_are_left() {
    for pooling in [Pooling::Strict, Pooling::Soft] {
        let setup = || Setup {
            pool: vec![range("203.0.113.1", 2, 40_000, 40_063)],
            pooling,
            ..Setup::default()
        };
        let (mut programs, mut user) = (nat(setup()), nat(setup()));
        for number in 0..128_u16 {
            let host = inside(&format!("2001:db8:{:x}::1", number % 8), 2000 + number);
            let found = out_by_program(&mut programs, host);
            assert_eq!(found, user.out(host, server(), Udp), "{number}");
            programs.host.now.0 += 500;
            user.host.now.0 += 500;
        }
    }
}

#[test]
fn a_session_that_is_handed_on_costs_its_subscriber_one_token() {
    let mut nat = nat(Setup {
        limits: Limits {
            session_interval: 1_000_000_000,
            ..Limits::default()
        },
        ..Setup::default()
    });
    // The pool has no port like these, so that a program gives each of them up.
    for port in 1..=4 {
        assert!(out_by_program(&mut nat, inside("2001:db8::1", port)).is_ok());
    }
    assert_eq!(
        out_by_program(&mut nat, inside("2001:db8::1", 5)),
        Err(Refusal::Drop(Counter::SubscriberRate))
    );
}

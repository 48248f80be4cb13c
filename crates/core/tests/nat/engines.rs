//! Programs of BPF, which hand on what they cannot do, come to the same end as user space, which does all of it.

use crate::support::*;
use isthmus_core::address::V4;
use isthmus_core::host::{Bounded, Effort, Thorough};
use isthmus_core::nat::*;
use isthmus_core::reason::Counter;
use isthmus_core::verdict::{IcmpError, Refusal, Slow};

fn server() -> Endpoint4 {
    v4("192.0.2.1", 53)
}

/// A packet through a program that makes sessions.
fn by_program(nat: &mut Nat, inside: Inside, to: Endpoint4) -> Result<Endpoint4, Refusal> {
    outbound(&mut nat.host, &nat.cfg, Bounded, &inside, to, Udp)
}

/// A packet through a program that makes sessions, and then, if that gives up, through user space.
fn out_by_program(nat: &mut Nat, inside: Inside) -> Result<Endpoint4, Refusal> {
    match by_program(nat, inside, server()) {
        Err(Refusal::Slow(Slow::Table)) => nat.out(inside, server(), Udp),
        made => made,
    }
}

#[test]
fn both_find_the_same_ports_where_few_are_left() {
    let blocks = Blocks::Dynamic {
        size: 8,
        per_subscriber: 4,
    };
    let calculated = Deterministic::v6(inside("2001:db8::", 0).address, 48, 64, 16);
    for (pooling, blocks) in [
        (Pooling::Strict, Blocks::None),
        (Pooling::Soft, Blocks::None),
        (Pooling::Soft, blocks),
        (Pooling::Soft, Blocks::Deterministic(calculated)),
    ] {
        let setup = Setup {
            pool: vec![range("203.0.113.1", 2, 40_000, 40_063)],
            pooling,
            blocks,
            ..Setup::default()
        };
        let (mut programs, mut user) = (setup.nat(), setup.nat());
        for number in 0..128_u16 {
            let host = host(u32::from(number % 8), 2000 + number);
            let found = out_by_program(&mut programs, host);
            assert_eq!(found, user.out(host, server(), Udp), "{number}");
            programs.host.now.0 += 500;
            user.host.now.0 += 500;
        }
    }
}

#[test]
fn a_session_that_is_handed_on_costs_its_subscriber_one_token() {
    let setup = Setup {
        limits: Limits {
            session_interval: 1_000_000_000,
            ..Limits::default()
        },
        ..Setup::default()
    };
    let mut nat = setup.nat();
    // The pool has no port like these, so that a program gives each of them up. Those that user space never gets cost none.
    for port in 6..50 {
        let host = inside("2001:db8::1", port);
        assert_eq!(by_program(&mut nat, host, server()), HANDED_ON);
    }
    for port in 1..=4 {
        assert!(out_by_program(&mut nat, inside("2001:db8::1", port)).is_ok());
    }
    assert_eq!(
        out_by_program(&mut nat, inside("2001:db8::1", 5)),
        Err(Refusal::Drop(Counter::SubscriberRate))
    );
}

const HANDED_ON: Result<Endpoint4, Refusal> = Err(Refusal::Slow(Slow::Table));

/// One subscriber may have two blocks of 64 ports, and the pool has three.
fn with_blocks() -> Nat {
    let setup = Setup {
        pool: vec![range("203.0.113.1", 1, 1024, 1215)],
        blocks: Blocks::Dynamic {
            size: 64,
            per_subscriber: 2,
        },
        ..Setup::default()
    };
    setup.nat()
}

#[test]
fn a_program_takes_the_ports_of_a_block_and_user_space_gives_the_blocks() {
    let mut nat = with_blocks();
    for first in [5000, 5064] {
        assert_eq!(by_program(&mut nat, host(1, first), server()), HANDED_ON);
        let block = nat.out(host(1, first), server(), Udp).unwrap().port & !63;
        let mut by_programs = 0;
        for port in first + 1..first + 64 {
            let made = by_program(&mut nat, host(1, port), server());
            by_programs += u32::from(made != HANDED_ON);
            // The few ports that a program tries are taken more and more often.
            let outside = made.or_else(|_| nat.out(host(1, port), server(), Udp));
            assert_eq!(outside.unwrap().port & !63, block);
        }
        assert!(by_programs >= 48, "{by_programs}");
    }
    // The subscriber has all that it may have. Who comes next does not suffer from it.
    for port in 6000..6050 {
        assert_eq!(by_program(&mut nat, host(1, port), server()), HANDED_ON);
        assert!(nat.out(host(1, port), server(), Udp).is_err());
    }
    nat.out(host(2, 5000), server(), Udp).unwrap();
    assert!(by_program(&mut nat, host(2, 5001), server()).is_ok());
}

/// A claim that fails uses nothing, and a session that a program made is as good as another: the blocks go back.
#[test]
fn blocks_that_programs_used_are_released() {
    let mut nat = with_blocks();
    nat.out(host(1, 5000), server(), Udp).unwrap();
    let mut failed = |port| by_program(&mut nat, host(1, port), server()) == HANDED_ON;
    assert!((5001..5200).filter(|port| failed(*port)).count() >= 136);
    nat.sweep();
    nat.pass(301);
    let released = |event: &Event| matches!(event, Event::BlockReleased(_));
    assert_eq!(nat.sweep().into_iter().filter(released).count(), 1);
}

#[test]
fn rfc6888_req4_limits_hold_in_programs() {
    let setup = Setup {
        limits: Limits {
            bindings: 5,
            sessions: 7,
            ..Limits::default()
        },
        ..Setup::default()
    };
    let mut nat = setup.nat();
    let over = Err(Refusal::Reply(
        IcmpError::AddressUnreachable,
        Counter::SubscriberLimit,
    ));
    for port in 5000..5100 {
        let made = by_program(&mut nat, host(1, port), server());
        assert_eq!(made == over, port >= 5005, "{port}: {made:?}");
    }
    // Seven sessions of one binding; the packets after them pass by the binding, as answers do.
    let sessions = |nat: &Nat| nat.host.counted(Counter::SessionCreated);
    let before = sessions(&nat);
    for port in 1..100 {
        by_program(&mut nat, host(2, 5000), v4("192.0.2.1", port)).unwrap();
    }
    assert_eq!(sessions(&nat) - before, 7);
    // The victim beside them.
    assert!(by_program(&mut nat, host(3, 5000), server()).is_ok());
    // What a program counted, user space counts on, and takes off again.
    assert_eq!(nat.out(host(1, 7000), server(), Udp), over);
    nat.pass(301);
    nat.sweep();
    assert!(by_program(&mut nat, host(1, 7000), server()).is_ok());
}

#[test]
fn a_program_hands_on_what_no_session_claims_where_the_machine_has_the_address() {
    let mut nat = Setup::default().nat();
    let [own, other] = ["203.0.113.1", "203.0.113.2"].map(|address| v4(address, 0).address);
    nat.host.own = Some(own);
    fn hands_on<E: Effort>(nat: &Nat, address: V4) -> bool {
        is_for_others::<_, E>(&nat.host, address)
    }
    assert!(hands_on::<Bounded>(&nat, own));
    assert!(!hands_on::<Bounded>(&nat, other));
    // Nobody comes after user space.
    assert!(!hands_on::<Thorough>(&nat, own));
}

//! What the control plane does to sessions: lists them, and ends those without a place under a new
//! configuration.

use std::ops::ControlFlow;

use crate::support::*;
use isthmus_core::nat::*;

fn listed(nat: &Nat) -> Vec<Session> {
    let mut list = Vec::new();
    let all = 0..nat.cfg.layout.buckets();
    let flow = sessions(&nat.host.memory[..], &nat.cfg, all, |session| {
        list.push(session);
        ControlFlow::Continue(())
    });
    assert_eq!(flow, ControlFlow::Continue(()));
    list
}

#[test]
fn every_session_is_listed_once() {
    let nat = with_sessions(500);
    let mut ports: Vec<u16> = listed(&nat)
        .iter()
        .map(|session| session.binding.inside.port)
        .collect();
    ports.sort_unstable();
    assert_eq!(ports, (5000..5500).collect::<Vec<u16>>());
}

#[test]
fn a_visitor_may_break_off() {
    let nat = with_sessions(500);
    let mut seen = 0;
    let flow = sessions(
        &nat.host.memory[..],
        &nat.cfg,
        0..nat.cfg.layout.buckets(),
        |_| {
            seen += 1;
            if seen == 7 {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        },
    );
    assert_eq!((flow, seen), (ControlFlow::Break(()), 7));
}

#[test]
fn what_is_not_kept_ends_with_its_binding_and_is_told() {
    let nat = with_sessions(100);
    let mut created = 0;
    let mut removed = (0, 0);
    retain(
        &nat.host.memory[..],
        &nat.cfg,
        0..nat.cfg.layout.buckets(),
        |session| session.binding.inside.port % 4 == 0,
        |event| match event {
            Event::SessionCreated(_) | Event::BindingCreated(_) => created += 1,
            Event::SessionRemoved(_) => removed.0 += 1,
            Event::BindingRemoved(_) => removed.1 += 1,
            Event::SessionIdle(_) | Event::BlockAssigned(_) | Event::BlockReleased(_) => {
                panic!("{event:?}")
            }
        },
    );
    assert_eq!(removed, (75, 75));
    assert_eq!(created, 150, "what was never told of is told of now");
    let left = listed(&nat);
    assert_eq!(left.len(), 25);
    assert!(left.iter().all(|s| s.binding.inside.port % 4 == 0));
}

//! Intel's cards, as QEMU's `e1000e` emulates them.

use std::collections::BTreeMap;
use std::sync::PoisonError;

use isthmus_lab::subjects::bare::Board;

use super::instructions::{EXACT, check, instructions};
use super::{Bench, FORWARDS, LEFT, NAT64, ONE, RIGHT, SERVER_V6, SIIT};
use super::{boot, forwards, stands_random_frames, starts_again, udp_v4, udp_v6};

#[test]
fn packets_go_both_ways_also_after_another_start() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(mut machine) = starts_again(Board::E1000e) else {
        return;
    };
    // More than its rings have places.
    for _ in 0..600 {
        forwards(&mut machine, LEFT, RIGHT);
    }
}

#[test]
fn a_card_of_each_kind_works_beside_the_other() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let Some((mut machine, _)) = boot(Board::Mixed, SIIT, &[], &[], FORWARDS) else {
        return;
    };
    forwards(&mut machine, LEFT, RIGHT);
}

#[test]
fn cards_are_found_behind_bridges() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    starts_again(Board::Bridged);
}

#[test]
fn they_stand_random_frames_without_state() {
    stands_random_frames(Board::E1000e, SIIT, SERVER_V6);
}

#[test]
fn they_stand_random_frames_with_sessions() {
    stands_random_frames(Board::E1000e, NAT64, "64:ff9b::c000:202");
}

#[test]
fn a_packet_takes_as_many_instructions_as_noted() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(mut bench) = Bench::packed(Board::E1000e, SIIT, &["--seed", "1"], &EXACT) else {
        return;
    };
    let (to_v4, to_v6) = (udp_v6(SERVER_V6, &[7; 80]), udp_v4(&[7; 100]));
    let mut counted = BTreeMap::new();
    for (name, card, packet) in [("6to4", LEFT, to_v4), ("4to6", RIGHT, to_v6)] {
        let number = instructions(&mut bench, card, &packet);
        counted.insert(format!("e1000e-siit-{name}-128"), number);
    }
    check(&counted);
}

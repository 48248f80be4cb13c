use super::*;
use crate::table::FillError;
use core::net::Ipv6Addr;
use proptest::prelude::*;
use std::collections::HashMap;
use std::vec::Vec;

/// How lwB4s have their addresses.
#[derive(Clone, Copy, Debug)]
enum Plan {
    /// Counted in the upper half, with one interface identifier.
    Counted,
    /// Counted, with the identifiers of RFC 7597.
    Identified,
    /// Anyhow.
    Random,
}
use Plan::{Counted, Identified, Random};

fn softwire(plan: Plan, v4: u32, psid: u16) -> Softwire {
    let count = u128::from(v4) << 16 | u128::from(psid);
    let rest = match plan {
        Counted => count << 72 | 1,
        Identified => {
            // RFC 7597 section 6: 16 bits of zeros, the IPv4 address, the PSID.
            u128::from(mix(count as u64) as u16) << 64 | u128::from(v4) << 16 | u128::from(psid)
        }
        Random => u128::from(mix(count as u64)) << 32 | u128::from(mix(!count as u64)),
    };
    Softwire {
        v4: V4::from_number(v4),
        psid,
        border: if v4 < 64 { 0 } else { psid as u8 % 8 },
        b4: Ipv6Addr::from_bits(0x2001_0db8 << 96 | rest).into(),
    }
}

/// A few addresses that 16 share, one of which is a lwB4's, and one that is shared by two.
fn networks() -> SharedNetworks {
    let [sixteen, two] = [4, 1].map(|length| Sharing::new(6, length).unwrap());
    SharedNetworks::new(&[
        (V4::from_number(0), 24, sixteen),
        (V4::from_number(7), 32, Sharing::WHOLE),
        (V4::from_number(8), 32, two),
    ])
    .unwrap()
}

/// A table in memory, some lines into it so that a forgotten base shows.
fn built(softwires: &[Softwire]) -> (Vec<Line>, SoftwireTable) {
    const BASE: usize = 5;
    let networks = networks();
    let mut sorted = softwires.to_vec();
    let sorted = Softwires::new(&mut sorted, &networks);
    let mut lines = sorted.lines_to_find();
    loop {
        let mut memory = Vec::new();
        memory.resize_with(BASE + lines + sorted.lines_of_blocks(), Line::default);
        match sorted.fill(&memory[BASE..], BASE as u32) {
            Ok(table) => return (memory, table),
            Err(FillError::Full) => lines *= 2,
            Err(error) => panic!("{error}"),
        }
    }
}

fn look(built: &(Vec<Line>, SoftwireTable), v4: u32, psid: u16) -> Option<(V6, u8)> {
    let rules = built.0.as_slice();
    let v4 = V4::from_number(v4);
    let key = B4Key::new(v4, psid, networks().find(v4)?);
    let place = find(rules, &built.1, key)?;
    read(rules, &built.1, place, key)
}

#[test]
fn a_port_set_is_nobody_elses() {
    let networks = networks();
    let one = |psid| softwire(Counted, 1, psid);
    let mut twice = [one(1), one(2), one(1)];
    let twice = Softwires::new(&mut twice, &networks);
    let mut lines = Vec::new();
    lines.resize_with(1 + twice.lines_of_blocks(), Line::default);
    assert_eq!(twice.fill(&lines, 0).unwrap_err(), FillError::Duplicate(1));
    assert_eq!(twice.fill(&lines[1..], 0).unwrap_err(), FillError::Size);
    let none = Softwires::new(&mut [], &networks).fill(&lines, 0).unwrap();
    let somebody = B4Key::new(V4::from_number(1), 1, Sharing::WHOLE);
    assert_eq!(find(lines.as_slice(), &none, somebody), None);
}

#[test]
fn differently_shared_addresses_have_nothing_in_common() {
    let softwires = [(6, 14), (7, 0), (8, 1)].map(|(v4, psid)| softwire(Random, v4, psid));
    let built = built(&softwires);
    for one in softwires {
        let found = look(&built, one.v4.number(), one.psid);
        assert_eq!(found, Some((one.b4, one.border)));
    }
    for (v4, psid) in [(6, 15), (0, 0), (8, 0), (9, 1)] {
        assert_eq!(look(&built, v4, psid), None);
    }
}

#[test]
fn addresses_that_are_counted_take_four_octets_each() {
    for (plan, lines) in [(Counted, 257), (Identified, 257), (Random, 1025)] {
        let mut softwires: Vec<_> = (0..16 * 16)
            .map(|n| softwire(plan, 16 + n / 16, n as u16 % 16))
            .collect();
        let networks = networks();
        let softwires = Softwires::new(&mut softwires, &networks);
        assert_eq!(softwires.lines_of_blocks(), lines, "{plan:?}");
    }
}

proptest! {
    /// Against a map of the standard library.
    #[test]
    fn finds_what_was_put_in(
        keys in prop::collection::hash_set((9_u32..128, 0_u16..16), 1..200),
        others in prop::collection::vec((9_u32..140, 0_u16..16), 0..100),
        plan in prop::sample::select(&[Counted, Identified, Random][..]),
    ) {
        let softwires: Vec<_> = keys.iter().map(|(v4, psid)| softwire(plan, *v4, *psid)).collect();
        let referee: HashMap<_, _> = keys.iter().copied().zip(&softwires).collect();
        let built = built(&softwires);
        for (v4, psid) in keys.iter().copied().chain(others) {
            let expected = referee.get(&(v4, psid)).map(|one| (one.b4, one.border));
            prop_assert_eq!(look(&built, v4, psid), expected);
        }
    }

    /// Whatever bits the addresses have in common.
    #[test]
    fn every_form_is_read_as_it_was_written(
        rows in prop::collection::btree_map(0_u16..16, any::<u128>(), 1..16),
        common in any::<u128>(),
        (width, shift) in (0_u32..40).prop_flat_map(|width| (Just(width), 0..=128 - width)),
    ) {
        let mask = u128::MAX.checked_shr(128 - width).unwrap_or(0).wrapping_shl(shift % 128);
        let address = |bits: u128| Ipv6Addr::from_bits(common & !mask | bits & mask | 1 << 127);
        let softwires: Vec<_> = rows
            .iter()
            .map(|(psid, bits)| Softwire { b4: address(*bits).into(), ..softwire(Random, 9, *psid) })
            .collect();
        let built = built(&softwires);
        for one in softwires {
            prop_assert_eq!(look(&built, 9, one.psid), Some((one.b4, one.border)));
        }
    }
}

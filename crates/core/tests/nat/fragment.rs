//! Fragments (RFC 6146 section 3.4), also beside a flood of them.

use isthmus_core::address::V4;
use isthmus_core::datagrams::*;
use isthmus_core::nat::*;
use isthmus_core::time::{Instant, Span};
use isthmus_core::wire::ipv4;
use isthmus_core::wire::tuple::Ports;
use proptest::prelude::*;

use crate::support::{Nat, Setup, v4};

/// Fragmented datagrams that the table is made for.
const CAPACITY: u32 = 4096;
/// Datagrams of a flood in a unit of time (2^20 ns), that is 95,000 a second.
const RATE: u32 = 100;
const VICTIM: &str = "192.0.2.1";
const UDP: u8 = 17;
const PORTS: Ports = Ports {
    source: 53,
    destination: 4000,
};

/// The key of a datagram between two addresses.
pub(crate) fn key(
    [source, destination]: [V4; 2],
    identification: u16,
    protocol: u8,
) -> FragmentKey {
    FragmentKey::v4(&ipv4::Header::from(ipv4::Fields {
        tos: 0,
        total_length: 1500,
        identification,
        dont_fragment: false,
        fragment: ipv4::Fragment::WHOLE,
        ttl: 64,
        protocol,
        source,
        destination,
    }))
}

fn pool() -> V4 {
    v4("203.0.113.1", 0).address
}

fn nat() -> Nat {
    let mut setup = Setup::default();
    setup.capacity.fragments = CAPACITY;
    setup.nat()
}

/// First fragments of datagrams with these numbers, each from a source that `source` gives.
fn flood(nat: &mut Nat, numbers: std::ops::Range<u32>, source: impl Fn(u32) -> u32) {
    for number in numbers {
        let attacker = V4::from_number(source(number));
        let key = key([attacker, pool()], number as u16, UDP);
        remember(&nat.host, &nat.cfg, &key, PORTS, true).unwrap();
        if number % RATE == 0 {
            nat.host.now = nat.host.now + Span(1);
        }
    }
}

#[test]
fn rfc6146_3_4_fragments_find_the_ports_of_the_first() {
    let mut nat = Setup::default().nat();
    let (source, destination) = (v4("192.0.2.1", 0).address, v4("203.0.113.1", 0).address);
    let others = [
        key([source, destination], 8, 17),
        key([source, destination], 7, 6),
        key([destination, source], 7, 17),
    ];
    let key = key([source, destination], 7, 17);
    let ports = Ports {
        source: 53,
        destination: 4000,
    };
    assert_eq!(recall(&nat.host, &nat.cfg, &key), None);
    remember(&nat.host, &nat.cfg, &key, ports, true).unwrap();
    assert_eq!(recall(&nat.host, &nat.cfg, &key), Some(ports));
    for other in others {
        assert_eq!(recall(&nat.host, &nat.cfg, &other), None);
    }
    // The same identification again, with other ports.
    let again = Ports {
        source: 54,
        ..ports
    };
    remember(&nat.host, &nat.cfg, &key, again, true).unwrap();
    assert_eq!(recall(&nat.host, &nat.cfg, &key), Some(again));
    // FRAGMENT_MIN is 2 seconds.
    nat.pass(1);
    assert_eq!(recall(&nat.host, &nat.cfg, &key), Some(again));
    nat.pass(2);
    assert_eq!(recall(&nat.host, &nat.cfg, &key), None);
    nat.sweep();
    remember(&nat.host, &nat.cfg, &key, ports, true).unwrap();
    assert_eq!(recall(&nat.host, &nat.cfg, &key), Some(ports));
}

#[test]
fn rfc6146_4_fragments_are_over_after_fragment_min_and_not_before() {
    let mut nat = nat();
    let key = key([pool(), pool()], 7, 17);
    let ports = Ports {
        source: 53,
        destination: 4000,
    };
    remember(&nat.host, &nat.cfg, &key, ports, true).unwrap();
    let end = nat.host.now + Span::from_secs(2);
    nat.host.now = Instant(end.0 - 1);
    assert_eq!(recall(&nat.host, &nat.cfg, &key), Some(ports));
    nat.host.now = end;
    assert_eq!(recall(&nat.host, &nat.cfg, &key), None);
    nat.sweep();
    assert_eq!(
        occupancy(&nat.host.memory[..], &nat.cfg),
        Occupancy::default()
    );
}

#[test]
fn rfc6146_3_4_fragment_table_is_bounded() {
    let nat = Setup::default().nat();
    let addresses = ["192.0.2.1", "203.0.113.1"].map(|text| v4(text, 0).address);
    for id in 0..1000 {
        let ports = Ports {
            source: id,
            destination: 1,
        };
        remember(&nat.host, &nat.cfg, &key(addresses, id, 17), ports, true).unwrap();
    }
    let kept = (0..1000)
        .filter(|id| recall(&nat.host, &nat.cfg, &key(addresses, *id, 17)).is_some())
        .count();
    // Capacity 64, a half more places.
    assert!((64..=96).contains(&kept), "{kept}");
}

#[test]
fn a_source_takes_no_more_than_its_share_from_others() {
    let mut nat = nat();
    let victim = key([v4(VICTIM, 0).address, pool()], 1, UDP);
    flood(&mut nat, 0..2 * CAPACITY, |_| 0xc633_6401);
    remember(&nat.host, &nat.cfg, &victim, PORTS, true).unwrap();
    // For a second and a half: as long as a fragment may take.
    flood(&mut nat, 0..1400 * RATE, |_| 0xc633_6401);
    assert_eq!(recall(&nat.host, &nat.cfg, &victim), Some(PORTS));
}

#[test]
fn what_is_over_makes_room_before_the_sweeper_comes() {
    let mut nat = nat();
    flood(&mut nat, 0..4 * CAPACITY, |number| 0x0a00_0000 | number);
    nat.pass(3);
    let victims = 0..CAPACITY as u16 / 2;
    let victim = |number| key([v4(VICTIM, 0).address, pool()], number, UDP);
    for number in victims.clone() {
        remember(&nat.host, &nat.cfg, &victim(number), PORTS, true).unwrap();
    }
    let kept = victims.filter(|number| recall(&nat.host, &nat.cfg, &victim(*number)).is_some());
    // Of one source alone sixteen places hold four at least; those that are over go first for others.
    assert!(kept.count() > 1000);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Sources can be forged: each datagram of the flood has another. Whoever sends the rest of a datagram
    /// within 5 ms is served, and mostly it is microseconds.
    #[test]
    fn a_flood_of_many_sources_leaves_time_for_the_rest_of_a_datagram(
        seed in any::<u32>(),
        gaps in prop::collection::vec(0..5 * RATE, 20..60),
    ) {
        let mut nat = nat();
        let forged = |number: u32| (number ^ seed).wrapping_mul(0x9e37_79b1) | 1;
        flood(&mut nat, 0..2 * CAPACITY, forged);
        let mut sent = 2 * CAPACITY;
        for (number, gap) in (0..).zip(gaps) {
            let victim = key([v4(VICTIM, 0).address, pool()], number, UDP);
            remember(&nat.host, &nat.cfg, &victim, PORTS, true).unwrap();
            flood(&mut nat, sent..sent + gap, forged);
            sent += gap;
            prop_assert_eq!(recall(&nat.host, &nat.cfg, &victim), Some(PORTS), "after {}", gap);
        }
    }
}

/// A fragment came before the first, and user space holds it. A program that gets the first leaves it to user space, which
/// releases the other; it takes those that follow.
#[test]
fn a_first_fragment_that_others_wait_for_is_for_who_holds_them() {
    let mut nat = nat();
    let key = key([v4(VICTIM, 0).address, pool()], 7, UDP);
    assert_eq!(wait_for_first(&nat.host, &nat.cfg, &key), None);
    let by_program = |nat: &Nat| remember(&nat.host, &nat.cfg, &key, PORTS, false);
    assert!(by_program(&nat).is_err());
    assert_eq!(recall(&nat.host, &nat.cfg, &key), None);
    // Another that is held does not prolong it.
    nat.pass(1);
    assert_eq!(wait_for_first(&nat.host, &nat.cfg, &key), None);
    assert!(by_program(&nat).is_err());
    remember(&nat.host, &nat.cfg, &key, PORTS, true).unwrap();
    assert_eq!(recall(&nat.host, &nat.cfg, &key), Some(PORTS));
    by_program(&nat).unwrap();
    // What was about to be held need not be any more.
    assert_eq!(wait_for_first(&nat.host, &nat.cfg, &key), Some(PORTS));
    nat.pass(2);
    assert_eq!(wait_for_first(&nat.host, &nat.cfg, &key), None);
    nat.pass(2);
    by_program(&nat).unwrap();
    assert_eq!(recall(&nat.host, &nat.cfg, &key), Some(PORTS));
}

/// Whoever waits for the first fragments of other people's datagrams takes no places from them.
#[test]
fn a_flood_of_later_fragments_takes_no_more_than_a_share() {
    let mut nat = nat();
    let victim = key([v4(VICTIM, 0).address, pool()], 1, UDP);
    let attacker = |number: u32| key([v4("198.51.100.1", 0).address, pool()], number as u16, UDP);
    for number in 0..2 * CAPACITY {
        wait_for_first(&nat.host, &nat.cfg, &attacker(number));
    }
    remember(&nat.host, &nat.cfg, &victim, PORTS, false).unwrap();
    for number in 0..1400 * RATE {
        wait_for_first(&nat.host, &nat.cfg, &attacker(number));
        if number % RATE == 0 {
            nat.host.now = nat.host.now + Span(1);
        }
    }
    assert_eq!(recall(&nat.host, &nat.cfg, &victim), Some(PORTS));
}

//! Shares of networks (RFC 6146 section 5.3): what many addresses of one network can take, and what is left to
//! others.

use crate::support::*;
use isthmus_core::host::Bounded;
use isthmus_core::nat::*;
use isthmus_core::reason::Counter;
use isthmus_core::verdict::{IcmpError, Refusal};

const SHARE: Refusal = Refusal::Drop(Counter::NetworkShare);

fn limited(sessions: u32, subscribers: u32) -> Setup {
    let defaults = Setup::default();
    Setup {
        capacity: Capacity {
            sessions,
            bindings: sessions,
            subscribers,
            ..defaults.capacity
        },
        pool: vec![range("203.0.113.0", 16, 1024, 65_535)],
        limits: Limits {
            sessions: 4096,
            ..Limits::default()
        },
        ..defaults
    }
}

/// A host of one of the subscribers of a /48 of 2001:db8::/32.
fn host(network: u16, subscriber: u16) -> Inside {
    inside(&format!("2001:db8:{network:x}:{subscriber:x}::1"), 5000)
}

fn fill(nat: &Nat, table: Counted) -> Fill {
    fills(&nat.host.memory[..], &nat.cfg)
        .find(|fill| fill.table == table)
        .unwrap()
}

/// How many of the subscribers of a network get a session each.
fn served(nat: &mut Nat, network: u16, subscribers: u16) -> u32 {
    let mut served = 0;
    for subscriber in 0..subscribers {
        match nat.out(host(network, subscriber), v4("192.0.2.1", 53), Udp) {
            Ok(_) => served += 1,
            Err(refusal) => assert_eq!(refusal, SHARE),
        }
    }
    served
}

#[test]
fn a_network_of_spoofed_subscribers_leaves_places_to_newcomers() {
    let mut nat = limited(8192, 1800).nat();
    // Two neighbouring /48 take what they get: four times what is left then.
    let first = served(&mut nat, 10, 5000);
    assert_eq!(first, 1440);
    let taken = first + served(&mut nat, 11, 5000);
    assert_eq!(taken, 1728);
    let full = fill(&nat, Counted::Subscribers);
    assert_eq!((full.used, full.limit), (u64::from(taken), 1800));
    assert!(full.refused >= 5000, "{full:?}");
    // Another one of the same /40, and one of another.
    assert_eq!(served(&mut nat, 7, 40), 40);
    assert_eq!(served(&mut nat, 0x700, 20), 20);
    // Who is there goes on.
    assert!(nat.out(host(10, 1), v4("192.0.2.9", 1), Udp).is_ok());
}

#[test]
fn subscribers_with_many_sessions_leave_places_to_other_networks() {
    let mut nat = limited(1800, 1800).nat();
    for port in 1..4000 {
        let _ = nat.out(host(10, port % 7), v4("192.0.2.1", port), Udp);
    }
    let full = fill(&nat, Counted::Sessions);
    assert_eq!(full.used, 1440);
    assert_eq!(served(&mut nat, 11, 50), 50);
}

/// What a subscriber may have is asked before what its network may have: it is told of its own limit, and a network is
/// not charged with it.
#[test]
fn who_is_over_its_own_limit_is_told_so_where_its_network_is_over_its_share() {
    let mut setup = limited(1800, 1800);
    setup.limits.bindings = 3;
    let mut nat = setup.nat();
    let full = |port| inside("2001:db8:a:ffff::1", port);
    for port in 1..=3 {
        nat.out(full(port), v4("192.0.2.1", 53), Udp).unwrap();
    }
    served(&mut nat, 10, 1700);
    let refused = |nat: &Nat| fill(nat, Counted::Bindings).refused;
    let before = refused(&nat);
    let over = Err(Refusal::Reply(
        IcmpError::AddressUnreachable,
        Counter::SubscriberLimit,
    ));
    let server = v4("192.0.2.1", 53);
    assert_eq!(nat.out(full(4), server, Udp), over);
    let program = outbound(&mut nat.host, &nat.cfg, Bounded, &full(4), server, Udp);
    assert_eq!(program, over);
    assert_eq!(refused(&nat), before);
    // One of the same network that may have more.
    assert_eq!(
        nat.out(inside("2001:db8:a:2::1", 9), server, Udp),
        Err(SHARE)
    );
    assert_eq!(refused(&nat), before + 1);
}

#[test]
fn a_wide_network_cannot_take_all_with_many_narrow_ones() {
    let mut nat = limited(8192, 1800).nat();
    // 256 networks of /48 in one of /40.
    let taken: u32 = (0..256).map(|network| served(&mut nat, network, 12)).sum();
    // 64 times what is left.
    assert_eq!(taken, 1773);
    assert_eq!(served(&mut nat, 0x700, 20), 20);
}

#[test]
fn what_ended_is_given_back() {
    let mut nat = limited(1800, 1800).nat();
    for _ in 0..20 {
        let taken = served(&mut nat, 10, 1700);
        assert_eq!(taken, 1440);
        nat.pass(301);
        nat.sweep();
        nat.sweep();
    }
    assert_eq!(
        occupancy(&nat.host.memory[..], &nat.cfg),
        Occupancy::default()
    );
    for fill in fills(&nat.host.memory[..], &nat.cfg) {
        assert_eq!(fill.used, 0, "{fill:?}");
    }
}

#[test]
fn ipv4_hosts_have_networks_as_well() {
    let mut setup = limited(1800, 1800);
    setup.subscriber = Subscriber::v4_host();
    let mut nat = setup.nat();
    let host = |network: u8, host: u16| Inside {
        v4: v4(&format!("10.{network}.{}.{}", host >> 8, host & 0xff), 0).address,
        port: 5000,
        ..Inside::default()
    };
    for number in 0..3000 {
        let _ = nat.out(host(1, number), v4("192.0.2.1", 1), Udp);
    }
    let full = fill(&nat, Counted::Subscribers);
    // The /16 may have 64 times what is left, and 3,000 hosts are of twelve /24.
    assert_eq!(full.used, 1772);
    for number in 0..20 {
        assert!(nat.out(host(2, number), v4("192.0.2.1", 1), Udp).is_ok());
    }
}

#[test]
fn permissions_take_no_places_of_sessions() {
    let mut setup = limited(1000, 0);
    setup.limits = Limits::default();
    setup.filtering = Filtering::AddressDependent;
    setup.capacity.permissions = 1000;
    let mut nat = setup.nat();
    for number in 0..1000_u16 {
        let remote = v4(&format!("192.0.{}.{}", number >> 8, number & 0xff), 53);
        let outside = nat.out(host(1, 1), remote, Udp).unwrap();
        assert!(
            nat.back(outside, Endpoint4 { port: 54, ..remote }, Udp)
                .is_ok()
        );
    }
    assert_eq!(fill(&nat, Counted::Sessions).used, 1000);
    assert_eq!(fill(&nat, Counted::Permissions).used, 1000);
    nat.pass(301);
    nat.sweep();
    assert_eq!(fill(&nat, Counted::Permissions).used, 0);
}

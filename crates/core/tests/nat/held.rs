//! Bindings that hosts ask for (RFC 6887 sections 11.3 and 15.1).

use std::net::Ipv4Addr;

use crate::support::*;
use isthmus_core::address::port_set::PortSet;
use isthmus_core::nat::*;
use isthmus_core::reason::Counter;
use isthmus_core::verdict::{IcmpError, Refusal};

const SYN: Transport = Transport::Tcp(TcpFlags::SYN);
const TCP: Protocol = Protocol::Tcp;

fn server() -> Inside {
    inside("2001:db8::80", 8080)
}

fn take(nat: &mut Nat, inside: Inside, wanted: Option<Endpoint4>) -> Result<Endpoint4, Refusal> {
    match hold(&mut nat.host, &nat.cfg, TCP, &inside, wanted)? {
        Held::Now(outside) => Ok(outside),
        Held::Before(outside) => panic!("{outside:?} was static before"),
    }
}

fn give_back(nat: &Nat, inside: Inside, outside: Endpoint4) {
    release(&nat.host.memory[..], &nat.cfg, TCP, &inside, outside);
}

fn has_ended(events: &[Event]) -> bool {
    events
        .iter()
        .any(|event| matches!(event, Event::BindingRemoved(_)))
}

#[test]
fn lets_everybody_in_for_as_long_as_it_is_held() {
    let mut nat = Setup {
        filtering: Filtering::AddressDependent,
        ..Setup::default()
    }
    .nat();
    let outside = take(&mut nat, server(), None).unwrap();
    let peer = v4("192.0.2.9", 999);
    nat.pass(100_000);
    assert!(!has_ended(&nat.sweep()));
    assert_eq!(nat.back(outside, peer, SYN), Ok(server()));
    nat.out(server(), peer, Transport::Tcp(TcpFlags(0x12)))
        .unwrap();
    give_back(&nat, server(), outside);
    // The connection lives on; the binding ends with it.
    assert!(!has_ended(&nat.sweep()));
    nat.pass(100_000);
    assert!(has_ended(&nat.sweep()));
    let refused = nat.back(outside, peer, SYN);
    assert_eq!(refused, Err(Refusal::Drop(Counter::NoBinding)));
    assert_eq!(
        occupancy(&nat.host.memory[..], &nat.cfg),
        Occupancy::default()
    );
}

#[test]
fn has_the_endpoint_that_was_wanted_if_it_is_free() {
    let mut nat = Setup::default().nat();
    let wanted = v4("203.0.113.1", 8080);
    assert_eq!(take(&mut nat, server(), Some(wanted)), Ok(wanted));
    let other = inside("2001:db8::81", 8080);
    let second = take(&mut nat, other, Some(wanted)).unwrap();
    assert_ne!(second, wanted);
    for elsewhere in [v4("203.0.113.2", 8080), v4("203.0.113.1", 80)] {
        let host = inside("2001:db8::82", elsewhere.port);
        let third = take(&mut nat, host, Some(elsewhere)).unwrap();
        assert_ne!(third, elsewhere, "not one of the pool");
    }
}

#[test]
fn is_the_binding_that_packets_made_before() {
    let mut nat = Setup::default().nat();
    let peer = v4("192.0.2.9", 999);
    let outside = nat.out(server(), peer, SYN).unwrap();
    let wanted = v4("203.0.113.1", outside.port ^ 1);
    assert_eq!(take(&mut nat, server(), Some(wanted)), Ok(outside));
    // And the one that packets use from then on.
    let outside = take(&mut nat, inside("2001:db8::83", 5), None).unwrap();
    assert_eq!(nat.out(inside("2001:db8::83", 5), peer, SYN), Ok(outside));
}

#[test]
fn is_not_taken_from_the_administrator() {
    let mut nat = Setup::default().nat();
    let binding = StaticBinding {
        protocol: TCP,
        inside: server(),
        outside: v4("203.0.113.1", 80),
    };
    insert_static(&nat.host.memory[..], &nat.cfg, nat.host.now, &binding).unwrap();
    let held = hold(&mut nat.host, &nat.cfg, TCP, &server(), None);
    assert_eq!(held, Ok(Held::Before(binding.outside)));
}

#[test]
fn counts_for_the_limit_of_its_subscriber() {
    let mut nat = Setup {
        limits: Limits {
            bindings: 2,
            sessions: 0,
        },
        ..Setup::default()
    }
    .nat();
    let host = |port| inside("2001:db8::80", port);
    let first = take(&mut nat, host(1), Some(v4("203.0.113.1", 5001))).unwrap();
    take(&mut nat, host(2), None).unwrap();
    let refused = Refusal::Reply(IcmpError::AddressUnreachable, Counter::SubscriberLimit);
    for wanted in [None, Some(v4("203.0.113.1", 5003))] {
        assert_eq!(take(&mut nat, host(3), wanted), Err(refused));
    }
    give_back(&nat, host(1), first);
    nat.sweep();
    take(&mut nat, host(3), Some(v4("203.0.113.1", 5003))).unwrap();
}

#[test]
fn lies_in_the_blocks_of_its_subscriber() {
    let blocks = Blocks::Dynamic {
        size: 16,
        per_subscriber: 1,
    };
    let mut nat = Setup {
        blocks,
        ..Setup::default()
    }
    .nat();
    let first = take(&mut nat, inside("2001:db8::80", 1), None).unwrap();
    let wanted = v4("203.0.113.1", first.port ^ 16);
    let second = take(&mut nat, inside("2001:db8::80", 2), Some(wanted)).unwrap();
    assert_eq!(first.port & !15, second.port & !15);
    give_back(&nat, inside("2001:db8::80", 1), first);
    give_back(&nat, inside("2001:db8::80", 2), second);
    let released = nat.sweep();
    assert!(
        released
            .iter()
            .any(|event| matches!(event, Event::BlockReleased(_))),
        "{released:?}"
    );
}

#[test]
fn lies_in_the_port_set_of_the_customer() {
    let set = PortSet::new(6, 8, 0x34).unwrap();
    let address = Ipv4Addr::new(203, 0, 113, 18);
    let cfg = NatConfig {
        pool: Pool::of_ce(address.into(), set),
        ..Setup {
            blocks: Blocks::PortSet,
            ..Setup::default()
        }
        .config()
    };
    let mut nat = Nat {
        host: TestHost::new(&cfg),
        cfg,
    };
    let own = v4("203.0.113.18", set.nth(5).unwrap());
    assert_eq!(take(&mut nat, server(), Some(own)), Ok(own));
    let foreign = v4("203.0.113.18", own.port + 4);
    assert!(!set.contains(foreign.port));
    let port = take(&mut nat, inside("2001:db8::81", 1), Some(foreign)).unwrap();
    assert!(set.contains(port.port), "{port:?}");
}

#[test]
fn its_address_is_known_before() {
    let mut nat = Setup {
        pool: vec![range("203.0.113.1", 8, 1024, 65_535)],
        ..Setup::default()
    }
    .nat();
    for host in ["2001:db8:1::1", "2001:db8:2::1", "2001:db8:3::1"] {
        let expected = address_of(&nat.cfg, &inside(host, 7), TCP).unwrap();
        let outside = take(&mut nat, inside(host, 7), None).unwrap();
        assert_eq!(outside.address, expected);
    }
}

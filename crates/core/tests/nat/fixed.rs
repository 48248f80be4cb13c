//! Static bindings (RFC 6146 section 3.1), look-ups for ICMP errors (section 3.6) and hairpinning
//! (section 3.8).

use crate::support::*;
use isthmus_core::nat::*;
use isthmus_core::reason::Counter;
use isthmus_core::verdict::Refusal;

const SYN: Transport = Transport::Tcp(TcpFlags::SYN);

fn web() -> StaticBinding {
    StaticBinding {
        protocol: Protocol::Tcp,
        inside: inside("2001:db8::80", 80),
        outside: v4("203.0.113.1", 80),
    }
}

fn nat_with_web() -> Nat {
    let nat = Setup::default().nat();
    insert_static(&nat.host.memory[..], &nat.cfg, nat.host.now, &web()).unwrap();
    nat
}

#[test]
fn rfc6146_3_1_static_binding_lets_connections_in() {
    let mut nat = nat_with_web();
    let peer = v4("192.0.2.9", 999);
    assert_eq!(nat.back(web().outside, peer, SYN), Ok(web().inside));
    assert_eq!(nat.out(web().inside, peer, SYN), Ok(web().outside));
}

#[test]
fn rfc6146_3_1_static_binding_outlives_its_sessions() {
    let mut nat = nat_with_web();
    nat.back(web().outside, v4("192.0.2.9", 999), SYN).unwrap();
    nat.pass(100_000);
    let events = nat.sweep();
    assert!(
        !events
            .iter()
            .any(|event| matches!(event, Event::BindingRemoved(_))),
        "{events:?}"
    );
    assert_eq!(
        nat.back(web().outside, v4("192.0.2.9", 999), SYN),
        Ok(web().inside)
    );
}

#[test]
fn a_static_binding_that_is_made_twice_stays() {
    let mut nat = nat_with_web();
    let memory = &nat.host.memory[..];
    assert_eq!(
        insert_static(memory, &nat.cfg, nat.host.now, &web()),
        Ok(())
    );
    nat.pass(100_000);
    nat.sweep();
    let peer = v4("192.0.2.9", 999);
    assert_eq!(nat.back(web().outside, peer, SYN), Ok(web().inside));
}

#[test]
fn rfc6146_3_1_removed_static_binding_ends_with_its_last_session() {
    let mut nat = nat_with_web();
    nat.back(web().outside, v4("192.0.2.9", 999), SYN).unwrap();
    nat.out(
        web().inside,
        v4("192.0.2.9", 999),
        Transport::Tcp(TcpFlags(0x12)),
    )
    .unwrap();
    remove_static(&nat.host.memory[..], &nat.cfg, &web()).unwrap();
    assert_eq!(
        remove_static(&nat.host.memory[..], &nat.cfg, &web()),
        Err(StaticError::Missing)
    );
    nat.sweep();
    assert!(nat.back(web().outside, v4("192.0.2.9", 999), SYN).is_ok());
    nat.pass(241);
    nat.sweep();
    assert_eq!(
        nat.back(web().outside, v4("192.0.2.9", 999), SYN),
        Err(Refusal::Drop(Counter::NoBinding))
    );
}

#[test]
fn static_bindings_do_not_take_what_is_taken() {
    let nat = nat_with_web();
    let memory = &nat.host.memory[..];
    let now = nat.host.now;
    // The same again is fine.
    assert_eq!(insert_static(memory, &nat.cfg, now, &web()), Ok(()));
    let other_outside = StaticBinding {
        outside: v4("203.0.113.1", 81),
        ..web()
    };
    assert_eq!(
        insert_static(memory, &nat.cfg, now, &other_outside),
        Err(StaticError::InsideTaken(web().outside))
    );
    let other_inside = StaticBinding {
        inside: inside("2001:db8::81", 80),
        ..web()
    };
    assert_eq!(
        insert_static(memory, &nat.cfg, now, &other_inside),
        Err(StaticError::OutsideTaken)
    );
    let elsewhere = StaticBinding {
        outside: v4("203.0.113.2", 80),
        ..web()
    };
    assert_eq!(
        insert_static(memory, &nat.cfg, now, &elsewhere),
        Err(StaticError::NotInPool)
    );
}

#[test]
fn dynamic_bindings_keep_away_from_static_ones() {
    let setup = Setup {
        pool: vec![range("203.0.113.1", 1, 2000, 2001)],
        ..Setup::default()
    };
    let mut nat = setup.nat();
    let fixed = StaticBinding {
        protocol: Protocol::Udp,
        inside: inside("2001:db8::80", 2000),
        outside: v4("203.0.113.1", 2000),
    };
    insert_static(&nat.host.memory[..], &nat.cfg, nat.host.now, &fixed).unwrap();
    let outside = nat
        .out(inside("2001:db8::1", 2000), v4("192.0.2.1", 1), Udp)
        .unwrap();
    assert_eq!(outside.port, 2001);
}

#[test]
fn rfc6146_3_6_1_errors_are_mapped_by_binding_and_refresh_nothing() {
    let mut nat = Setup::default().nat();
    let client = inside("2001:db8::1", 5000);
    let server = v4("192.0.2.1", 53);
    let outside = nat.out(client, server, Udp).unwrap();
    nat.pass(200);
    let router = v4("198.51.100.1", 1);
    for remote in [server, router] {
        assert_eq!(
            peek_inbound(&nat.host, &nat.cfg, outside, remote, Protocol::Udp),
            Some(client)
        );
        assert_eq!(
            peek_outbound(&nat.host, &nat.cfg, &client, remote, Protocol::Udp),
            Some(outside)
        );
    }
    assert_eq!(
        peek_inbound(&nat.host, &nat.cfg, outside, server, Protocol::Tcp),
        None
    );
    nat.pass(101);
    let events = nat.sweep();
    assert!(
        events
            .iter()
            .any(|event| matches!(event, Event::SessionRemoved(_)))
    );
    assert_eq!(nat.host.counted(Counter::SessionCreated), 1);
}

#[test]
fn rfc6146_3_8_hairpin_goes_out_and_in_again() {
    let mut nat = nat_with_web();
    let client = inside("2001:db8:5::1", 5000);
    let outside = nat.out(client, web().outside, SYN).unwrap();
    assert!(nat.cfg.owns(web().outside.address));
    assert_eq!(nat.back(web().outside, outside, SYN), Ok(web().inside));
    // And the answer.
    assert_eq!(nat.out(web().inside, outside, SYN), Ok(web().outside));
    assert_eq!(nat.back(outside, web().outside, SYN), Ok(client));
}

#[test]
fn rfc6146_3_5_3_icmp_sessions_have_one_identifier() {
    let mut nat = Setup::default().nat();
    let client = inside("2001:db8::1", 77);
    let out = nat.out(client, v4("192.0.2.1", 77), Icmp).unwrap();
    // The answer carries the outside identifier in the place of both.
    assert_eq!(nat.back(out, v4("192.0.2.1", out.port), Icmp), Ok(client));
    assert_eq!(nat.host.counted(Counter::SessionCreated), 1);
    // ICMP_DEFAULT is 60 seconds.
    nat.pass(59);
    nat.sweep();
    assert!(nat.back(out, v4("192.0.2.1", out.port), Icmp).is_ok());
    nat.pass(61);
    nat.sweep();
    assert_eq!(
        nat.back(out, v4("192.0.2.1", out.port), Icmp),
        Err(Refusal::Drop(Counter::NoBinding))
    );
}

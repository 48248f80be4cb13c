//! Filtering of packets from outside (RFC 6146 sections 3.5.1 to 3.5.3, RFC 4787 section 5).

use crate::support::*;
use isthmus_core::nat::*;
use isthmus_core::reason::Counter;
use isthmus_core::verdict::Refusal;

const SYN: Transport = Transport::Tcp(TcpFlags::SYN);
const ACK: Transport = Transport::Tcp(TcpFlags::ACK);
const FILTERED: Result<Inside, Refusal> = Err(Refusal::Drop(Counter::Filtered));

fn strict() -> Nat {
    Setup {
        filtering: Filtering::AddressDependent,
        ..Setup::default()
    }
    .nat()
}

fn client() -> Inside {
    inside("2001:db8::1", 5000)
}

#[test]
fn rfc6146_3_5_1_address_dependent_filtering_of_udp() {
    let mut nat = strict();
    let outside = nat.out(client(), v4("192.0.2.1", 53), Udp).unwrap();
    // The same address from another port may, another address may not.
    assert_eq!(nat.back(outside, v4("192.0.2.1", 99), Udp), Ok(client()));
    assert_eq!(nat.back(outside, v4("192.0.2.2", 53), Udp), FILTERED);
    // Until the inside endpoint sends there.
    nat.out(client(), v4("192.0.2.2", 1), Udp).unwrap();
    assert_eq!(nat.back(outside, v4("192.0.2.2", 53), Udp), Ok(client()));
}

#[test]
fn rfc6146_3_5_1_permission_lasts_as_long_as_a_session() {
    let mut nat = strict();
    let outside = nat.out(client(), v4("192.0.2.1", 53), Udp).unwrap();
    // Another session keeps the binding, this one is kept by packets from outside.
    for _ in 0..5 {
        nat.pass(200);
        nat.sweep();
        nat.back(outside, v4("192.0.2.1", 53), Udp).unwrap();
        nat.out(client(), v4("192.0.2.9", 9), Udp).unwrap();
        assert_eq!(nat.back(outside, v4("192.0.2.2", 53), Udp), FILTERED);
        // It comes by every second or two, and has the permission last as long as its session.
        nat.sweep();
    }
    nat.pass(200);
    nat.out(client(), v4("192.0.2.9", 9), Udp).unwrap();
    assert!(nat.back(outside, v4("192.0.2.1", 7), Udp).is_ok());
    nat.pass(200);
    nat.out(client(), v4("192.0.2.9", 9), Udp).unwrap();
    nat.pass(101);
    nat.sweep();
    assert_eq!(nat.back(outside, v4("192.0.2.1", 8), Udp), FILTERED);
}

#[test]
fn rfc6146_3_5_1_answers_to_the_outside_permit_as_well() {
    let mut nat = strict();
    let outside = nat.out(client(), v4("192.0.2.1", 53), Udp).unwrap();
    nat.pass(150);
    nat.back(outside, v4("192.0.2.1", 54), Udp).unwrap();
    // A session of its own, which lasts until 450 s; the first ends at 300 s.
    nat.out(client(), v4("192.0.2.1", 54), Udp).unwrap();
    nat.pass(151);
    nat.sweep();
    assert_eq!(nat.back(outside, v4("192.0.2.1", 55), Udp), Ok(client()));
}

#[test]
fn rfc6146_3_5_1_permission_ends_with_its_binding() {
    let setup = Setup {
        filtering: Filtering::AddressDependent,
        ..Setup::default()
    };
    let mut nat = setup.nat();
    let server = v4("192.0.2.1", 443);
    nat.out(client(), server, SYN).unwrap();
    nat.out(client(), server, SYN).unwrap();
    let outside = nat.out(client(), server, SYN).unwrap();
    // Established, so the permission is meant to last for two hours; then reset.
    nat.back(outside, server, Transport::Tcp(TcpFlags(0x12)))
        .unwrap();
    nat.back(outside, server, Transport::Tcp(TcpFlags::RST))
        .unwrap();
    nat.pass(241);
    let events = nat.sweep();
    assert!(
        events
            .iter()
            .any(|event| matches!(event, Event::BindingRemoved(_))),
        "a permission kept its binding: {events:?}"
    );
    nat.pass(1);
    nat.sweep();
    // A later binding of the same inside endpoint does not inherit it.
    let outside = nat.out(client(), v4("192.0.2.7", 443), SYN).unwrap();
    assert_eq!(nat.back(outside, server, SYN), FILTERED);
}

#[test]
fn rfc6146_3_5_2_2_a_permission_does_not_inherit_from_an_earlier_binding() {
    let mut nat = strict();
    let (server, other) = (v4("192.0.2.1", 443), v4("192.0.2.7", 443));
    let client = |number: u16| inside("2001:db8::1", 5000 + number);
    let open = |nat: &mut Nat, number, server| {
        let outside = nat.out(client(number), server, SYN).unwrap();
        nat.back(outside, server, Transport::Tcp(TcpFlags(0x12)))
            .unwrap();
        outside
    };
    for number in 0..32 {
        let outside = open(&mut nat, number, server);
        nat.back(outside, server, Transport::Tcp(TcpFlags::RST))
            .unwrap();
    }
    nat.pass(241);
    // Some permissions are still there: the sweeper came by before their bindings ended.
    nat.sweep();
    let outside: Vec<_> = (0..32)
        .map(|number| {
            nat.out(client(number), server, SYN).unwrap();
            open(&mut nat, number, other)
        })
        .collect();
    // TCP_TRANS is over.
    nat.pass(241);
    for outside in outside {
        assert_eq!(nat.back(outside, v4("192.0.2.1", 80), SYN), FILTERED);
    }
}

#[test]
fn rfc6146_3_5_2_2_address_dependent_filtering_of_tcp() {
    let mut nat = strict();
    let outside = nat.out(client(), v4("192.0.2.1", 443), SYN).unwrap();
    for transport in [SYN, ACK] {
        assert_eq!(
            nat.back(outside, v4("198.51.100.1", 443), transport),
            FILTERED
        );
        assert_eq!(
            nat.back(outside, v4("192.0.2.1", 80), transport),
            Ok(client())
        );
    }
}

#[test]
fn rfc6146_3_5_3_address_dependent_filtering_of_icmp() {
    let mut nat = strict();
    let outside = nat.out(client(), v4("192.0.2.1", 0), Icmp).unwrap();
    assert_eq!(nat.back(outside, v4("192.0.2.1", 3), Icmp), Ok(client()));
    assert_eq!(nat.back(outside, v4("192.0.2.2", 3), Icmp), FILTERED);
}

#[test]
fn permissions_are_not_sessions() {
    let mut nat = strict();
    nat.out(client(), v4("192.0.2.1", 53), Udp).unwrap();
    let mut seen = 0;
    let _ = sessions(
        &nat.host.memory[..],
        &nat.cfg,
        0..nat.cfg.layout.buckets(),
        |_| {
            seen += 1;
            core::ops::ControlFlow::Continue(())
        },
    );
    assert_eq!(seen, 1);
    nat.sweep();
    nat.pass(301);
    let events = nat.sweep();
    assert!(
        matches!(
            events[..],
            [Event::SessionRemoved(_), Event::BindingRemoved(_)]
        ),
        "{events:?}"
    );
}

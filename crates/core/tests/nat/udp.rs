//! UDP sessions (RFC 6146 sections 3.5.1 and 3.5.1.1).

use crate::support::*;
use isthmus_core::nat::*;
use isthmus_core::reason::Counter;
use isthmus_core::verdict::Refusal;

const HOST: &str = "2001:db8:1::1";
const SERVER: &str = "192.0.2.1";

#[test]
fn rfc6146_3_5_1_outbound_makes_binding_and_session() {
    let mut nat = Setup::default().nat();
    let outside = nat.out(inside(HOST, 5000), v4(SERVER, 53), Udp).unwrap();
    assert!(nat.cfg.owns(outside.address));
    assert_eq!(nat.host.counted(Counter::BindingCreated), 1);
    assert_eq!(nat.host.counted(Counter::SessionCreated), 1);
    let back = nat.back(outside, v4(SERVER, 53), Udp).unwrap();
    assert_eq!(back, inside(HOST, 5000));
    assert_eq!(nat.host.counted(Counter::SessionCreated), 1);
}

#[test]
fn rfc4787_req1_mapping_is_endpoint_independent() {
    let mut nat = Setup::default().nat();
    let first = nat.out(inside(HOST, 5000), v4(SERVER, 53), Udp).unwrap();
    for port in 1..100 {
        let other = nat
            .out(inside(HOST, 5000), v4("192.0.2.7", port), Udp)
            .unwrap();
        assert_eq!(other, first);
    }
    assert_eq!(nat.host.counted(Counter::BindingCreated), 1);
}

#[test]
fn rfc6146_3_5_1_inbound_without_binding_is_dropped() {
    let mut nat = Setup::default().nat();
    assert_eq!(
        nat.back(v4("203.0.113.1", 4000), v4(SERVER, 53), Udp),
        Err(Refusal::Drop(Counter::NoBinding))
    );
}

#[test]
fn rfc6146_3_5_1_endpoint_independent_filtering_lets_others_in() {
    let mut nat = Setup::default().nat();
    let outside = nat.out(inside(HOST, 5000), v4(SERVER, 53), Udp).unwrap();
    let stranger = v4("198.51.100.9", 777);
    assert_eq!(nat.back(outside, stranger, Udp), Ok(inside(HOST, 5000)));
    // Nothing is remembered of a stranger until it is answered.
    assert_eq!(nat.host.counted(Counter::SessionCreated), 1);
    assert_eq!(nat.out(inside(HOST, 5000), stranger, Udp), Ok(outside));
    assert_eq!(nat.host.counted(Counter::SessionCreated), 2);
    assert_eq!(nat.back(outside, stranger, Udp), Ok(inside(HOST, 5000)));
}

/// RFC 6146 section 5.3: a stranger who knows one outside endpoint does not fill the tables.
#[test]
fn strangers_take_no_place_in_the_tables() {
    let mut setup = Setup::default();
    setup.capacity.sessions = 64;
    let mut nat = setup.nat();
    let outside = nat.out(inside(HOST, 5000), v4(SERVER, 53), Udp).unwrap();
    for number in 0..10_000_u32 {
        let stranger = Endpoint4 {
            address: isthmus_core::address::V4::from_number(0xc633_6400 + number / 100),
            port: number as u16,
        };
        for transport in [Udp, Transport::Tcp(TcpFlags::SYN), Icmp] {
            let _ = nat.back(outside, stranger, transport);
        }
    }
    let occupied = occupancy(&nat.host.memory[..], &nat.cfg);
    assert_eq!((occupied.sessions, occupied.bindings), (1, 1));
    nat.out(inside("2001:db8:2::1", 5000), v4(SERVER, 53), Udp)
        .unwrap();
}

#[test]
fn rfc6146_4_udp_default_is_five_minutes() {
    let mut nat = Setup::default().nat();
    let outside = nat.out(inside(HOST, 5000), v4(SERVER, 53), Udp).unwrap();
    nat.pass(299);
    nat.sweep();
    assert!(nat.back(outside, v4(SERVER, 53), Udp).is_ok());
    // Both directions refresh.
    nat.pass(299);
    nat.sweep();
    assert_eq!(
        nat.out(inside(HOST, 5000), v4(SERVER, 53), Udp),
        Ok(outside)
    );
    nat.pass(301);
    let events = nat.sweep();
    assert!(matches!(
        events[..],
        [Event::SessionRemoved(_), Event::BindingRemoved(_)]
    ));
    assert_eq!(
        nat.back(outside, v4(SERVER, 53), Udp),
        Err(Refusal::Drop(Counter::NoBinding))
    );
}

#[test]
fn rfc6146_3_5_1_1_bibs_of_protocols_are_separate() {
    let setup = Setup {
        pool: vec![range("203.0.113.1", 1, 2000, 2001)],
        ..Setup::default()
    };
    let mut nat = setup.nat();
    let server = v4(SERVER, 53);
    let syn = Transport::Tcp(TcpFlags::SYN);
    let udp = nat.out(inside(HOST, 5000), server, Udp).unwrap();
    let tcp = nat.out(inside(HOST, 5000), server, syn).unwrap();
    let icmp = nat.out(inside(HOST, 5000), server, Icmp).unwrap();
    assert_eq!((udp.port, tcp.port, icmp.port), (2000, 2000, 2000));
}

#[test]
fn rfc4787_req4_parity_is_kept() {
    let mut nat = Setup::default().nat();
    for port in 10_000..10_200 {
        let outside = nat.out(inside(HOST, port), v4(SERVER, 53), Udp).unwrap();
        assert_eq!(outside.port % 2, port % 2);
    }
}

#[test]
fn rfc4787_req3a_well_known_range_is_kept() {
    let setup = Setup {
        pool: vec![range("203.0.113.1", 1, 1, 65_535)],
        ..Setup::default()
    };
    let mut nat = setup.nat();
    for port in [1, 53, 500, 1023] {
        let outside = nat.out(inside(HOST, port), v4(SERVER, 53), Udp).unwrap();
        assert!(outside.port < 1024, "{port} became {}", outside.port);
    }
    for port in [1024, 1025, 65_535] {
        let outside = nat.out(inside(HOST, port), v4(SERVER, 53), Udp).unwrap();
        assert!(outside.port >= 1024, "{port} became {}", outside.port);
    }
}

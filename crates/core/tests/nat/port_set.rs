//! A NAT whose one address is shared with other customers: it has the ports of its set, all of
//! them, and no other (RFC 7597 sections 5.1 and 8.1).

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use crate::support::*;
use isthmus_core::address::port_set::PortSet;
use isthmus_core::host::Bounded;
use isthmus_core::nat::*;
use isthmus_core::reason::Counter;
use isthmus_core::verdict::{Refusal, Slow};

const SERVER: &str = "192.0.2.1";

fn customer(set: PortSet) -> Nat {
    let cfg = NatConfig {
        pool: Pool::of_ce(Ipv4Addr::new(203, 0, 113, 18).into(), set),
        ..Setup {
            // Their account is kept in user space only.
            capacity: Capacity {
                permissions: 0,
                subscribers: 0,
                ..Setup::default().capacity
            },
            blocks: Blocks::PortSet,
            ..Setup::default()
        }
        .config()
    };
    Nat {
        host: TestHost::new(&cfg),
        cfg,
    }
}

#[test]
fn all_ports_of_the_set_and_no_other_are_used() {
    // The customer of RFC 7597 appendix A, example 1; ports one by one; a set that begins with 0.
    for (offset, length, psid) in [(6, 8, 0x34), (4, 12, 0x123), (0, 8, 0), (0, 16, 8080)] {
        let set = PortSet::new(offset, length, psid).unwrap();
        let mut nat = customer(set);
        // Port 0 is none.
        let expected: BTreeSet<u16> = set.ranges().flatten().filter(|port| *port != 0).collect();
        let mut used = BTreeSet::new();
        for port in (1..).take(expected.len()) {
            let outside = nat
                .out(inside("2001:db8::1", port), v4(SERVER, 53), Udp)
                .unwrap();
            assert!(used.insert(outside.port), "{} twice", outside.port);
            let back = nat.back(outside, v4(SERVER, 53), Udp).unwrap();
            assert_eq!(back.port, port);
        }
        assert_eq!(used, expected);
        let one_more = nat.out(inside("2001:db8::1", 60_000), v4(SERVER, 53), Udp);
        let refused = Refusal::Reply(
            isthmus_core::verdict::IcmpError::AddressUnreachable,
            Counter::PoolExhausted,
        );
        assert_eq!(one_more, Err(refused), "{set:?}");
    }
}

#[test]
fn parity_stays_where_ports_come_in_pairs() {
    let mut nat = customer(PortSet::new(6, 8, 0x34).unwrap());
    for port in 5000..5100 {
        let outside = nat
            .out(inside("2001:db8::1", port), v4(SERVER, 53), Udp)
            .unwrap();
        assert_eq!(outside.port % 2, port % 2);
    }
}

#[test]
fn bounded_effort_leaves_a_set_to_others() {
    let set = PortSet::new(6, 8, 0x34).unwrap();
    let mut nat = customer(set);
    for port in 1..100 {
        let source = inside("2001:db8::1", port);
        let found = outbound(
            &mut nat.host,
            &nat.cfg,
            Bounded,
            &source,
            v4(SERVER, 53),
            Udp,
        );
        assert_eq!(found, Err(Refusal::Slow(Slow::Table)));
    }
    assert_eq!(nat.host.counted(Counter::BindingCreated), 0);
}

//! Pools without a free port: what the next flow costs, and who else feels it (RFC 6146 section 5.3).

use isthmus_core::host::{Bounded, Destination, Host, Route, Thorough};
use isthmus_core::nat::*;
use isthmus_core::reason::Counter;
use isthmus_core::table::Line;
use isthmus_core::time::Instant;
use isthmus_core::verdict::{IcmpError, Refusal, Slow};

use crate::support::*;

struct CountingHost<'a> {
    memory: Counting<'a>,
    now: Instant,
}

impl<'a> Host for CountingHost<'a> {
    type Effort = Thorough;
    type State = Counting<'a>;
    type Rules = [Line];

    fn state(&self) -> &Counting<'a> {
        &self.memory
    }

    fn rules(&self) -> &[Line] {
        &[]
    }

    fn now(&self) -> Instant {
        self.now
    }

    fn random(&mut self) -> u32 {
        unreachable!("chance has no part in the choice of ports")
    }

    fn select(&mut self, _instance: u32) {}

    fn count(&mut self, _counter: Counter) {}

    fn route(&mut self, _to: Destination) -> Result<Option<Route>, Slow> {
        Ok(None)
    }
}

/// Two whole addresses.
fn two_addresses() -> Setup {
    Setup {
        capacity: Capacity {
            sessions: 1 << 17,
            bindings: 1 << 17,
            permissions: 0,
            subscribers: 0,
            fragments: 16,
            traffic: false,
        },
        pool: vec![range("203.0.113.0", 2, 1024, 65_535)],
        pooling: Pooling::Strict,
        ..Setup::default()
    }
}

/// The hosts of one subscriber, each with many ports.
fn flow(subscriber: u16, number: u32) -> Inside {
    let host = number >> 16;
    inside(&format!("2001:db8:{subscriber:x}::{host:x}"), number as u16)
}

/// A subscriber that is paired with the other address than the first one.
fn elsewhere(nat: &mut Nat) -> u16 {
    let remote = v4("192.0.2.1", 1);
    let taken = nat.out(flow(1, 1), remote, Udp).unwrap().address;
    (2..100)
        .find(|subscriber| nat.out(flow(*subscriber, 1), remote, Udp).unwrap().address != taken)
        .unwrap()
}

#[test]
fn one_host_does_not_make_the_flows_of_another_dear() {
    let mut nat = two_addresses().nat();
    let victim = elsewhere(&mut nat);
    let mut refused = 0;
    for number in 0..100_000 {
        nat.host.now.0 += u64::from(number % 100 == 0);
        if nat.out(flow(1, number), v4("192.0.2.1", 1), Udp).is_err() {
            refused += 1;
        }
    }
    // All ports of the address were used but at most one in a hundred.
    assert!((35_488..36_133).contains(&refused), "{refused}");

    let mut host = CountingHost {
        memory: Counting::new(&nat.host.memory),
        now: nat.host.now,
    };
    let mut dearest = 0;
    let mut all = 0;
    let mut replies = 0;
    let mut found = 0;
    for number in 100_000..110_000 {
        // A hundred thousand a second.
        host.now = Instant(nat.host.now.0 + u64::from(number - 100_000) / 100);
        host.memory.reads.set(0);
        let refusal = outbound(
            &mut host,
            &nat.cfg,
            Thorough,
            &flow(1, number),
            v4("192.0.2.1", 1),
            Udp,
        );
        match refusal {
            Err(Refusal::Reply(IcmpError::AddressUnreachable, Counter::PoolExhausted)) => {
                replies += 1;
            }
            Err(refusal) => assert_eq!(refusal, Refusal::Drop(Counter::PoolExhausted)),
            Ok(_) => found += 1,
        }
        dearest = dearest.max(host.memory.reads.get());
        all += host.memory.reads.get();
    }
    assert!(dearest < 20_000, "{dearest}");
    assert!(all / 10_000 < 40, "{all}");
    // A search each eighth of a second, and few find one of the last ports.
    assert!(
        (1..=2).contains(&replies) && found < 200,
        "{replies} {found}"
    );
    host.memory.reads.set(0);
    let victim = flow(victim, 2);
    outbound(
        &mut host,
        &nat.cfg,
        Thorough,
        &victim,
        v4("192.0.2.1", 1),
        Udp,
    )
    .unwrap();
    assert!(host.memory.reads.get() < 100, "{:?}", host.memory.reads);
}

#[test]
fn rfc6146_3_5_1_1_a_port_that_was_given_back_is_found_a_moment_later() {
    let mut setup = two_addresses();
    setup.pool = vec![range("203.0.113.0", 1, 2000, 2003)];
    let mut nat = setup.nat();
    let remote = v4("192.0.2.1", 1);
    for number in 0..4 {
        nat.out(flow(1, number), remote, Udp).unwrap();
    }
    let exhausted = Refusal::Reply(IcmpError::AddressUnreachable, Counter::PoolExhausted);
    assert_eq!(nat.out(flow(1, 4), remote, Udp), Err(exhausted));
    let at_once = Refusal::Drop(Counter::PoolExhausted);
    assert_eq!(nat.out(flow(1, 5), remote, Udp), Err(at_once));
    // Another protocol has ports of its own.
    nat.out(flow(1, 5), remote, Icmp).unwrap();
    nat.pass(301);
    nat.sweep();
    nat.out(flow(1, 5), remote, Udp).unwrap();
}

#[test]
fn programs_of_bpf_do_not_hand_on_what_was_refused_a_moment_ago() {
    let mut setup = two_addresses();
    setup.pool = vec![range("203.0.113.0", 1, 2000, 2003)];
    let mut nat = setup.nat();
    let remote = v4("192.0.2.1", 1);
    for number in 0..5 {
        let _ = nat.out(flow(1, number), remote, Udp);
    }
    let host = &mut nat.host;
    let refused = outbound(host, &nat.cfg, Bounded, &flow(1, 5), remote, Udp);
    assert_eq!(refused, Err(Refusal::Drop(Counter::PoolExhausted)));
}

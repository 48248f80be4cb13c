//! Subscribers: pairing with outside addresses (RFC 4787 requirement 2, RFC 7857 section 4),
//! limits (RFC 6888 requirements 4 and 5), port blocks, and calculated ones (RFC 7422).

use std::collections::{HashMap, HashSet};
use std::net::{Ipv4Addr, Ipv6Addr};

use crate::support::*;
use isthmus_core::nat::*;
use isthmus_core::reason::Counter;
use isthmus_core::verdict::{IcmpError, Refusal};

fn exhausted<T>() -> Result<T, Refusal> {
    Err(Refusal::Reply(
        IcmpError::AddressUnreachable,
        Counter::PoolExhausted,
    ))
}

#[test]
fn rfc4787_req2_a_subscriber_keeps_its_address() {
    let setup = Setup {
        pool: vec![
            range("198.51.100.0", 8, 1024, 65_535),
            range("203.0.113.0", 8, 1024, 65_535),
        ],
        ..Setup::default()
    };
    let mut nat = setup.nat();
    let mut used = HashSet::new();
    for subscriber in 0..40 {
        let mut own = HashSet::new();
        for port in 5000..5010 {
            for transport in [Udp, Icmp, Transport::Tcp(TcpFlags::SYN)] {
                let outside = nat
                    .out(host(subscriber, port), v4("192.0.2.1", 1), transport)
                    .unwrap();
                own.insert(outside.address.number());
            }
        }
        assert_eq!(own.len(), 1);
        used.extend(own);
    }
    assert!(used.len() > 8, "40 subscribers use {} of 16", used.len());
}

#[test]
fn rfc7857_4_what_happens_when_the_address_is_exhausted() {
    for (pooling, most) in [(Pooling::Strict, 10), (Pooling::Soft, 30)] {
        let setup = Setup {
            pool: vec![range("203.0.113.0", 3, 2000, 2009)],
            pooling,
            ..Setup::default()
        };
        let mut nat = setup.nat();
        let mut own = HashMap::new();
        for port in 5000..5000 + most {
            let outside = nat.out(host(1, port), v4("192.0.2.1", 1), Udp).unwrap();
            *own.entry(outside.address.number()).or_insert(0) += 1;
            // Others only after the first.
            assert!(own.values().filter(|n| **n < 10).count() <= 1, "{own:?}");
        }
        assert_eq!(nat.out(host(1, 6000), v4("192.0.2.1", 1), Udp), exhausted());
        // Another BIB has its own ports (RFC 6146 section 3.5.1.1).
        assert!(nat.out(host(1, 6000), v4("192.0.2.1", 1), Icmp).is_ok());
    }
}

#[test]
fn rfc6888_req4_bindings_per_subscriber_are_bounded() {
    let setup = Setup {
        limits: Limits {
            bindings: 5,
            ..Limits::default()
        },
        ..Setup::default()
    };
    let mut nat = setup.nat();
    let limit = Err(Refusal::Reply(
        IcmpError::AddressUnreachable,
        Counter::SubscriberLimit,
    ));
    for port in 1..=5 {
        nat.out(host(1, port), v4("192.0.2.1", 1), Udp).unwrap();
    }
    assert_eq!(nat.out(host(1, 6), v4("192.0.2.1", 1), Udp), limit);
    // Sessions of bindings that are there, and other subscribers, are not affected.
    nat.out(host(1, 5), v4("192.0.2.2", 1), Udp).unwrap();
    nat.out(host(2, 6), v4("192.0.2.1", 1), Udp).unwrap();
    nat.pass(301);
    nat.sweep();
    for port in 11..=15 {
        nat.out(host(1, port), v4("192.0.2.1", 1), Udp).unwrap();
    }
    assert_eq!(nat.out(host(1, 16), v4("192.0.2.1", 1), Udp), limit);
}

#[test]
fn rfc6888_req4_a_subscriber_may_have_limits_of_its_own() {
    let all = Limits {
        bindings: 5,
        sessions: 5,
        session_interval: 0,
    };
    let mut nat = Setup {
        limits: all,
        ..Setup::default()
    }
    .nat();
    let limit = Err(Refusal::Reply(
        IcmpError::AddressUnreachable,
        Counter::SubscriberLimit,
    ));
    let limit_some = |nat: &mut Nat, some: &[(u32, Limits)]| {
        let own: Vec<_> = some
            .iter()
            // Any address of the subscriber names it.
            .map(|(number, limits)| OwnLimits {
                subscriber: host(*number, 77),
                limits: *limits,
            })
            .collect();
        nat.cfg.own_limits = own.len() as u32;
        let placed = set_own_limits(&nat.host.memory[..], &nat.cfg, &own);
        assert_eq!(placed, own.len() as u32);
    };
    let open =
        |nat: &mut Nat, subscriber, port| nat.out(host(subscriber, port), v4("192.0.2.1", 1), Udp);
    let most = |bindings| Limits { bindings, ..all };
    limit_some(&mut nat, &[(1, most(2)), (2, Limits::default())]);
    for port in 1..=2 {
        open(&mut nat, 1, port).unwrap();
    }
    assert_eq!(open(&mut nat, 1, 3), limit);
    for port in 1..=50 {
        open(&mut nat, 2, port).unwrap();
    }
    for port in 1..=5 {
        open(&mut nat, 3, port).unwrap();
    }
    assert_eq!(open(&mut nat, 3, 6), limit);

    // While sessions go on: one more for the first, no more for the second, the third as the first.
    limit_some(&mut nat, &[(3, most(7)), (1, most(3)), (2, most(5))]);
    open(&mut nat, 1, 3).unwrap();
    assert_eq!(open(&mut nat, 1, 4), limit);
    open(&mut nat, 2, 50).unwrap();
    assert_eq!(open(&mut nat, 2, 51), limit);
    assert_eq!(open(&mut nat, 3, 6), limit, "the sessions are as for all");

    limit_some(&mut nat, &[]);
    open(&mut nat, 1, 4).unwrap();

    // A rate of its own: four at once.
    let rate = Limits {
        session_interval: 1_000_000_000,
        ..Limits::default()
    };
    limit_some(&mut nat, &[(9, rate)]);
    for port in 1..=4 {
        open(&mut nat, 9, port).unwrap();
    }
    let too_fast = Err(Refusal::Drop(Counter::SubscriberRate));
    assert_eq!(open(&mut nat, 9, 5), too_fast);
}

#[test]
fn as_many_subscribers_as_promised_may_have_limits_of_their_own() {
    let mut nat = Setup::default().nat();
    let own: Vec<_> = (0..MOST_OWN_LIMITS)
        .map(|number| OwnLimits {
            subscriber: host(number, 0),
            limits: Limits::default(),
        })
        .collect();
    nat.cfg.own_limits = own.len() as u32;
    let set = || set_own_limits(&nat.host.memory[..], &nat.cfg, &own);
    assert_eq!(set(), MOST_OWN_LIMITS);
    // Again, what is there stays; and what a process left behind half made does not matter.
    recover(&nat.host.memory[..], &nat.cfg);
    assert_eq!(set(), MOST_OWN_LIMITS);
}

#[test]
fn rfc6888_req5_sessions_per_subscriber_and_second_are_bounded() {
    let mut setup = Setup {
        limits: Limits {
            session_interval: 1_000_000,
            ..Limits::default()
        },
        ..Setup::default()
    };
    setup.capacity.sessions = 1 << 14;
    setup.capacity.bindings = 1 << 14;
    let mut nat = setup.nat();
    let too_fast = Err(Refusal::Drop(Counter::SubscriberRate));
    let flood = |nat: &mut Nat, ports: core::ops::Range<u16>| {
        let made = ports.map(|port| nat.out(host(1, port), v4("192.0.2.1", 1), Udp));
        let refused = made.filter(|made| match made {
            Ok(_) => false,
            refused => {
                assert_eq!(*refused, too_fast);
                true
            }
        });
        refused.count()
    };
    // Four seconds' worth at once, and no more.
    assert_eq!(flood(&mut nat, 1..5001), 1000);
    // Sessions that are there go on.
    nat.out(host(1, 1), v4("192.0.2.1", 1), Udp).unwrap();
    for neighbour in 2..=100 {
        nat.out(host(neighbour, 1), v4("192.0.2.1", 1), Udp)
            .unwrap();
    }
    nat.pass(1);
    let refused = flood(&mut nat, 6000..8000);
    assert!((999..=1001).contains(&refused), "{refused}");
}

#[test]
fn rfc6888_req5_sessions_per_subscriber_are_bounded() {
    let setup = Setup {
        limits: Limits {
            sessions: 5,
            ..Limits::default()
        },
        ..Setup::default()
    };
    let mut nat = setup.nat();
    let mut outside = Endpoint4::default();
    for port in 1..=5 {
        outside = nat.out(host(1, 9), v4("192.0.2.1", port), Udp).unwrap();
    }
    assert!(nat.out(host(1, 10), v4("192.0.2.1", 6), Udp).is_err());
    // Where there is a binding packets need no session to pass. So strangers cannot take from a host what its
    // answers to them would take.
    for stranger in 7..100 {
        assert!(nat.back(outside, v4("192.0.2.1", stranger), Udp).is_ok());
        let answer = nat.out(host(1, 9), v4("192.0.2.1", stranger), Udp);
        assert_eq!(answer, Ok(outside));
    }
    let made = nat.host.counted(Counter::SessionCreated);
    assert_eq!(made, 5);
    nat.pass(301);
    nat.sweep();
    for port in 1..=5 {
        nat.out(host(1, 9), v4("192.0.2.1", port), Udp).unwrap();
    }
    assert!(nat.out(host(1, 10), v4("192.0.2.1", 6), Udp).is_err());
}

#[test]
fn rfc6146_5_3_strangers_who_are_answered_cannot_stop_a_server() {
    let limits = [
        Limits {
            sessions: 50,
            ..Limits::default()
        },
        Limits {
            session_interval: 1_000_000_000 / 10,
            ..Limits::default()
        },
    ];
    for (limits, filtering) in [
        (limits[0], Filtering::EndpointIndependent),
        (limits[1], Filtering::EndpointIndependent),
        // Strangers do not get in here.
        (limits[0], Filtering::AddressDependent),
    ] {
        let setup = Setup {
            limits,
            filtering,
            ..Setup::default()
        };
        let mut nat = setup.nat();
        let server = host(1, 443);
        let syn = Transport::Tcp(TcpFlags::SYN);
        let answer = Transport::Tcp(TcpFlags(TcpFlags::SYN.0 | TcpFlags::ACK.0));
        let outside = nat.out(server, v4("192.0.2.1", 1), syn).unwrap();
        let mut reached = |remote: Endpoint4| {
            nat.back(outside, remote, syn).is_ok() && nat.out(server, remote, answer).is_ok()
        };
        for stranger in 1..5000 {
            let got_in = reached(v4("198.51.100.7", stranger));
            assert_eq!(got_in, filtering == Filtering::EndpointIndependent);
        }
        let customer = v4("192.0.2.1", 5000);
        assert!(reached(customer), "{limits:?} {filtering:?}");
        // Its own new flows find what they need.
        for port in 1..5 {
            let made = nat.out(host(1, 50_000 + port), customer, Udp);
            assert!(made.is_ok(), "{limits:?} {filtering:?}: {made:?}");
        }
    }
}

fn with_blocks() -> Setup {
    Setup {
        // 99 ports, in which 5 whole blocks of 16 lie: 1024 to 1103.
        pool: vec![range("203.0.113.0", 1, 1020, 1118)],
        blocks: Blocks::Dynamic {
            size: 16,
            per_subscriber: 2,
        },
        ..Setup::default()
    }
}

#[test]
fn port_blocks_belong_to_one_subscriber() {
    let mut nat = with_blocks().nat();
    let mut owners = HashMap::new();
    for subscriber in 1..=3 {
        for port in 1..=16 {
            let outside = nat
                .out(host(subscriber, port + 5000), v4("192.0.2.1", 1), Udp)
                .unwrap();
            let owner = owners.entry(outside.port / 16).or_insert(subscriber);
            assert_eq!(*owner, subscriber);
        }
    }
    assert_eq!(owners.len(), 3, "a block is filled before the next");
    // Two blocks at most per subscriber: 32 ports.
    for port in 17..=32 {
        nat.out(host(1, port + 5000), v4("192.0.2.1", 1), Udp)
            .unwrap();
    }
    assert_eq!(nat.out(host(1, 6000), v4("192.0.2.1", 1), Udp), exhausted());
    // Five blocks in all: 1 has two, 2 and 3 have one; the fifth goes to 4, and 5 has none.
    nat.out(host(4, 5001), v4("192.0.2.1", 1), Udp).unwrap();
    assert_eq!(nat.out(host(5, 5001), v4("192.0.2.1", 1), Udp), exhausted());
}

#[test]
fn port_blocks_are_released_when_unused_and_told_of() {
    let mut nat = with_blocks().nat();
    let first = nat.out(host(1, 5000), v4("192.0.2.1", 1), Udp).unwrap();
    let events = nat.sweep();
    let assigned: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Event::BlockAssigned(block) => Some(*block),
            _ => None,
        })
        .collect();
    let [block] = assigned[..] else {
        panic!("{events:?}")
    };
    assert_eq!(block.size, 16);
    assert_eq!(block.first.address, first.address);
    assert_eq!(block.first.port, first.port & !15);
    let subscriber: Ipv6Addr = "2001:db8:0:1::".parse().unwrap();
    assert_eq!(Ipv6Addr::from(block.subscriber.address), subscriber);
    assert!(nat.sweep().is_empty());
    nat.pass(301);
    let events = nat.sweep();
    assert!(events.contains(&Event::BlockReleased(block)), "{events:?}");
    // All five blocks can be had again.
    for subscriber in 11..=15 {
        nat.out(host(subscriber, 5000), v4("192.0.2.1", 1), Udp)
            .unwrap();
    }
}

fn calculated() -> Setup {
    Setup {
        // 126 blocks of 512 on each of two addresses, 1024 being the first port of the first.
        pool: vec![range("203.0.113.0", 2, 1000, 65_535)],
        blocks: Blocks::Deterministic(Deterministic::v6(
            inside("2001:db8::", 0).address,
            56,
            64,
            512,
        )),
        ..Setup::default()
    }
}

#[test]
fn rfc7422_2_blocks_follow_from_the_number_of_the_subscriber() {
    let mut nat = calculated().nat();
    let Blocks::Deterministic(rule) = nat.cfg.blocks else {
        unreachable!()
    };
    for (subscriber, address, first) in [
        (0, "203.0.113.0", 1024),
        (1, "203.0.113.0", 1536),
        (125, "203.0.113.0", 65_024),
        (126, "203.0.113.1", 1024),
        (251, "203.0.113.1", 65_024),
    ] {
        for port in 5000..5020 {
            let outside = nat
                .out(host(subscriber, port), v4("192.0.2.1", 1), Udp)
                .unwrap();
            assert_eq!(outside.address, v4(address, 0).address);
            assert_eq!(outside.port & !511, first);
            let owner = rule
                .subscriber_of(&nat.cfg.pool, outside.address, outside.port)
                .unwrap();
            assert_eq!(
                owner,
                inside(&format!("2001:db8:0:{subscriber:x}::"), 0).address
            );
        }
    }
    // 252 blocks, and subscribers outside of the prefix.
    for stranger in [host(252, 1), inside("2001:db9::1", 1)] {
        assert_eq!(nat.out(stranger, v4("192.0.2.1", 1), Udp), exhausted());
    }
}

#[test]
fn rfc7422_2_a_subscriber_has_no_more_than_its_block() {
    let mut nat = calculated().nat();
    let all: HashSet<_> = (0..512)
        .map(|port| {
            nat.out(host(7, 5000 + port), v4("192.0.2.1", 1), Udp)
                .unwrap()
                .port
        })
        .collect();
    assert_eq!(all.len(), 512);
    assert_eq!(nat.out(host(7, 9000), v4("192.0.2.1", 1), Udp), exhausted());
}

/// RFC 7422 section 2.1: which bits of an address number its subscriber depends on the lengths of both prefixes alone.
#[test]
fn subscribers_are_numbered_by_the_bits_between_both_prefixes() {
    let pool = Pool::new(&[range("203.0.113.0", 1, 1000, 65_535)]).unwrap();
    let ones = 0xdead_beef_0123_4567_89ab_cdef_0f1e_2d3c_u128;
    for bits in 5..=128_u8 {
        let (of_all, below) = (bits - 5, 128 - u32::from(bits));
        let network = ones & !(u128::MAX >> of_all);
        let rule = Deterministic::v6(Ipv6Addr::from(network).into(), of_all, bits, 1000);
        for number in [0, 1, 30, 31] {
            let subscriber = network | number << below;
            let within = (1_u128 << below) - 1;
            let address = Ipv6Addr::from(subscriber | ones & within);
            let first = 1000 + 1000 * number as u16;
            assert_eq!(
                block_of(&rule, &pool, &inside(&address.to_string(), 7)),
                Some((v4("203.0.113.0", 0).address, first)),
                "{address}/{bits}"
            );
        }
    }
}

/// RFC 7422 section 2.1, by hand: of the ports 1024 to 5499 whole blocks of 1000 are those from 2000, 3000 and 4000 on.
#[test]
fn ports_outside_whole_blocks_are_nobodys() {
    let pool = Pool::new(&[range("203.0.113.0", 2, 1024, 5499)]).unwrap();
    let hosts = "10.0.0.0".parse::<Ipv4Addr>().unwrap();
    let rule = Deterministic::v4(hosts.into(), 24, 1000);
    let subscriber = |last: u8, port| {
        let found = rule.subscriber_of(&pool, Ipv4Addr::new(203, 0, 113, last).into(), port);
        found.map(|host| Ipv6Addr::from(host).to_bits() as u32 & 0xff)
    };
    for (last, port, expected) in [
        (0, 1024, None),
        (0, 1999, None),
        (0, 2000, Some(0)),
        (0, 4999, Some(2)),
        (0, 5000, None),
        (0, 6999, None),
        (1, 2000, Some(3)),
        (1, 4999, Some(5)),
        (2, 2000, None),
    ] {
        assert_eq!(subscriber(last, port), expected, ".{last} port {port}");
    }
}

//! The server's answers, octet by octet, by the figures of RFC 6887 and RFC 6886.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use crate::support::{Nat, OUTSIDE};
use isthmus_pcp::{Host, Internal, Limits, Protocol, Server};
use proptest::prelude::*;

const HOST: Ipv4Addr = Ipv4Addr::new(192, 168, 1, 5);
const NONCE: [u8; 12] = *b"nonce-nonce!";
const TCP: u8 = 6;
const UDP: u8 = 17;

// Result codes (RFC 6887 section 7.4).
const SUCCESS: u8 = 0;
const UNSUPP_VERSION: u8 = 1;
const NOT_AUTHORIZED: u8 = 2;
const MALFORMED_REQUEST: u8 = 3;
const UNSUPP_OPCODE: u8 = 4;
const UNSUPP_OPTION: u8 = 5;
const MALFORMED_OPTION: u8 = 6;
const NO_RESOURCES: u8 = 8;
const UNSUPP_PROTOCOL: u8 = 9;
const USER_EX_QUOTA: u8 = 10;
const CANNOT_PROVIDE_EXTERNAL: u8 = 11;
const ADDRESS_MISMATCH: u8 = 12;

fn server() -> Server<Nat> {
    Server::new(Nat::default(), Limits::default(), at(1000))
}

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn mapped(address: Ipv4Addr) -> [u8; 16] {
    address.to_ipv6_mapped().octets()
}

/// A MAP request (figures 2 and 9).
#[derive(Clone)]
struct Map {
    client: [u8; 16],
    lifetime: u32,
    nonce: [u8; 12],
    protocol: u8,
    internal: u16,
    external: (Ipv4Addr, u16),
    options: Vec<u8>,
}

impl Default for Map {
    fn default() -> Self {
        Self {
            client: mapped(HOST),
            lifetime: 3600,
            nonce: NONCE,
            protocol: TCP,
            internal: 8080,
            external: (Ipv4Addr::UNSPECIFIED, 0),
            options: Vec::new(),
        }
    }
}

impl Map {
    fn octets(&self) -> Vec<u8> {
        let mut request = vec![2, 1, 0, 0];
        request.extend(self.lifetime.to_be_bytes());
        request.extend(self.client);
        request.extend(self.nonce);
        request.extend([self.protocol, 0, 0, 0]);
        request.extend(self.internal.to_be_bytes());
        request.extend(self.external.1.to_be_bytes());
        request.extend(mapped(self.external.0));
        request.extend(&self.options);
        request
    }

    fn ask(&self, server: &mut Server<Nat>, now: u64) -> Vec<u8> {
        let answer = server.answer(at(now), HOST.into(), &self.octets());
        answer.expect("an answer")
    }
}

/// Result code, lifetime, external port of an answer.
fn outcome(answer: &[u8]) -> (u8, u32, u16) {
    assert_eq!((answer[0], answer[1] & 0x80), (2, 0x80));
    let lifetime = u32::from_be_bytes(answer[4..8].try_into().unwrap());
    let port = u16::from_be_bytes([answer[42], answer[43]]);
    (answer[3], lifetime, port)
}

#[test]
fn a_mapping_is_granted_in_the_form_of_figure_10() {
    let answer = Map::default().ask(&mut server(), 1060);
    let mut expected = vec![2, 0x81, 0, SUCCESS];
    expected.extend(3600_u32.to_be_bytes());
    // The epoch began with the server.
    expected.extend(60_u32.to_be_bytes());
    expected.extend([0; 12]);
    expected.extend(NONCE);
    expected.extend([TCP, 0, 0, 0]);
    expected.extend(8080_u16.to_be_bytes());
    expected.extend(1024_u16.to_be_bytes());
    expected.extend(mapped(OUTSIDE));
    assert_eq!(answer, expected);
}

#[test]
fn a_mapping_is_the_same_when_asked_for_again() {
    let mut server = server();
    let first = outcome(&Map::default().ask(&mut server, 1000));
    let other = Map {
        internal: 9,
        nonce: [9; 12],
        ..Map::default()
    };
    assert_ne!(outcome(&other.ask(&mut server, 1000)).2, first.2);
    assert_eq!(outcome(&Map::default().ask(&mut server, 2000)), first);
    assert_eq!(server.mappings(), 2);
}

#[test]
fn lifetimes_are_kept_within_bounds() {
    let mut server = server();
    for (asked, given) in [(1, 120), (3600, 3600), (u32::MAX, 86_400)] {
        let request = Map {
            lifetime: asked,
            ..Map::default()
        };
        assert_eq!(outcome(&request.ask(&mut server, 1000)).1, given);
    }
}

#[test]
fn a_mapping_ends_with_its_lifetime() {
    let mut server = server();
    Map::default().ask(&mut server, 1000);
    server.expire(at(4599));
    assert_eq!(server.ports().taken.len(), 1);
    server.expire(at(4600));
    assert_eq!((server.mappings(), server.ports().taken.len()), (0, 0));
}

#[test]
fn a_suggestion_is_followed_where_it_can_be() {
    let mut server = server();
    let request = |internal, address, port| Map {
        internal,
        external: (address, port),
        ..Map::default()
    };
    let ask = |server: &mut _, request: Map| outcome(&request.ask(server, 1000));
    assert_eq!(ask(&mut server, request(1, OUTSIDE, 1080)).2, 1080);
    // Taken by the first: another one, not an error.
    let (result, _, port) = ask(&mut server, request(2, OUTSIDE, 1080));
    assert_eq!(result, SUCCESS);
    assert_ne!(port, 1080);
    // Not an address of this NAT.
    let elsewhere = Ipv4Addr::new(203, 0, 113, 1);
    let (result, _, port) = ask(&mut server, request(3, elsewhere, 1090));
    assert_eq!(result, SUCCESS);
    assert_ne!(port, 1090);
}

#[test]
fn prefer_failure_gets_what_it_asks_for_or_nothing() {
    let mut server = server();
    let request = |internal, port| Map {
        internal,
        external: (OUTSIDE, port),
        options: vec![2, 0, 0, 0],
        ..Map::default()
    };
    let answer = request(1, 1080).ask(&mut server, 1000);
    assert_eq!(outcome(&answer), (SUCCESS, 3600, 1080));
    assert_eq!(answer[60..], [2, 0, 0, 0], "the option is in the answer");
    let answer = request(2, 1080).ask(&mut server, 1000);
    assert_eq!(outcome(&answer).0, CANNOT_PROVIDE_EXTERNAL);
    // An existing mapping of another port (section 11.3, 1).
    let answer = request(1, 1081).ask(&mut server, 1000);
    assert_eq!(outcome(&answer).0, CANNOT_PROVIDE_EXTERNAL);
    assert_eq!(
        outcome(&request(3, 0).ask(&mut server, 1000)).0,
        MALFORMED_OPTION
    );
    // A port of PCP itself (section 11.3).
    let own = Map {
        protocol: UDP,
        ..request(4, 5351)
    };
    assert_eq!(
        outcome(&own.ask(&mut server, 1000)).0,
        CANNOT_PROVIDE_EXTERNAL
    );
    assert_eq!(server.mappings(), 1);
}

#[test]
fn only_who_made_a_mapping_ends_it() {
    let mut server = server();
    let made = Map {
        external: (OUTSIDE, 1080),
        ..Map::default()
    };
    made.ask(&mut server, 1000);
    let end = Map {
        lifetime: 0,
        ..Map::default()
    };
    let stranger = Map {
        nonce: [1; 12],
        ..end.clone()
    };
    // The lifetime of the error is what is left of the mapping (section 11.3).
    let answer = stranger.ask(&mut server, 1600);
    assert_eq!(
        (answer[3], &answer[4..8]),
        (NOT_AUTHORIZED, &3000_u32.to_be_bytes()[..])
    );
    assert_eq!(server.mappings(), 1);
    assert_eq!(outcome(&end.ask(&mut server, 1600)), (SUCCESS, 0, 0));
    assert_eq!((server.mappings(), server.ports().taken.len()), (0, 0));
    // Again, as a repeated request would (section 15.1).
    assert_eq!(outcome(&end.ask(&mut server, 1601)), (SUCCESS, 0, 0));
}

#[test]
fn what_is_configured_is_told_and_stays() {
    let mut server = server();
    let mut nat = Nat::default();
    let internal = Internal {
        host: Host::Plain(HOST.into()),
        protocol: Protocol::Tcp,
        port: 8080,
    };
    nat.fixed.insert(internal, 80);
    server.restart(at(1000), nat, Limits::default());
    let answer = Map::default().ask(&mut server, 1000);
    assert_eq!(outcome(&answer), (SUCCESS, u32::MAX, 80));
    let end = Map {
        lifetime: 0,
        ..Map::default()
    };
    assert_eq!(outcome(&end.ask(&mut server, 1000)).0, NOT_AUTHORIZED);
    assert_eq!(server.mappings(), 0);
}

#[test]
fn bad_requests_are_answered_with_themselves() {
    let good = Map::default().octets();
    let with = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut request = good.clone();
        change(&mut request);
        request
    };
    let cases = [
        (UNSUPP_VERSION, with(&|r| r[0] = 3)),
        (UNSUPP_VERSION, with(&|r| r[0] = 1)),
        (MALFORMED_REQUEST, with(&|r| r.truncate(56))),
        (MALFORMED_REQUEST, with(&|r| r.push(0))),
        (MALFORMED_REQUEST, with(&|r| r.resize(1104, 0))),
        (ADDRESS_MISMATCH, with(&|r| r[23] ^= 1)),
        (UNSUPP_OPCODE, with(&|r| r[1] = 2)),
        (UNSUPP_OPCODE, with(&|r| r[1] = 0x7f)),
        (MALFORMED_REQUEST, with(&|r| r[36] = 0)),
        (UNSUPP_PROTOCOL, with(&|r| r[36] = 132)),
        (UNSUPP_PROTOCOL, with(&|r| r[40..42].fill(0))),
        // FILTER.
        (UNSUPP_OPTION, with(&|r| r.extend([3, 0, 0, 0]))),
        (UNSUPP_OPTION, with(&|r| r.extend([127, 0, 0, 0]))),
        // THIRD_PARTY where nobody may use it (section 13.1).
        (
            UNSUPP_OPTION,
            with(&|r| {
                r.extend([1, 0, 0, 16]);
                r.extend(mapped(Ipv4Addr::new(192, 168, 1, 6)));
            }),
        ),
        (
            MALFORMED_REQUEST,
            with(&|r| {
                r.extend([1, 0, 0, 16]);
                r.extend(mapped(HOST));
            }),
        ),
        (
            MALFORMED_OPTION,
            with(&|r| r.extend([2, 0, 0, 4, 0, 0, 0, 0])),
        ),
        (MALFORMED_OPTION, with(&|r| r.extend([200, 0, 0, 4]))),
        (
            MALFORMED_OPTION,
            with(&|r| r.extend([2, 0, 0, 0, 2, 0, 0, 0])),
        ),
    ];
    for (result, request) in cases {
        let mut server = server();
        let answer = server.answer(at(1007), HOST.into(), &request).unwrap();
        assert_eq!(answer[3], result, "{request:02x?}");
        assert_eq!((answer[0], answer[1]), (2, request[1] | 0x80));
        assert_eq!(answer[8..12], 7_u32.to_be_bytes(), "the epoch");
        let copied = request.len().min(1100);
        assert_eq!(answer[24..copied], request[24..copied]);
        assert_eq!(answer.len(), copied.next_multiple_of(4));
        assert_eq!(server.mappings(), 0);
    }
}

#[test]
fn some_messages_get_no_answer() {
    let response = {
        let mut request = Map::default().octets();
        request[1] |= 0x80;
        request
    };
    for silent in [
        &[][..],
        &[2],
        &[0],
        &[2, 1, 0, 0],
        &response,
        &[0, 128],
        &[0, 1, 0, 0],
    ] {
        assert_eq!(
            server().answer(at(1000), HOST.into(), silent),
            None,
            "{silent:02x?}"
        );
    }
}

#[test]
fn options_that_may_be_ignored_are() {
    let request = Map {
        options: vec![200, 0, 0, 1, 7, 0, 0, 0],
        ..Map::default()
    };
    let answer = request.ask(&mut server(), 1000);
    assert_eq!(outcome(&answer).0, SUCCESS);
    assert_eq!(answer.len(), 60, "and are not in the answer");
}

#[test]
fn announcements_are_answered_and_made() {
    let mut server = server();
    let mut request = vec![2, 0, 0, 0, 0, 0, 0, 0];
    request.extend(mapped(HOST));
    let mut expected = vec![2, 0x80, 0, SUCCESS, 0, 0, 0, 0, 0, 0, 0, 9];
    expected.extend([0; 12]);
    let answer = server.answer(at(1009), HOST.into(), &request);
    assert_eq!(answer.as_ref(), Some(&expected));
    assert_eq!(server.announcement(at(1009)), expected);
    server.restart(at(2000), Nat::default(), Limits::default());
    assert_eq!(server.announcement(at(2001))[8..12], [0, 0, 0, 1]);
}

#[test]
fn hosts_have_so_many_mappings_and_no_more() {
    let limits = Limits {
        per_host: 2,
        all: 3,
        ..Limits::default()
    };
    let mut server = Server::new(Nat::default(), limits, at(1000));
    let mut ask = |host: u8, internal: u16| {
        let address = Ipv4Addr::new(192, 168, 1, host);
        let request = Map {
            client: mapped(address),
            internal,
            ..Map::default()
        };
        server
            .answer(at(1000), address.into(), &request.octets())
            .unwrap()[3]
    };
    assert_eq!(
        [ask(1, 1), ask(1, 2), ask(1, 3)],
        [SUCCESS, SUCCESS, USER_EX_QUOTA]
    );
    assert_eq!([ask(2, 1), ask(2, 2)], [SUCCESS, NO_RESOURCES]);
    // What is there is made to last longer all the same.
    assert_eq!(ask(1, 1), SUCCESS);
}

/// RFC 6888 requirement 4: a subscriber with many addresses is still one.
#[test]
fn the_hosts_of_a_subscriber_have_so_many_mappings_together() {
    let limits = Limits {
        per_host: 2,
        per_subscriber: 3,
        ..Limits::default()
    };
    let mut server = Server::new(Nat::default(), limits, at(1000));
    let mut ask = |network: u8, host: u8, lifetime: u32| {
        let address = Ipv4Addr::new(192, 168, network, host);
        let request = Map {
            client: mapped(address),
            internal: 7,
            lifetime,
            ..Map::default()
        };
        server
            .answer(at(1000), address.into(), &request.octets())
            .unwrap()[3]
    };
    assert_eq!(
        [ask(2, 1, 600), ask(2, 2, 600), ask(2, 3, 600)],
        [SUCCESS; 3]
    );
    assert_eq!(ask(2, 4, 600), USER_EX_QUOTA);
    // The neighbour has its own, and what is given back can be had again.
    assert_eq!(ask(1, 1, 600), SUCCESS);
    assert_eq!([ask(2, 1, 0), ask(2, 4, 600)], [SUCCESS; 2]);
    // All hosts together leave ports to traffic.
    for host in 2..=67 {
        assert_eq!(ask(1, host, 600), SUCCESS, "{host}");
    }
    assert_eq!(ask(1, 68, 600), NO_RESOURCES);
}

#[test]
fn a_customer_asks_for_hosts_behind_its_softwire() {
    let b4: Ipv6Addr = "2001:db8::b4".parse().unwrap();
    let nat = Nat {
        softwires: true,
        ..Nat::default()
    };
    let mut server = Server::new(nat, Limits::default(), at(1000));
    let mut third_party = vec![1, 0, 0, 16];
    third_party.extend(mapped(HOST));
    let request = Map {
        client: b4.octets(),
        options: third_party.clone(),
        ..Map::default()
    };
    let answer = server
        .answer(at(1000), b4.into(), &request.octets())
        .unwrap();
    assert_eq!(outcome(&answer).0, SUCCESS);
    assert_eq!(answer[60..], third_party[..], "the option is in the answer");
    let host = Host::Softwire {
        customer: b4,
        address: HOST,
    };
    let owners: Vec<Host> = server.ports().taken.values().map(|it| it.host).collect();
    assert_eq!(owners, [host]);
}

#[test]
fn nat_pmp_tells_the_outside_address() {
    let answer = server().answer(at(1005), HOST.into(), &[0, 0]).unwrap();
    assert_eq!(answer, [0, 128, 0, 0, 0, 0, 0, 5, 198, 51, 100, 1]);
}

#[test]
fn nat_pmp_maps_and_unmaps() {
    let mut server = server();
    let mut ask = |request: &[u8]| server.answer(at(1005), HOST.into(), request).unwrap();
    // TCP port 8080, outside rather 1080, for 7200 s.
    let map = [0, 2, 0, 0, 0x1f, 0x90, 0x04, 0x38, 0, 0, 0x1c, 0x20];
    let answer = ask(&map);
    let granted = [
        0, 130, 0, 0, 0, 0, 0, 5, 0x1f, 0x90, 0x04, 0x38, 0, 0, 0x1c, 0x20,
    ];
    assert_eq!(answer, granted);
    // The same internal port with another wish: what it has.
    let again = [0, 2, 0, 0, 0x1f, 0x90, 0x04, 0x39, 0, 0, 0x1c, 0x20];
    assert_eq!(ask(&again), granted);
    // UDP is another mapping.
    let udp = [0, 1, 0, 0, 0x1f, 0x90, 0x04, 0x38, 0, 0, 0, 60];
    assert_eq!(ask(&udp)[1..4], [129, 0, 0]);
    let end = [0, 2, 0, 0, 0x1f, 0x90, 0, 0, 0, 0, 0, 0];
    let ended = [0, 130, 0, 0, 0, 0, 0, 5, 0x1f, 0x90, 0, 0, 0, 0, 0, 0];
    assert_eq!(ask(&end), ended);
    assert_eq!(ask(&end), ended, "again");
    let end_all = [0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(ask(&end_all)[2..4], [0, 0]);
    assert_eq!(server.mappings(), 0);
}

#[test]
fn nat_pmp_gives_no_more_time_than_was_asked_for() {
    let answer = server()
        .answer(
            at(1000),
            HOST.into(),
            &[0, 1, 0, 0, 0, 9, 0, 0, 0, 0, 0, 30],
        )
        .unwrap();
    assert_eq!(answer[12..], 30_u32.to_be_bytes());
}

#[test]
fn nat_pmp_does_not_touch_what_pcp_made() {
    let mut server = server();
    Map::default().ask(&mut server, 1000);
    let end = [0, 2, 0, 0, 0x1f, 0x90, 0, 0, 0, 0, 0, 0];
    let answer = server.answer(at(1000), HOST.into(), &end).unwrap();
    assert_eq!(answer[2..4], [0, 2], "not authorised");
    assert_eq!(server.mappings(), 1);
}

#[test]
fn nat_pmp_opcodes_that_are_not_known_come_back() {
    let request = [0, 77, 1, 2, 3, 4, 5, 6];
    let answer = server().answer(at(1000), HOST.into(), &request).unwrap();
    assert_eq!(answer, [0, 77 | 128, 0, 5, 3, 4, 5, 6]);
}

proptest! {
    #[test]
    fn no_message_is_too_much(
        head in prop::collection::vec(prop_oneof![0_u8..3, any::<u8>()], 0..8),
        tail in prop::collection::vec(any::<u8>(), 0..1200),
        address in any::<u128>(),
    ) {
        let mut server = server();
        let message: Vec<u8> = head.into_iter().chain(tail).collect();
        for source in [IpAddr::from(Ipv6Addr::from(address)), HOST.into()] {
            if let Some(answer) = server.answer(at(1000), source, &message) {
                prop_assert!(answer.len() <= 1104.max(message.len()));
                prop_assert!(answer[1] & 0x80 != 0);
            }
        }
    }

    /// Whatever hosts ask for, no port has two owners, and all are free in the end.
    #[test]
    fn ports_are_given_once_and_taken_back(
        requests in prop::collection::vec((0_u8..4, 1_u16..20, 1020_u16..1110, 0_u32..4000, any::<bool>()), 0..200)
    ) {
        let mut server = server();
        for (now, (host, internal, port, lifetime, udp)) in (1000..).zip(requests) {
            server.expire(at(now));
            let address = Ipv4Addr::new(192, 168, 1, host);
            let request = Map {
                client: mapped(address),
                internal,
                lifetime,
                external: (OUTSIDE, port),
                protocol: if udp { UDP } else { TCP },
                ..Map::default()
            };
            let answer = server.answer(at(now), address.into(), &request.octets()).unwrap();
            let (result, left, port) = outcome(&answer);
            if result == SUCCESS && left > 0 && !udp {
                let owner = server.ports().taken[&(Protocol::Tcp, port)];
                prop_assert_eq!(owner.host, Host::Plain(IpAddr::V4(address)));
                prop_assert_eq!(owner.port, internal);
            }
            prop_assert_eq!(server.mappings(), server.ports().taken.len());
        }
        server.expire(at(1_000_000));
        prop_assert_eq!(server.ports().taken.len(), 0);
    }
}

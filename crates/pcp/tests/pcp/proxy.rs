//! The proxy's treatment of requests and responses, by RFC 7648 section 3 and the figures of RFC 6887 and RFC
//! 6886. The server behind it is ours where its answers are not written down here.

use std::cell::RefCell;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4};
use std::rc::Rc;
use std::time::Duration;

use crate::support::{Nat, OUTSIDE};
use isthmus_pcp::{
    Granted, Heard, Host, Internal, Limits, Near, Passed, Ports, Protocol, Proxy, Refused, Server,
    Wish,
};
use proptest::prelude::*;

const HOST: Ipv4Addr = Ipv4Addr::new(192, 168, 1, 5);
const B4: Ipv4Addr = Ipv4Addr::new(192, 0, 0, 2);
const CUSTOMER: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0xa, 0, 0, 0, 0, 1);
const NONCE: [u8; 12] = *b"nonce-nonce!";
const TCP: u8 = 6;

const UNSUPP_VERSION: u8 = 1;
const UNSUPP_OPCODE: u8 = 4;
const UNSUPP_OPTION: u8 = 5;
const ADDRESS_MISMATCH: u8 = 12;

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn mapped(address: Ipv4Addr) -> [u8; 16] {
    address.to_ipv6_mapped().octets()
}

fn client(host: Ipv4Addr) -> SocketAddr {
    SocketAddr::new(host.into(), 40_000)
}

/// A MAP request for TCP port 8080 (figures 2 and 9 of RFC 6887).
fn map(from: Ipv4Addr, lifetime: u32) -> Vec<u8> {
    let mut request = vec![2, 1, 0, 0];
    request.extend(lifetime.to_be_bytes());
    request.extend(mapped(from));
    request.extend(NONCE);
    request.extend([TCP, 0, 0, 0]);
    request.extend(8080_u16.to_be_bytes());
    request.extend(0_u16.to_be_bytes());
    request.extend(mapped(Ipv4Addr::UNSPECIFIED));
    request
}

/// The THIRD_PARTY option (figure 13 of RFC 6887).
fn third_party(host: Ipv4Addr) -> Vec<u8> {
    [&[1, 0, 0, 16][..], &mapped(host)].concat()
}

/// A MAP response for this request (figure 10 of RFC 6887).
fn granted(request: &[u8], epoch: u32, lifetime: u32) -> Vec<u8> {
    let mut response = request.to_vec();
    response[1] |= 0x80;
    response[4..8].copy_from_slice(&lifetime.to_be_bytes());
    response[8..12].copy_from_slice(&epoch.to_be_bytes());
    response[12..24].fill(0);
    response[42..44].copy_from_slice(&1024_u16.to_be_bytes());
    response[44..60].copy_from_slice(&mapped(OUTSIDE));
    response
}

fn proxy() -> Proxy<Nat> {
    Proxy::new(B4.into(), Near::Hosts, at(1000))
}

/// The one message that goes on.
fn on(passed: Passed) -> Vec<u8> {
    assert_eq!((passed.answer, passed.on.len()), (None, 1));
    passed.on.into_iter().next().unwrap()
}

/// The result code of an answer that is given at once.
fn refused(passed: Passed) -> u8 {
    assert!(passed.on.is_empty());
    passed.answer.unwrap()[3]
}

#[test]
fn rfc7648_3_3_a_request_goes_on_as_that_of_a_third_party() {
    let sent = on(proxy().request(at(1000), client(HOST), &map(HOST, 3600)));
    let expected = [map(B4, 3600), third_party(HOST)].concat();
    assert_eq!(sent, expected);
}

#[test]
fn rfc7648_3_the_response_goes_back_with_another_epoch() {
    let mut proxy = proxy();
    let sent = on(proxy.request(at(1000), client(HOST), &map(HOST, 3600)));
    let heard = proxy.response(at(1007), &granted(&sent, 99_999, 1800));
    let expected = granted(&map(HOST, 3600), 7, 1800);
    assert_eq!(heard.answer, Some((client(HOST), expected)));
    assert!(!heard.lost);
}

#[test]
fn rfc7648_3_what_lasts_for_long_enough_is_answered_at_once() {
    let mut proxy = proxy();
    let sent = on(proxy.request(at(1000), client(HOST), &map(HOST, 3600)));
    proxy.response(at(1000), &granted(&sent, 50, 3600));
    // Three quarters are left, and then less.
    let passed = proxy.request(at(1900), client(HOST), &map(HOST, 3600));
    let expected = granted(&map(HOST, 3600), 900, 2700);
    assert_eq!(passed.answer, Some(expected));
    assert!(passed.on.is_empty());
    on(proxy.request(at(1901), client(HOST), &map(HOST, 3600)));
    // Another host has nothing of it.
    let other = Ipv4Addr::new(192, 168, 1, 6);
    on(proxy.request(at(1001), client(other), &map(other, 3600)));
}

#[test]
fn rfc7648_3_an_end_goes_on_always() {
    let mut proxy = proxy();
    on(proxy.request(at(1000), client(HOST), &map(HOST, 0)));
    let sent = on(proxy.request(at(1000), client(HOST), &map(HOST, 3600)));
    proxy.response(at(1000), &granted(&sent, 50, 3600));
    on(proxy.request(at(1000), client(HOST), &map(HOST, 0)));
    // And then there is nothing to answer from.
    on(proxy.request(at(1000), client(HOST), &map(HOST, 3600)));
}

#[test]
fn rfc7648_3_hosts_hear_of_it_when_the_server_forgets() {
    let mut proxy = proxy();
    let sent = on(proxy.request(at(1000), client(HOST), &map(HOST, 3600)));
    assert!(!proxy.response(at(1000), &granted(&sent, 5000, 3600)).lost);
    let sent = on(proxy.request(at(1950), client(HOST), &map(HOST, 3600)));
    let heard = proxy.response(at(1950), &granted(&sent, 3, 3600));
    assert!(heard.lost);
    let (_, answer) = heard.answer.unwrap();
    assert_eq!(answer[8..12], [0; 4], "a new epoch");
    assert_eq!(proxy.announcement(at(1960))[8..12], 10_u32.to_be_bytes());
}

#[test]
fn rfc7648_3_5_announcements_are_answered_here() {
    let mut announce = vec![2, 0, 0, 0, 0, 0, 0, 0];
    announce.extend(mapped(HOST));
    let passed = proxy().request(at(1060), client(HOST), &announce);
    let mut expected = vec![2, 0x80, 0, 0, 0, 0, 0, 0];
    expected.extend(60_u32.to_be_bytes());
    expected.extend([0; 12]);
    assert_eq!(passed.answer, Some(expected));
    assert!(passed.on.is_empty());
}

#[test]
fn what_a_server_would_refuse_does_not_go_on() {
    let mut proxy = proxy();
    let mut ask = |request: &[u8]| refused(proxy.request(at(1000), client(HOST), request));
    assert_eq!(
        ask(&map(Ipv4Addr::new(192, 168, 1, 6), 3600)),
        ADDRESS_MISMATCH
    );
    let other = [map(HOST, 3600), third_party(Ipv4Addr::new(192, 168, 1, 6))].concat();
    assert_eq!(ask(&other), UNSUPP_OPTION);
    let mut request = map(HOST, 3600);
    request[0] = 1;
    assert_eq!(ask(&request), UNSUPP_VERSION);
    request[..2].copy_from_slice(&[2, 77]);
    assert_eq!(ask(&request), UNSUPP_OPCODE);
}

/// Section 3.4.1: where no NAT is, what is not known goes on.
#[test]
fn rfc7648_3_4_unknown_options_go_on() {
    let unknown = [99, 0, 0, 3, 1, 2, 3, 0];
    let request = [&map(HOST, 3600)[..], &unknown].concat();
    let mut proxy = proxy();
    let sent = on(proxy.request(at(1000), client(HOST), &request));
    let expected = [&map(B4, 3600)[..], &unknown, &third_party(HOST)].concat();
    assert_eq!(sent, expected);
    let (_, answer) = proxy
        .response(at(1000), &granted(&sent, 1, 3600))
        .answer
        .unwrap();
    assert_eq!(answer[60..], unknown);
}

#[test]
fn an_answer_that_nobody_waits_for_goes_nowhere() {
    let mut proxy = proxy();
    let sent = on(proxy.request(at(1000), client(HOST), &map(HOST, 3600)));
    let mut other = granted(&sent, 1, 3600);
    other[24] ^= 1;
    assert_eq!(proxy.response(at(1000), &other).answer, None);
    let mut host = granted(&sent, 1, 3600);
    *host.last_mut().unwrap() ^= 1;
    assert_eq!(proxy.response(at(1000), &host).answer, None);
    let answer = granted(&sent, 1, 3600);
    assert!(proxy.response(at(1000), &answer).answer.is_some());
    assert_eq!(proxy.response(at(1000), &answer).answer, None, "once only");
}

/// An AFTR, with the path of a message to it and back.
struct Aftr {
    proxy: Proxy<Nat>,
    server: Server<Nat>,
}

impl Aftr {
    fn new() -> Self {
        let nat = Nat {
            softwires: true,
            ..Nat::default()
        };
        Self {
            proxy: proxy(),
            server: Server::new(nat, Limits::default(), at(1000)),
        }
    }

    /// The answer to a host.
    fn ask(&mut self, now: u64, host: Ipv4Addr, request: &[u8]) -> Vec<u8> {
        let passed = self.proxy.request(at(now), client(host), request);
        let mut answer = passed.answer;
        for message in passed.on {
            let server = &mut self.server;
            let response = server.answer_in_softwire(at(now), CUSTOMER, B4, &message);
            let Heard { answer: heard, .. } = self.proxy.response(at(now), &response.unwrap());
            if let Some((to, heard)) = heard {
                assert_eq!(to, client(host));
                assert_eq!(answer.replace(heard), None, "one answer");
            }
        }
        answer.expect("an answer")
    }

    fn holds(&self, host: Ipv4Addr, protocol: Protocol, port: u16) -> bool {
        let host = Host::Softwire {
            customer: CUSTOMER,
            address: host,
        };
        let internal = Internal {
            host,
            protocol,
            port,
        };
        let mut taken = self.server.ports().taken.values();
        taken.any(|there| *there == internal)
    }
}

/// A NAT-PMP request for a mapping (RFC 6886 section 3.3).
fn nat_pmp(opcode: u8, internal: u16, external: u16, lifetime: u32) -> Vec<u8> {
    let mut request = vec![0, opcode, 0, 0];
    request.extend(internal.to_be_bytes());
    request.extend(external.to_be_bytes());
    request.extend(lifetime.to_be_bytes());
    request
}

#[test]
fn rfc6886_3_2_the_outside_address() {
    let mut aftr = Aftr::new();
    let mut expected = vec![0, 0x80, 0, 0];
    expected.extend(5_u32.to_be_bytes());
    expected.extend(OUTSIDE.octets());
    assert_eq!(aftr.ask(1005, HOST, &[0, 0]), expected);
    // From what is known by now.
    let passed = aftr.proxy.request(at(1005), client(HOST), &[0, 0]);
    assert_eq!((passed.answer, passed.on.len()), (Some(expected), 0));
}

#[test]
fn rfc6886_3_3_mappings_and_their_ends() {
    let mut aftr = Aftr::new();
    let mut expected = vec![0, 0x82, 0, 0];
    expected.extend(1_u32.to_be_bytes());
    expected.extend(8080_u16.to_be_bytes());
    expected.extend(1080_u16.to_be_bytes());
    // Never more than was asked for, whatever the server grants.
    expected.extend(60_u32.to_be_bytes());
    let request = nat_pmp(2, 8080, 1080, 60);
    assert_eq!(aftr.ask(1001, HOST, &request), expected);
    assert!(aftr.holds(HOST, Protocol::Tcp, 8080));
    let ended = aftr.ask(1002, HOST, &nat_pmp(2, 8080, 0, 0));
    assert_eq!(ended[..4], [0, 0x82, 0, 0]);
    assert_eq!(ended[8..], [0x1f, 0x90, 0, 0, 0, 0, 0, 0]);
    assert!(!aftr.holds(HOST, Protocol::Tcp, 8080));
}

#[test]
fn rfc6886_3_4_all_mappings_of_a_protocol_end() {
    let mut aftr = Aftr::new();
    let other = Ipv4Addr::new(192, 168, 1, 6);
    for (host, opcode, port) in [(HOST, 2, 80), (HOST, 2, 81), (HOST, 1, 80), (other, 2, 80)] {
        aftr.ask(1001, host, &nat_pmp(opcode, port, 0, 600));
    }
    let ended = aftr.ask(1002, HOST, &nat_pmp(2, 0, 0, 0));
    assert_eq!(ended[..4], [0, 0x82, 0, 0]);
    assert_eq!(ended[8..], [0; 8]);
    let holds = |host, protocol, port| aftr.holds(host, protocol, port);
    assert!(!holds(HOST, Protocol::Tcp, 80) && !holds(HOST, Protocol::Tcp, 81));
    assert!(holds(HOST, Protocol::Udp, 80) && holds(other, Protocol::Tcp, 80));
}

#[test]
fn errors_are_told_in_the_terms_of_who_asked() {
    let mut aftr = Aftr::new();
    let internal = Internal {
        host: Host::Softwire {
            customer: CUSTOMER,
            address: HOST,
        },
        protocol: Protocol::Udp,
        port: 0,
    };
    for port in 1024..=1100 {
        let taken = &mut aftr.server.ports_mut().taken;
        taken.insert((Protocol::Tcp, port), internal);
    }
    // NO_RESOURCES in PCP, Out of resources in NAT-PMP.
    let answer = aftr.ask(1000, HOST, &map(HOST, 3600));
    assert_eq!((answer[3], answer.len()), (8, 60));
    let answer = aftr.ask(1000, HOST, &nat_pmp(2, 8080, 0, 60));
    assert_eq!(answer[..4], [0, 0x82, 0, 4]);
}

/// RFC 6887 section 13.1: only the B4 of a customer asks for others.
#[test]
fn only_the_b4_asks_for_others_in_its_softwire() {
    let mut server = Aftr::new().server;
    let request = [map(HOST, 3600), third_party(Ipv4Addr::new(192, 168, 1, 6))].concat();
    let answer = server.answer_in_softwire(at(1000), CUSTOMER, HOST, &request);
    assert_eq!(answer.unwrap()[3], UNSUPP_OPTION);
    let answer = server.answer_in_softwire(at(1000), CUSTOMER, HOST, &map(HOST, 3600));
    assert_eq!(answer.unwrap()[3], 0);
    let answer = server.answer_in_softwire(at(1000), CUSTOMER, B4, &map(HOST, 3600));
    assert_eq!(answer.unwrap()[3], ADDRESS_MISMATCH);
}

/// Two customers with the same address, the same port and the same nonce have two mappings.
#[test]
fn rfc6333_6_6_the_softwire_tells_hosts_apart() {
    let mut server = Aftr::new().server;
    let other = Ipv6Addr::new(0x2001, 0xdb8, 0xb, 0, 0, 0, 0, 1);
    let mut ask = |customer, lifetime| {
        let request = map(HOST, lifetime);
        let answer = server.answer_in_softwire(at(1000), customer, HOST, &request);
        let answer = answer.unwrap();
        let left = server.ports().taken.len();
        (
            answer[3],
            u16::from_be_bytes([answer[42], answer[43]]),
            left,
        )
    };
    assert_eq!(ask(CUSTOMER, 3600), (0, 1024, 1));
    assert_eq!(ask(other, 3600), (0, 1025, 2));
    assert_eq!(ask(other, 0).2, 1);
    assert_eq!(ask(CUSTOMER, 3600), (0, 1024, 1), "it is still there");
}

/// The NAT of a CLAT, to look into while a proxy has it.
#[derive(Clone, Debug, Default)]
struct Shared(Rc<RefCell<Nat>>);

impl Ports for Shared {
    fn address(&self, host: &Host) -> Option<Ipv4Addr> {
        self.0.borrow().address(host)
    }

    fn configured(&self, internal: &Internal) -> Option<SocketAddrV4> {
        self.0.borrow().configured(internal)
    }

    fn map(&mut self, internal: &Internal, wish: Wish) -> Result<Granted, Refused> {
        self.0.borrow_mut().map(internal, wish)
    }

    fn unmap(&mut self, internal: &Internal, external: SocketAddrV4) {
        self.0.borrow_mut().unmap(internal, external);
    }
}

/// A proxy with a NAT whose address is that of the customer.
fn proxy_with_nat() -> (Proxy<Shared>, Shared) {
    let nat = Shared::default();
    let proxy = Proxy::new(CUSTOMER.into(), Near::Nat(nat.clone()), at(1000));
    (proxy, nat)
}

fn held(nat: &Shared) -> usize {
    nat.0.borrow().taken.len()
}

#[test]
fn rfc7648_3_3_where_a_nat_is_the_server_is_asked_for_its_port() {
    let (mut proxy, nat) = proxy_with_nat();
    let sent = on(proxy.request(at(1000), client(HOST), &map(HOST, 3600)));
    // The first port of the NAT, at the address that it sends from, and no third party.
    let mut expected = map(HOST, 3600);
    expected[8..24].copy_from_slice(&CUSTOMER.octets());
    expected[40..42].copy_from_slice(&1024_u16.to_be_bytes());
    assert_eq!(sent, expected);
    let heard = proxy.response(at(1000), &granted(&sent, 1, 1800));
    let expected = granted(&map(HOST, 3600), 0, 1800);
    assert_eq!(heard.answer, Some((client(HOST), expected)));
    // The port is held as long as the server says.
    proxy.expire(at(2799));
    assert_eq!(held(&nat), 1);
    proxy.expire(at(2800));
    assert_eq!(held(&nat), 0);
}

#[test]
fn rfc7648_3_a_port_of_the_nat_is_given_back_without_an_answer() {
    let (mut proxy, nat) = proxy_with_nat();
    on(proxy.request(at(1000), client(HOST), &map(HOST, 3600)));
    assert_eq!(held(&nat), 1);
    proxy.expire(at(1010));
    assert_eq!(held(&nat), 0);
    // And with one that says no.
    let sent = on(proxy.request(at(1020), client(HOST), &map(HOST, 3600)));
    let mut refused = granted(&sent, 1, 30);
    refused[3] = 8;
    let (_, answer) = proxy.response(at(1020), &refused).answer.unwrap();
    assert_eq!(
        (answer[3], &answer[40..42]),
        (8, &8080_u16.to_be_bytes()[..])
    );
    assert_eq!(held(&nat), 0);
}

#[test]
fn rfc7648_3_a_port_of_the_nat_is_given_back_at_the_end() {
    let (mut proxy, nat) = proxy_with_nat();
    let sent = on(proxy.request(at(1000), client(HOST), &map(HOST, 3600)));
    proxy.response(at(1000), &granted(&sent, 1, 3600));
    let end = on(proxy.request(at(1100), client(HOST), &map(HOST, 0)));
    assert_eq!(end[40..42], 1024_u16.to_be_bytes(), "the same port");
    assert_eq!(held(&nat), 1, "until the server has heard of it");
    proxy.response(at(1100), &granted(&end, 101, 0));
    assert_eq!(held(&nat), 0);
    // What is not there has ended (RFC 6887 section 15.1), and needs no port to say so.
    let passed = proxy.request(at(1200), client(HOST), &map(HOST, 0));
    assert_eq!(passed.answer.unwrap()[..8], [2, 0x81, 0, 0, 0, 0, 0, 0]);
    assert_eq!((passed.on.len(), held(&nat)), (0, 0));
}

#[test]
fn rfc7648_3_ports_of_the_nat_are_given_back_when_the_server_forgets() {
    let (mut proxy, nat) = proxy_with_nat();
    for port in [80_u16, 81] {
        let mut request = map(HOST, 3600);
        request[40..42].copy_from_slice(&port.to_be_bytes());
        let sent = on(proxy.request(at(1000), client(HOST), &request));
        proxy.response(at(1000), &granted(&sent, 5000, 3600));
    }
    assert_eq!(held(&nat), 2);
    let sent = on(proxy.request(at(1950), client(HOST), &map(HOST, 3600)));
    assert!(proxy.response(at(1950), &granted(&sent, 3, 3600)).lost);
    assert_eq!(held(&nat), 1, "that of the mapping which the server knows");
    proxy.clear();
    assert_eq!(held(&nat), 0);
}

#[test]
fn a_nat_without_ports_is_told_at_once() {
    let (mut proxy, nat) = proxy_with_nat();
    let other = Internal {
        host: Host::Plain(B4.into()),
        protocol: Protocol::Tcp,
        port: 1,
    };
    for port in 1024..=1100 {
        let mut nat = nat.0.borrow_mut();
        nat.taken.insert((Protocol::Tcp, port), other);
    }
    // NO_RESOURCES and UNSUPP_PROTOCOL, which SCTP is here; in NAT-PMP out of resources.
    let passed = proxy.request(at(1000), client(HOST), &map(HOST, 3600));
    assert_eq!(refused(passed), 8);
    let mut sctp = map(HOST, 3600);
    sctp[36] = 132;
    assert_eq!(refused(proxy.request(at(1000), client(HOST), &sctp)), 9);
    let request = nat_pmp(2, 8080, 0, 60);
    assert_eq!(refused(proxy.request(at(1000), client(HOST), &request)), 4);
}

/// Whoever has many addresses behind his softwire has no more mappings for it.
#[test]
fn rfc6888_3_req4_the_mappings_of_a_softwire_are_limited() {
    let mut server = Aftr::new().server;
    let mut ask = |customer, last| {
        let host = Ipv4Addr::new(192, 168, 1, last);
        let answer = server.answer_in_softwire(at(1000), customer, host, &map(host, 3600));
        answer.unwrap()[3]
    };
    let most = Limits::default().per_host as u8;
    assert!((0..most).all(|last| ask(CUSTOMER, last) == 0));
    // USER_EX_QUOTA
    assert_eq!(ask(CUSTOMER, most), 10);
    let other = Ipv6Addr::new(0x2001, 0xdb8, 0xb, 0, 0, 0, 0, 1);
    assert_eq!(ask(other, 0), 0);
}

proptest! {
    /// Whatever comes, nothing panics, and no more goes on than a server takes.
    #[test]
    fn anything_may_come(
        messages in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..1200), any::<bool>()), 0..20),
    ) {
        let mut proxy = proxy();
        for (mut message, whole) in messages {
            if whole {
                // As far as the data of a request.
                let head = map(HOST, 3600);
                let length = head.len().min(message.len());
                message[..length].copy_from_slice(&head[..length]);
            }
            let passed = proxy.request(at(1000), client(HOST), &message);
            prop_assert!(passed.on.iter().all(|message| message.len() <= 1100));
            let heard = proxy.response(at(1000), &message);
            prop_assert!(heard.answer.is_none() || whole);
            for message in passed.on {
                proxy.response(at(1000), &granted(&message, 1, 60));
            }
        }
        let from = IpAddr::from(Ipv6Addr::LOCALHOST);
        prop_assert_eq!(proxy.request(at(1000), SocketAddr::new(from, 1), &[0, 0]), Passed::default());
    }
}

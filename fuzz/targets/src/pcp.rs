//! Hosts that ask for ports by PCP and NAT-PMP, of a server and by way of a proxy, while time passes and
//! servers say anything: answers are answers, and whatever was given is taken back once.

use std::cell::RefCell;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4};
use std::rc::Rc;
use std::time::Duration;

use isthmus_pcp::{
    Granted, Host, Internal, Lasting, Limits, Near, Ports, Protocol, Proxy, Refused, Server, Wish,
};

use crate::reader::Reader;

/// The outside address, and how many ports of it there are.
const OUTSIDE: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 1);
const PORTS: u16 = 12;
/// The first port.
const FIRST: u16 = 1024;
/// The proxy's address towards the server.
const EDGE: Ipv4Addr = Ipv4Addr::new(192, 0, 0, 2);
const LIMITS: Limits = Limits {
    shortest: Duration::from_secs(120),
    longest: Duration::from_secs(3600),
    per_host: 4,
    per_subscriber: 6,
    all: 8,
};
/// The longest message of PCP, in octets (RFC 6887 section 7).
const LONGEST: usize = 1100;

/// What a NAT has given, which others look at.
type Given = Rc<RefCell<HashMap<(Protocol, u16), Internal>>>;

#[derive(Debug)]
struct Nat {
    given: Given,
    softwires: bool,
}

impl Ports for Nat {
    fn address(&self, _host: &Host) -> Option<Ipv4Addr> {
        Some(OUTSIDE)
    }

    fn has_softwires(&self) -> bool {
        self.softwires
    }

    fn configured(&self, internal: &Internal) -> Option<SocketAddrV4> {
        (internal.port == 53).then_some(SocketAddrV4::new(OUTSIDE, 53))
    }

    fn map(&mut self, internal: &Internal, wish: Wish) -> Result<Granted, Refused> {
        if let Some(external) = self.configured(internal) {
            let lasting = Lasting::Static;
            return Ok(Granted { external, lasting });
        }
        let mut given = self.given.borrow_mut();
        let held = |port: u16| Granted {
            external: SocketAddrV4::new(OUTSIDE, port),
            lasting: Lasting::Held,
        };
        if let Some(((_, port), _)) = given.iter().find(|(_, to)| *to == internal) {
            return Ok(held(*port));
        }
        let is_free = |port: &u16| !given.contains_key(&(internal.protocol, *port));
        let mut all = FIRST..FIRST + PORTS;
        let port = match wish {
            Wish::Only(only) => all
                .find(|port| *port == only.port() && is_free(port))
                .ok_or(Refused::Elsewhere)?,
            Wish::Any | Wish::Rather(_) => all.find(is_free).ok_or(Refused::Full)?,
        };
        given.insert((internal.protocol, port), *internal);
        Ok(held(port))
    }

    fn unmap(&mut self, internal: &Internal, external: SocketAddrV4) {
        let key = (internal.protocol, external.port());
        let was = self.given.borrow_mut().remove(&key);
        assert_eq!(was, Some(*internal), "what is taken back was given");
    }
}

/// An input is an octet of choices, and steps: an octet that says of what kind, and what it needs.
pub(crate) fn run(input: &[u8]) {
    let mut input = Reader(input);
    let choices = input.byte();
    let (far, near) = (Given::default(), Given::default());
    let nat = |given: &Given| Nat {
        given: Rc::clone(given),
        softwires: choices & 1 != 0,
    };
    let mut now = Duration::from_secs(1000);
    let mut server = Server::new(nat(&far), LIMITS, now);
    let behind = if choices & 2 == 0 {
        Near::Hosts
    } else {
        Near::Nat(nat(&near))
    };
    let mut proxy = Proxy::new(EDGE.into(), behind, now);
    while !input.is_empty() {
        let kind = input.byte();
        let host = Ipv4Addr::new(192, 168, 1, kind >> 6);
        let customer = Ipv6Addr::from(0x2001_0db8_u128 << 96 | u128::from(kind >> 5 & 1));
        match kind % 5 {
            0 => {
                let request = input.counted();
                answered(request, server.answer(now, host.into(), request).as_deref());
            }
            1 => {
                let request = input.counted();
                let answer = server.answer_in_softwire(now, customer, host, request);
                answered(request, answer.as_deref());
            }
            2 => {
                let client = SocketAddr::new(host.into(), 40_000);
                let request = input.counted();
                let passed = proxy.request(now, client, request);
                answered(request, passed.answer.as_deref());
                for message in passed.on {
                    assert!(message.len() <= LONGEST, "{} octets", message.len());
                    let answer = server.answer_in_softwire(now, customer, EDGE, &message);
                    answered(&message, answer.as_deref());
                    if let Some(answer) = answer {
                        heard(&mut proxy, now, &answer);
                    }
                }
            }
            3 => heard(&mut proxy, now, input.counted()),
            _ => {
                now += Duration::from_secs(input.number().into());
                server.expire(now);
                proxy.expire(now);
            }
        }
        assert!(server.mappings() <= LIMITS.all);
        assert!(far.borrow().len() <= server.mappings());
    }
    server.clear();
    proxy.clear();
    assert!(far.borrow().is_empty() && near.borrow().is_empty());
}

/// The proxy hears a server, true or not: who is told of it is a host that asked.
fn heard(proxy: &mut Proxy<Nat>, now: Duration, message: &[u8]) {
    if let Some((client, answer)) = proxy.response(now, message).answer {
        assert_eq!(client.port(), 40_000);
        assert!(matches!(client.ip(), IpAddr::V4(host) if host.octets()[..3] == [192, 168, 1]));
        assert!(answer.len() <= LONGEST && answer.len() >= 8);
    }
}

/// An answer has the version and the opcode of its request, and the bit that makes it one (RFC 6887 section 7.2,
/// RFC 6886 section 3).
fn answered(request: &[u8], answer: Option<&[u8]>) {
    let Some(answer) = answer else {
        return;
    };
    let [version, opcode] = [0, 1].map(|at| request.get(at).copied().unwrap_or(0));
    assert_eq!(answer[1], opcode | 0x80, "{answer:02x?} to {request:02x?}");
    match version {
        // The entire request goes back (RFC 6886 section 3.5).
        0 if opcode > 2 => {
            assert_eq!(answer[..4], [0, opcode | 0x80, 0, 5]);
            assert_eq!(answer.get(4..), request.get(4..).or(Some(&[])));
        }
        0 => assert!(answer[0] == 0 && [8, 12, 16].contains(&answer.len())),
        _ => {
            assert_eq!(answer[0], 2, "{answer:02x?} to {request:02x?}");
            assert!(answer.len() % 4 == 0 && (24..=LONGEST).contains(&answer.len()));
        }
    }
}

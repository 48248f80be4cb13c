//! Datagrams from many outside sources to one binding, which lets everybody in.

use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};

use super::{
    Assault, Attack, ENGINES, Side, arena::Arena, echo, flood::Rate, flows, outcome::Service,
    packets, server::Server,
};
use crate::{
    Result,
    network::{plan, random::Random},
    traffic::packet::Ends,
};

/// The attack on all customers, by way of an accomplice.
pub(super) const ATTACK: Attack = Attack {
    name: "inbound-flood",
    finding: "2",
    about: "Filtering is endpoint-independent, and an accomplice inside has one binding. Strangers send to it from \
            millions of addresses and ports. The victim opens sessions. The table has room for 8192.",
    engines: ENGINES,
    keys: &[
        super::NAT64,
        "pool = [ { addresses = \"203.0.113.0/31\" } ]\n\
         max-bindings = 8192\nmax-sessions = 8192",
    ],
    rates: &[Rate::PerSecond(20_000), Rate::PerSecond(100_000)],
    services: &[Service::Echo, Service::Open],
    prepare: to_accomplice,
    gain: None,
};

/// The attack on one customer.
pub(super) const ON_CUSTOMER: Attack = Attack {
    name: "inbound-quota",
    finding: "2",
    about: "The same with `subscriber-sessions = 4096`, to a binding of the victim itself.",
    engines: ENGINES,
    keys: &[
        super::NAT64,
        "pool = [ { addresses = \"203.0.113.0/31\" } ]\nsubscriber-sessions = 4096",
    ],
    rates: &[Rate::PerSecond(10_000)],
    services: &[Service::Echo, Service::Open],
    prepare: |arena| Ok(strangers(arena.flows.outside)),
    gain: None,
};

/// The attack on one customer by way of its own answers.
pub(super) const ON_SERVER: Attack = Attack {
    name: "inbound-answered",
    finding: "2",
    about: "The same to a server of the victim, which answers each stranger. So it is the victim whose packets ask for \
            sessions. The victim opens others.",
    engines: ENGINES,
    keys: &[
        super::NAT64,
        "pool = [ { addresses = \"203.0.113.0/31\" } ]\nsubscriber-sessions = 4096",
    ],
    rates: &[Rate::PerSecond(10_000)],
    services: &[Service::Echo, Service::Open],
    prepare: to_server,
    gain: None,
};

fn to_server(arena: &Arena) -> Result<Assault> {
    let server = Server::start(arena.victim()?, arena.victim)?;
    Ok(Assault {
        packets: strangers(server.outside).packets,
        from: Side::Outside,
        held: Some(Box::new(server)),
    })
}

fn to_accomplice(arena: &Arena) -> Result<Assault> {
    let (socket, outside) = accomplice(arena)?;
    Ok(Assault {
        held: Some(Box::new(socket)),
        ..strangers(outside)
    })
}

/// Returns a socket of the attacker, and the outside endpoint at which it is reached as long as it lives.
pub(super) fn accomplice(arena: &Arena) -> Result<(UdpSocket, SocketAddrV4)> {
    let open = || {
        let problem = |source| echo::problem("accomplice", source);
        let socket = flows::connect(plan::HOST6).map_err(problem)?;
        let outside = flows::ask(&socket, &[0; 32]);
        let outside = outside.ok_or_else(|| problem(std::io::ErrorKind::TimedOut.into()))?;
        Ok((socket, outside))
    };
    arena.attacker()?.enter(open)
}

/// Returns datagrams to an outside endpoint, each from another source.
fn strangers(outside: SocketAddrV4) -> Assault {
    Assault::from_outside(move |number| from_stranger(number, outside, &[0; 18]))
}

/// Returns the datagram with this number to an outside endpoint.
pub(super) fn from_stranger(number: u64, outside: SocketAddrV4, payload: &[u8]) -> Vec<u8> {
    let source = Random::new(number).number();
    // Global addresses all: 32.0.0.0/5.
    let host = Ipv4Addr::from_bits(0x2000_0000 | source as u32 & 0x07ff_ffff);
    let port = 1024 + (source >> 32) as u16 % 60_000;
    let ports = (port, outside.port());
    packets::datagram(Ends::V4(host, *outside.ip()), ports, payload)
}

//! The gateway's own services: DNS64 and metrics.

use std::{
    io::{self, Write as _},
    net::{SocketAddrV6, TcpStream},
    time::Duration,
};

use super::{
    Assault, Attack,
    arena::{self, Arena},
    echo,
    flood::Rate,
    names,
    outcome::Service,
    packets,
};
use crate::{Result, network::plan, subjects::isthmus::Engine, traffic::packet::Ends};

/// The attack on DNS64.
pub(super) const NAMES: Attack = Attack {
    name: "dns-flood",
    finding: "4",
    about: "A client asks the DNS64 service for names that its upstream never answers, and holds as many TCP \
            connections as it gets, 256 or fewer. The victim asks for names by UDP and TCP.",
    engines: &[Engine::User],
    keys: &[super::NAT64, super::POOL, super::DNS64],
    rates: &[Rate::PerSecond(400), Rate::PerSecond(4000)],
    services: &[Service::Name, Service::NameByTcp],
    prepare: ask_in_vain,
    gain: None,
};

/// The attack on metrics.
pub(super) const METRICS: Attack = Attack {
    name: "metrics-unread",
    finding: "12",
    about: "A client asks for the metrics on 64 connections, and reads no answer. The victim reads them.",
    engines: &[Engine::User],
    keys: &[super::NAT64, super::POOL],
    rates: &[Rate::Still],
    services: &[Service::Metrics],
    prepare: never_read,
    gain: None,
};

const IDLE: u32 = 256;
const UNREAD: u32 = 64;
/// The longest time until a connection is there.
const PATIENCE: Duration = Duration::from_millis(500);

fn ask_in_vain(arena: &Arena) -> Result<Assault> {
    let held = connections(arena, names::PORT, IDLE, b"\0")?;
    Ok(Assault {
        held: Some(Box::new(held)),
        ..Assault::from_inside(|number| {
            let question = names::question(number as u32, names::UNANSWERED);
            let port = 1024 + (number % 60_000) as u16;
            let ends = Ends::V6(plan::HOST6, plan::GATEWAY6);
            packets::datagram(ends, (port, names::PORT), &question)
        })
    })
}

fn never_read(arena: &Arena) -> Result<Assault> {
    let question = b"GET /metrics HTTP/1.1\r\nHost: gateway\r\n\r\n";
    let held = connections(arena, arena::METRICS, UNREAD, &question.repeat(100))?;
    Ok(Assault {
        held: Some(Box::new(held)),
        ..Assault::still()
    })
}

/// Opens connections from the attacker to the gateway, and sends this on each; fewer if the gateway refuses some.
fn connections(arena: &Arena, port: u16, most: u32, octets: &[u8]) -> Result<Vec<TcpStream>> {
    let server = SocketAddrV6::new(plan::GATEWAY6, port, 0, 0);
    let connect = || {
        let mut stream = TcpStream::connect_timeout(&server.into(), PATIENCE)?;
        stream.set_write_timeout(Some(PATIENCE))?;
        // One that was closed at once, or takes no more.
        let _ = stream.write_all(octets);
        Ok(stream)
    };
    arena.attacker()?.enter(|| {
        let mut streams = Vec::new();
        for _ in 0..most {
            match connect() {
                Ok(stream) => streams.push(stream),
                Err(error) if is_refusal(&error) => break,
                Err(source) => return Err(echo::problem("connection", source)),
            }
        }
        Ok(streams)
    })
}

fn is_refusal(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionRefused, ConnectionReset, TimedOut};
    matches!(error.kind(), ConnectionRefused | ConnectionReset | TimedOut)
}

//! The victim: what it asks of the gateway, again and again, and how often and how soon it gets it.

use std::{
    io::{self, Read as _, Write as _},
    net::{Ipv6Addr, SocketAddrV6, TcpStream},
    sync::atomic::Ordering,
    thread,
    time::{Duration, Instant},
};

use super::{
    arena::{self, Arena, GATEWAY_BESIDE},
    flows::{PATIENCE, PAUSE, SMALL, bind, every_pause, outside},
    names,
    outcome::{Sample, Service},
    ports,
};
use crate::{
    Result,
    network::{
        cores::{GATEWAY_CPU, cpu, pin},
        threads::join,
    },
};

/// Octets of a question that travels in fragments.
const LARGE: usize = 4000;
/// The UDP ports for which a victim asks.
const MAPPED: u16 = 20_000;

/// Asks for each of these services during a window, all at once.
pub(super) fn measure(
    arena: &Arena,
    services: &[Service],
    window: Duration,
) -> Result<Vec<Sample>> {
    let node = arena.victim()?;
    thread::scope(|scope| {
        let threads: Vec<_> = services
            .iter()
            .map(|service| scope.spawn(|| node.enter(|| ask_again(arena, *service, window))))
            .collect();
        threads.into_iter().map(join).collect()
    })
}

fn ask_again(arena: &Arena, service: Service, window: Duration) -> Result<Sample> {
    pin(cpu(GATEWAY_CPU))?;
    let (asked, times) = match service {
        Service::Echo => arena.flows.watch(0, SMALL, window),
        Service::Fragments => arena.flows.watch(1, LARGE, window),
        _ => attempts(arena, service, window),
    };
    Ok(Sample::of(service, asked, times))
}

/// Asks during a window, each time on a thread of its own, in the same namespace and on the same CPU. Returns the
/// number of questions and the times until their answers.
fn attempts(arena: &Arena, service: Service, window: Duration) -> (u32, Vec<Duration>) {
    let count = (window.as_secs_f64() / PAUSE.as_secs_f64()) as u32;
    let first = arena.flows.next.fetch_add(count, Ordering::Relaxed);
    let attempt = |number| {
        let begun = Instant::now();
        is_served(arena, service, first + number).then(|| begun.elapsed())
    };
    thread::scope(|scope| {
        let mut running = Vec::new();
        every_pause(count, |number| {
            running.push(scope.spawn(move || attempt(number)));
        });
        let times = running.into_iter().filter_map(|thread| thread.join().ok()?);
        (count, times.collect())
    })
}

/// Asks once; returns whether it got what it asked for.
fn is_served(arena: &Arena, service: Service, number: u32) -> bool {
    match service {
        // These have a flow for all questions.
        Service::Echo | Service::Fragments => false,
        Service::Open => opens(arena, arena.victim),
        Service::Newcomer => opens(arena, arena::customer(0x1000 + (number & 0x7fff) as u16)),
        Service::Mapping => maps(arena.victim, MAPPED + (number & 0xfff) as u16).is_ok(),
        Service::Name => resolves(number).is_ok_and(|answered| answered),
        Service::NameByTcp => resolves_by_tcp(number).is_ok_and(|answered| answered),
        Service::Metrics => reads_metrics().is_ok_and(|complete| complete),
    }
}

/// Opens a session, and remembers its outside endpoint.
fn opens(arena: &Arena, address: Ipv6Addr) -> bool {
    let outside = outside(address);
    if let Some(outside) = outside {
        arena.note_opened(outside);
    }
    outside.is_some()
}

/// Asks for a mapping of a port, and gives it back.
fn maps(address: Ipv6Addr, port: u16) -> io::Result<()> {
    let server = SocketAddrV6::new(GATEWAY_BESIDE, ports::PORT, 0, 0);
    let socket = bind(address, server)?;
    let mut answer = [0; 1100];
    for lifetime in [ports::LIFETIME, 0] {
        socket.send(&ports::request(address, port, lifetime))?;
        let length = socket.recv(&mut answer)?;
        if !ports::is_granted(&answer[..length]) {
            return Err(io::ErrorKind::QuotaExceeded.into());
        }
    }
    Ok(())
}

fn resolves(number: u32) -> io::Result<bool> {
    let server = SocketAddrV6::new(GATEWAY_BESIDE, names::PORT, 0, 0);
    let socket = bind(Ipv6Addr::UNSPECIFIED, server)?;
    let question = names::question(number, names::ANSWERED);
    socket.send(&question)?;
    let mut answer = [0; 1500];
    let length = socket.recv(&mut answer)?;
    Ok(names::is_answer(&question, &answer[..length]))
}

fn resolves_by_tcp(number: u32) -> io::Result<bool> {
    let mut stream = dial(names::PORT)?;
    let question = names::question(number, names::ANSWERED);
    stream.write_all(&(question.len() as u16).to_be_bytes())?;
    stream.write_all(&question)?;
    let mut length = [0; 2];
    stream.read_exact(&mut length)?;
    let mut answer = vec![0; usize::from(u16::from_be_bytes(length))];
    stream.read_exact(&mut answer)?;
    Ok(names::is_answer(&question, &answer))
}

fn reads_metrics() -> io::Result<bool> {
    let mut stream = dial(arena::METRICS)?;
    stream.write_all(
        b"GET /metrics HTTP/1.1\r\nHost: gateway\r\nAccept: application/openmetrics-text\r\nConnection: close\r\n\r\n",
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer.starts_with("HTTP/1.1 200") && answer.contains("# EOF"))
}

/// Connects to the gateway.
fn dial(port: u16) -> io::Result<TcpStream> {
    let server = SocketAddrV6::new(GATEWAY_BESIDE, port, 0, 0);
    let stream = TcpStream::connect_timeout(&server.into(), PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    Ok(stream)
}

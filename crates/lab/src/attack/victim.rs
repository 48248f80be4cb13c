//! The victim: what it asks of the gateway, again and again, and how often and how soon it gets it.

use std::{
    io::{self, Read as _, Write as _},
    net::{Ipv6Addr, SocketAddrV4, SocketAddrV6, TcpStream, UdpSocket},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};

use super::{
    arena::{self, Arena, GATEWAY_BESIDE},
    echo::{self, endpoint},
    names,
    outcome::Sample,
    ports,
};
use crate::{
    Result,
    cores::{GATEWAY_CPU, cpu, pin},
    netns::Namespace,
};

/// An answer that takes longer is lost.
const PATIENCE: Duration = Duration::from_secs(1);
/// The time from one question to the next, whatever becomes of the first.
const PAUSE: Duration = Duration::from_millis(5);
/// Octets of a question, and of one that travels in fragments.
const SMALL: usize = 32;
const LARGE: usize = 4000;
/// The UDP ports for which a victim asks.
const MAPPED: u16 = 20_000;

/// A service that a victim asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Service {
    /// An answer through a session that was there before.
    Echo,
    /// The same with 4000 octets, in fragments.
    Fragments,
    /// An answer through a session that it opens for it.
    Open,
    /// The same, each time as another subscriber, whom the gateway has not seen before.
    Newcomer,
    /// A mapping by PCP, which it gives back.
    Mapping,
    /// The address of a name, each time another one, by UDP.
    Name,
    /// The same by TCP.
    NameByTcp,
    /// The metrics.
    Metrics,
}

impl std::fmt::Display for Service {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Echo => "echo",
            Self::Fragments => "fragments",
            Self::Open => "new session",
            Self::Newcomer => "newcomer",
            Self::Mapping => "PCP",
            Self::Name => "DNS",
            Self::NameByTcp => "DNS, TCP",
            Self::Metrics => "metrics",
        })
    }
}

/// The victim's flows that are there before an attack.
#[derive(Debug)]
pub(super) struct Flows {
    /// A socket for each of the services that last, in the order of [`Service`].
    sockets: [UdpSocket; 2],
    /// The outside endpoint of the first.
    pub(super) outside: SocketAddrV4,
    /// The number of the next question, in all flows.
    next: AtomicU32,
}

impl Flows {
    /// Opens them from an address.
    pub(super) fn open(node: &Namespace, address: Ipv6Addr) -> Result<Self> {
        node.enter(|| {
            let socket = || connect(address).map_err(|source| echo::problem("victim", source));
            let sockets = [socket()?, socket()?];
            let opened = sockets.each_ref().map(|socket| ask(socket, &[0; SMALL]));
            match opened {
                [Some(outside), Some(_)] => Ok(Self {
                    sockets,
                    outside,
                    next: AtomicU32::new(1),
                }),
                _ => Err(echo::problem("victim", io::ErrorKind::TimedOut.into())),
            }
        })
    }

    /// Asks in a flow during a window; returns the questions and the times until their answers.
    fn watch(&self, flow: usize, length: usize, window: Duration) -> (u32, Vec<Duration>) {
        let count = (window.as_secs_f64() / PAUSE.as_secs_f64()) as u32;
        let first = self.next.fetch_add(count, Ordering::Relaxed);
        let socket = &self.sockets[flow];
        let asked: Mutex<Vec<Instant>> = Mutex::default();
        let lock = || asked.lock().unwrap_or_else(PoisonError::into_inner);
        let times = thread::scope(|scope| {
            let asking = scope.spawn(|| {
                every_pause(count, |number| {
                    let mut question = vec![0; length];
                    question[..4].copy_from_slice(&(first + number).to_be_bytes());
                    lock().push(Instant::now());
                    // What the kernel does not take is lost.
                    let _ = socket.send(&question);
                });
            });
            let mut times = vec![None; count as usize];
            let mut answer = vec![0; length + SMALL];
            let begun = Instant::now();
            while times.contains(&None) && begun.elapsed() < window + PATIENCE {
                if let Ok(octets) = socket.recv(&mut answer)
                    && let Some(number) = answer[..octets].first_chunk::<4>()
                {
                    let number = u32::from_be_bytes(*number).wrapping_sub(first) as usize;
                    let since = lock().get(number).map(Instant::elapsed);
                    if let Some(time) = times.get_mut(number) {
                        *time = since.filter(|time| *time < PATIENCE);
                    }
                }
            }
            // It ends by itself.
            let _ = asking.join();
            times
        });
        (count, times.into_iter().flatten().collect())
    }
}

/// Calls a function this many times, at even intervals.
fn every_pause(count: u32, mut task: impl FnMut(u32)) {
    let begun = Instant::now();
    for number in 0..count {
        task(number);
        thread::sleep((PAUSE * (number + 1)).saturating_sub(begun.elapsed()));
    }
}

/// Returns the outside endpoint of a session that an address opens; none if there was no answer.
pub(super) fn outside(address: Ipv6Addr) -> Option<SocketAddrV4> {
    let socket = connect(address).ok()?;
    ask(&socket, &[0; SMALL])
}

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
        let joined = threads.into_iter().map(|thread| match thread.join() {
            Ok(sample) => sample,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        joined.collect()
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

/// Returns a socket of this address whose other end is the echo service.
pub(super) fn connect(address: Ipv6Addr) -> io::Result<UdpSocket> {
    bind(address, arena::echo_from_inside())
}

/// Returns a socket of this address with this other end.
pub(super) fn bind(address: Ipv6Addr, to: SocketAddrV6) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind(SocketAddrV6::new(address, 0, 0, 0))?;
    socket.connect(to)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    Ok(socket)
}

/// Asks and waits for the answer, past those to earlier questions.
pub(super) fn ask(socket: &UdpSocket, question: &[u8]) -> Option<SocketAddrV4> {
    // The next question takes the error of an earlier one away, which an ICMP message brought.
    if socket.send(question).is_err() {
        socket.send(question).ok()?;
    }
    let mut answer = vec![0; question.len() + 64];
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        // An ICMP error is the answer of somebody else: the question may still be answered.
        if let Ok(length) = socket.recv(&mut answer) {
            let found = endpoint(question, &answer[..length]);
            if found.is_some() {
                return found;
            }
        }
    }
    None
}

/// Asks questions by their number, all at once; returns how many wanted answers came, however late.
pub(super) fn answers(
    socket: &UdpSocket,
    questions: u32,
    question: impl Fn(u32) -> Vec<u8>,
    is_wanted: impl Fn(&[u8]) -> bool,
) -> u64 {
    for number in 0..questions {
        // Those that the kernel does not take get no answer.
        let _ = socket.send(&question(number));
        thread::sleep(Duration::from_millis(1));
    }
    let mut answer = [0; 1500];
    let mut got = 0;
    while let Ok(length) = socket.recv(&mut answer) {
        got += u64::from(is_wanted(&answer[..length]));
    }
    got
}

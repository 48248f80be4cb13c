//! Questions and their answers, through sessions that last.

use std::{
    io,
    net::{Ipv6Addr, SocketAddrV4, SocketAddrV6, UdpSocket},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use super::echo::{self, endpoint};
use crate::{Result, network::netns::Namespace};

/// An answer that takes longer is lost.
pub(super) const PATIENCE: Duration = Duration::from_secs(1);
/// The time from one question to the next, whatever becomes of the first.
pub(super) const PAUSE: Duration = Duration::from_millis(5);
/// Octets of a question.
pub(super) const SMALL: usize = 32;

/// The victim's flows that are there before an attack.
#[derive(Debug)]
pub(super) struct Flows {
    /// A socket for each of the services that last, in the order of [`Service`](super::outcome::Service).
    sockets: [UdpSocket; 2],
    /// The outside endpoint of the first.
    pub(super) outside: SocketAddrV4,
    /// The number of the next question, in all flows.
    pub(super) next: AtomicU32,
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
    pub(super) fn watch(
        &self,
        flow: usize,
        length: usize,
        window: Duration,
    ) -> (u32, Vec<Duration>) {
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
pub(super) fn every_pause(count: u32, mut task: impl FnMut(u32)) {
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

/// Returns a socket of this address whose other end is the echo service.
pub(super) fn connect(address: Ipv6Addr) -> io::Result<UdpSocket> {
    bind(address, echo::from_inside())
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

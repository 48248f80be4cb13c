//! The generator: a fixed number of queries under way, a new one for each response.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use isthmus_dns64::datagram::Batch;

use crate::{Fallible, NAMES};

/// Queries under way at the same time.
const WINDOW: usize = 64;
/// Without any response for this long, what is under way is lost.
const LOST: Duration = Duration::from_millis(100);

pub(crate) struct Run {
    pub(crate) answered: u64,
    pub(crate) lost: u64,
    pub(crate) seconds: f64,
}

/// A query for AAAA of a name, with EDNS as today's resolvers send it.
fn query(n: usize) -> Vec<u8> {
    let mut packet = (n as u16).to_be_bytes().to_vec();
    packet.extend_from_slice(b"\x01\0\0\x01\0\0\0\0\0\x01\x08");
    packet.extend_from_slice(format!("host{n:04}").as_bytes());
    packet.extend_from_slice(b"\x05bench\x07example\0\0\x1c\0\x01\0\0\x29\x04\xd0\0\0\0\0\0\0");
    packet
}

/// Whether this is a synthesized answer: NOERROR, one record, not truncated.
fn is_answer(packet: &[u8]) -> bool {
    packet.len() > 60 && packet[2] & 0x82 == 0x80 && packet[3] & 15 == 0 && packet[6..8] == [0, 1]
}

fn connect(server: SocketAddr) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    socket.connect(server)?;
    Ok(socket)
}

/// Asks for every name until it is answered.
pub(crate) fn warm(server: SocketAddr) -> Fallible<()> {
    let socket = connect(server)?;
    socket.set_read_timeout(Some(Duration::from_millis(500)))?;
    let mut buffer = [0; 1500];
    for n in 0..NAMES {
        let mut tries = 0;
        loop {
            socket.send(&query(n))?;
            match socket.recv(&mut buffer) {
                Ok(length) if is_answer(&buffer[..length]) => break,
                _ if tries > 10 => return Err(format!("{server} does not answer").into()),
                _ => tries += 1,
            }
        }
    }
    Ok(())
}

pub(crate) fn run(server: SocketAddr, duration: Duration) -> Fallible<Run> {
    let queries: Vec<_> = (0..NAMES).map(query).collect();
    let mut next = queries.iter().cycle();
    let socket = connect(server)?;
    let mut batch = Batch::default();
    let mut run = Run {
        answered: 0,
        lost: 0,
        seconds: 0.0,
    };
    let begun = Instant::now();
    let mut heard = begun;
    for query in next.by_ref().take(WINDOW) {
        socket.send(query)?;
    }
    loop {
        let now = Instant::now();
        if now - begun >= duration {
            run.seconds = (now - begun).as_secs_f64();
            return Ok(run);
        }
        let count = match batch.receive(&socket) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                if now - heard > LOST {
                    run.lost += WINDOW as u64;
                    heard = now;
                    for query in next.by_ref().take(WINDOW) {
                        socket.send(query)?;
                    }
                }
                std::hint::spin_loop();
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        heard = now;
        for i in 0..count {
            let (packet, _, out) = batch.exchange(i);
            if !is_answer(packet) {
                return Err(format!("{server} gave something else than an answer").into());
            }
            run.answered += 1;
            if let Some(query) = next.next() {
                out.extend_from_slice(query);
            }
        }
        run.lost += batch.send(&socket, count) as u64;
    }
}

/// Keeps this thread off the servers' core, where there is another.
pub(crate) fn pin_to_last_cpu() {
    let count = std::thread::available_parallelism().map_or(1, usize::from);
    // SAFETY: `cpu_set_t` is plain data for which zeroes are valid, and the size given is its own.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(count - 1, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set);
    }
}

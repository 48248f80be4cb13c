//! The clients, and the server at the other end of their tunnels.

use std::io::{Error, Read, Result, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::subject::Subject;

/// The time of one turn.
pub(crate) const TURN: Duration = Duration::from_secs(2);
/// Octets of a bulk transfer.
pub(crate) const BULK: usize = 1 << 30;
const CHUNK: usize = 1 << 18;
const ECHO: u8 = b'e';
const SEND: u8 = b's';

/// Echoes an octet, or sends [`BULK`] octets, as the first one asks.
pub(crate) struct Server {
    address: SocketAddr,
}

impl Server {
    pub(crate) fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                thread::spawn(move || answer(stream));
            }
        });
        Ok(Self { address })
    }
}

fn answer(mut stream: TcpStream) -> Result<()> {
    let mut first = [0];
    stream.read_exact(&mut first)?;
    if first == [ECHO] {
        return stream.write_all(&first);
    }
    let chunk = vec![0; CHUNK];
    (0..BULK / CHUNK).try_for_each(|_| stream.write_all(&chunk))
}

/// Opens a tunnel, and says what it is for.
fn tunnel(subject: &Subject, server: &Server, wish: u8) -> Result<TcpStream> {
    let mut stream = TcpStream::connect(subject.address)?;
    stream.set_nodelay(true)?;
    let to = server.address;
    stream.write_all(format!("CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n\r\n").as_bytes())?;
    let mut head = [0; 1024];
    let mut have = 0;
    while !head[..have].ends_with(b"\r\n\r\n") {
        match stream.read(&mut head[have..])? {
            0 => return Err(Error::other(String::from_utf8_lossy(&head[..have]))),
            octets => have += octets,
        }
    }
    stream.write_all(&[wish])?;
    Ok(stream)
}

/// Tunnels that so many clients open one after the other, each for an octet there and back.
pub(crate) fn tunnels_per_second(
    subject: &Subject,
    server: &Server,
    clients: usize,
) -> Result<f64> {
    let (begun, done) = (Instant::now(), AtomicU64::new(0));
    thread::scope(|scope| {
        let client = || -> Result<()> {
            while begun.elapsed() < TURN {
                let mut octet = [0];
                tunnel(subject, server, ECHO)?.read_exact(&mut octet)?;
                done.fetch_add(1, Ordering::Relaxed);
            }
            Ok(())
        };
        let clients: Vec<_> = (0..clients).map(|_| scope.spawn(client)).collect();
        let ended = clients.into_iter().map(|client| client.join());
        ended
            .into_iter()
            .try_for_each(|ended| ended.unwrap_or(Ok(())))
    })?;
    Ok(done.load(Ordering::Relaxed) as f64 / begun.elapsed().as_secs_f64())
}

/// Megabytes in a second through one tunnel.
pub(crate) fn bulk(subject: &Subject, server: &Server) -> Result<f64> {
    let begun = Instant::now();
    let mut stream = tunnel(subject, server, SEND)?;
    let (mut chunk, mut have) = (vec![0; CHUNK], 0);
    while have < BULK {
        match stream.read(&mut chunk)? {
            0 => return Err(Error::other("the tunnel ended too early")),
            octets => have += octets,
        }
    }
    Ok(BULK as f64 / 1e6 / begun.elapsed().as_secs_f64())
}

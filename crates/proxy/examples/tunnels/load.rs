//! The clients, and the server at the other end of their tunnels.

use std::io::{Error, Read, Result, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use socket2::{Domain, Socket, Type};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::runtime::Builder;

use crate::subject::Subject;

/// The time of one turn.
pub(crate) const TURN: Duration = Duration::from_secs(2);
/// Octets of a bulk transfer.
pub(crate) const BULK: usize = 1 << 30;
const CHUNK: usize = 1 << 18;
/// Addresses of clients, and of the server: ports of one address are used up by connections that have ended within the
/// last minute, and the kernel would look for a free one most of the time.
const ADDRESSES: u64 = 64;
const ECHO: u8 = b'e';
const SEND: u8 = b's';

/// Echoes an octet, or sends [`BULK`] octets, as the first one asks.
pub(crate) struct Server {
    address: SocketAddr,
}

impl Server {
    pub(crate) fn start() -> Result<Self> {
        Self::at(SocketAddr::from(([0, 0, 0, 0], 0)))
    }

    /// One thread, so that the server takes little of what the load has.
    pub(crate) fn at(address: SocketAddr) -> Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = Builder::new_current_thread().enable_io().build()?;
        thread::spawn(move || runtime.block_on(serve(listener)));
        Ok(Self { address })
    }
}

async fn serve(listener: TcpListener) -> Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    loop {
        let (stream, _) = listener.accept().await?;
        tokio::spawn(answer(stream));
    }
}

async fn answer(mut stream: tokio::net::TcpStream) -> Result<()> {
    let mut first = [0];
    stream.read_exact(&mut first).await?;
    if first == [ECHO] {
        return stream.write_all(&first).await;
    }
    let chunk = vec![0; CHUNK];
    for _ in 0..BULK / CHUNK {
        stream.write_all(&chunk).await?;
    }
    Ok(())
}

/// Opens a tunnel, and says what it is for.
fn tunnel(mut stream: TcpStream, to: SocketAddr, wish: u8) -> Result<TcpStream> {
    stream.set_nodelay(true)?;
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

/// A client with this address.
fn client_at(address: Ipv4Addr, proxy: SocketAddr) -> Result<TcpStream> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.bind(&SocketAddr::from((address, 0)).into())?;
    socket.connect(&proxy.into())?;
    Ok(socket.into())
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
                let number = done.fetch_add(1, Ordering::Relaxed);
                let [from, to] = [1, 2]
                    .map(|network| Ipv4Addr::new(127, 0, network, (number % ADDRESSES + 1) as u8));
                let client = client_at(from, subject.address)?;
                let to = SocketAddr::from((to, server.address.port()));
                tunnel(client, to, ECHO)?.read_exact(&mut [0])?;
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
    let to = SocketAddr::from(([127, 0, 0, 1], server.address.port()));
    let client = TcpStream::connect(subject.address)?;
    receive(tunnel(client, to, SEND)?, begun)
}

/// The same through a proxy, or without one, between any addresses.
pub(crate) fn bulk_between(proxy: Option<SocketAddr>, server: SocketAddr) -> Result<f64> {
    let begun = Instant::now();
    let stream = match proxy {
        Some(proxy) => tunnel(TcpStream::connect(proxy)?, server, SEND)?,
        None => {
            let mut stream = TcpStream::connect(server)?;
            stream.write_all(&[SEND])?;
            stream
        }
    };
    receive(stream, begun)
}

fn receive(mut stream: TcpStream, begun: Instant) -> Result<f64> {
    let (mut chunk, mut have) = (vec![0; CHUNK], 0);
    while have < BULK {
        match stream.read(&mut chunk)? {
            0 => return Err(Error::other("the tunnel ended too early")),
            octets => have += octets,
        }
    }
    Ok(BULK as f64 / 1e6 / begun.elapsed().as_secs_f64())
}

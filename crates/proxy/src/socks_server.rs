//! SOCKS5 with a client: who it is, what it wants, and how it went.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::associate;
use crate::counter::Counter;
use crate::engine::{Engine, Place};
use crate::journal::Entry;
use crate::meter::Meter;
use crate::proxy_header::Ends;
use crate::sites::linger;
use crate::socks::{self, Command, Reply};
use crate::target::{Host, Target};
use crate::tunnel;

/// Octets of the longest request: that with a name of 255 octets.
const LONGEST_REQUEST: usize = 4 + 1 + 255 + 2;

/// The end of a conversation that went wrong.
enum Wrong {
    /// The client does not speak the protocol, or is gone.
    Silence,
    /// The client is told why.
    Told(Reply),
}

impl From<std::io::Error> for Wrong {
    fn from(_: std::io::Error) -> Self {
        Self::Silence
    }
}

/// Serves a client until it ends.
pub(crate) async fn serve(mut stream: TcpStream, ends: Ends, engine: Arc<Engine>, place: Place) {
    let mut entry = engine.journal.entry("socks5", ends.client);
    let patience = engine.config.head_timeout;
    let greeted = timeout(patience, greet(&mut stream, &engine, &mut entry)).await;
    match greeted {
        Ok(Ok((Command::Connect, (host, port)))) => {
            connect(stream, ends, &engine, entry, Target { host, port }).await;
        }
        Ok(Ok((Command::Associate, (_, port)))) => {
            engine.counters.count(Counter::Association);
            associate::run(stream, ends, &engine, entry, port).await;
        }
        Ok(Err(Wrong::Told(reply))) => {
            engine.counters.count(Counter::BadRequest);
            let _ = stream.write_all(&answer(reply, nowhere())).await;
            linger(&stream).await;
        }
        Ok(Err(Wrong::Silence)) | Err(_) => {}
    }
    drop(place);
}

async fn connect(
    mut stream: TcpStream,
    ends: Ends,
    engine: &Engine,
    mut entry: Entry,
    target: Target,
) {
    engine.counters.count(Counter::TunnelSocks);
    entry.target(&target);
    match engine.dialer.dial(&target, ends).await {
        Ok((server, address)) => {
            entry.server(address);
            let bound = server.local_addr().unwrap_or(nowhere());
            let told = stream.write_all(&answer(Reply::Succeeded, bound)).await;
            if told.is_ok() {
                let meter = Meter::new(engine.counters.clone());
                let limits = (engine.config.idle_timeout, &*engine.counters);
                tunnel::run(stream, server, &[], &meter, limits).await;
                engine.journal.write(entry.ended(&meter));
            }
        }
        Err(failure) => {
            engine.counters.count(failure.counter());
            engine.journal.write(entry.failed(&failure));
            let _ = stream
                .write_all(&answer(Reply::from(&failure), nowhere()))
                .await;
            linger(&stream).await;
        }
    }
}

/// Reads until the client has said what it wants.
async fn greet(
    stream: &mut TcpStream,
    engine: &Engine,
    entry: &mut Entry,
) -> Result<(Command, (Host, u16)), Wrong> {
    let [version, count] = read(stream).await?;
    if version != socks::VERSION {
        return Err(Wrong::Silence);
    }
    let mut methods = vec![0; usize::from(count)];
    stream.read_exact(&mut methods).await?;
    let method = match engine.config.users {
        Some(_) => socks::PASSWORD,
        None => socks::NO_AUTHENTICATION,
    };
    if !methods.contains(&method) {
        engine.counters.count(Counter::Unauthenticated);
        stream
            .write_all(&[socks::VERSION, socks::NO_METHOD])
            .await?;
        return Err(Wrong::Silence);
    }
    stream.write_all(&[socks::VERSION, method]).await?;
    if method == socks::PASSWORD {
        authenticate(stream, engine, entry).await?;
    }
    let [version, command, _] = read(stream).await?;
    if version != socks::VERSION {
        return Err(Wrong::Silence);
    }
    let command = match command {
        1 => Command::Connect,
        3 => Command::Associate,
        _ => return Err(Wrong::Told(Reply::NoCommand)),
    };
    let mut octets = Vec::new();
    loop {
        if let Some((address, _)) = socks::address(&octets).map_err(Wrong::Told)? {
            if command == Command::Connect && address.1 == 0 {
                return Err(Wrong::Told(Reply::Failure));
            }
            return Ok((command, address));
        }
        if octets.len() > LONGEST_REQUEST {
            return Err(Wrong::Silence);
        }
        octets.push(stream.read_u8().await?);
    }
}

/// RFC 1929 section 2.
async fn authenticate(
    stream: &mut TcpStream,
    engine: &Engine,
    entry: &mut Entry,
) -> Result<(), Wrong> {
    let [version, length] = read(stream).await?;
    if version != 1 {
        return Err(Wrong::Silence);
    }
    let mut name = vec![0; usize::from(length)];
    stream.read_exact(&mut name).await?;
    let mut password = vec![0; usize::from(stream.read_u8().await?)];
    stream.read_exact(&mut password).await?;
    let name = String::from_utf8(name).map_err(|_| Wrong::Silence)?;
    let admitted = match &engine.config.users {
        Some(users) => users.admits(&name, &password).await,
        None => true,
    };
    stream.write_all(&[1, u8::from(!admitted)]).await?;
    if !admitted {
        engine.counters.count(Counter::Unauthenticated);
        return Err(Wrong::Silence);
    }
    entry.set("user", name);
    Ok(())
}

async fn read<const N: usize>(stream: &mut TcpStream) -> std::io::Result<[u8; N]> {
    let mut octets = [0; N];
    stream.read_exact(&mut octets).await?;
    Ok(octets)
}

/// The message of an answer.
pub(crate) fn answer(reply: Reply, bound: SocketAddr) -> Vec<u8> {
    [&[socks::VERSION, reply as u8, 0][..], &socks::encode(bound)].concat()
}

/// The address in an answer that has none.
pub(crate) fn nowhere() -> SocketAddr {
    SocketAddr::from(([0, 0, 0, 0], 0))
}

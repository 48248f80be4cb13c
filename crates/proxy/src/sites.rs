//! Servers by the name that a client says first: TLS by its server name, and HTTP by its host.
//!
//! A client needs no setting for it. The DNS leads it here, and the connection goes on to the server of that name.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::counter::Counter;
use crate::engine::{Engine, Place};
use crate::failure::Failure;
use crate::hello::{self, Hello};
use crate::http;
use crate::journal::Entry;
use crate::meter::Meter;
use crate::proxy_header::Ends;
use crate::target::{Host, Target};
use crate::tunnel;

/// The first octet of a record of TLS that begins a handshake.
const HANDSHAKE: u8 = 22;
/// Octets that are read at once.
const CHUNK: usize = 2_048;
/// Alerts of TLS (RFC 8446 section 6): fatal, with this description.
const DECODE_ERROR: u8 = 50;
const ACCESS_DENIED: u8 = 49;
const INTERNAL_ERROR: u8 = 80;
const UNRECOGNIZED_NAME: u8 = 112;

/// Serves a client until it ends.
pub(crate) async fn serve(stream: TcpStream, ends: Ends, engine: Arc<Engine>, place: Place) {
    let patience = engine.config.head_timeout;
    let mut first = [0];
    match timeout(patience, stream.peek(&mut first)).await {
        Ok(Ok(1)) if first == [HANDSHAKE] => tls(stream, ends, &engine, place).await,
        Ok(Ok(1)) => {
            let begun = (stream, http::Begun::default());
            http::serve(begun, ends, engine, place, http::Role::Sites).await;
        }
        _ => {}
    }
}

async fn tls(stream: TcpStream, ends: Ends, engine: &Engine, place: Place) {
    engine.counters.count(Counter::TunnelTls);
    let mut early = Vec::new();
    let mut entry = engine.journal.entry("tls", ends.client);
    let outcome = match timeout(engine.config.head_timeout, name(&stream, &mut early)).await {
        Ok(Ok(Hello::Name(name))) => open(name, ends, engine, &mut entry).await,
        Ok(Ok(Hello::Nameless)) => Err((
            Failure::BadRequest("TLS names no server"),
            UNRECOGNIZED_NAME,
        )),
        Ok(Ok(_)) => Err((
            Failure::BadRequest("TLS begins with no ClientHello"),
            DECODE_ERROR,
        )),
        // The client is gone, or says nothing.
        Ok(Err(_)) | Err(_) => return,
    };
    match outcome {
        Ok(server) => {
            let meter = Meter::new(engine.counters.clone());
            let limits = (engine.config.idle_timeout, &*engine.counters);
            tunnel::run(stream, server, &early, &meter, limits).await;
            engine.journal.write(entry.ended(&meter));
        }
        Err((failure, alert)) => {
            engine.counters.count(failure.counter());
            engine.journal.write(entry.failed(&failure));
            let _ = tunnel::write_all(&stream, &[21, 3, 3, 0, 2, 2, alert]).await;
            linger(&stream).await;
        }
    }
    drop(place);
}

async fn open(
    name: String,
    ends: Ends,
    engine: &Engine,
    entry: &mut Entry,
) -> Result<TcpStream, (Failure, u8)> {
    let target = Target {
        host: Host::Name(name),
        port: ends.local.port(),
    };
    entry.target(&target);
    let dialed = engine.dialer.dial(&target, ends).await;
    dialed
        .map(|(server, address)| {
            entry.server(address);
            server
        })
        .map_err(|failure| {
            let alert = match &failure {
                Failure::Port(_) | Failure::Destination(_) | Failure::LocalName => ACCESS_DENIED,
                Failure::NameUnknown => UNRECOGNIZED_NAME,
                _ => INTERNAL_ERROR,
            };
            (failure, alert)
        })
}

/// Reads the ClientHello, all of which stays in `early`.
async fn name(stream: &TcpStream, early: &mut Vec<u8>) -> io::Result<Hello> {
    let mut chunk = [0; CHUNK];
    loop {
        stream.readable().await?;
        match stream.try_read(&mut chunk) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(octets) => early.extend_from_slice(&chunk[..octets]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
            Err(error) => return Err(error),
        }
        match hello::read(early) {
            Hello::Unfinished => {}
            found => return Ok(found),
        }
    }
}

/// Waits a moment for the client to have read what was said: closing with unread octets resets a connection.
pub(crate) async fn linger(stream: &TcpStream) {
    let _ = socket2::SockRef::from(stream).shutdown(std::net::Shutdown::Write);
    let mut rest = [0; CHUNK];
    let drain = async {
        while stream.readable().await.is_ok() {
            match stream.try_read(&mut rest) {
                Ok(0) => break,
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => break,
                _ => {}
            }
        }
    };
    let _ = timeout(Duration::from_secs(1), drain).await;
}

//! Answering over TCP (RFC 7766): queries may follow each other without waiting, and answers come
//! in the order in which they are ready.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, Type};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::answer::Transport;
use crate::counter::{Counter, Counters};
use crate::engine::{Respond, Served};
use crate::guard::Origin;
use crate::server::Current;

/// Queries of one connection that may be without answer at the same time; then we stop reading.
const PIPELINE: usize = 64;
/// Largest query that is read: one question and some additional records that we skip.
const QUERY_MAX: usize = 4_096;
const BACKLOG: i32 = 128;
/// Pause when no connection can be accepted, such as for lack of descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// A listening socket.
pub(crate) fn bind(address: SocketAddr) -> io::Result<std::net::TcpListener> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::STREAM,
        Some(Protocol::TCP),
    )?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    // Old connections in TIME-WAIT must not keep a new server from starting.
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// The state that all connections share. The numbers are those of the configuration at the start.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) current: Current,
    pub(crate) counters: Arc<Counters>,
    pub(crate) places: Arc<Semaphore>,
    pub(crate) idle: Duration,
}

/// Accepts connections until the task is aborted, and its connections with it.
pub(crate) async fn run(listener: TcpListener, shared: Shared) {
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let (stream, from) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::debug!(%error, "a DNS connection could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let Some(share) = shared.current.get().connection(from.ip()) else {
            continue;
        };
        let Ok(place) = shared.places.clone().try_acquire_owned() else {
            shared.counters.count(Counter::ConnectionRefused);
            continue;
        };
        let shared = shared.clone();
        connections.spawn(async move {
            converse(stream, from.ip(), &shared).await;
            drop((place, share));
        });
    }
}

async fn converse(stream: TcpStream, client: IpAddr, shared: &Shared) {
    // Answers are whole segments already.
    let _ = stream.set_nodelay(true);
    let (reader, writer) = stream.into_split();
    let (answers, ready) = mpsc::channel(PIPELINE);
    let reading = read(reader, client, shared, answers);
    let writing = write(writer, shared, ready);
    // The reader ends first and drops the channel; the writer then sends the remaining responses.
    tokio::join!(reading, writing);
}

/// Reads queries. Ends when the client ends, says nothing for too long, or breaks the framing.
async fn read(
    mut stream: OwnedReadHalf,
    client: IpAddr,
    shared: &Shared,
    answers: mpsc::Sender<Vec<u8>>,
) {
    let origin = Origin {
        client,
        transport: Transport::Tcp,
    };
    let mut message = Vec::new();
    loop {
        // A place in the channel belongs to each query from the beginning, so that no answer
        // waits for a place later and a client that does not read is not read either.
        let Ok(Ok(place)) = timeout(shared.idle, answers.clone().reserve_owned()).await else {
            return;
        };
        match timeout(shared.idle, read_message(&mut stream, &mut message)).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => return,
            Err(_) => {
                shared.counters.count(Counter::ConnectionIdle);
                return;
            }
        }
        shared.counters.count(Counter::QueryTcp);
        let engine = shared.current.get();
        engine.wait(client).await;
        let now = engine.now();
        let mut out = Vec::new();
        let mut place = Some(place);
        let respond = || -> Respond {
            let place = place.take();
            Box::new(move |response| {
                if let Some(place) = place {
                    place.send(response);
                }
            })
        };
        let served = engine.serve(&message, origin, now, &mut out, respond);
        if served == Served::Now
            && let Some(place) = place
        {
            place.send(out);
        }
    }
}

async fn read_message(stream: &mut OwnedReadHalf, message: &mut Vec<u8>) -> io::Result<()> {
    let length = usize::from(stream.read_u16().await?);
    if length > QUERY_MAX {
        return Err(io::ErrorKind::InvalidData.into());
    }
    message.resize(length, 0);
    stream.read_exact(message).await?;
    Ok(())
}

/// Writes answers as they come, until no query can send one any more.
async fn write(mut stream: OwnedWriteHalf, shared: &Shared, mut ready: mpsc::Receiver<Vec<u8>>) {
    while let Some(answer) = ready.recv().await {
        let mut framed = Vec::with_capacity(2 + answer.len());
        framed.extend_from_slice(&(answer.len() as u16).to_be_bytes());
        framed.extend_from_slice(&answer);
        match timeout(shared.idle, stream.write_all(&framed)).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => break,
            Err(_) => {
                shared.counters.count(Counter::ConnectionIdle);
                break;
            }
        }
    }
}

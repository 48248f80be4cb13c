//! Asking resolvers: UDP with TCP behind it, one resolver after the other, within a deadline.
//!
//! Each question has a socket of its own on a port that the kernel picks at random, connected to
//! the resolver, and an ID from the system's random numbers (RFC 5452 section 9.2).

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};
use tokio::time::{Instant, timeout_at};

use crate::ask::{Ask, Dialect, NotOurs, Reply};
use crate::counter::{Counter, Counters};
use crate::wire::rcode;

/// Failures in a row after which a resolver is taken for down.
const FAILURES_MAX: u32 = 3;
/// For how long it then comes last.
const DOWN: Duration = Duration::from_secs(10);
/// Wrong replies on one socket after which we ask over TCP, where guessing does not help
/// (RFC 5452 section 9.3 asks to notice such floods).
const MISMATCHES_MAX: u32 = 16;
/// Times that each resolver is asked at most for one question.
const ROUNDS: u32 = 2;
/// Largest reply over UDP that we can receive; larger than we offer, because some do not care.
const DATAGRAM_MAX: usize = 4096;

/// The resolvers of a server.
pub(crate) struct Upstreams {
    servers: Vec<Server>,
    timeout: Duration,
    counters: Arc<Counters>,
    /// Zero of the times in [`Server::down_until`].
    epoch: Instant,
}

struct Server {
    address: SocketAddr,
    failures: AtomicU32,
    /// Milliseconds after the epoch.
    down_until: AtomicU64,
}

/// Why a resolver gave no reply.
#[derive(Debug)]
enum Failure {
    /// No reply in time; another try may help.
    Timeout,
    /// It cannot be reached, or does not speak DNS; another try will not help now.
    Hard,
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        tracing::debug!(%error, "upstream");
        Self::Hard
    }
}

impl Upstreams {
    pub(crate) fn new(
        addresses: &[SocketAddr],
        timeout: Duration,
        counters: Arc<Counters>,
    ) -> Self {
        let server = |&address| Server {
            address,
            failures: AtomicU32::new(0),
            down_until: AtomicU64::new(0),
        };
        Self {
            servers: addresses.iter().map(server).collect(),
            timeout,
            counters,
            epoch: Instant::now(),
        }
    }

    /// Asks one resolver after the other. A reply that is an error counts only if there is no better
    /// one. `None`: no resolver replied.
    pub(crate) async fn exchange(&self, ask: &Ask, deadline: Instant) -> Option<Reply> {
        let mut order: Vec<_> = self.servers.iter().collect();
        order.sort_by_key(|server| self.is_down(server));
        // When all are down, clients hear it soon.
        let all_down = order.first().is_none_or(|server| self.is_down(server));
        let rounds = if all_down { 1 } else { ROUNDS };
        let mut second_best = None;
        for _ in 0..rounds {
            let mut again = Vec::new();
            for server in order {
                if Instant::now() >= deadline {
                    return second_best;
                }
                match self.attempt(server, ask, deadline).await {
                    Ok(reply) => {
                        server.failures.store(0, Ordering::Relaxed);
                        server.down_until.store(0, Ordering::Relaxed);
                        if matches!(reply.rcode, rcode::NOERROR | rcode::NXDOMAIN) {
                            return Some(reply);
                        }
                        second_best.get_or_insert(reply);
                    }
                    Err(Failure::Timeout) => {
                        self.counters.count(Counter::UpstreamTimeout);
                        self.note_failure(server);
                        again.push(server);
                    }
                    Err(Failure::Hard) => {
                        self.counters.count(Counter::UpstreamUnreachable);
                        self.note_failure(server);
                    }
                }
            }
            if second_best.is_some() {
                break;
            }
            order = again;
        }
        second_best
    }

    fn is_down(&self, server: &Server) -> bool {
        (self.epoch.elapsed().as_millis() as u64) < server.down_until.load(Ordering::Relaxed)
    }

    fn note_failure(&self, server: &Server) {
        if server.failures.fetch_add(1, Ordering::Relaxed) + 1 < FAILURES_MAX {
            return;
        }
        if !self.is_down(server) {
            self.counters.count(Counter::UpstreamDown);
            tracing::warn!(upstream = %server.address, "a resolver does not reply; others are asked first");
        }
        let until = self.epoch.elapsed() + DOWN;
        server
            .down_until
            .store(until.as_millis() as u64, Ordering::Relaxed);
    }

    async fn attempt(
        &self,
        server: &Server,
        ask: &Ask,
        deadline: Instant,
    ) -> Result<Reply, Failure> {
        let until = deadline.min(Instant::now() + self.timeout);
        let asked = async {
            // RFC 6891 section 7: a resolver that does not understand us may not know EDNS.
            for dialect in [Dialect::Edns, Dialect::Plain] {
                match self.over_udp(server.address, ask, dialect).await? {
                    Heard::Reply(reply) => return Ok(reply),
                    Heard::UseTcp => return self.over_tcp(server.address, ask, dialect).await,
                    Heard::Unread => {}
                }
            }
            Err(Failure::Hard)
        };
        timeout_at(until, asked)
            .await
            .unwrap_or(Err(Failure::Timeout))
    }

    async fn over_udp(
        &self,
        to: SocketAddr,
        ask: &Ask,
        dialect: Dialect,
    ) -> Result<Heard, Failure> {
        let any: IpAddr = match to {
            SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let id = random_id()?;
        let socket = UdpSocket::bind((any, 0)).await?;
        socket.connect(to).await?;
        socket.send(&ask.encode(id, dialect)).await?;
        self.counters.count(Counter::UpstreamUdp);
        let mut buffer = [0; DATAGRAM_MAX];
        for _ in 0..MISMATCHES_MAX {
            let length = socket.recv(&mut buffer).await?;
            match ask.accept(id, &buffer[..length]) {
                Ok(reply) if reply.truncated => return Ok(Heard::UseTcp),
                Ok(reply) if reply.rcode == rcode::FORMERR && dialect == Dialect::Edns => {
                    return Ok(Heard::Unread);
                }
                Ok(reply) => return Ok(Heard::Reply(reply)),
                Err(NotOurs::Unread) => return Ok(Heard::Unread),
                Err(NotOurs::Mismatch) => self.counters.count(Counter::UpstreamMismatch),
                Err(NotOurs::Malformed) => {
                    self.counters.count(Counter::UpstreamMalformed);
                    return Err(Failure::Hard);
                }
            }
        }
        Ok(Heard::UseTcp)
    }

    async fn over_tcp(
        &self,
        to: SocketAddr,
        ask: &Ask,
        dialect: Dialect,
    ) -> Result<Reply, Failure> {
        self.counters.count(Counter::UpstreamTcp);
        let id = random_id()?;
        let mut stream = TcpStream::connect(to).await?;
        let question = ask.encode(id, dialect);
        let mut framed = (question.len() as u16).to_be_bytes().to_vec();
        framed.extend_from_slice(&question);
        stream.write_all(&framed).await?;
        let mut reply = vec![0; usize::from(stream.read_u16().await?)];
        stream.read_exact(&mut reply).await?;
        ask.accept(id, &reply).map_err(|why| {
            self.counters.count(match why {
                NotOurs::Mismatch => Counter::UpstreamMismatch,
                NotOurs::Unread | NotOurs::Malformed => Counter::UpstreamMalformed,
            });
            Failure::Hard
        })
    }
}

/// A message that came over UDP.
enum Heard {
    Reply(Reply),
    /// It did not fit, or someone floods us.
    UseTcp,
    /// It did not understand the question.
    Unread,
}

fn random_id() -> io::Result<u16> {
    let mut bytes = [0; 2];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(u16::from_be_bytes(bytes))
}

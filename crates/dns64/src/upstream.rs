//! Asking resolvers: UDP with TCP behind it, one resolver after the other, within a deadline.
//!
//! Each question has a socket of its own on a port that the kernel picks at random, connected to
//! the resolver, and an ID from the system's random numbers (RFC 5452 section 9.2). Its letters are in
//! upper or lower case at random, and it has a DNS cookie (RFC 7873). A reply that lacks one of these may be
//! forged, and the question goes over TCP.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};
use tokio::time::{Instant, timeout_at};

use crate::ask::{Ask, Dialect, NotOurs, Reply, Spelling};
use crate::cookie::{Jar, Verdict};
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
    cookies: Jar,
    /// Set once it has changed the spelling of a question over TCP, where nobody forges.
    respells: AtomicBool,
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
            cookies: Jar::default(),
            respells: AtomicBool::new(false),
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
        timeout_at(until, self.ask(server, ask))
            .await
            .unwrap_or(Err(Failure::Timeout))
    }

    async fn ask(&self, server: &Server, ask: &Ask) -> Result<Reply, Failure> {
        let mut style = server.style();
        let mut cookies = 0;
        loop {
            match self.over_udp(server, ask, style).await? {
                Heard::Reply(reply) => return Ok(reply),
                // RFC 7873 section 5.3: once more with the cookie that came.
                Heard::BadCookie if cookies == 0 => cookies += 1,
                Heard::BadCookie | Heard::UseTcp => return self.over_tcp(server, ask, style).await,
                // RFC 6891 section 7: a resolver that does not understand us may not know EDNS.
                Heard::Unread if style != Style::Plain => style = Style::Plain,
                Heard::Unread => return Err(Failure::Hard),
            }
        }
    }

    async fn over_udp(&self, server: &Server, ask: &Ask, style: Style) -> Result<Heard, Failure> {
        let any: IpAddr = match server.address {
            SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let socket = UdpSocket::bind((any, 0)).await?;
        socket.connect(server.address).await?;
        let question = Question::new(server, ask, style, socket.local_addr()?.ip())?;
        socket.send(&question.bytes()).await?;
        self.counters.count(Counter::UpstreamUdp);
        let mut buffer = [0; DATAGRAM_MAX];
        for _ in 0..MISMATCHES_MAX {
            let length = socket.recv(&mut buffer).await?;
            let reply = match question.ask.accept(question.id, &buffer[..length]) {
                Ok(reply) => reply,
                Err(NotOurs::Unread) => return Ok(Heard::Unread),
                Err(NotOurs::Mismatch) => {
                    self.counters.count(Counter::UpstreamMismatch);
                    continue;
                }
                Err(NotOurs::Malformed) => {
                    self.counters.count(Counter::UpstreamMalformed);
                    return Err(Failure::Hard);
                }
            };
            if reply.spelling == Spelling::Changed {
                self.counters.count(Counter::UpstreamRespelled);
                return Ok(Heard::UseTcp);
            }
            match question.judge(server, &reply) {
                Verdict::Foreign => self.counters.count(Counter::UpstreamMismatch),
                Verdict::Missing if reply.rcode != rcode::FORMERR => {
                    self.counters.count(Counter::UpstreamCookieless);
                    return Ok(Heard::UseTcp);
                }
                Verdict::Missing | Verdict::Credible => return Ok(heard(reply, style)),
            }
        }
        Ok(Heard::UseTcp)
    }

    async fn over_tcp(&self, server: &Server, ask: &Ask, style: Style) -> Result<Reply, Failure> {
        self.counters.count(Counter::UpstreamTcp);
        let mut stream = TcpStream::connect(server.address).await?;
        let question = Question::new(server, ask, style, stream.local_addr()?.ip())?;
        let bytes = question.bytes();
        let mut framed = (bytes.len() as u16).to_be_bytes().to_vec();
        framed.extend_from_slice(&bytes);
        stream.write_all(&framed).await?;
        let mut reply = vec![0; usize::from(stream.read_u16().await?)];
        stream.read_exact(&mut reply).await?;
        let reply = question.ask.accept(question.id, &reply).map_err(|why| {
            self.counters.count(match why {
                NotOurs::Mismatch => Counter::UpstreamMismatch,
                NotOurs::Unread | NotOurs::Malformed => Counter::UpstreamMalformed,
            });
            Failure::Hard
        })?;
        if question.judge(server, &reply) == Verdict::Missing {
            server.cookies.forget();
        }
        if reply.spelling == Spelling::Changed && !server.respells.swap(true, Ordering::Relaxed) {
            tracing::info!(upstream = %server.address, "a resolver changes the case of names; it is asked in lower case");
        }
        Ok(reply)
    }
}

impl Server {
    /// How it is asked first. One that does not reply and has never shown a cookie may be behind
    /// something that drops what it does not know.
    fn style(&self) -> Style {
        match self.failures.load(Ordering::Relaxed) == 0 || self.cookies.is_known() {
            true => Style::Cookie,
            false => Style::Edns,
        }
    }
}

/// The extras of a question besides name and type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    Cookie,
    Edns,
    Plain,
}

/// A question as one resolver gets it.
struct Question {
    ask: Ask,
    id: u16,
    dialect: Dialect,
}

impl Question {
    fn new(server: &Server, ask: &Ask, style: Style, local: IpAddr) -> io::Result<Self> {
        let mut id = [0; 2];
        let mut dice = [0; 32];
        getrandom::fill(&mut id).map_err(io::Error::other)?;
        if !server.respells.load(Ordering::Relaxed) {
            getrandom::fill(&mut dice).map_err(io::Error::other)?;
        }
        Ok(Self {
            ask: ask.spelled(&dice),
            id: u16::from_be_bytes(id),
            dialect: match style {
                Style::Cookie => Dialect::Cookie(server.cookies.cookie(local)?),
                Style::Edns => Dialect::Edns,
                Style::Plain => Dialect::Plain,
            },
        })
    }

    fn bytes(&self) -> Vec<u8> {
        self.ask.encode(self.id, &self.dialect)
    }

    /// Judges the cookie of a reply, if the question had one.
    fn judge(&self, server: &Server, reply: &Reply) -> Verdict {
        match &self.dialect {
            Dialect::Cookie(sent) => server.cookies.judge(sent, reply.cookie.as_deref()),
            Dialect::Edns | Dialect::Plain => Verdict::Credible,
        }
    }
}

/// The meaning of a credible reply over UDP.
fn heard(reply: Reply, style: Style) -> Heard {
    match reply.rcode {
        _ if reply.truncated => Heard::UseTcp,
        rcode::FORMERR if style != Style::Plain => Heard::Unread,
        rcode::BADCOOKIE if style == Style::Cookie => Heard::BadCookie,
        _ => Heard::Reply(reply),
    }
}

/// A message that came over UDP.
enum Heard {
    Reply(Reply),
    /// It did not fit, or may be forged.
    UseTcp,
    /// The cookie was not the one that the resolver wants.
    BadCookie,
    /// It did not understand the question.
    Unread,
}

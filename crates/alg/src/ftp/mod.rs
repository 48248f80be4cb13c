//! The FTP gateway, for IPv6 clients of IPv4 servers (RFC 6384) and for IPv4 clients of IPv6 servers (RFC 2766 section 6.1).
//!
//! `EPSV` becomes `PASV` and its reply 229 again, `EPRT` becomes `PORT` with an endpoint that the NAT gives, and the other
//! way round. Each segment of the control connection is translated by itself; the beginning of a command is kept back until
//! its sender has sent it whole. Where lines grow or shrink, the sequence numbers after them follow.

mod connection;
mod line;
mod stream;

use std::collections::HashMap;
use std::net::SocketAddrV6;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::segment::Segment;
use crate::{Direction, Translator};
use connection::Connection;

/// The port of a server's control connections (RFC 959 section 8).
const PORT: u16 = 21;
/// Connections that are remembered at most: those in which something was changed.
const MOST: usize = 4096;
/// How long one is remembered without a segment, in nanoseconds: as long as a session is at least (RFC 5382 section 5).
const IDLE: u64 = 7_440_000_000_000;

/// Whether a packet is the gateway's.
#[must_use]
pub fn concerns(packet: &[u8]) -> bool {
    Segment::read(packet).is_some_and(|segment| Side::of(&segment).is_some())
}

/// The gateway, with the connections in which it has changed something.
#[derive(Debug, Default)]
pub(crate) struct Gateway {
    connections: Mutex<HashMap<[SocketAddrV6; 2], Known>>,
}

/// A connection that is remembered.
#[derive(Debug, Default)]
struct Known {
    connection: Connection,
    /// When its last segment passed.
    last: u64,
    /// Whether the server has said something: a client alone may be made up.
    answered: bool,
}

/// Who sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Client,
    Server,
}

impl Side {
    fn of(segment: &Segment<'_>) -> Option<Self> {
        match (segment.source.port(), segment.destination.port()) {
            (_, PORT) => Some(Self::Client),
            (PORT, _) => Some(Self::Server),
            _ => None,
        }
    }
}

impl Gateway {
    /// The packet in place of a segment; `None` if it stays as it is.
    pub(crate) fn rewrite(
        &self,
        segment: &Segment<'_>,
        direction: Direction,
        now: u64,
        translator: &mut dyn Translator,
    ) -> Option<Vec<u8>> {
        let side = Side::of(segment)?;
        let ends = match side {
            Side::Client => [segment.source, segment.destination],
            Side::Server => [segment.destination, segment.source],
        };
        if segment.opens() || segment.resets() {
            self.lock().remove(&ends);
        }
        if segment.opens() {
            return segment.with(segment.sequence, segment.acknowledgement, segment.payload);
        }
        let mut known = self.take(&ends);
        let of_v6 = (direction == Direction::Out) == (side == Side::Client);
        let packet = pass(
            &mut known.connection,
            segment,
            (side, of_v6),
            ends,
            translator,
        );
        known.last = now;
        known.answered |= side == Side::Server;
        if known.connection.is_plain() || segment.resets() || self.keep(ends, known, now) {
            packet
        } else {
            None
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<[SocketAddrV6; 2], Known>> {
        self.connections
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, ends: &[SocketAddrV6; 2]) -> Known {
        self.lock().remove(ends).unwrap_or_default()
    }

    /// Remembers a connection. Returns `false` if there is no room: those that no server has answered make room for others.
    fn keep(&self, ends: [SocketAddrV6; 2], known: Known, now: u64) -> bool {
        let mut connections = self.lock();
        if connections.len() >= MOST {
            connections.retain(|_, known| now.saturating_sub(known.last) < IDLE);
        }
        if connections.len() >= MOST {
            let unanswered = connections.iter().filter(|(_, known)| !known.answered);
            let oldest = unanswered.min_by_key(|(_, known)| known.last);
            let Some(oldest) = oldest.map(|(ends, _)| *ends) else {
                return false;
            };
            connections.remove(&oldest);
        }
        connections.insert(ends, known);
        true
    }
}

/// The packet in place of a segment of a connection; `None` if it stays as it is.
fn pass(
    connection: &mut Connection,
    segment: &Segment<'_>,
    (side, of_v6): (Side, bool),
    ends: [SocketAddrV6; 2],
    translator: &mut dyn Translator,
) -> Option<Vec<u8>> {
    let ready = match side {
        Side::Client => connection.ready(segment.sequence, segment.payload),
        Side::Server => segment.payload.len(),
    };
    let segment = &segment.cut(ready);
    let payload = segment.payload;
    let stream = own(connection, side);
    let repeated = stream
        .repeated(segment.sequence, payload)
        .map(<[u8]>::to_vec);
    let sequence = stream.sent(segment.sequence);
    let other = match side {
        Side::Client => Side::Server,
        Side::Server => Side::Client,
    };
    let acknowledgement = own(connection, other).acknowledged(segment.acknowledgement);
    let changed = match repeated {
        Some(changed) => Some(changed),
        None => {
            let changed = connection.rewrite(payload, |connection, line| match (side, of_v6) {
                (Side::Client, true) => connection.command_of_v6(line, ends, translator),
                (Side::Server, true) => connection.reply_to_v6(line),
                (Side::Client, false) => connection.command_of_v4(line, translator),
                (Side::Server, false) => connection.reply_to_v4(line, ends, translator),
            });
            if let Some(changed) = &changed {
                own(connection, side).replace(segment.sequence, payload, changed);
            }
            changed
        }
    };
    let moved = (sequence, acknowledgement) != (segment.sequence, segment.acknowledgement);
    if changed.is_none() && !moved && !segment.is_cut() {
        return None;
    }
    segment.with(
        sequence,
        acknowledgement,
        changed.as_deref().unwrap_or(payload),
    )
}

/// The stream of one side.
fn own(connection: &mut Connection, side: Side) -> &mut stream::Stream {
    match side {
        Side::Client => &mut connection.commands,
        Side::Server => &mut connection.replies,
    }
}

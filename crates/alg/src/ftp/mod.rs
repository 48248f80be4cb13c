//! The FTP gateway, for IPv6 clients of IPv4 servers (RFC 6384) and for IPv4 clients of IPv6 servers (RFC 2766 section 6.1).
//!
//! `EPSV` becomes `PASV` and its reply 229 again, `EPRT` becomes `PORT` with an endpoint that the NAT gives, and the other
//! way round. Each segment of the control connection is translated by itself; the beginning of a command is kept back until
//! its sender has sent it whole. Where lines grow or shrink, the sequence numbers after them follow.

mod connection;
mod line;
mod stream;
mod table;

use std::sync::{Mutex, PoisonError};

use isthmus_core::packet::Family;

use crate::segment::Segment;
use crate::{Direction, Translator};
use connection::Connection;
use table::{Ends, Known, Table};

/// The port of a server's control connections (RFC 959 section 8).
const PORT: u16 = 21;
/// Octets of a segment that is translated, at most: what is changed has to be remembered as it was and as it is. Longer ones
/// are made of fragments, or large packets of a link; commands and their replies are short.
const LONGEST: usize = 1_500;

/// Whether a packet is the gateway's.
#[must_use]
pub fn concerns(packet: &[u8]) -> bool {
    Segment::read(packet).is_some_and(|segment| Side::of(&segment).is_some())
}

/// The gateway, with the connections in which it has changed something.
#[derive(Debug, Default)]
pub(crate) struct Gateway {
    connections: Mutex<Table>,
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
        // No other thread may have a segment of the same connection meanwhile, such as one of the other direction.
        let mut connections = self
            .connections
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if segment.opens() {
            if side == Side::Client {
                connections.take(&ends);
            }
            return segment.with(segment.sequence, segment.acknowledgement, segment.payload);
        }
        let family = match (direction, side) {
            (Direction::Out, Side::Client) | (Direction::In, Side::Server) => Family::V6,
            (Direction::Out, Side::Server) | (Direction::In, Side::Client) => Family::V4,
        };
        let known = connections.take(&ends);
        let mut known = known.unwrap_or_else(|| Known::of(*ends[0].ip(), family));
        let connection = &mut known.connection;
        let packet = pass(connection, segment, (side, family), ends, translator);
        if !known.connection.is_plain() {
            known.passes(side, segment, now);
            connections.keep(ends, known, now);
        }
        packet
    }
}

/// The packet in place of a segment of a connection; `None` if it stays as it is.
fn pass(
    connection: &mut Connection,
    segment: &Segment<'_>,
    (side, family): (Side, Family),
    ends: Ends,
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
        None if payload.len() > LONGEST => None,
        None => {
            let changed = connection.rewrite(payload, |connection, line| match (side, family) {
                (Side::Client, Family::V6) => connection.command_of_v6(line, ends, translator),
                (Side::Server, Family::V6) => connection.reply_to_v6(line),
                (Side::Client, Family::V4) => connection.command_of_v4(line, translator),
                (Side::Server, Family::V4) => connection.reply_to_v4(line, ends, translator),
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

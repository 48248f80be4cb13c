//! The control connections that are remembered, in bounded memory. If there is no room for another, those go that the
//! fewest others miss: the least recent ones of the host that has the most, at the site that has the most.
//!
//! Connections in which a server has said something have room of their own. A client alone may be made up, and may have
//! a source address for each of its connections.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::net::{Ipv6Addr, SocketAddrV6};

use isthmus_core::packet::Family;

use super::Side;
use super::connection::Connection;
use crate::segment::Segment;

/// Client and server, as the IPv6 side has their addresses.
pub(super) type Ends = [SocketAddrV6; 2];

/// Connections that are remembered at most, of those that a server has answered, and of the others.
const MOST: usize = 4096;
/// Connections that go at once: to choose them takes as long as a thousand packets.
const AT_ONCE: usize = MOST / 8;
/// How long one is remembered without a segment, in nanoseconds: as long as a session is at least (RFC 5382 section 5), while
/// it is established, and once both sides have ended it.
const ESTABLISHED: u64 = 7_440_000_000_000;
const TRANSITORY: u64 = 240_000_000_000;
/// Bits of an IPv6 address that hosts of one site do not have in common: a customer gets a /56.
const HOSTS: u32 = 72;

/// A connection that is remembered.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) connection: Connection,
    /// The first bits of its client's address, which all hosts of a site have.
    site: u128,
    /// When its last segment passed.
    last: u64,
    /// Whether the server has said something.
    answered: bool,
    /// Whether the client has ended its direction, and the server.
    ended: [bool; 2],
}

impl Known {
    /// A new connection of a client that has this family itself.
    pub(super) fn of(client: Ipv6Addr, family: Family) -> Self {
        let bits = client.to_bits();
        Self {
            connection: Connection::default(),
            site: match family {
                Family::V6 => bits >> HOSTS << HOSTS,
                Family::V4 => bits,
            },
            last: 0,
            answered: false,
            ended: [false; 2],
        }
    }

    /// Notes that a segment of this side passes. A reset may be made up, and its receiver knows better.
    pub(super) fn passes(&mut self, side: Side, segment: &Segment<'_>, now: u64) {
        self.last = now;
        self.answered |= side == Side::Server;
        self.ended[usize::from(side == Side::Server)] |= segment.ends();
        if segment.resets() {
            self.ended = [true; 2];
        }
    }

    fn is_over(&self, now: u64) -> bool {
        let limit = match self.ended {
            [true, true] => TRANSITORY,
            _ => ESTABLISHED,
        };
        now.saturating_sub(self.last) >= limit
    }
}

/// The connections that are remembered.
#[derive(Debug, Default)]
pub(super) struct Table {
    answered: HashMap<Ends, Known>,
    unanswered: HashMap<Ends, Known>,
}

impl Table {
    /// Takes a connection out.
    pub(super) fn take(&mut self, ends: &Ends) -> Option<Known> {
        let answered = self.answered.remove(ends);
        answered.or_else(|| self.unanswered.remove(ends))
    }

    /// Remembers a connection, for which others may have to go.
    pub(super) fn keep(&mut self, ends: Ends, known: Known, now: u64) {
        let connections = match known.answered {
            true => &mut self.answered,
            false => &mut self.unanswered,
        };
        if connections.len() >= MOST {
            make_room(connections, now);
        }
        connections.insert(ends, known);
    }
}

/// Removes those that are over, and if these are few, those that are missed least.
fn make_room(connections: &mut HashMap<Ends, Known>, now: u64) {
    connections.retain(|_, known| !known.is_over(now));
    let excess = (connections.len() + AT_ONCE).saturating_sub(MOST);
    for ends in least_missed(connections, excess) {
        connections.remove(&ends);
    }
}

/// So many connections, chosen by how many more recent ones their site has. Among those of one site, a host's second
/// connection comes after the first ones of all hosts.
fn least_missed(connections: &HashMap<Ends, Known>, number: usize) -> Vec<Ends> {
    let mut all: Vec<_> = connections.iter().collect();
    all.sort_unstable_by_key(|(ends, known)| (*ends[0].ip(), Reverse(known.last)));
    let at_host = ranks(&all, |(ends, _)| ends[0].ip());
    let mut all: Vec<_> = all.into_iter().zip(at_host).collect();
    all.sort_unstable_by_key(|((_, known), rank)| (known.site, *rank, Reverse(known.last)));
    let at_site = ranks(&all, |((_, known), _)| &known.site);
    let mut all: Vec<_> = all.into_iter().zip(at_site).collect();
    all.sort_unstable_by_key(|(((_, known), _), rank)| (Reverse(*rank), known.last));
    let ends = all.into_iter().map(|(((ends, _), _), _)| *ends);
    ends.take(number).collect()
}

/// The place of each item among its neighbours of the same group, 0 for the first.
fn ranks<T, G: PartialEq + ?Sized>(items: &[T], group: impl Fn(&T) -> &G) -> Vec<usize> {
    let groups = items.chunk_by(|one, next| group(one) == group(next));
    groups.flat_map(|group| 0..group.len()).collect()
}

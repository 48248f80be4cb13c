//! What RFC 6146 says of bindings, sessions and permissions, in hash maps.

use std::collections::{HashMap, HashSet};

use crate::support::*;
use isthmus_core::nat::*;
use isthmus_core::reason::Counter;
use isthmus_core::time::{Instant, Span};

/// RFC 6146 section 4.
const TCP_EST: Span = Span::from_secs(7440);
const TCP_TRANS: Span = Span::from_secs(240);
const UDP_DEFAULT: Span = Span::from_secs(300);
const ICMP_DEFAULT: Span = Span::from_secs(60);

pub(super) type Bound = (u8, u128, u16);
pub(super) type Far = (u32, u16);

pub(super) fn bound(protocol: Protocol, inside: Inside) -> Bound {
    let (high, low) = inside.address.halves();
    (
        protocol as u8,
        u128::from(high) << 64 | u128::from(low),
        inside.port,
    )
}

pub(super) fn far(endpoint: Endpoint4) -> Far {
    (endpoint.address.number(), endpoint.port)
}

/// The subscriber of an inside endpoint: its /64.
fn subscriber(bound: &Bound) -> u128 {
    bound.1 >> 64
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Session {
    pub(super) state: TcpState,
    pub(super) expires: Instant,
}

impl Session {
    /// RFC 6146 section 3.5.2.2: an established session that was idle for its whole lifetime is in TRANS.
    pub(super) fn at(self, now: Instant) -> Option<Self> {
        let session = if self.expires <= now && self.state == TcpState::Established {
            Self {
                state: TcpState::Trans,
                expires: self.expires + TCP_TRANS,
            }
        } else {
            self
        };
        (session.expires > now).then_some(session)
    }
}

#[derive(Default)]
pub(super) struct Model {
    pub(super) now: Instant,
    pub(super) bindings: HashMap<Bound, (Inside, Endpoint4)>,
    pub(super) sessions: HashMap<(Bound, Far), Session>,
    /// Until when a remote address may send to an inside endpoint, with address-dependent filtering: as long as the
    /// longest session between them was meant to last when it was made, or when the sweeper came by.
    pub(super) permissions: HashMap<(Bound, u32), Instant>,
    /// Permissions for which there may have been no room when their session was made.
    pub(super) doubtful: HashSet<(Bound, u32)>,
    /// Protocols for which no port was found at this instant.
    pub(super) exhausted: HashSet<u8>,
}

/// The session after a packet from inside, or the one that it makes. It counts as if it had come twice: an engine may
/// hand it to another one that sees it again.
pub(super) fn from_inside(
    session: Option<Session>,
    transport: Transport,
    now: Instant,
) -> Option<Session> {
    let once = once_from_inside(session, transport, now);
    once.and_then(|once| once_from_inside(Some(once), transport, now))
}

/// The session after a packet from outside, in the same way.
pub(super) fn from_outside(session: Session, transport: Transport, now: Instant) -> Session {
    let once = once_from_outside(session, transport, now);
    once_from_outside(once, transport, now)
}

fn once_from_inside(
    session: Option<Session>,
    transport: Transport,
    now: Instant,
) -> Option<Session> {
    use TcpState::*;
    let stateless = |lifetime| {
        Some(Session {
            state: Closed,
            expires: now + lifetime,
        })
    };
    let flags = match transport {
        Udp => return stateless(UDP_DEFAULT),
        Icmp => return stateless(ICMP_DEFAULT),
        Transport::Tcp(flags) => flags,
    };
    let (syn, ack) = (flags.has(TcpFlags::SYN), flags.has(TcpFlags::ACK));
    let opening = |state| Session {
        state,
        expires: now + TCP_TRANS,
    };
    let opened = if ack {
        opening(V4Init)
    } else {
        opening(V6Init)
    };
    let Some(session) = session else {
        return syn.then_some(opened);
    };
    Some(match session.state {
        // RFC 9293 section 3.6.1.
        BothFinRcv if syn => opened,
        V4Init | V6Init if syn => opening(session.state),
        Established if flags.has(TcpFlags::FIN) => Session {
            state: V6FinRcv,
            ..session
        },
        V4FinRcv if flags.has(TcpFlags::FIN) => opening(BothFinRcv),
        _ => either_side(session, flags, now),
    })
}

fn once_from_outside(session: Session, transport: Transport, now: Instant) -> Session {
    use TcpState::*;
    let Transport::Tcp(flags) = transport else {
        return once_from_inside(Some(session), transport, now).unwrap();
    };
    let (syn, rst) = (flags.has(TcpFlags::SYN), flags.has(TcpFlags::RST));
    let established = Session {
        state: Established,
        expires: now + TCP_EST,
    };
    match session.state {
        V6Init if syn => established,
        V4Init if !syn && !rst => established,
        Established if flags.has(TcpFlags::FIN) => Session {
            state: V4FinRcv,
            ..session
        },
        V6FinRcv if flags.has(TcpFlags::FIN) => Session {
            state: BothFinRcv,
            expires: now + TCP_TRANS,
        },
        _ => either_side(session, flags, now),
    }
}

fn either_side(session: Session, flags: TcpFlags, now: Instant) -> Session {
    use TcpState::*;
    let rst = flags.has(TcpFlags::RST);
    match session.state {
        Established if rst => Session {
            state: Trans,
            expires: now + TCP_TRANS,
        },
        Established | V4FinRcv | V6FinRcv => Session {
            expires: now + TCP_EST,
            ..session
        },
        Trans if !rst => Session {
            state: Established,
            expires: now + TCP_EST,
        },
        _ => session,
    }
}

impl Model {
    fn count<'a, T: 'a>(keys: impl Iterator<Item = &'a T>, is: impl Fn(&T) -> bool) -> u32 {
        keys.filter(|key| is(key)).count() as u32
    }

    /// Whether the network of an endpoint has its share of a table: four times as many entries as there is room for.
    /// The /48 of a subscriber is its own, and what is wider has much more.
    fn has_share(setup: &Setup, own: u32, room: u32) -> bool {
        setup.capacity.subscribers != 0 && room != 0 && own >= 4 * room
    }

    /// Why a binding may be refused, and why a session, to whom an eighth is denied if it `answers`.
    pub(super) fn reasons(
        &self,
        setup: &Setup,
        key: &Bound,
        answers: bool,
    ) -> (Vec<Counter>, Vec<Counter>) {
        let own = |bound: &Bound| subscriber(bound) == subscriber(key);
        let (mut binding, mut session) = (Vec::new(), Vec::new());
        let limit = |limit: u32, count: u32| limit != 0 && count >= limit;
        // In eighths.
        let (whole, part) = (8, if answers { 7 } else { 8 });
        let own_bindings = Self::count(self.bindings.keys(), own);
        let own_sessions = Self::count(self.sessions.keys(), |(bound, _)| own(bound));
        let room = |capacity: u32, used: usize| capacity.saturating_sub(used as u32);
        // The place of the new binding is taken already.
        let left = room(setup.capacity.bindings, self.bindings.len() + 1);
        if Self::has_share(setup, own_bindings, left) {
            binding.push(Counter::NetworkShare);
        }
        let left = room(setup.capacity.sessions, self.sessions.len());
        if Self::has_share(setup, own_sessions, left) {
            session.push(Counter::NetworkShare);
        }
        if self.bindings.len() as u32 >= setup.capacity.bindings {
            binding.push(Counter::TableFull);
        }
        if limit(setup.limits.bindings, own_bindings) {
            binding.push(Counter::SubscriberLimit);
        }
        let ports: u32 = setup
            .pool
            .iter()
            .map(|range| u32::from(range.high - range.low) + 1)
            .sum();
        if Self::count(self.bindings.keys(), |bound| bound.0 == key.0) >= ports
            || self.exhausted.contains(&key.0)
        {
            binding.push(Counter::PoolExhausted);
        }
        let eighth = setup.capacity.sessions / 8 * (whole - part);
        if self.sessions.len() as u32 >= setup.capacity.sessions - eighth {
            session.push(Counter::TableFull);
        }
        if limit(setup.limits.sessions * part, own_sessions * whole) {
            session.push(Counter::SubscriberLimit);
        }
        (binding, session)
    }

    /// A session was made, or the sweeper met it: its permission lasts as long. In tables that are `crowded` there may be no
    /// room for a new one.
    pub(super) fn keep(&mut self, key: Bound, peer: Far, session: Session, crowded: bool) {
        self.sessions.insert((key, peer), session);
        let permission = (key, peer.0);
        if crowded && !self.permissions.contains_key(&permission) {
            self.doubtful.insert(permission);
        }
        let until = self
            .permissions
            .entry(permission)
            .or_insert(session.expires);
        *until = session.expires.max(*until);
    }

    pub(super) fn sweep(&mut self, crowded: bool) -> (HashSet<(Bound, Far)>, HashSet<Bound>) {
        let now = self.now;
        let mut ended = HashSet::new();
        let mut renewed = Vec::new();
        self.sessions.retain(|key, session| match session.at(now) {
            None => {
                ended.insert(*key);
                false
            }
            Some(current) => {
                *session = current;
                renewed.push((*key, current));
                true
            }
        });
        let used: HashSet<Bound> = self.sessions.keys().map(|(bound, _)| *bound).collect();
        let unbound = self
            .bindings
            .keys()
            .filter(|bound| !used.contains(*bound))
            .copied()
            .collect();
        self.bindings.retain(|bound, _| used.contains(bound));
        self.permissions
            .retain(|(bound, _), until| used.contains(bound) && *until > now);
        let known = &self.permissions;
        self.doubtful.retain(|place| known.contains_key(place));
        for ((bound, peer), session) in renewed {
            self.keep(bound, peer, session, crowded);
        }
        (ended, unbound)
    }
}

//! A session table entry (RFC 6146 section 3.2) as the words of a slot, and what packets do to it.

use crate::table::{Life, Slot};
use crate::time::Instant;

use super::config::{NatConfig, Timers};
use super::endpoint::{Endpoint4, Inside, Protocol, Transport};
use super::tcp::{self, Lifetime, Side, TcpState};

/// Words 0 to 3 are the key: inside endpoint and protocol, remote endpoint.
pub(super) const REMOTE: usize = 3;
/// The outside endpoint; in the same place in bindings.
pub(super) const OUTSIDE: usize = 4;
/// Slot line of the binding.
pub(super) const BINDING: usize = 5;
/// When the session was made; in the same place in bindings.
pub(super) const CREATED: usize = 6;

const EXPIRY_BITS: u32 = 40;
const EXPIRY: u64 = (1 << EXPIRY_BITS) - 1;
const STATE: u64 = 7 << EXPIRY_BITS;
/// The sweeper has reported this entry. The bit is the same in all tables.
pub(super) const REPORTED: u64 = 1 << 47;

/// Lifetimes that differ by less than this are not worth a write to a line that other processors
/// read: about a second.
const WORTH_A_WRITE: u64 = 954;

/// The key of a session.
#[inline(always)]
pub(super) fn key(inside: &Inside, remote: Endpoint4, protocol: Protocol) -> [u64; 4] {
    let words = inside.words(protocol);
    [words[0], words[1], words[2], remote_word(remote, protocol)]
}

/// A remote endpoint in table form. An ICMP query has no remote identifier of its own.
#[inline(always)]
pub(super) fn remote_word(remote: Endpoint4, protocol: Protocol) -> u64 {
    let port = if matches!(protocol, Protocol::Icmp) {
        0
    } else {
        remote.port
    };
    Endpoint4 { port, ..remote }.word()
}

/// The key under which a session is found from outside.
#[inline(always)]
pub(super) const fn return_key(outside: u64, remote: u64, protocol: Protocol) -> [u64; 2] {
    [outside | protocol as u64, remote]
}

/// State and expiry of a session: the payload of its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Status {
    pub(super) state: TcpState,
    pub(super) expiry: u64,
    reported: u64,
}

impl Status {
    /// The status that a session has after its first packet from inside; `None` if that packet cannot
    /// open one.
    #[inline(always)]
    pub(super) fn opening(timers: &Timers, now: Instant, transport: Transport) -> Option<Self> {
        let (state, lifetime) = match transport {
            Transport::Udp => (TcpState::Closed, timers.udp),
            Transport::Icmp => (TcpState::Closed, timers.icmp),
            Transport::Tcp(flags) => match tcp::next(TcpState::Closed, Side::Inside, flags) {
                (TcpState::Closed, _) => return None,
                (state, _) => (state, timers.tcp_opening),
            },
        };
        Some(Self {
            state,
            expiry: (now + lifetime).0,
            reported: 0,
        })
    }

    #[inline(always)]
    pub(super) const fn of(life: Life) -> Self {
        let payload = life.payload();
        Self {
            state: TcpState::from_bits(payload >> EXPIRY_BITS),
            expiry: payload & EXPIRY,
            reported: payload & REPORTED,
        }
    }

    #[inline(always)]
    pub(super) const fn payload(self) -> u64 {
        self.reported | (self.state as u64) << EXPIRY_BITS & STATE | self.expiry & EXPIRY
    }

    /// The status now: an established session that was idle for its whole lifetime is in TRANS
    /// for the transitory time more (RFC 6146 section 3.5.2.2).
    #[inline(always)]
    pub(super) const fn at(self, timers: &Timers, now: Instant) -> Self {
        if self.expiry <= now.0 && matches!(self.state, TcpState::Established) {
            return Self {
                state: TcpState::Trans,
                expiry: self.expiry + timers.tcp_closing.0,
                reported: self.reported,
            };
        }
        self
    }

    #[inline(always)]
    pub(super) const fn expired(self, now: Instant) -> bool {
        self.expiry <= now.0
    }

    #[inline(always)]
    pub(super) const fn reported(self) -> bool {
        self.reported != 0
    }
}

/// Lets a packet of the session take effect on its state and lifetime. Returns whether the session is there: its time may be
/// over, only the sweeper has not been here yet.
#[inline(always)]
pub(super) fn touch(
    slot: &Slot<'_>,
    cfg: &NatConfig,
    now: Instant,
    side: Side,
    transport: Transport,
) -> bool {
    let before = Status::of(slot.life);
    let timers = &cfg.timers;
    let (state, expiry) = match transport {
        Transport::Udp | Transport::Icmp => {
            if before.expired(now) {
                return false;
            }
            let lifetime = if matches!(transport, Transport::Udp) {
                timers.udp
            } else {
                timers.icmp
            };
            (before.state, (now + lifetime).0)
        }
        Transport::Tcp(flags) => {
            let current = before.at(timers, now);
            if current.expired(now) {
                return false;
            }
            let (state, lifetime) = tcp::next(current.state, side, flags);
            let expiry = match lifetime {
                Lifetime::Keep => current.expiry,
                Lifetime::Opening => (now + timers.tcp_opening).0,
                Lifetime::Established => (now + timers.tcp_established).0,
                Lifetime::Closing => (now + timers.tcp_closing).0,
            };
            (state, expiry)
        }
    };
    if state as u8 != before.state as u8 || expiry >= before.expiry + WORTH_A_WRITE {
        // The exchange fails if a packet of the same session comes first at the same instant, or the
        // sweeper, which looks again before it removes.
        let _ = slot.update(
            Status {
                state,
                expiry,
                reported: before.reported,
            }
            .payload(),
        );
    }
    true
}

/// Makes an expired session the new one that a packet opens: same endpoints, same slot.
#[inline(always)]
pub(super) fn revive(slot: &Slot<'_>, payload: u64) -> bool {
    slot.update(payload | slot.life.payload() & REPORTED)
}

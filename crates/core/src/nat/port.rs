//! Outside endpoints: who owns them, and how one is chosen for a new binding (RFC 6146 section
//! 3.5.1.1, RFC 4787 sections 4.1 and 4.2, RFC 7857 sections 4 and 9).
//!
//! An endpoint belongs to the binding whose number stands in its claim: a word of a hash tag and
//! the position of the binding. Making that word is what makes the endpoint taken.

use crate::address::V4;
use crate::host::Host;
use crate::table::{Memory, Position, USED, hash};

use super::config::{NatConfig, Pooling};
use super::endpoint::{Endpoint4, Protocol};
use super::outcome::{Cause, Effort, Outcome};

/// Bits of a word of an index that hold a position; the others are the tag.
const POSITION_BITS: u32 = 30;
const TAG: u64 = !((1 << POSITION_BITS) - 1);
/// Spreads the hash over the tag, independently of the bits that select buckets.
const SPREAD: u64 = 0xd6e8_feb8_6659_fd93;

/// A word of an index: a tag, never zero, and a position.
#[inline(always)]
pub(super) const fn index_word(hash: u64, position: Position) -> u64 {
    (hash.wrapping_mul(SPREAD) | USED) & TAG | position.0 as u64 & !TAG
}

/// Bits of a word of an index that are its tag.
pub(super) const INDEX_TAG: u64 = TAG;

/// The position in a word of an index.
#[inline(always)]
pub(super) const fn index_position(word: u64) -> Position {
    Position((word & !TAG) as u32)
}

/// An outside address and the ports to choose from.
struct Space {
    address: V4,
    low: u16,
    high: u16,
    protocol: Protocol,
    /// Port of the inside endpoint.
    like: u16,
    owner: Position,
}

#[inline(always)]
fn claim_hash(cfg: &NatConfig, outside: u64, protocol: Protocol) -> u64 {
    hash(&cfg.seed, &[outside | protocol as u64])
}

/// Slot line of the binding that claims an outside endpoint.
#[inline(always)]
pub(super) fn owner<M: Memory + ?Sized>(
    memory: &M,
    cfg: &NatConfig,
    outside: u64,
    protocol: Protocol,
) -> Option<u32> {
    let hash = claim_hash(cfg, outside, protocol);
    let want = index_word(hash, Position(0));
    let word = cfg.layout.claims.get(memory, hash, TAG, want)?;
    Some(cfg.layout.bindings.line_of(index_position(word)))
}

/// Claims one outside endpoint, given with its protocol. The answer is the endpoint.
#[inline(never)]
pub(super) fn claim<M: Memory + ?Sized>(
    memory: &M,
    cfg: &NatConfig,
    outside: u64,
    owner: Position,
) -> Outcome {
    let protocol = Protocol::from_word(outside);
    let outside = outside & !0xffff;
    let hash = claim_hash(cfg, outside, protocol);
    match cfg
        .layout
        .claims
        .insert_unique(memory, hash, TAG, index_word(hash, owner))
    {
        Ok(_) => Outcome::word(outside),
        Err(refused) => Outcome::no(refused.into()),
    }
}

/// Gives an outside endpoint back.
#[inline(always)]
pub(super) fn unclaim<M: Memory + ?Sized>(
    memory: &M,
    cfg: &NatConfig,
    outside: u64,
    protocol: Protocol,
    owner: Position,
) {
    let hash = claim_hash(cfg, outside, protocol);
    let claims = cfg.layout.claims;
    if let Some(place) = claims.find(memory, hash, u64::MAX, index_word(hash, owner)) {
        claims.remove(memory, place);
    }
}

/// Claims an outside endpoint for a new binding: address by subscriber, port by chance.
#[inline(never)]
pub(super) fn allocate<H: Host, E: Effort>(
    host: &mut H,
    cfg: &NatConfig,
    inside: &[u64; 3],
    owner: Position,
) -> Outcome {
    let addresses = cfg.pool.addresses();
    let first = reduce(subscriber_hash(cfg, inside) as u32, addresses);
    let more = if matches!(cfg.pooling, Pooling::Soft) {
        E::ADDRESSES.min(addresses.saturating_sub(1))
    } else {
        0
    };
    let mut outcome = Outcome::no(Cause::Exhausted);
    for step in 0..=more {
        let number = match first + step {
            n if n >= addresses => n - addresses,
            n => n,
        };
        let Some((address, low, high)) = cfg.pool.nth(number) else {
            return Outcome::no(Cause::Exhausted);
        };
        let space = Space {
            address,
            low,
            high,
            protocol: Protocol::from_word(inside[2]),
            like: (inside[2] >> 16) as u16,
            owner,
        };
        outcome = choose::<H, E>(host, cfg, &space);
        if !matches!(outcome.get(), Err(Cause::Exhausted)) {
            break;
        }
    }
    outcome
}

/// What pairs the bindings of a subscriber with an outside address (RFC 4787 section 4.1).
#[inline(always)]
fn subscriber_hash(cfg: &NatConfig, inside: &[u64; 3]) -> u64 {
    hash(
        &cfg.seed,
        &[
            inside[0] & cfg.subscriber.address[0],
            inside[1] & cfg.subscriber.address[1],
            (inside[2] >> 32) & u64::from(cfg.subscriber.v4),
        ],
    )
}

/// Claims a port of one address: same range (well-known or not) and parity as inside first, then
/// the same range, then any.
#[inline(always)]
fn choose<H: Host, E: Effort>(host: &mut H, cfg: &NatConfig, space: &Space) -> Outcome {
    let random = host.random();
    if E::PORTS != 0 {
        let series = match space.series(space.similar(), space.like) {
            Some(series) => series,
            None => return Outcome::no(Cause::GaveUp),
        };
        return series.claim_some(host.state(), cfg, space, random, E::PORTS);
    }
    for (range, parity) in [
        (space.similar(), space.like),
        (space.similar(), !space.like),
        (space.other(), space.like),
        (space.other(), !space.like),
    ] {
        let Some(series) = space.series(range, parity) else {
            continue;
        };
        let outcome = series.claim_any(host.state(), cfg, space, random);
        if !matches!(outcome.get(), Err(Cause::Exhausted)) {
            return outcome;
        }
    }
    Outcome::no(Cause::Exhausted)
}

/// The ports of one parity in a range: `first`, `first + 2` and so on.
#[derive(Clone, Copy)]
struct Series {
    first: u32,
    ports: u32,
}

impl Space {
    /// The ports in the same range as inside: well-known or not (RFC 4787 requirement 3a). An ICMP
    /// identifier has no range.
    #[inline(always)]
    fn similar(&self) -> (u16, u16) {
        if matches!(self.protocol, Protocol::Icmp) {
            (self.low, self.high)
        } else if self.like < 1024 {
            (self.low, self.high.min(1023))
        } else {
            (self.low.max(1024), self.high)
        }
    }

    /// The ports in the other range.
    #[inline(always)]
    fn other(&self) -> (u16, u16) {
        if self.like < 1024 {
            (self.low.max(1024), self.high)
        } else {
            (self.low, self.high.min(1023))
        }
    }

    /// The ports of a range with the parity of a number (RFC 4787 section 4.2.2).
    #[inline(always)]
    fn series(&self, (low, high): (u16, u16), parity: u16) -> Option<Series> {
        let first = u32::from(low) + u32::from((low ^ parity) & 1);
        if first > u32::from(high) {
            return None;
        }
        Some(Series {
            first,
            ports: (u32::from(high) - first) / 2 + 1,
        })
    }
}

impl Series {
    /// Claims one of `tries` random ports (RFC 6056 section 3.3.2).
    #[inline(always)]
    fn claim_some<M: Memory + ?Sized>(
        self,
        memory: &M,
        cfg: &NatConfig,
        space: &Space,
        mut random: u32,
        tries: u32,
    ) -> Outcome {
        for _ in 0..tries {
            let outcome = self.claim(memory, cfg, space, reduce(random, self.ports));
            if !matches!(outcome.get(), Err(Cause::Contention)) {
                return outcome;
            }
            // The step of a linear congruential generator: chance is in the start.
            random = random.wrapping_mul(0x915f_77f5).wrapping_add(0x6b43_a9b5);
        }
        Outcome::no(Cause::GaveUp)
    }

    /// Claims the first free port from a random one on (RFC 6056 section 3.3.1).
    #[inline(always)]
    fn claim_any<M: Memory + ?Sized>(
        self,
        memory: &M,
        cfg: &NatConfig,
        space: &Space,
        random: u32,
    ) -> Outcome {
        let start = reduce(random, self.ports);
        for index in (start..self.ports).chain(0..start) {
            let outcome = self.claim(memory, cfg, space, index);
            if !matches!(outcome.get(), Err(Cause::Contention)) {
                return outcome;
            }
        }
        Outcome::no(Cause::Exhausted)
    }

    #[inline(always)]
    fn claim<M: Memory + ?Sized>(
        self,
        memory: &M,
        cfg: &NatConfig,
        space: &Space,
        index: u32,
    ) -> Outcome {
        let outside = Endpoint4 {
            address: space.address,
            port: (self.first + 2 * index) as u16,
        };
        claim(
            memory,
            cfg,
            outside.word() | space.protocol as u64,
            space.owner,
        )
    }
}

/// 32 random bits mapped to `0..count`.
#[inline(always)]
fn reduce(bits: u32, count: u32) -> u32 {
    ((u64::from(bits) * u64::from(count)) >> 32) as u32
}

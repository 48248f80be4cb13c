//! Outside endpoints: their owners, and how one of an address is chosen for a new binding (RFC 6146
//! section 3.5.1.1, RFC 4787 section 4.2, RFC 7857 section 9).
//!
//! An endpoint belongs to the binding whose number stands in its claim: a word of a hash tag and
//! the position of the binding. Making that word is what makes the endpoint taken.

use crate::address::V4;
use crate::address::port_set::PortSet;
use crate::table::{Memory, Position, USED, hash};

use super::config::NatConfig;
use super::endpoint::{Endpoint4, Protocol};
use super::outcome::{Cause, Outcome};

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

/// An outside address, the ports of it to choose from, and for whom.
pub(super) struct Space {
    pub(super) address: V4,
    pub(super) low: u16,
    pub(super) high: u16,
    pub(super) protocol: Protocol,
    /// Port of the inside endpoint.
    pub(super) like: u16,
    /// The binding that is being made.
    pub(super) owner: Position,
}

/// Ports that are tried of each range and parity: all of them if there are no more. So port blocks and port
/// sets of up to 1,024 ports are searched as a whole, and an address with more is called full too early only
/// where hardly one in a thousand of its ports is free. A search of all of it for each new flow would let one
/// host, who fills the address, stop all others.
const PORTS: u32 = 512;

/// Ports that the verifier of BPF has room to try.
const FEW_PORTS: usize = 4;

/// The number in the place of the protocol in the claim of a port block.
pub(super) const BLOCK: u64 = 0;

/// The hash of a claim: an outside endpoint with its protocol, or a block.
#[inline(always)]
fn claim_hash(cfg: &NatConfig, claimed: u64) -> u64 {
    hash(&cfg.seed, &[claimed])
}

/// The word of a claim.
#[inline(always)]
pub(super) fn claim_word(cfg: &NatConfig, claimed: u64, owner: Position) -> u64 {
    index_word(claim_hash(cfg, claimed), owner)
}

/// Slot line of the binding that claims an outside endpoint.
#[inline(always)]
pub(super) fn owner<M: Memory + ?Sized>(
    memory: &M,
    cfg: &NatConfig,
    outside: u64,
    protocol: Protocol,
) -> Option<u32> {
    let hash = claim_hash(cfg, outside | protocol as u64);
    let want = index_word(hash, Position(0));
    let word = cfg.layout.claims.get(memory, hash, TAG, want)?;
    Some(cfg.layout.bindings.line_of(index_position(word)))
}

/// Claims an outside endpoint, given with its protocol, for the binding `owner`; or a block, given with
/// [`BLOCK`], for a subscriber. The result is the endpoint.
#[inline(always)]
pub(super) fn claim<M: Memory + ?Sized>(
    memory: &M,
    cfg: &NatConfig,
    claimed: u64,
    owner: Position,
) -> Outcome {
    let hash = claim_hash(cfg, claimed);
    match cfg
        .layout
        .claims
        .insert_unique(memory, hash, TAG, index_word(hash, owner))
        .get()
    {
        Ok(_) => Outcome::word(claimed),
        Err(refused) => Outcome::no(refused.into()),
    }
}

/// Releases an outside endpoint or a block.
#[inline(always)]
pub(super) fn unclaim<M: Memory + ?Sized>(
    memory: &M,
    cfg: &NatConfig,
    claimed: u64,
    owner: Position,
) {
    let hash = claim_hash(cfg, claimed);
    let claims = cfg.layout.claims;
    if let Some(place) = claims.find(memory, hash, u64::MAX, index_word(hash, owner)) {
        claims.remove(memory, place);
    }
}

/// The ports of one parity in a range: `first`, `first + 2` and so on; or in a port set, the places
/// of its ports.
#[derive(Clone, Copy)]
struct Series {
    /// Whether they are places in the port set of the pool.
    in_set: bool,
    first: u32,
    step: u32,
    ports: u32,
}

impl Space {
    /// Claims one of a few random ports of this set, of the same range and parity as inside as far as it has both.
    #[inline(always)]
    pub(super) fn claim_alike<M: Memory + ?Sized>(
        &self,
        memory: &M,
        cfg: &NatConfig,
        set: PortSet,
        random: u32,
    ) -> Outcome {
        match self.series(set, self.similar(), self.like) {
            Some(series) => {
                // Always as many: the verifier of BPF follows each end of a loop.
                let some = Numbers(random).take(FEW_PORTS);
                let some = some.map(|bits| reduce(bits, series.ports));
                series.claim(memory, cfg, self, some)
            }
            None => Outcome::no(Cause::Exhausted),
        }
    }

    /// Claims a port, if one is found: same range (well-known or not) and parity as inside first,
    /// then the same range, then any.
    pub(super) fn claim_any<M: Memory + ?Sized>(
        &self,
        memory: &M,
        cfg: &NatConfig,
        random: u32,
    ) -> Outcome {
        for (range, parity) in [
            (self.similar(), self.like),
            (self.similar(), !self.like),
            (self.other(), self.like),
            (self.other(), !self.like),
        ] {
            let Some(series) = self.series(cfg.pool.port_set(), range, parity) else {
                continue;
            };
            let numbers = spread(random, series.ports, PORTS);
            let outcome = series.claim(memory, cfg, self, numbers);
            if !outcome.is(Cause::Exhausted) {
                return outcome;
            }
        }
        Outcome::no(Cause::Exhausted)
    }

    /// The name of the ports to choose from, for the [refusals](super::refusal).
    #[inline(always)]
    pub(super) fn name(&self) -> u64 {
        let first = Endpoint4 {
            address: self.address,
            port: self.low,
        };
        first.word() | self.protocol as u64
    }

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

    /// The ports of a range with the parity of a number (RFC 4787 section 4.2.2); of a port set all
    /// that have it, or all where single ports alternate with those of others.
    #[inline(always)]
    fn series(&self, set: PortSet, range: (u16, u16), parity: u16) -> Option<Series> {
        if !set.sharing().is_whole() {
            let pairs = set.sharing().has_pairs();
            return Some(Series {
                in_set: true,
                first: u32::from(pairs) & u32::from(parity),
                step: 1 + u32::from(pairs),
                ports: set.count() >> u32::from(pairs),
            });
        }
        self.series_in_range(range, parity)
    }

    /// The ports of a range with the parity of a number.
    #[inline(always)]
    fn series_in_range(&self, (low, high): (u16, u16), parity: u16) -> Option<Series> {
        let first = u32::from(low) + u32::from((low ^ parity) & 1);
        if first > u32::from(high) {
            return None;
        }
        Some(Series {
            in_set: false,
            first,
            step: 2,
            ports: (u32::from(high) - first) / 2 + 1,
        })
    }
}

impl Series {
    /// Claims one of the ports with these numbers (RFC 6056 section 3.3.2).
    #[inline(always)]
    fn claim<M: Memory + ?Sized>(
        self,
        memory: &M,
        cfg: &NatConfig,
        space: &Space,
        numbers: impl Iterator<Item = u32>,
    ) -> Outcome {
        for number in numbers {
            let outcome = self.claim_nth(memory, cfg, space, number);
            if !outcome.is(Cause::Contention) {
                return outcome;
            }
        }
        Outcome::no(Cause::Exhausted)
    }

    #[inline(always)]
    fn claim_nth<M: Memory + ?Sized>(
        self,
        memory: &M,
        cfg: &NatConfig,
        space: &Space,
        index: u32,
    ) -> Outcome {
        let place = self.first + self.step * index;
        let port = if self.in_set {
            nth_of_set(cfg, place)
        } else {
            place as u16
        };
        if self.in_set && port == 0 {
            // A set may begin with 0, which is no port.
            return Outcome::no(Cause::Contention);
        }
        let outside = Endpoint4 {
            address: space.address,
            port,
        };
        claim(
            memory,
            cfg,
            outside.word() | space.protocol as u64,
            space.owner,
        )
    }
}

/// The port in a place of the port set of a pool; 0 if there is none. A function of its own, for the stack that a BPF
/// program has.
#[inline(never)]
fn nth_of_set(cfg: &NatConfig, place: u32) -> u16 {
    cfg.pool.port_set().nth(place).unwrap_or(0)
}

/// 32 random bits mapped to `0..count`.
#[inline(always)]
pub(super) fn reduce(bits: u32, count: u32) -> u32 {
    ((u64::from(bits) * u64::from(count)) >> 32) as u32
}

/// At most `tries` of the numbers below `count`, in a random order; all of them if there are no more, from a random
/// one on. The first few are those that the programs of BPF try, so that the same port is found there.
pub(super) fn spread(random: u32, count: u32, tries: u32) -> impl Iterator<Item = u32> {
    let start = reduce(random, count);
    let scattered = Numbers(random).map(move |bits| reduce(bits, count));
    let (few, others) = match count {
        0 => (0, 0),
        _ if count <= tries => (FEW_PORTS, count),
        _ => (tries as usize, 0),
    };
    let others = (1..=others).map(move |turn| (start + turn) % count);
    scattered.take(few).chain(others)
}

/// A linear congruential generator. It spreads: what cannot be predicted is the number that it begins with.
struct Numbers(u32);

impl Iterator for Numbers {
    type Item = u32;

    #[inline(always)]
    fn next(&mut self) -> Option<u32> {
        let number = self.0;
        self.0 = number.wrapping_mul(0x915f_77f5).wrapping_add(0x6b43_a9b5);
        Some(number)
    }
}

//! Which outside address and which ports a new binding may have (RFC 4787 section 4.1, RFC 7857
//! section 4): any of the address of its subscriber, those of the subscriber's blocks, or those
//! that RFC 7422 calculates.

use crate::address::V4;
use crate::address::port_set::PortSet;
use crate::host::Effort;
use crate::table::{Memory, Position, Slot, prf_with_rest};
use crate::time::Instant;
use crate::word::Word;

use super::config::{Blocks, NatConfig, Pooling};
use super::deterministic::Deterministic;
use super::endpoint::{Endpoint4, Protocol};
use super::outcome::{Cause, Outcome};
use super::port::{self, BLOCK, Space, reduce, spread};
use super::refusal::{self, ANYWHERE};
use super::subscriber::{self, Owned};

/// Addresses that are tried, the paired one included.
const ADDRESSES: u32 = 8;
/// Blocks of an address that are tried: all, if none is smaller than 256 ports.
const BLOCK_TRIES: u32 = 256;

/// Claims an outside endpoint for a new binding, whose number is `owner`, of the subscriber in slot line
/// `line`, if there is a table of them. The result is the endpoint.
#[inline(never)]
pub(super) fn allocate<M: Memory + ?Sized, E: Effort>(
    memory: &M,
    cfg: &NatConfig,
    inside: &[u64; 3],
    now: Instant,
    owner: Position,
    line: u32,
) -> Outcome {
    let number = paired(cfg, inside);
    if refusal::stands(memory, cfg, anywhere(cfg, number, inside), now) {
        return Outcome::no(Cause::Refused);
    }
    let random = unpredictable(cfg, inside, now);
    let space = Space {
        address: Default::default(),
        low: 0,
        high: 0,
        protocol: Protocol::from_word(inside[2]),
        like: (inside[2] >> 16) as u16,
        owner,
    };
    if !E::THOROUGH {
        return brief::<_, E>(memory, cfg, (inside, line), (number, random), space);
    }
    let mut search = Search {
        memory,
        cfg,
        inside,
        now,
        random,
        space,
    };
    search.thorough(line)
}

/// A few ports of the first address, or of the block that the subscriber got last, for the programs of BPF: their
/// verifier has looked at enough by now.
#[inline(always)]
fn brief<M: Memory + ?Sized, E: Effort>(
    memory: &M,
    cfg: &NatConfig,
    (inside, line): (&[u64; 3], u32),
    (number, random): (u32, u32),
    mut space: Space,
) -> Outcome {
    let nearest = nearest::<M, E>(memory, cfg, inside, line, number);
    if nearest == 0 {
        return Outcome::no(Cause::GaveUp);
    }
    space.set_range(nearest);
    let set = match cfg.blocks {
        Blocks::PortSet if E::PORT_SETS => cfg.pool.port_set(),
        _ => PortSet::WHOLE,
    };
    let outcome = space.claim_alike(memory, cfg, set, random);
    if outcome.get().is_err() {
        subscriber::drop_use(memory, cfg, line, space.address, space.low);
    }
    if outcome.is(Cause::Exhausted) {
        return Outcome::no(Cause::GaveUp);
    }
    outcome
}

/// The range of ports in which [`brief`] looks, as a word; 0 if there is none. A use of a block is counted. In a
/// function of its own, so that the verifier goes through what follows once, and not for each policy.
#[inline(never)]
fn nearest<M: Memory + ?Sized, E: Effort>(
    memory: &M,
    cfg: &NatConfig,
    inside: &[u64; 3],
    line: u32,
    number: u32,
) -> u64 {
    match cfg.blocks {
        Blocks::PortSet if !E::PORT_SETS => 0,
        Blocks::None | Blocks::PortSet => at_address(cfg, number),
        Blocks::Deterministic(rule) => calculated(cfg, &rule, inside),
        Blocks::Dynamic { size, .. } => {
            subscriber::use_latest_block(memory, line).map_or(0, |owned| of_block(owned, size))
        }
    }
}

/// The ports of the address with this number.
#[inline(always)]
fn at_address(cfg: &NatConfig, number: u32) -> u64 {
    let ports = cfg.pool.nth(number);
    ports.map_or(0, |(address, low, high)| range(address, low, high))
}

/// The ports that RFC 7422 calculates for a subscriber.
#[inline(always)]
fn calculated(cfg: &NatConfig, rule: &Deterministic, inside: &[u64; 3]) -> u64 {
    let ports = rule.block_of(&cfg.pool, inside);
    ports.map_or(0, |(address, first)| block(address, first, rule.size))
}

/// The ports of a block of `size`.
#[inline(always)]
const fn of_block(owned: Owned, size: u16) -> u64 {
    block(owned.address(), owned.first(), size)
}

/// An address and a range of its ports in a word; 0 is none, because no pool has the port 0 of 0.0.0.0.
#[inline(always)]
const fn range(address: V4, low: u16, high: u16) -> u64 {
    (address.0.0 as u64) << 32 | (low as u64) << 16 | high as u64
}

/// [`range`] of a block of `size` ports.
#[inline(always)]
const fn block(address: V4, first: u16, size: u16) -> u64 {
    range(address, first, first.wrapping_add(size.wrapping_sub(1)))
}

/// The name of a search in all addresses that an inside endpoint may get a port of. If these are all of the pool,
/// it is one search for everybody: a full pool is looked through once in a while, however many hosts want an address.
#[inline(always)]
const fn anywhere(cfg: &NatConfig, paired: u32, inside: &[u64; 3]) -> u64 {
    let first = match cfg.pooling {
        Pooling::Arbitrary => 0,
        Pooling::Strict | Pooling::Soft => paired,
    };
    (first as u64) << 32 | inside[2] & 0xff | ANYWHERE
}

/// The choice among outside ports (RFC 6056 section 3.3.3): whoever sees many of them cannot tell the next,
/// not even of its own host, and all engines choose alike.
#[inline(never)]
fn unpredictable(cfg: &NatConfig, inside: &[u64; 3], now: Instant) -> u32 {
    prf_with_rest(&cfg.secret, inside, now.0) as u32
}

/// Number of the outside address that the subscriber of an inside endpoint is paired with.
#[inline(always)]
pub(super) fn paired(cfg: &NatConfig, inside: &[u64; 3]) -> u32 {
    reduce(
        subscriber::pairing(cfg, inside) as u32,
        cfg.pool.addresses(),
    )
}

/// Whether the ports that an inside endpoint may get include this outside endpoint. Of port blocks
/// only the next one that is free is known before it is given: none.
pub(super) fn admits(cfg: &NatConfig, inside: &[u64; 3], outside: Endpoint4) -> bool {
    let within = |(address, low, high): (V4, u16, u16)| {
        address == outside.address && (low..=high).contains(&outside.port)
    };
    match &cfg.blocks {
        Blocks::None | Blocks::PortSet => {
            cfg.pool.port_set().contains(outside.port)
                && addresses(cfg, inside)
                    .filter_map(|number| cfg.pool.nth(number))
                    .any(within)
        }
        Blocks::Dynamic { .. } => false,
        Blocks::Deterministic(rule) => {
            rule.block_of(&cfg.pool, inside)
                .is_some_and(|(address, first)| {
                    within((
                        address,
                        first,
                        first.saturating_add(rule.size.saturating_sub(1)),
                    ))
                })
        }
    }
}

impl Space {
    /// The ports of a [`range`].
    #[inline(always)]
    fn set_range(&mut self, range: u64) {
        self.address = V4(Word((range >> 32) as u32));
        self.low = (range >> 16) as u16;
        self.high = range as u16;
    }
}

/// A search for an outside endpoint.
struct Search<'a, M: ?Sized> {
    memory: &'a M,
    cfg: &'a NatConfig,
    inside: &'a [u64; 3],
    now: Instant,
    random: u32,
    /// The ports that are looked at.
    space: Space,
}

impl<M: Memory + ?Sized> Search<'_, M> {
    /// The search of user space.
    fn thorough(&mut self, line: u32) -> Outcome {
        match self.cfg.blocks {
            Blocks::None | Blocks::PortSet => self.in_addresses(),
            Blocks::Deterministic(rule) => self.in_range(calculated(self.cfg, &rule, self.inside)),
            Blocks::Dynamic {
                size,
                per_subscriber,
            } => self.in_blocks(line, size, per_subscriber),
        }
    }

    /// A port of one of the subscriber's addresses.
    fn in_addresses(&mut self) -> Outcome {
        for number in addresses(self.cfg, self.inside) {
            let outcome = self.in_range(at_address(self.cfg, number));
            if !outcome.is_exhausted() {
                return outcome;
            }
        }
        let number = paired(self.cfg, self.inside);
        self.refuse(anywhere(self.cfg, number, self.inside));
        Outcome::no(Cause::Exhausted)
    }

    /// A port of one of the subscriber's blocks; it gets a further block if those that it has are full.
    fn in_blocks(&mut self, line: u32, size: u16, per_subscriber: u16) -> Outcome {
        let blocks = usize::from(per_subscriber).min(subscriber::BLOCKS);
        let mut outcome = Outcome::no(Cause::Exhausted);
        for index in 0..blocks {
            let Some(slot) = Slot::at(self.memory, line) else {
                return Outcome::no(Cause::Contention);
            };
            let Some(owned) = self.use_block(&slot, index, line, size) else {
                continue;
            };
            outcome = self.in_range(of_block(owned, size));
            if outcome.get().is_ok() {
                return outcome;
            }
            let (address, low) = (self.space.address, self.space.low);
            subscriber::drop_use(self.memory, self.cfg, line, address, low);
            if !outcome.is_exhausted() {
                return outcome;
            }
        }
        outcome
    }

    /// A port of a [`range`], unless none was found a moment ago.
    fn in_range(&mut self, range: u64) -> Outcome {
        if range == 0 {
            return Outcome::no(Cause::Exhausted);
        }
        self.space.set_range(range);
        let sought = self.space.name();
        if self.is_refused(sought) {
            return Outcome::no(Cause::Refused);
        }
        let outcome = self.space.claim_any(self.memory, self.cfg, self.random);
        if outcome.is_exhausted() {
            self.refuse(sought);
        }
        outcome
    }

    /// Counts a use of block number `index` of a subscriber, which gets the block if it has none in
    /// this place.
    fn use_block(&self, slot: &Slot<'_>, index: usize, line: u32, size: u16) -> Option<Owned> {
        loop {
            let owned = subscriber::block(slot, index);
            if !owned.is_none() {
                if subscriber::replace_block(slot, index, owned, owned.used_once_more()) {
                    return Some(owned);
                }
                continue;
            }
            let owner = self.cfg.layout.subscribers.position_of(line);
            let claimed = self.claim_block(owner, size)?;
            let block = Owned::new(claimed.address, claimed.port);
            if subscriber::replace_block(slot, index, owned, block) {
                return Some(block);
            }
            // Another processor gave the subscriber a block at the same moment: use that.
            port::unclaim(self.memory, self.cfg, claimed.word() | BLOCK, owner);
        }
    }

    /// Claims a block for a subscriber: its address and first port.
    fn claim_block(&self, owner: Position, size: u16) -> Option<Endpoint4> {
        for number in addresses(self.cfg, self.inside) {
            let (address, low, high) = self.cfg.pool.nth(number)?;
            let sought = Endpoint4 { address, port: low }.word() | BLOCK;
            if self.is_refused(sought) {
                continue;
            }
            let size = u32::from(size.max(1));
            let first = u32::from(low).div_ceil(size);
            let blocks = ((u32::from(high) + 1) / size).saturating_sub(first);
            for block in spread(self.random, blocks, BLOCK_TRIES) {
                let candidate = Endpoint4 {
                    address,
                    port: ((first + block) * size) as u16,
                };
                let claimed = candidate.word() | BLOCK;
                if port::claim(self.memory, self.cfg, claimed, owner)
                    .get()
                    .is_ok()
                {
                    return Some(candidate);
                }
            }
            self.refuse(sought);
        }
        None
    }

    #[inline(always)]
    fn is_refused(&self, sought: u64) -> bool {
        refusal::stands(self.memory, self.cfg, sought, self.now)
    }

    fn refuse(&self, sought: u64) {
        refusal::remember(self.memory, self.cfg, sought, self.now);
    }
}

/// The addresses to try: the paired one, and others after it if the configuration permits.
fn addresses(cfg: &NatConfig, inside: &[u64; 3]) -> impl Iterator<Item = u32> + use<> {
    let count = cfg.pool.addresses();
    let first = paired(cfg, inside);
    let tries = match cfg.pooling {
        Pooling::Arbitrary => count,
        Pooling::Soft => count.min(ADDRESSES),
        Pooling::Strict => count.min(1),
    };
    (0..tries).map(move |step| (first + step) % count)
}

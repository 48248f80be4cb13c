//! Which outside address and which ports a new binding may have (RFC 4787 section 4.1, RFC 7857
//! section 4): any of the address of its subscriber, those of the subscriber's blocks, or those
//! that RFC 7422 calculates.

use crate::address::V4;
use crate::host::{Effort, Exhaustive, Host};
use crate::table::{Memory, Position, Slot};

use super::config::{Blocks, NatConfig, Pooling};
use super::endpoint::{Endpoint4, Protocol};
use super::outcome::{Cause, Outcome};
use super::port::{self, BLOCK, Space, reduce};
use super::subscriber::{self, Owned};

/// Claims an outside endpoint for a new binding, whose number is `owner`, of the subscriber in slot line
/// `line`, if there is a table of them. The result is the endpoint.
#[inline(never)]
pub(super) fn allocate<H: Host, E: Effort>(
    host: &mut H,
    cfg: &NatConfig,
    inside: &[u64; 3],
    owner: Position,
    line: u32,
) -> Outcome {
    let random = host.random();
    let mut space = Space {
        address: Default::default(),
        low: 0,
        high: 0,
        protocol: Protocol::from_word(inside[2]),
        like: (inside[2] >> 16) as u16,
        owner,
    };
    let memory = host.state();
    if E::PORTS == 0 {
        return search::<_, E>(memory, cfg, inside, line, random, &mut space);
    }
    let found = match cfg.blocks {
        // The verifier of BPF has looked at enough by now.
        Blocks::Dynamic { .. } | Blocks::Deterministic(_) if !H::Effort::ACCOUNTS => {
            return Outcome::no(Cause::GaveUp);
        }
        // A set is searched as a whole.
        Blocks::PortSet => return Outcome::no(Cause::GaveUp),
        Blocks::None => space.at_address(cfg, paired(cfg, inside)),
        Blocks::Dynamic { size, .. } => space.in_latest_block(memory, line, size),
        Blocks::Deterministic(_) => space.calculated(cfg, inside),
    };
    let outcome = match found {
        Some(()) => space.claim_some(memory, cfg, random, E::PORTS),
        None => Outcome::no(Cause::GaveUp),
    };
    if H::Effort::ACCOUNTS
        && matches!(cfg.blocks, Blocks::Dynamic { .. })
        && found.is_some()
        && outcome.get().is_err()
    {
        subscriber::drop_use(memory, cfg, line, space.address, space.low);
    }
    outcome
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
                && addresses::<Exhaustive>(cfg, inside)
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
    /// The ports of the address with this number.
    #[inline(always)]
    fn at_address(&mut self, cfg: &NatConfig, number: u32) -> Option<()> {
        (self.address, self.low, self.high) = cfg.pool.nth(number)?;
        Some(())
    }

    /// The ports of a block.
    #[inline(always)]
    fn in_block(&mut self, owned: Owned, size: u16) {
        self.address = owned.address();
        self.low = owned.first();
        self.high = owned.first().wrapping_add(size.wrapping_sub(1));
    }

    /// The ports of the block that the subscriber got last, with a use counted.
    #[inline(always)]
    fn in_latest_block<M: Memory + ?Sized>(
        &mut self,
        memory: &M,
        line: u32,
        size: u16,
    ) -> Option<()> {
        let slot = Slot::at(memory, line)?;
        let (index, owned) = subscriber::latest_block(&slot)?;
        if !subscriber::replace_block(&slot, index, owned, owned.used_once_more()) {
            return None;
        }
        self.in_block(owned, size);
        Some(())
    }

    /// The ports that RFC 7422 calculates for a subscriber.
    #[inline(always)]
    fn calculated(&mut self, cfg: &NatConfig, inside: &[u64; 3]) -> Option<()> {
        let Blocks::Deterministic(rule) = &cfg.blocks else {
            return None;
        };
        let (address, first) = rule.block_of(&cfg.pool, inside)?;
        self.address = address;
        self.low = first;
        self.high = first.wrapping_add(rule.size.wrapping_sub(1));
        Some(())
    }
}

/// The complete search, in user space.
fn search<M: Memory + ?Sized, E: Effort>(
    memory: &M,
    cfg: &NatConfig,
    inside: &[u64; 3],
    line: u32,
    random: u32,
    space: &mut Space,
) -> Outcome {
    match cfg.blocks {
        Blocks::None | Blocks::PortSet => {
            for number in addresses::<E>(cfg, inside) {
                if space.at_address(cfg, number).is_some() {
                    let outcome = space.claim_any(memory, cfg, random);
                    if !matches!(outcome.get(), Err(Cause::Exhausted)) {
                        return outcome;
                    }
                }
            }
            Outcome::no(Cause::Exhausted)
        }
        Blocks::Deterministic(_) => match space.calculated(cfg, inside) {
            Some(()) => space.claim_any(memory, cfg, random),
            None => Outcome::no(Cause::Exhausted),
        },
        Blocks::Dynamic {
            size,
            per_subscriber,
        } => {
            let blocks = usize::from(per_subscriber).min(subscriber::BLOCKS);
            for index in 0..blocks {
                let Some(slot) = Slot::at(memory, line) else {
                    return Outcome::no(Cause::Contention);
                };
                let Some(owned) =
                    use_block::<_, E>(memory, cfg, inside, &slot, index, line, random)
                else {
                    continue;
                };
                space.in_block(owned, size);
                let outcome = space.claim_any(memory, cfg, random);
                if outcome.get().is_ok() {
                    return outcome;
                }
                subscriber::drop_use(memory, cfg, line, space.address, space.low);
                if !matches!(outcome.get(), Err(Cause::Exhausted)) {
                    return outcome;
                }
            }
            Outcome::no(Cause::Exhausted)
        }
    }
}

/// The addresses to try: the paired one, and others after it if the configuration permits.
fn addresses<E: Effort>(cfg: &NatConfig, inside: &[u64; 3]) -> impl Iterator<Item = u32> + use<E> {
    let count = cfg.pool.addresses();
    let first = paired(cfg, inside);
    let tries = match cfg.pooling {
        Pooling::Soft => count.min(E::ADDRESSES + 1),
        Pooling::Strict => count.min(1),
    };
    (0..tries).map(move |step| (first + step) % count)
}

/// Counts a use of block number `index` of a subscriber, which gets the block if it has none in
/// this place.
fn use_block<M: Memory + ?Sized, E: Effort>(
    memory: &M,
    cfg: &NatConfig,
    inside: &[u64; 3],
    slot: &Slot<'_>,
    index: usize,
    line: u32,
    random: u32,
) -> Option<Owned> {
    loop {
        let owned = subscriber::block(slot, index);
        if !owned.is_none() {
            if subscriber::replace_block(slot, index, owned, owned.used_once_more()) {
                return Some(owned);
            }
            continue;
        }
        let owner = cfg.layout.subscribers.position_of(line);
        let claimed = claim_block::<_, E>(memory, cfg, inside, owner, random)?;
        let block = Owned::new(claimed.address, claimed.port);
        if subscriber::replace_block(slot, index, owned, block) {
            return Some(block);
        }
        // Another processor gave the subscriber a block at the same moment: use that.
        port::unclaim(memory, cfg, claimed.word() | BLOCK, owner);
    }
}

/// Claims a block for a subscriber: its address and first port.
fn claim_block<M: Memory + ?Sized, E: Effort>(
    memory: &M,
    cfg: &NatConfig,
    inside: &[u64; 3],
    owner: Position,
    random: u32,
) -> Option<Endpoint4> {
    let Blocks::Dynamic { size, .. } = cfg.blocks else {
        return None;
    };
    let size = u32::from(size.max(1));
    for number in addresses::<E>(cfg, inside) {
        let (address, low, high) = cfg.pool.nth(number)?;
        let first = u32::from(low).div_ceil(size);
        let end = (u32::from(high) + 1) / size;
        let start = first + reduce(random, end.saturating_sub(first));
        for block in (start..end).chain(first..start) {
            let candidate = Endpoint4 {
                address,
                port: (block * size) as u16,
            };
            if port::claim(memory, cfg, candidate.word() | BLOCK, owner)
                .get()
                .is_ok()
            {
                return Some(candidate);
            }
        }
    }
    None
}

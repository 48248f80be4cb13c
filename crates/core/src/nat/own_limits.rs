//! Limits that single subscribers have instead of those of all (RFC 6888 requirement 4): in a table, so that a reload
//! changes them while sessions go on.

use crate::table::{Memory, Position, Slots, hash};

use super::config::{Limits, NatConfig};
use super::endpoint::{Inside, Protocol};

/// First word of a slot that holds limits.
const LIMITS: usize = 3;

/// The limits of one subscriber.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnLimits {
    /// An inside address of the subscriber.
    pub subscriber: Inside,
    /// What it may have.
    pub limits: Limits,
}

/// The limits of the subscriber with this key, which few gateways have to know.
#[inline(always)]
pub(super) fn of<M: Memory + ?Sized>(
    memory: &M,
    cfg: &NatConfig,
    key: impl FnOnce() -> [u64; 3],
) -> Limits {
    if cfg.own_limits == 0 {
        return cfg.limits;
    }
    let key = &key();
    let found = cfg
        .layout
        .own_limits
        .find(memory, hash(&cfg.seed, key), key);
    match found {
        Some((_, slot)) => limits([slot.word(LIMITS), slot.word(LIMITS + 1)]),
        None => cfg.limits,
    }
}

/// Makes the own limits of all subscribers these, [`MOST_OWN_LIMITS`](super::MOST_OWN_LIMITS) at most. Returns how many found a place. Who keeps its limits
/// has them all the time; who gets others has those of all for an instant.
pub fn set_own_limits<M: Memory + ?Sized>(
    memory: &M,
    cfg: &NatConfig,
    wanted: &[OwnLimits],
) -> u32 {
    let table = &cfg.layout.own_limits;
    let entries = || wanted.iter().map(|one| entry(cfg, one));
    for position in (0..table.len()).map(Position) {
        let Some(slot) = table.entry(memory, position) else {
            continue;
        };
        let there = [0, 1, 2, 3, 4].map(|index| slot.word(index));
        if !entries().any(|entry| entry == there) {
            table.clear(memory, position);
        }
    }
    let placed = entries().filter(|entry| insert(memory, cfg, table, entry));
    placed.count() as u32
}

/// The words of an entry.
fn entry(cfg: &NatConfig, one: &OwnLimits) -> [u64; 5] {
    let [high, low, v4] = cfg.subscriber.key(&one.subscriber.words(Protocol::Udp));
    let [numbers, interval] = words(one.limits);
    [high, low, v4, numbers, interval]
}

/// Whether there is a place for an entry, or it is there.
fn insert<M: Memory + ?Sized>(
    memory: &M,
    cfg: &NatConfig,
    table: &Slots,
    entry: &[u64; 5],
) -> bool {
    let key = [entry[0], entry[1], entry[2]];
    let hash = hash(&cfg.seed, &key);
    if table.find(memory, hash, &key).is_some() {
        return true;
    }
    let Ok(position) = table.reserve(memory, hash) else {
        return false;
    };
    let Some(draft) = table.draft(memory, position) else {
        return false;
    };
    draft.write(0, entry);
    table.publish(memory, draft, position, 0);
    true
}

const fn words(limits: Limits) -> [u64; 2] {
    let Limits {
        bindings,
        sessions,
        session_interval,
    } = limits;
    [
        (bindings as u64) << 32 | sessions as u64,
        session_interval as u64,
    ]
}

const fn limits([numbers, interval]: [u64; 2]) -> Limits {
    Limits {
        bindings: (numbers >> 32) as u32,
        sessions: numbers as u32,
        session_interval: interval as u32,
    }
}

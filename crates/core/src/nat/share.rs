//! Shares of networks: who can send from many subscribers' addresses cannot take a table from the others (RFC 6146
//! section 5.3).
//!
//! Each network that is wider than a subscriber may have a number of times as many entries of a table as there are
//! places left. So a network alone may take four fifths of a table, a second one four fifths of the rest, and what
//! is left then is for networks with few entries. A wider network may have more, so that some of its parts cannot
//! take the places of the others.
//!
//! Counted is in a sketch: each network has two words, by its hash, and shares each with others. The smaller count of
//! the two is what it has at most.

use core::sync::atomic::Ordering;

use crate::table::{AtomicU64, Memory, Seed, hash};

use super::bound::Counted;
use super::config::{NETWORKS, NatConfig};
use super::layout::SHARE_LINES;

/// Times the free places that the narrowest network may have, and the factor to the next.
const FIRST: u64 = 4;
const WIDER: u64 = 16;
/// More entries than there are places, and far below 2^63 for the widest network, too.
const UNBOUND: u64 = 1 << 40;

/// The word of a subscriber's key that its networks are in: the first, or the last of an IPv4 host; the other is 0.
#[inline(always)]
const fn address(key: &[u64; 3]) -> u64 {
    key[0] | key[2]
}

/// The hash of a network, of which each half is one of its words.
#[inline(never)]
fn halves(seed: &Seed, network: u64, counted: u64) -> u64 {
    hash(seed, &[network, counted])
}

/// The two words of network number `index` of a subscriber with this [`address`]. By number, because the verifier of BPF does not see through
/// an iterator.
#[inline(always)]
fn words<'m, M: Memory + ?Sized>(
    memory: &'m M,
    cfg: &NatConfig,
    what: Counted,
    address: u64,
    index: usize,
) -> Option<[&'m AtomicU64; 2]> {
    let network = match cfg.subscriber.networks[index] {
        0 => return None,
        mask => address & mask,
    };
    let hash = halves(&cfg.seed, network, (what as u64) << 8 | index as u64);
    let word = |bits: u64| {
        let number = ((bits & 0xffff_ffff) * u64::from(SHARE_LINES) * 8) >> 32;
        let line = memory.line(cfg.layout.shares.wrapping_add((number >> 3) as u32))?;
        Some(&line[(number & 7) as usize])
    };
    Some([word(hash)?, word(hash >> 32)?])
}

/// Counts one entry more for each network of a subscriber, if all of them may have it.
#[inline(always)]
#[must_use]
pub(super) fn take<M: Memory + ?Sized>(
    memory: &M,
    cfg: &NatConfig,
    what: Counted,
    key: &[u64; 3],
) -> bool {
    let bound = &cfg.layout.bound;
    let most = match bound.free(memory, what) {
        // Whoever takes a place finds out.
        0 => UNBOUND,
        free => free * FIRST,
    };
    let taken = add(memory, cfg, what, address(key), 1, most);
    if !taken {
        give(memory, cfg, what, key);
        bound.refuse(memory, what);
    }
    taken
}

/// Forgets all counts, before they are made anew.
pub(super) fn clear<M: Memory + ?Sized>(memory: &M, cfg: &NatConfig) {
    let lines = cfg.layout.shares..cfg.layout.refusals;
    for word in lines.filter_map(|number| memory.line(number)).flatten() {
        word.store(0, Ordering::Relaxed);
    }
}

/// Counts an entry for each network of a subscriber, whatever their shares are.
pub(super) fn count<M: Memory + ?Sized>(
    memory: &M,
    cfg: &NatConfig,
    what: Counted,
    key: &[u64; 3],
) {
    add(memory, cfg, what, address(key), 1, 0);
}

/// Takes an entry off the counts again.
pub(super) fn give<M: Memory + ?Sized>(memory: &M, cfg: &NatConfig, what: Counted, key: &[u64; 3]) {
    add(memory, cfg, what, address(key), u64::MAX, 0);
}

/// Adds to the counts of all networks. Returns whether the narrowest had fewer entries than `most` before, and each wider one
/// fewer than its own most.
#[inline(never)]
fn add<M: Memory + ?Sized>(
    memory: &M,
    cfg: &NatConfig,
    what: Counted,
    address: u64,
    amount: u64,
    mut most: u64,
) -> bool {
    let mut below = 1;
    for index in 0..NETWORKS {
        if let Some(pair) = words(memory, cfg, what, address, index) {
            let [one, two] = pair.map(|word| word.fetch_add(amount, Ordering::Relaxed));
            // Without a branch, each of which would be a path more to the verifier of BPF. Neither is near 2^63.
            below &= one.min(two).wrapping_sub(most) >> 63;
            most = most.wrapping_mul(WIDER);
        }
    }
    below != 0
}

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

use crate::address::{Address, V4, V6};
use crate::table::{AtomicU64, Memory, hash};

use super::bound::Counted;
use super::config::NatConfig;
use super::endpoint::address_words;
use super::layout::SHARE_LINES;

/// Prefixes of the networks, from the narrowest.
const V6_PREFIXES: [u8; 4] = [64, 48, 40, 32];
const V4_PREFIXES: [u8; 3] = [24, 16, 8];

/// Times the free places that the narrowest network may have, and the factor to the next.
const FIRST: u64 = 4;
const WIDER: u64 = 16;

/// The networks of a subscriber that are wider than itself, each in the words of its key.
fn networks(cfg: &NatConfig, key: &[u64; 3]) -> impl Iterator<Item = [u64; 3]> {
    let subscriber = [
        cfg.subscriber.address[0],
        cfg.subscriber.address[1],
        u64::from(cfg.subscriber.v4),
    ];
    let v6 = V6_PREFIXES.map(|bits| {
        let [high, low] = address_words(V6::mask(bits));
        [high, low, 0]
    });
    let v4 = V4_PREFIXES.map(|bits| [0, 0, u64::from(V4::mask(bits).0.0)]);
    let key = *key;
    v6.into_iter().chain(v4).filter_map(move |mask| {
        let both = |at: usize| mask[at] & subscriber[at];
        let wider = mask != subscriber && [both(0), both(1), both(2)] == mask;
        wider.then(|| [key[0] & mask[0], key[1] & mask[1], key[2] & mask[2]])
    })
}

/// The two words of each network of a subscriber, from the narrowest.
fn words<'m, M: Memory + ?Sized>(
    memory: &'m M,
    cfg: &NatConfig,
    what: Counted,
    key: &[u64; 3],
) -> impl Iterator<Item = [&'m AtomicU64; 2]> {
    let seed = cfg.seed;
    let first = cfg.layout.shares;
    networks(cfg, key)
        .zip(0_u64..)
        .filter_map(move |(network, level)| {
            let [a, b, c] = network;
            let hash = hash(&seed, &[a, b, c, (what as u64) << 8 | level]);
            let word = |bits: u64| {
                let number = ((bits & 0xffff_ffff) * u64::from(SHARE_LINES) * 8) >> 32;
                let line = memory.line(first.wrapping_add((number >> 3) as u32))?;
                Some(&line[(number & 7) as usize])
            };
            Some([word(hash)?, word(hash >> 32)?])
        })
}

/// Whether each network of a subscriber may have one entry more.
pub(super) fn admits<M: Memory + ?Sized>(
    memory: &M,
    cfg: &NatConfig,
    what: Counted,
    key: &[u64; 3],
) -> bool {
    let bound = &cfg.layout.bound;
    let free = bound.free(memory, what);
    if free == 0 {
        // Whoever takes a place finds out.
        return true;
    }
    let mut most = free.saturating_mul(FIRST);
    let admitted = words(memory, cfg, what, key).all(|pair| {
        let [one, two] = pair.map(|word| word.load(Ordering::Relaxed));
        let admitted = one.min(two) < most;
        most = most.saturating_mul(WIDER);
        admitted
    });
    if !admitted {
        bound.refuse(memory, what);
    }
    admitted
}

/// Forgets all counts, before they are made anew.
pub(super) fn clear<M: Memory + ?Sized>(memory: &M, cfg: &NatConfig) {
    let lines = cfg.layout.shares..cfg.layout.refusals;
    for word in lines.filter_map(|number| memory.line(number)).flatten() {
        word.store(0, Ordering::Relaxed);
    }
}

/// Counts an entry for each network of a subscriber.
pub(super) fn take<M: Memory + ?Sized>(memory: &M, cfg: &NatConfig, what: Counted, key: &[u64; 3]) {
    add(memory, cfg, what, key, 1);
}

/// Takes an entry off the counts again.
pub(super) fn give<M: Memory + ?Sized>(memory: &M, cfg: &NatConfig, what: Counted, key: &[u64; 3]) {
    add(memory, cfg, what, key, u64::MAX);
}

fn add<M: Memory + ?Sized>(
    memory: &M,
    cfg: &NatConfig,
    what: Counted,
    key: &[u64; 3],
    amount: u64,
) {
    for [one, two] in words(memory, cfg, what, key) {
        one.fetch_add(amount, Ordering::Relaxed);
        two.fetch_add(amount, Ordering::Relaxed);
    }
}

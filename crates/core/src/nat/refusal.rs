//! A short memory of searches for a port that found none, so that whoever fills an address does not make
//! each further packet cost another search.
//!
//! A word is 40 bits of a hash of the ports that were searched, and the time until which the refusal stands. If
//! two searches share a word, the older one is forgotten, and costs a search again.

use core::sync::atomic::Ordering;

use crate::table::{Line, Memory, hash};
use crate::time::{Instant, Span};

use super::config::NatConfig;
use super::layout::REFUSAL_LINES;

/// How long a refusal stands: a port that is given back meanwhile is missed for an eighth of a second.
const STANDS: Span = Span(120);

/// Marks the name of an address as that of all addresses that are tried from it on.
pub(super) const ANYWHERE: u64 = 0x80;

/// Bits of a word that are the time.
const TIME: u64 = 0xff_ffff;

/// Whether a search for `sought` found nothing a moment ago.
#[inline(never)]
pub(super) fn stands<M: Memory + ?Sized>(
    memory: &M,
    cfg: &NatConfig,
    sought: u64,
    now: Instant,
) -> bool {
    let hash = hash(&cfg.seed, &[sought]);
    let Some(line) = line_of(memory, cfg, hash) else {
        return false;
    };
    let word = line[place_of(hash)].load(Ordering::Relaxed);
    let left = word.wrapping_sub(now.0) & TIME;
    word & !TIME == hash & !TIME && left <= STANDS.0
}

/// Remembers that a search for `sought` found nothing.
pub(super) fn remember<M: Memory + ?Sized>(memory: &M, cfg: &NatConfig, sought: u64, now: Instant) {
    let hash = hash(&cfg.seed, &[sought]);
    if let Some(line) = line_of(memory, cfg, hash) {
        let until = (now + STANDS).0;
        line[place_of(hash)].store(hash & !TIME | until & TIME, Ordering::Relaxed);
    }
}

/// The line of a hash. Its place is in the bits that the time takes the place of.
#[inline(always)]
fn line_of<'m, M: Memory + ?Sized>(memory: &'m M, cfg: &NatConfig, hash: u64) -> Option<&'m Line> {
    memory.line(
        cfg.layout
            .refusals
            .wrapping_add((hash >> 3) as u32 & (REFUSAL_LINES - 1)),
    )
}

#[inline(always)]
const fn place_of(hash: u64) -> usize {
    (hash & 7) as usize
}

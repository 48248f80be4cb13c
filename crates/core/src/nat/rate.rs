//! How fast a subscriber may make sessions (RFC 6888 requirements 4 and 5): one that makes more than its rate
//! leaves the time of the processors, and the tables, to the others.
//!
//! Token buckets, each one word: the time until which its tokens are spent. A subscriber has two of them, by its
//! hash, and shares each with whoever has the same: a session may be made if one of the two has a token, and takes
//! a token of both. So a subscriber loses by what others do only if both of its buckets are theirs, and there
//! is nothing to evict and nothing to sweep.

use core::sync::atomic::Ordering;

use crate::table::{AtomicU64, Memory};
use crate::time::Instant;

use super::binding;
use super::bound::Claim;
use super::config::NatConfig;
use super::own_limits;
use super::subscriber;

/// Nanoseconds of tokens that a bucket holds: a subscriber that was quiet may make so many sessions at once as it
/// may in this time.
const DEPTH: u64 = 4_000_000_000;

/// Whether the subscriber of an inside endpoint may make a session now.
#[inline(never)]
pub(super) fn admits<M: Memory + ?Sized>(
    memory: &M,
    cfg: &NatConfig,
    inside: &[u64; 3],
    now: Instant,
) -> bool {
    let interval = interval(memory, cfg, inside);
    if interval == 0 {
        return true;
    }
    let [Some(one), Some(two)] = buckets(memory, cfg, inside) else {
        return true;
    };
    let claim = binding::claim(memory, cfg, binding::present(memory, cfg, inside), 0);
    let until = |bucket: &AtomicU64| after(bucket.load(Ordering::Relaxed), interval, now, claim);
    until(one).is_some() | until(two).is_some()
}

/// Takes the tokens of a session. An engine that leaves the session to another takes none, because that one does.
#[inline(never)]
pub(super) fn spend<M: Memory + ?Sized>(
    memory: &M,
    cfg: &NatConfig,
    inside: &[u64; 3],
    now: Instant,
) {
    let interval = interval(memory, cfg, inside);
    if interval == 0 {
        return;
    }
    for bucket in buckets(memory, cfg, inside).into_iter().flatten() {
        let spent = bucket.load(Ordering::Relaxed);
        if let Some(until) = after(spent, interval, now, Claim::Flow) {
            // Of two processors that spend at the same instant one may get it for nothing.
            let _ = bucket.compare_exchange(spent, until, Ordering::Relaxed, Ordering::Relaxed);
        }
    }
}

/// Nanoseconds from one session of the subscriber to the next; 0: no bound.
#[inline(always)]
fn interval<M: Memory + ?Sized>(memory: &M, cfg: &NatConfig, inside: &[u64; 3]) -> u64 {
    let key = cfg.subscriber.key(inside);
    own_limits::of(memory, cfg, &key).session_interval.into()
}

/// The time until which the tokens of a bucket are spent, after one more; `None` if it has none for this claim.
#[inline(always)]
fn after(spent: u64, interval: u64, now: Instant, claim: Claim) -> Option<u64> {
    let now = now.0 << 20;
    let until = spent.max(now) + interval;
    (until <= now + claim.of(DEPTH)).then_some(until)
}

/// Both buckets of the subscriber of an inside endpoint.
#[inline(always)]
fn buckets<'m, M: Memory + ?Sized>(
    memory: &'m M,
    cfg: &NatConfig,
    inside: &[u64; 3],
) -> [Option<&'m AtomicU64>; 2] {
    let hash = subscriber::pairing(cfg, inside);
    [
        bucket(memory, cfg, hash >> 32),
        bucket(memory, cfg, hash & 0xffff_ffff),
    ]
}

/// The bucket that 32 bits of a hash select.
#[inline(always)]
fn bucket<'m, M: Memory + ?Sized>(
    memory: &'m M,
    cfg: &NatConfig,
    bits: u64,
) -> Option<&'m AtomicU64> {
    let buckets = u64::from(cfg.layout.rates.count) * 8;
    let number = ((bits * buckets) >> 32) as u32;
    let line = memory.line(cfg.layout.rates.first.wrapping_add(number >> 3))?;
    Some(&line[(number & 7) as usize])
}

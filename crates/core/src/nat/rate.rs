//! How fast a subscriber may make sessions (RFC 6888 requirements 4 and 5): one that makes more than its rate
//! leaves the time of the processors, and the tables, to the others.
//!
//! Token buckets, each one word: the time until which its tokens are spent. A subscriber has two of them, by its
//! hash, and shares each with whoever has the same: a session may be made if one of the two has a token, and takes
//! a token of both. So a subscriber loses by what others do only if both of its buckets are theirs, and there
//! is nothing to evict and nothing to sweep.

use core::sync::atomic::Ordering;

use crate::host::Effort;
use crate::table::{AtomicU64, Memory};
use crate::time::Instant;

use super::binding;
use super::config::NatConfig;
use super::subscriber;

/// Nanoseconds of tokens that a bucket holds: a subscriber that was quiet may make so many sessions at once as it
/// may in this time.
const DEPTH: u64 = 4_000_000_000;

/// Whether the subscriber of an inside endpoint may make a session now. An engine that will leave it to user
/// space only looks.
#[inline(never)]
pub(super) fn admits<M: Memory + ?Sized, E: Effort>(
    memory: &M,
    cfg: &NatConfig,
    inside: &[u64; 3],
    now: Instant,
) -> bool {
    let interval = u64::from(cfg.limits.session_interval);
    if interval == 0 {
        return true;
    }
    let hash = subscriber::pairing(cfg, inside);
    let (Some(one), Some(two)) = (
        bucket(memory, cfg, hash >> 32),
        bucket(memory, cfg, hash & 0xffff_ffff),
    ) else {
        return true;
    };
    let claim = binding::claim(memory, cfg, binding::present(memory, cfg, inside), 0);
    let now = now.0 << 20;
    let takes = E::ACCOUNTS || !subscriber::tracked(cfg);
    // Both, whatever the first says.
    let most = now + claim.of(DEPTH);
    spend(one, (now, most), interval, takes) | spend(two, (now, most), interval, takes)
}

/// Spends a token, if the bucket has one and its tokens are then spent until `most` at the latest. Of two processors that spend at the same instant one may get it for
/// nothing.
#[inline(always)]
fn spend(bucket: &AtomicU64, (now, most): (u64, u64), interval: u64, takes: bool) -> bool {
    let spent = bucket.load(Ordering::Relaxed);
    let until = spent.max(now) + interval;
    if until > most {
        return false;
    }
    if takes {
        let _ = bucket.compare_exchange(spent, until, Ordering::Relaxed, Ordering::Relaxed);
    }
    true
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

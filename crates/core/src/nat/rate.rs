//! How fast a subscriber may make sessions (RFC 6888 requirements 4 and 5): one that makes more than its rate
//! leaves the time of the processors, and the tables, to the others.
//!
//! Token buckets, each one word: the time until which its tokens are spent. A subscriber has two of them, by its
//! hash, and shares each with whoever has the same: a session may be made if one of the two has a token, and takes
//! a token of both. So a subscriber loses by what others do only if both of its buckets are theirs, and there
//! is nothing to evict and nothing to sweep.

use core::sync::atomic::Ordering;

use crate::host::Host;
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

/// Whether a session may be made, and the buckets that its tokens were taken of.
#[derive(Clone, Copy)]
#[must_use]
#[repr(transparent)]
pub(super) struct Tokens(u64);

impl Tokens {
    /// It may not be made.
    const NONE: Self = Self(0);
    /// It may be made, and no token was taken.
    const FREE: Self = Self(1 << 2);

    #[inline(always)]
    const fn of(first: bool, second: bool) -> Self {
        Self(Self::FREE.0 | first as u64 | (second as u64) << 1)
    }

    /// Whether the session may be made.
    #[inline(always)]
    pub(super) const fn admit(self) -> bool {
        self.0 != 0
    }
}

/// Takes the tokens of a session of the subscriber of an inside endpoint, if it may make one now.
#[inline(always)]
pub(super) fn take<H: Host>(host: &H, cfg: &NatConfig, inside: &[u64; 3]) -> Tokens {
    let (memory, now) = (host.state(), host.now());
    // Where there is enough for any claim, nobody has to look which one it is.
    let mut tokens = take_for(memory, cfg, inside, now, Claim::Answer);
    if !tokens.admit() && binding::answering(memory, cfg, inside).get().is_err() {
        tokens = take_for(memory, cfg, inside, now, Claim::Flow);
    }
    // The verifier of BPF would go on with each number that it knows.
    let [tokens] = host.obscure([tokens.0]);
    Tokens(tokens)
}

/// [`take`], of what there is for a claim.
#[inline(never)]
fn take_for<M: Memory + ?Sized>(
    memory: &M,
    cfg: &NatConfig,
    inside: &[u64; 3],
    now: Instant,
    claim: Claim,
) -> Tokens {
    let interval = interval(memory, cfg, inside);
    if interval == 0 {
        return Tokens::FREE;
    }
    let [Some(one), Some(two)] = buckets(memory, cfg, inside) else {
        return Tokens::FREE;
    };
    let [first, second] = [one, two].map(|bucket| Spending::of(bucket, interval, now));
    if first.until.min(second.until) > most(now, claim) {
        return Tokens::NONE;
    }
    Tokens::of(first.spend(now), second.spend(now))
}

/// Gives tokens back that were taken: another engine makes the session, and takes its own.
#[inline(never)]
pub(super) fn give_back<M: Memory + ?Sized>(
    memory: &M,
    cfg: &NatConfig,
    inside: &[u64; 3],
    tokens: Tokens,
) {
    let interval = interval(memory, cfg, inside);
    let [one, two] = buckets(memory, cfg, inside);
    for (bucket, bit) in [(one, 1), (two, 2)] {
        if let Some(bucket) = bucket
            && tokens.0 & bit != 0
        {
            bucket.fetch_add(interval.wrapping_neg(), Ordering::Relaxed);
        }
    }
}

/// Nanoseconds from one session of the subscriber to the next; 0: no bound.
#[inline(always)]
fn interval<M: Memory + ?Sized>(memory: &M, cfg: &NatConfig, inside: &[u64; 3]) -> u64 {
    let limits = own_limits::of(memory, cfg, || cfg.subscriber.key(inside));
    limits.session_interval.into()
}

/// The last time until which tokens may be spent by a session with this claim.
#[inline(always)]
const fn most(now: Instant, claim: Claim) -> u64 {
    (now.0 << 20) + claim.of(DEPTH)
}

/// A bucket that a token may be taken of.
struct Spending<'m> {
    bucket: &'m AtomicU64,
    /// The time until which its tokens are spent.
    spent: u64,
    /// The same, after one more.
    until: u64,
}

impl<'m> Spending<'m> {
    #[inline(always)]
    fn of(bucket: &'m AtomicU64, interval: u64, now: Instant) -> Self {
        let spent = bucket.load(Ordering::Relaxed);
        let until = spent.max(now.0 << 20) + interval;
        Self {
            bucket,
            spent,
            until,
        }
    }

    /// Takes the token, if there is one. Of two processors that do at the same instant one may get it for nothing.
    #[inline(always)]
    fn spend(self, now: Instant) -> bool {
        let taken = Ordering::Relaxed;
        self.until <= most(now, Claim::Flow)
            && self
                .bucket
                .compare_exchange(self.spent, self.until, taken, taken)
                .is_ok()
    }
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

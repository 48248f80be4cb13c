//! The rate limit of ICMP errors (RFC 1812 section 4.3.2.8, RFC 4443 section 2.4 (f)).

use core::sync::atomic::Ordering;

use crate::table::AtomicU64;

const SECOND: u64 = 1_000_000_000;

/// How often a token is asked for if others take theirs at the same moment.
const ATTEMPTS: u32 = 8;

/// A token bucket that threads share. It starts full and holds the tokens of one second.
#[derive(Debug)]
pub struct Limiter {
    rate: u32,
    full_at: AtomicU64,
}

impl Limiter {
    /// Returns a bucket that gives `rate` tokens per second; 0 gives none.
    #[must_use]
    pub fn new(rate: u32) -> Self {
        Self {
            rate,
            full_at: AtomicU64::new(0),
        }
    }

    /// Takes a token at `now`, in nanoseconds of any monotonic clock, and returns whether there was one.
    pub fn take(&self, now: u64) -> bool {
        take(&self.full_at, self.rate, now)
    }
}

/// Takes a token at `now`, in nanoseconds, of a bucket that gets `rate` a second, and returns whether there was one. The
/// word is the time at which the bucket is full again if no more are taken: 0 at first.
#[inline(always)]
pub fn take(full_at: &AtomicU64, rate: u32, now: u64) -> bool {
    if rate == 0 {
        return false;
    }
    let interval = (SECOND / u64::from(rate)).max(1);
    for _ in 0..ATTEMPTS {
        let before = full_at.load(Ordering::Relaxed);
        let after = before.max(now).saturating_add(interval);
        if after - now > SECOND {
            return false;
        }
        if full_at
            .compare_exchange(before, after, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
        {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(limiter: &Limiter, now: u64) -> usize {
        (0..10_000).filter(|_| limiter.take(now)).count()
    }

    #[test]
    fn a_burst_of_one_second_then_the_rate() {
        let limiter = Limiter::new(100);
        assert_eq!(taken(&limiter, 5 * SECOND), 100);
        assert_eq!(taken(&limiter, 5 * SECOND + SECOND / 4), 25);
        assert_eq!(taken(&limiter, 60 * SECOND), 100);
    }

    #[test]
    fn zero_is_none_and_one_is_one() {
        assert_eq!(taken(&Limiter::new(0), SECOND), 0);
        assert_eq!(taken(&Limiter::new(1), 0), 1);
    }

    #[test]
    fn a_clock_that_steps_back_does_no_harm() {
        let limiter = Limiter::new(10);
        assert_eq!(taken(&limiter, 100 * SECOND), 10);
        assert_eq!(taken(&limiter, SECOND), 0);
        assert_eq!(taken(&limiter, 101 * SECOND), 10);
    }
}

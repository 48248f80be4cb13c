//! The rate limit of ICMP errors (RFC 1812 section 4.3.2.8, RFC 4443 section 2.4 (f)).

use core::sync::atomic::Ordering;

use crate::table::AtomicU64;

const SECOND: u64 = 1_000_000_000;

/// A token bucket that threads share. It starts full and holds the tokens of one second.
#[derive(Debug)]
pub struct Limiter {
    /// Nanoseconds per token; 0 if no error is allowed.
    interval: u64,
    /// Time at which the bucket is full again if no more tokens are taken, in nanoseconds.
    full_at: AtomicU64,
}

impl Limiter {
    /// Returns a bucket that gives `rate` tokens per second; 0 gives none.
    #[must_use]
    pub fn new(rate: u32) -> Self {
        Self {
            interval: match rate {
                0 => 0,
                rate => (SECOND / u64::from(rate)).max(1),
            },
            full_at: AtomicU64::new(0),
        }
    }

    /// Takes a token at `now`, in nanoseconds of any monotonic clock, and returns whether there was one.
    pub fn take(&self, now: u64) -> bool {
        loop {
            let before = self.full_at.load(Ordering::Relaxed);
            let full_at = before.max(now).saturating_add(self.interval);
            if self.interval == 0 || full_at - now > SECOND {
                return false;
            }
            let taken = self.full_at.compare_exchange(
                before,
                full_at,
                Ordering::Relaxed,
                Ordering::Relaxed,
            );
            if taken.is_ok() {
                return true;
            }
        }
    }
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

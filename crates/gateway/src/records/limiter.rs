//! A bound on records per second.

use std::time::{Duration, Instant};

/// A token bucket that holds one second's worth.
#[derive(Debug)]
pub(super) struct Limiter {
    rate: u32,
    tokens: f64,
    filled: Instant,
}

impl Limiter {
    /// A full bucket of `rate` records per second.
    pub(super) fn new(rate: u32, now: Instant) -> Self {
        Self {
            rate,
            tokens: f64::from(rate),
            filled: now,
        }
    }

    /// Whether one more record may pass at `now`.
    pub(super) fn admit(&mut self, now: Instant) -> Admission {
        let elapsed = now.saturating_duration_since(self.filled);
        self.filled = self.filled.max(now);
        let rate = f64::from(self.rate);
        self.tokens =
            (self.tokens + rate * elapsed.min(Duration::from_secs(1)).as_secs_f64()).min(rate);
        if self.tokens < 1.0 {
            return Admission::Suppressed;
        }
        self.tokens -= 1.0;
        Admission::Passed
    }
}

/// The decision of a [`Limiter`] on a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// It is within the rate.
    Passed,
    /// It is not.
    Suppressed,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_the_rate_and_no_more() {
        let start = Instant::now();
        let mut limiter = Limiter::new(10, start);
        let passed = |limiter: &mut Limiter, at: Instant| {
            (0..100)
                .filter(|_| limiter.admit(at) == Admission::Passed)
                .count()
        };
        assert_eq!(passed(&mut limiter, start), 10);
        assert_eq!(passed(&mut limiter, start + Duration::from_millis(500)), 5);
        // A long silence earns one second's worth, not more.
        assert_eq!(passed(&mut limiter, start + Duration::from_secs(60)), 10);
    }

    #[test]
    fn a_rate_of_zero_passes_nothing() {
        let start = Instant::now();
        let mut limiter = Limiter::new(0, start);
        assert_eq!(
            limiter.admit(start + Duration::from_secs(9)),
            Admission::Suppressed
        );
    }
}

//! A bound on records per second: for all, and for each subscriber.
//!
//! One subscriber has a tenth of the rate, so that the records of the others are written while it opens
//! thousands of flows. Sessions leave half of each bucket to bindings, which tell whose an outside port
//! was. Port blocks stand for all sessions of a subscriber, and are always written.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use super::{Record, Subject};

/// The part of the rate that one subscriber has: one of so many.
const SHARES: u32 = 10;
/// Subscribers that are remembered. Those that have been quiet for a second are forgotten first.
const SUBSCRIBERS: usize = 65_536;
/// Time between two lines in the log.
const QUIET: Duration = Duration::from_secs(60);

/// The buckets of all subscribers, and one for all of them together.
#[derive(Debug)]
pub(super) struct Limiter {
    rate: u32,
    all: Bucket,
    /// By instance and address.
    subscribers: HashMap<(u32, IpAddr), Bucket>,
    pruned: Instant,
    told: Option<Instant>,
}

/// A token bucket that holds one second's worth.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    tokens: f64,
    filled: Instant,
}

/// The decision of a [`Limiter`] on a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// It is within the rate.
    Passed,
    /// It is not.
    Suppressed,
}

impl Limiter {
    /// Full buckets for `rate` records per second.
    pub(super) fn new(rate: u32, now: Instant) -> Self {
        Self {
            rate,
            all: Bucket::full(rate, now),
            subscribers: HashMap::new(),
            pruned: now,
            told: None,
        }
    }

    /// Whether one more record may pass at `now`.
    pub(super) fn admit(&mut self, record: &Record, now: Instant) -> Admission {
        if matches!(record.subject, Subject::Block(_)) {
            return Admission::Passed;
        }
        let share = self.rate.div_ceil(SHARES);
        self.forget_the_quiet(share, now);
        let key = (record.number, record.subscriber);
        let known = self.subscribers.get(&key);
        let own = known.copied().unwrap_or_else(|| Bucket::full(share, now));
        let left = own.without_one(share, record, now);
        let Some(left) = left else {
            self.tell(record, now);
            return Admission::Suppressed;
        };
        let Some(all) = self.all.without_one(self.rate, record, now) else {
            return Admission::Suppressed;
        };
        self.all = all;
        // One that is not remembered has the common bucket only.
        if known.is_some() || self.subscribers.len() < SUBSCRIBERS {
            self.subscribers.insert(key, left);
        }
        Admission::Passed
    }

    /// Makes room for other subscribers, at most once in a second.
    fn forget_the_quiet(&mut self, share: u32, now: Instant) {
        let due = now.saturating_duration_since(self.pruned) >= Duration::from_secs(1);
        if due && self.subscribers.len() >= SUBSCRIBERS {
            self.pruned = now;
            self.subscribers
                .retain(|_, bucket| !bucket.is_full(share, now));
        }
    }

    fn tell(&mut self, record: &Record, now: Instant) {
        if self.told.is_none_or(|told| now - told >= QUIET) {
            self.told = Some(now);
            tracing::warn!(
                instance = %record.instance, subscriber = %record.subscriber,
                "a subscriber makes more records than are written of one"
            );
        }
    }
}

impl Bucket {
    fn full(rate: u32, now: Instant) -> Self {
        Self {
            tokens: rate.into(),
            filled: now,
        }
    }

    fn tokens(&self, rate: u32, now: Instant) -> f64 {
        let elapsed = now.saturating_duration_since(self.filled);
        let rate = f64::from(rate);
        (self.tokens + rate * elapsed.min(Duration::from_secs(1)).as_secs_f64()).min(rate)
    }

    fn is_full(&self, rate: u32, now: Instant) -> bool {
        self.tokens(rate, now) >= rate.into()
    }

    /// The bucket without a token for this record; `None` if there is none for it.
    fn without_one(&self, rate: u32, record: &Record, now: Instant) -> Option<Self> {
        let kept = match record.subject {
            Subject::Session(_) => f64::from(rate / 2),
            Subject::Binding(_) | Subject::Block(_) => 0.0,
        };
        let tokens = self.tokens(rate, now) - 1.0;
        (tokens >= kept.min(f64::from(rate) - 1.0).max(0.0)).then_some(Self {
            tokens,
            filled: self.filled.max(now),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::event::{Change, samples};
    use super::*;

    fn session(subscriber: &str) -> Record {
        let session = Subject::Session(samples::session());
        of(subscriber, samples::record(Change::Began, session))
    }

    fn binding(subscriber: &str) -> Record {
        let binding = Subject::Binding(samples::session().binding);
        of(subscriber, samples::record(Change::Began, binding))
    }

    fn of(subscriber: &str, record: Record) -> Record {
        Record {
            subscriber: subscriber.parse().unwrap(),
            ..record
        }
    }

    fn passed(limiter: &mut Limiter, record: &Record, tries: usize, at: Instant) -> usize {
        (0..tries)
            .filter(|_| limiter.admit(record, at) == Admission::Passed)
            .count()
    }

    #[test]
    fn passes_the_rate_and_no_more() {
        let start = Instant::now();
        let mut limiter = Limiter::new(100, start);
        let half = start + Duration::from_millis(500);
        let who = binding("2001:db8::");
        assert_eq!(passed(&mut limiter, &who, 50, start), 10, "its share");
        assert_eq!(passed(&mut limiter, &who, 50, half), 5);
        // A long silence earns one second's worth, not more.
        let later = start + Duration::from_secs(60);
        assert_eq!(passed(&mut limiter, &who, 50, later), 10);
        let all = |limiter: &mut Limiter| -> usize {
            let each = (1..20).map(|n| binding(&format!("2001:db8:{n}::")));
            each.map(|who| passed(limiter, &who, 50, later)).sum()
        };
        assert_eq!(all(&mut limiter), 90, "the rest of the rate");
    }

    /// 5,000 flows in a second, each with a binding, and a neighbour beside them.
    #[test]
    fn one_subscriber_hides_nobody_elses_records() {
        let start = Instant::now();
        let mut limiter = Limiter::new(1_000, start);
        for n in 0..5_000u64 {
            let now = start + Duration::from_micros(200 * n);
            limiter.admit(&binding("2001:db8::"), now);
            limiter.admit(&session("2001:db8::"), now);
            if n % 100 == 0 {
                for record in [binding("2001:db8:1::"), session("2001:db8:1::")] {
                    assert_eq!(limiter.admit(&record, now), Admission::Passed, "{n}");
                }
            }
        }
    }

    #[test]
    fn bindings_pass_where_sessions_do_not() {
        let start = Instant::now();
        let mut limiter = Limiter::new(100, start);
        for n in 0..200 {
            let who = format!("2001:db8:{n}::");
            limiter.admit(&session(&who), start);
            let now = limiter.admit(&binding(&who), start);
            let expected = if n < 75 { Admission::Passed } else { now };
            assert_eq!(now, expected, "{n}");
        }
        // Sessions never took more than half.
        let mut limiter = Limiter::new(100, start);
        let sessions = (0..200).map(|n| session(&format!("2001:db8:{n}::")));
        let all: usize = sessions
            .map(|who| passed(&mut limiter, &who, 1, start))
            .sum();
        assert_eq!(all, 50);
        assert_eq!(
            passed(&mut limiter, &binding("2001:db8:f::"), 50, start),
            10
        );
    }

    #[test]
    fn port_blocks_always_pass_and_a_rate_of_zero_passes_nothing_else() {
        let start = Instant::now();
        let mut limiter = Limiter::new(0, start);
        let block = samples::record(Change::Began, Subject::Block(samples::block()));
        let later = start + Duration::from_secs(9);
        assert_eq!(passed(&mut limiter, &block, 50, later), 50);
        assert_eq!(passed(&mut limiter, &binding("2001:db8::"), 50, later), 0);
        assert_eq!(passed(&mut limiter, &session("2001:db8::"), 50, later), 0);
    }

    #[test]
    fn a_million_subscribers_take_bounded_memory() {
        let start = Instant::now();
        let mut limiter = Limiter::new(10_000_000, start);
        let sample = binding("2001:db8::");
        for n in 0..200_000u32 {
            let who = Record {
                subscriber: IpAddr::from(n.to_be_bytes()),
                ..sample.clone()
            };
            limiter.admit(&who, start);
        }
        assert_eq!(limiter.subscribers.len(), SUBSCRIBERS);
        limiter.admit(&sample, start + Duration::from_secs(2));
        assert_eq!(limiter.subscribers.len(), 1);
    }
}

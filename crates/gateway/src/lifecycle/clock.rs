//! The clock of the tables, and the one that people read.

use std::time::Duration;

use isthmus_core::time::Instant;
use jiff::Timestamp;
use nix::time::{ClockId, clock_gettime};

/// Now, on the clock that all engines use: CLOCK_MONOTONIC, which BPF programs have as well.
pub(super) fn now() -> Instant {
    Instant::from_nanos(nanoseconds().as_nanos() as u64)
}

fn nanoseconds() -> Duration {
    let time = clock_gettime(ClockId::CLOCK_MONOTONIC).unwrap_or_else(|error| {
        unreachable!("every Linux has this clock: {error}");
    });
    time.into()
}

/// When, by the wall clock, that clock was at a number of nanoseconds.
pub(super) fn exactly(time: u64) -> Timestamp {
    let ago = nanoseconds().saturating_sub(Duration::from_nanos(time));
    let wall = Timestamp::now();
    wall.checked_sub(ago).unwrap_or(wall)
}

/// When, by the wall clock, an instant of the tables was.
pub(super) fn wall(instant: Instant) -> Timestamp {
    let ago = duration(now().since(instant).0);
    let wall = Timestamp::now();
    wall.checked_sub(ago).unwrap_or(wall)
}

/// How long a number of the tables' units is.
pub(super) const fn duration(units: u64) -> Duration {
    Duration::from_nanos(units << 20)
}

#[cfg(test)]
mod tests {
    use super::*;
    use isthmus_core::time::Span;

    #[test]
    fn what_was_a_minute_ago_is_a_minute_ago() {
        let then = Instant(now().0 - Span::from_secs(60).0);
        let ago = Timestamp::now().duration_since(wall(then)).as_secs();
        assert!((59..=61).contains(&ago), "{ago} s");
    }
}

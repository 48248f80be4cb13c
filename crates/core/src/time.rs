//! Time as the core sees it: a number that the engine passes in.

use core::ops::Add;

/// An instant on the engine's monotonic clock, in units of 2^20 ns (about 1.05 ms): what a shift
/// makes of nanoseconds, and what fits beside other things in one word of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instant(pub u64);

/// A span between two [`Instant`]s, in the same unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(pub u64);

impl Instant {
    /// The instant of a clock that counts nanoseconds.
    #[inline(always)]
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos >> 20)
    }

    /// How long ago `earlier` was; zero if it lies ahead.
    #[inline(always)]
    #[must_use]
    pub const fn since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Span {
    /// A span of whole seconds, rounded up so that no timer is too short.
    #[must_use]
    pub const fn from_secs(seconds: u64) -> Self {
        Self((seconds * 1_000_000_000).div_ceil(1 << 20))
    }
}

impl Add<Span> for Instant {
    type Output = Self;
    #[inline(always)]
    fn add(self, span: Span) -> Self {
        Self(self.0 + span.0)
    }
}

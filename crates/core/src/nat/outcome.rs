//! The results of the cold functions of the NAT: in one register, because a BPF function can return no
//! more.

use crate::reason::Counter;
use crate::table::Refused;
use crate::verdict::{IcmpError, Refusal, Slow};

/// Why there is no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub(super) enum Cause {
    Full = 1,
    Contention,
    Exhausted,
    Limit,
    GaveUp,
    NotSyn,
    NoBinding,
    Filtered,
    Refused,
    Rate,
    Share,
}

/// A 48-bit result or a cause.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct Outcome(u64);

impl Outcome {
    /// The number of a line.
    #[inline(always)]
    pub(super) const fn line(line: u32) -> Self {
        Self((line as u64) << 16)
    }

    /// A word whose low 16 bits are zero.
    #[inline(always)]
    pub(super) const fn word(word: u64) -> Self {
        Self(word & !0xffff)
    }

    #[inline(always)]
    pub(super) const fn no(cause: Cause) -> Self {
        Self(cause as u64)
    }

    /// The word, or why there is none.
    #[inline(always)]
    pub(super) const fn get(self) -> Result<u64, Cause> {
        Err(match self.0 & 0xffff {
            0 => return Ok(self.0),
            1 => Cause::Full,
            2 => Cause::Contention,
            3 => Cause::Exhausted,
            4 => Cause::Limit,
            5 => Cause::GaveUp,
            6 => Cause::NotSyn,
            7 => Cause::NoBinding,
            8 => Cause::Filtered,
            9 => Cause::Refused,
            10 => Cause::Rate,
            _ => Cause::Share,
        })
    }

    /// Whether there is no result for this cause.
    #[inline(always)]
    pub(super) const fn is(self, cause: Cause) -> bool {
        self.0 & 0xffff == cause as u64
    }

    /// Whether no port is free, or was found free a moment ago.
    #[inline(always)]
    pub(super) const fn is_exhausted(self) -> bool {
        self.is(Cause::Exhausted) || self.is(Cause::Refused)
    }

    /// The line, or why there is none.
    #[inline(always)]
    pub(super) const fn get_line(self) -> Result<u32, Cause> {
        match self.get() {
            Ok(word) => Ok((word >> 16) as u32),
            Err(cause) => Err(cause),
        }
    }
}

impl From<Refused> for Cause {
    #[inline(always)]
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Full => Self::Full,
            Refused::Contention => Self::Contention,
        }
    }
}

impl From<Cause> for Refusal {
    /// RFC 6146 section 3.5.1.1 asks for Address Unreachable where there is no outside endpoint;
    /// filtered packets are dropped silently, so that scanning the pool tells nothing.
    #[inline(always)]
    fn from(cause: Cause) -> Self {
        match cause {
            Cause::Full => Self::Drop(Counter::TableFull),
            Cause::Contention => Self::Drop(Counter::TableContention),
            Cause::Exhausted => Self::Reply(IcmpError::AddressUnreachable, Counter::PoolExhausted),
            Cause::Limit => Self::Reply(IcmpError::AddressUnreachable, Counter::SubscriberLimit),
            // Whoever found it exhausted has told its host.
            Cause::Refused => Self::Drop(Counter::PoolExhausted),
            // Silently: an answer to each would be worth a flood. The host tries again.
            Cause::Rate => Self::Drop(Counter::SubscriberRate),
            // Likewise.
            Cause::Share => Self::Drop(Counter::NetworkShare),
            Cause::GaveUp => Self::Slow(Slow::Table),
            Cause::NotSyn => Self::Drop(Counter::TcpNotSyn),
            Cause::NoBinding => Self::Drop(Counter::NoBinding),
            Cause::Filtered => Self::Drop(Counter::Filtered),
        }
    }
}

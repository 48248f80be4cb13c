//! How the cold functions of the NAT answer: in one register, which is what a BPF function can
//! return.

use crate::reason::Counter;
use crate::table::Refused;
use crate::verdict::{IcmpError, Refusal, Slow};

/// How far an engine goes to find a free port.
pub trait Effort: Copy {
    /// Whether it takes up sessions that are there; who does not is only asked where there was none a
    /// moment ago.
    const RESUMES: bool = true;
    /// Whether it makes sessions at all.
    const OPENS: bool = true;
    /// Ports that are tried in one range; 0: all.
    const PORTS: u32;
    /// Addresses that are tried when the first has no port left.
    const ADDRESSES: u32;
}

/// Sessions that are there, and [`Slow::Session`] for others: for the BPF program of the common
/// path, which leaves the stack that it takes to make one to another program.
#[derive(Clone, Copy, Debug)]
pub struct Established;

impl Effort for Established {
    const OPENS: bool = false;
    const PORTS: u32 = 0;
    const ADDRESSES: u32 = 0;
}

/// A few tries, then [`Slow::Table`]: for the BPF program that [`Established`] hands packets to, and
/// which hands them back.
#[derive(Clone, Copy, Debug)]
pub struct Bounded;

impl Effort for Bounded {
    const RESUMES: bool = false;
    const PORTS: u32 = 8;
    const ADDRESSES: u32 = 0;
}

/// Every port of the first outside address and of the seven addresses after it: for user space.
/// What it does not find is answered as [`Counter::PoolExhausted`].
#[derive(Clone, Copy, Debug)]
pub struct Exhaustive;

impl Effort for Exhaustive {
    const PORTS: u32 = 0;
    const ADDRESSES: u32 = 7;
}

/// Why there is no answer.
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
}

/// A 48-bit answer or a cause.
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
            _ => Cause::Filtered,
        })
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
            Cause::GaveUp => Self::Slow(Slow::Table),
            Cause::NotSyn => Self::Drop(Counter::TcpNotSyn),
            Cause::NoBinding => Self::Drop(Counter::NoBinding),
            Cause::Filtered => Self::Drop(Counter::Filtered),
        }
    }
}

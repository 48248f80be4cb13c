//! The rules of a store of fragments that wait, in whatever memory an engine has for them.
//!
//! The memory, the datagrams and the time of waiting are bounded. A full store gives up the datagram that has waited
//! longest, and a source that has a large part of the store gives up its own: so a flood leaves time for the datagrams of
//! others, whose fragments come within milliseconds.

use crate::config::Instance;
use crate::mechanism::Mechanism as _;
use crate::time::Span;

/// The part of the store that a source may have before it has to give up its own: one in so many.
const SHARE: usize = 4;
/// FRAGMENT_MIN of RFC 6146 section 4, in units of 2^20 ns.
const SHORTEST: Span = Span::from_secs(2);
/// Fragments of one datagram: what 65,535 bytes need on links of 576 bytes, and some more.
pub const MOST_FRAGMENTS: usize = 128;

/// The reason why the fragments of a datagram wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// They wait for the first fragment.
    First,
    /// They wait for all fragments.
    Whole,
}

/// The contents of a store, or somebody's part of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Holding {
    /// Units of memory, such as bytes.
    pub memory: usize,
    /// Number of waiting datagrams.
    pub datagrams: usize,
}

impl Holding {
    /// Whether somebody who has `part` of this store has to give up a datagram of their own to get more.
    #[must_use]
    pub const fn is_shared_out_to(&self, part: Self) -> bool {
        part.memory >= self.memory / SHARE || part.datagrams >= self.datagrams / SHARE
    }
}

/// How long a fragment may wait for others of its datagram, in nanoseconds: as long as the most patient instance allows,
/// and at least two seconds.
pub fn time<'a>(instances: impl Iterator<Item = &'a Instance>) -> u64 {
    let wait = |instance: &Instance| match instance.mechanism.nat() {
        Some(nat) => nat.timers.fragment,
        None => SHORTEST,
    };
    let longest = instances.map(wait).max();
    longest.map_or(SHORTEST, |wait| wait.max(SHORTEST)).0 << 20
}

//! State as flat memory: an engine provides an array of cache lines, and every table of the gateway is a
//! layout over it.
//!
//! One array map of BPF, mapped into the daemon as well, serves XDP, tc and user space at the same
//! time: the algorithms are here, once, over atomic words. All of them are lock-free, because a
//! BPF program can neither sleep nor spin.
//!
//! [`Buckets`] holds single words and is where two processors are kept apart; [`Slots`] puts a
//! line of its own beside every word. Memory of zeros is a set of empty tables.

mod buckets;
pub(crate) mod cuckoo;
mod hash;
#[cfg(all(test, loom))]
mod interleaved;
#[cfg(all(test, loom))]
mod loom_word;
mod prf;
mod slots;

use core::sync::atomic::Ordering;

#[cfg(not(all(test, loom)))]
pub(crate) use isthmus_atomic::AtomicU64;
#[cfg(all(test, loom))]
pub(crate) use loom_word::AtomicU64;

pub use buckets::{Buckets, Placed, Position, Twin, USED};
pub use cuckoo::{FillError, Place};
pub(crate) use hash::MIX;
pub use hash::{KEY_WORDS, Seed, hash};
pub use prf::{Secret, prf, prf_with_rest};
pub use slots::{Draft, Life, Slot, Slots};

/// The unit of memory: 64 bytes, one cache line, eight atomic words.
pub type Line = [AtomicU64; 8];

/// The memory of an engine for state.
pub trait Memory {
    /// The line with this number; `None` past the end.
    fn line(&self, index: u32) -> Option<&Line>;

    /// Writes `word` into an empty place of one of the two buckets of its hash. BPF programs have a function
    /// for it that the verifier checks once: it would follow an ordinary one at every call, from every state,
    /// and spend half of its time there.
    #[inline(never)]
    fn insert(&self, table: Buckets, hash: u64, mask: u64, word: u64, twin: Twin) -> Placed {
        table.insert_into(self, hash, mask, word, twin)
    }

    /// The word of a hash that equals `want` under a mask, or 0: where it is looked for beside the common path, for the
    /// same reason.
    #[inline(never)]
    fn search(&self, table: Buckets, hash: u64, mask: u64, want: u64) -> u64 {
        table.get(self, hash, mask, want).unwrap_or(0)
    }

    /// The place for a new entry of an owner where there is none; see [`Slots::give_way`].
    #[inline(never)]
    fn give_way(&self, table: Slots, hash: u64, owner: u64, share: u64) -> Position {
        table.give_way(self, hash, owner, share)
    }
}

impl<M: Memory + ?Sized> Memory for &M {
    #[inline(always)]
    fn line(&self, index: u32) -> Option<&Line> {
        (**self).line(index)
    }

    #[inline(always)]
    fn insert(&self, table: Buckets, hash: u64, mask: u64, word: u64, twin: Twin) -> Placed {
        (**self).insert(table, hash, mask, word, twin)
    }

    #[inline(always)]
    fn search(&self, table: Buckets, hash: u64, mask: u64, want: u64) -> u64 {
        (**self).search(table, hash, mask, want)
    }

    #[inline(always)]
    fn give_way(&self, table: Slots, hash: u64, owner: u64, share: u64) -> Position {
        (**self).give_way(table, hash, owner, share)
    }
}

impl Memory for [Line] {
    #[inline(always)]
    fn line(&self, index: u32) -> Option<&Line> {
        self.get(index as usize)
    }
}

/// Prefetches a line. In BPF this is a load whose result is not used.
#[inline(always)]
fn touch<M: Memory + ?Sized>(memory: &M, line: u32) {
    if let Some(line) = memory.line(line) {
        let _fetched = line[0].load(Ordering::Relaxed);
    }
}

/// Why an entry could not be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// Both buckets are full.
    Full,
    /// Another processor is making or removing an entry with the same key.
    Contention,
}

/// Order of the loads that read what another processor publishes.
///
/// Two rivals that claim one key write first and look for each other then. Acquire would allow both to
/// miss the other's word. As every [`UPDATE`] and every such load have one order that all processors agree
/// on, the later one of two rivals sees the earlier one. A BPF program has no such loads; where it may run,
/// its plain loads are as good: see [`isthmus_atomic`].
pub(crate) const LOAD: Ordering = Ordering::SeqCst;

/// Order of the stores of words that are published afterwards: a reader that sees one of them sees that the
/// entry before has ended.
pub(crate) const STORE: Ordering = Ordering::Release;

/// Order of every read-modify-write: in BPF all of those that return a value are full barriers.
pub(crate) const UPDATE: Ordering = Ordering::SeqCst;

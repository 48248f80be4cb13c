//! State as flat memory: what an engine lends is an array of cache lines, and every table of the
//! gateway is a layout over it.
//!
//! One array map of BPF, mapped into the daemon as well, serves XDP, tc and user space at the same
//! time: the algorithms are here, once, over atomic words. All of them are lock-free, because a
//! BPF program can neither sleep nor spin.

use core::sync::atomic::AtomicU64;

/// The unit of memory: 64 bytes, one cache line, eight atomic words.
pub type Line = [AtomicU64; 8];

/// What an engine lends to hold state.
pub trait Memory {
    /// The line with this number; `None` past the end.
    fn line(&self, index: u32) -> Option<&Line>;
}

impl<M: Memory + ?Sized> Memory for &M {
    #[inline(always)]
    fn line(&self, index: u32) -> Option<&Line> {
        (**self).line(index)
    }
}

impl Memory for [Line] {
    #[inline(always)]
    fn line(&self, index: u32) -> Option<&Line> {
        self.get(index as usize)
    }
}

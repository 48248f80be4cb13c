//! What outlives the process: descriptors with names, which a folder of a BPF file system or the service manager
//! holds, so that the next process finds them.

use std::fmt::Debug;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

/// The name of memory that is no map.
pub const MEMORY: &str = "memory";

/// Holds descriptors beyond the end of this process.
pub trait Keeper: Debug + Send + Sync {
    /// Returns the descriptor with this name.
    fn get(&self, name: &str) -> Option<OwnedFd>;

    /// Holds the descriptor of a map or program under a name that is not taken: letters, digits, `_` and `-`.
    /// If that fails, the keeper says so where people look.
    fn put(&self, name: &str, descriptor: BorrowedFd<'_>);

    /// Makes so many bytes of memory, zeroed, and holds it as [`MEMORY`].
    ///
    /// # Errors
    /// It cannot be had or held.
    fn allocate(&self, bytes: u64) -> io::Result<OwnedFd>;

    /// Lets go of all descriptors whose names `stays` refuses.
    fn retain(&self, stays: &dyn Fn(&str) -> bool);
}

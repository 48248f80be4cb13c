//! What outlives the process: descriptors with names, which a folder of a BPF file system or the service manager
//! holds, so that the next process finds them.

use std::fmt::Debug;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

/// Holds descriptors beyond the end of this process.
pub trait Keeper: Debug + Send + Sync {
    /// Returns the descriptor with this name.
    fn get(&self, name: &str) -> Option<OwnedFd>;

    /// Holds a descriptor under a name that is not taken: letters, digits, `_` and `-`.
    ///
    /// # Errors
    /// It cannot be held.
    fn put(&self, name: &str, descriptor: BorrowedFd<'_>) -> io::Result<()>;

    /// Lets go of all descriptors whose names `stays` refuses.
    fn retain(&self, stays: &dyn Fn(&str) -> bool);
}

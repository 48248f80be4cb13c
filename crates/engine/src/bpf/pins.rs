//! A folder in a BPF file system that holds maps and programs. It belongs to this user alone.

use std::ffi::CString;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use crate::sys;

/// The folder.
#[derive(Debug)]
pub struct Pins(PathBuf);

impl Pins {
    /// Makes the folder, or opens the one that is there.
    ///
    /// # Errors
    /// There is no BPF file system, or no right to write to it, or the folder is a stranger's.
    pub fn make(path: &Path) -> io::Result<Self> {
        match DirBuilder::new().mode(0o700).create(path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => Self::open(path),
        }
    }

    /// Opens the folder.
    ///
    /// # Errors
    /// It is not there, or a stranger's.
    pub fn open(path: &Path) -> io::Result<Self> {
        let there = fs::symlink_metadata(path)?;
        let own = there.is_dir() && there.uid() == sys::user() && there.mode() & 0o077 == 0;
        if !own {
            return Err(io::Error::other("others may use it"));
        }
        Ok(Self(path.into()))
    }

    /// Opens the map or program with this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<OwnedFd> {
        sys::bpf::pinned(&self.path(name).ok()?).ok()
    }

    /// Holds a map or program under a name without a dot, which these file systems refuse.
    ///
    /// # Errors
    /// The file system refuses.
    pub fn put(&self, name: &str, object: BorrowedFd<'_>) -> io::Result<()> {
        sys::bpf::pin(object, &self.path(name)?)
    }

    /// Removes all names that `stays` refuses.
    ///
    /// # Errors
    /// The file system refuses.
    pub fn retain(&self, stays: &dyn Fn(&str) -> bool) -> io::Result<()> {
        for entry in fs::read_dir(&self.0)? {
            let entry = entry?;
            if !entry.file_name().to_str().is_some_and(stays) {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }

    /// Removes the folder with all that is in it.
    ///
    /// # Errors
    /// The file system refuses.
    pub fn remove(&self) -> io::Result<()> {
        self.retain(&|_| false)?;
        fs::remove_dir(&self.0)
    }

    fn path(&self, name: &str) -> io::Result<CString> {
        Ok(CString::new(self.0.join(name).as_os_str().as_bytes())?)
    }
}

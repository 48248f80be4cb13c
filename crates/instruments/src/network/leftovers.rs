//! Names and files that tell whose they are.
//!
//! Everything that outlives a process carries the process's number in its name: namespaces in `/run/netns`, files in
//! the temporary directory. Whatever belongs to no running process is a leftover, and can be
//! [removed](super::sweep).

use std::{fs, path::Path};

use tempfile::{NamedTempFile, TempDir};

use crate::{LabError, Result};

const MARK: &str = "isthmus-";

/// Returns a name that tells its owner: `isthmus-PID-REST`.
pub fn name(rest: &str) -> String {
    format!("{MARK}{}-{rest}", std::process::id())
}

/// Returns the process that a name belongs to, if a lab made it.
pub fn owner(name: &str) -> Option<u32> {
    name.strip_prefix(MARK)?.split('-').next()?.parse().ok()
}

/// Makes a directory for configuration and content, which is removed when dropped.
pub fn directory() -> Result<TempDir> {
    tempfile::Builder::new()
        .prefix(&name(""))
        .tempdir()
        .map_err(LabError::file(std::env::temp_dir()))
}

/// Writes a file.
pub fn write(path: &Path, content: impl AsRef<[u8]>) -> Result<()> {
    fs::write(path, content).map_err(LabError::file(path))
}

/// Makes a file in the temporary directory, which is removed when dropped.
pub fn file() -> Result<NamedTempFile> {
    NamedTempFile::with_prefix(name("")).map_err(LabError::file(std::env::temp_dir()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owner_is_read_from_the_name() {
        assert_eq!(owner("isthmus-1234-0-host6"), Some(1234));
        assert_eq!(owner("isthmus-x-0-host6"), None);
        assert_eq!(owner("blue"), None);
        assert_eq!(owner(&name("0-host6")), Some(std::process::id()));
    }
}

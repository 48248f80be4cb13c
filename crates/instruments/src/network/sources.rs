//! The folder of the sources, for what is built or started from there.

use std::env;
use std::path::{Path, PathBuf};

use crate::{LabError, Result};

/// The folder of these sources, where this file of theirs is: the nearest above this program, or above the crate that cargo runs.
/// It is looked for, because a package has no path of whoever built it; not from the current folder, where others may have put
/// something for root to run.
///
/// # Errors
/// There is none: the laboratory was installed, or its `target` is not in the folder.
pub fn folder(with: &str) -> Result<PathBuf> {
    let above = |path: PathBuf| {
        let mut folders = path.ancestors();
        let found = folders.find(|folder| folder.join(with).is_file());
        found.map(Path::to_path_buf)
    };
    let program = env::current_exe().ok().and_then(above);
    program
        .or_else(|| env::var_os("CARGO_MANIFEST_DIR").and_then(|of_crate| above(of_crate.into())))
        .ok_or_else(|| LabError::Missing {
            program: with.into(),
            package: "none: it is in the folder of the sources, and this program not below that"
                .into(),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_is_in_the_folder_of_its_sources() {
        let found = folder("crates/instruments/Cargo.toml").unwrap();
        assert!(found.join("crates/bare/Cargo.toml").is_file(), "{found:?}");
        let missing = folder("no/such/file").unwrap_err().to_string();
        assert!(missing.contains("no/such/file"), "{missing}");
    }
}

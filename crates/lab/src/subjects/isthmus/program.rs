//! The programs that measure and are measured.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use crate::{LabError, Result};

/// Returns the gateway's program: `$ISTHMUS`, the one beside this program, the one above a test, or the one on the
/// path.
///
/// # Errors
/// There is none, or it was built before its sources were changed.
pub fn program() -> Result<PathBuf> {
    static NEWER: OnceLock<Option<PathBuf>> = OnceLock::new();
    match std::env::var_os("ISTHMUS") {
        Some(path) => Ok(path.into()),
        None => fresh("isthmus", &NEWER),
    }
}

/// Returns the laboratory's program, which is found in the same way.
///
/// # Errors
/// There is none, or it was built before its sources were changed.
pub fn laboratory() -> Result<PathBuf> {
    static NEWER: OnceLock<Option<PathBuf>> = OnceLock::new();
    fresh("isthmus-lab", &NEWER)
}

/// Finds a program of ours. Fails if it was built before its sources were changed: the results would be those of
/// another program. The sources are checked once, so that an edit during a long run does not stop it.
fn fresh(name: &str, newer: &OnceLock<Option<PathBuf>>) -> Result<PathBuf> {
    let own = std::env::current_exe().unwrap_or_default();
    let beside = own.ancestors().skip(1).take(2).map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let program = beside
        .chain(std::env::split_paths(&path))
        .map(|directory| directory.join(name))
        .find(|program| program.is_file())
        .ok_or_else(|| LabError::Missing {
            program: name.into(),
            package: "none: build it with `cargo build --release`".into(),
        })?;
    match newer.get_or_init(|| newer_source(&program).unwrap_or_default()) {
        None => Ok(program),
        Some(source_file) => Err(LabError::Stale {
            source_file: source_file.clone(),
            program,
        }),
    }
}

/// Returns a source that is newer than a program that cargo has built. Cargo lists the sources in a file beside the
/// program, which is not installed.
fn newer_source(program: &Path) -> io::Result<Option<PathBuf>> {
    let built = fs::metadata(program)?.modified()?;
    let text = fs::read_to_string(program.with_extension("d"))?;
    let (_, sources) = text.split_once(": ").unwrap_or_default();
    let is_newer = |source: &&str| {
        fs::metadata(source).is_ok_and(|of| of.modified().is_ok_and(|at| at > built))
    };
    Ok(sources.split_whitespace().find(is_newer).map(PathBuf::from))
}

/// Returns the laboratory's program, and the gateway's if there is one.
pub fn programs() -> Vec<PathBuf> {
    let own = std::env::current_exe().unwrap_or_default();
    [own].into_iter().chain(program()).collect()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;

    fn written(path: &Path, text: &str, seconds: u64) {
        fs::write(path, text).unwrap();
        let at = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let file = fs::File::options().write(true).open(path).unwrap();
        file.set_modified(at).unwrap();
    }

    #[test]
    fn a_program_older_than_a_source_is_found_out() {
        let folder = tempfile::tempdir().unwrap();
        let [program, list, one, other] =
            ["isthmus", "isthmus.d", "one.rs", "other.rs"].map(|name| folder.path().join(name));
        written(&program, "", 100);
        written(&one, "", 90);
        written(&other, "", 80);
        // An installed program has no such list.
        assert!(newer_source(&program).is_err());
        let text = format!(
            "{}: {} {} /gone.rs\n",
            program.display(),
            one.display(),
            other.display()
        );
        written(&list, &text, 100);
        assert_eq!(newer_source(&program).unwrap(), None);
        written(&other, "", 101);
        assert_eq!(newer_source(&program).unwrap(), Some(other));
    }
}

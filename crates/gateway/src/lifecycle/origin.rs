//! The files that a configuration was read from, and whether they still say the same.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::config::Loaded;

/// The text of a configuration, and what the files that it names had in them.
#[derive(Debug)]
pub(super) struct Origin {
    text: String,
    /// All files, that of the text first, with a hash of each: tables of mappings may be large.
    files: Vec<(PathBuf, u64)>,
    digest: String,
}

impl Origin {
    pub(super) fn of(loaded: &Loaded) -> Self {
        let sources = loaded.warnings.sources();
        Self {
            text: text(loaded).to_owned(),
            files: sources
                .iter()
                .map(|source| (PathBuf::from(&source.path), hash(source.text.as_bytes())))
                .collect(),
            digest: loaded.digest(),
        }
    }

    /// The number by which records know the configuration.
    pub(super) fn digest(&self) -> &str {
        &self.digest
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Whether the other one says the same.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        self.files == other.files
    }
}

/// The text of a configuration.
pub(super) fn text(loaded: &Loaded) -> &str {
    loaded
        .warnings
        .sources()
        .first()
        .map_or("", |source| &source.text)
}

/// Looks whether the files of an origin still say the same. They are read only if they have changed.
#[derive(Debug, Default)]
pub(super) struct Watch {
    seen: Option<Vec<Option<Stamp>>>,
    differ: bool,
}

impl Watch {
    /// Whether a file says something else now, or cannot be read.
    pub(super) fn differ(&mut self, origin: &Origin) -> bool {
        let paths = origin.files.iter().map(|(path, _)| path);
        let stamps: Vec<_> = paths.map(|path| Stamp::of(path)).collect();
        let is_settled = stamps.iter().flatten().all(Stamp::is_settled);
        if self.seen.as_ref() != Some(&stamps) || !is_settled {
            self.seen = Some(stamps);
            let same = |(path, hash_then): &(PathBuf, u64)| {
                std::fs::read(path).is_ok_and(|now| hash(&now) == *hash_then)
            };
            self.differ = !origin.files.iter().all(same);
        }
        self.differ
    }
}

/// The properties of a file of which one differs after each change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    file: (u64, u64),
    size: u64,
    changed: (i64, i64),
}

impl Stamp {
    fn of(path: &Path) -> Option<Self> {
        let there = std::fs::metadata(path).ok()?;
        Some(Self {
            file: (there.dev(), there.ino()),
            size: there.size(),
            changed: (there.ctime(), there.ctime_nsec()),
        })
    }

    /// Whether the next change will be at another time: the clock of a file system may tick a few times a second.
    fn is_settled(&self) -> bool {
        let now = jiff::Timestamp::now().as_second();
        now.saturating_sub(self.changed.0) > 2
    }
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn other_content_is_seen_in_all_files_of_a_configuration() {
        let folder = tempfile::tempdir().unwrap();
        let (file, rows) = (folder.path().join("edge.toml"), folder.path().join("eam"));
        let text = "[[instance]]\nname = \"dc\"\nmechanism = \"siit\"\neam-file = \"eam\"\n";
        let row = "198.51.100.1,2001:db8::1\n";
        fs::write(&file, text).unwrap();
        fs::write(&rows, row).unwrap();
        let loaded = || crate::config::load(&file).unwrap();
        let origin = Origin::of(&loaded());
        assert_eq!(origin.text(), text);
        let mut watch = Watch::default();
        assert!(!watch.differ(&origin));
        for (changed, other, before) in [
            (&rows, "198.51.100.2,2001:db8::1\n", row),
            (&file, &format!("# New.\n{text}"), text),
        ] {
            fs::write(changed, other).unwrap();
            assert!(watch.differ(&origin), "{}", changed.display());
            assert!(!Origin::of(&loaded()).is_like(&origin));
            fs::write(changed, before).unwrap();
            assert!(!watch.differ(&origin), "{}", changed.display());
            assert!(Origin::of(&loaded()).is_like(&origin));
        }
        fs::remove_file(&rows).unwrap();
        assert!(watch.differ(&origin));
    }
}

//! What a gateway leaves to its next process: the memory of its sessions, which a [`Keeper`] holds, and beside the
//! control socket a note of what lies where in it.
//!
//! Whoever has the lock of the control socket has both. A note that cannot be trusted is the same as none: the
//! gateway starts with empty tables, and says so.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use isthmus_core::nat::FORMAT;
use isthmus_core::table::Seed;
use isthmus_engine::bpf;
use isthmus_engine::keeper::{Keeper, MEMORY};
use isthmus_engine::memory::Region;
use serde::{Deserialize, Serialize};

use super::placement::{Noted, Placement};
use crate::keeper;

/// Where the memory of sessions is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Kind {
    /// In a map of the programs in the kernel.
    Map,
    /// In memory of its own.
    Memory,
}

impl Kind {
    /// The name that its keeper knows it by.
    const fn name(self) -> &'static str {
        match self {
            Self::Map => bpf::STATE,
            Self::Memory => MEMORY,
        }
    }
}

/// What stays when a gateway ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leave {
    /// Its sessions, for the next process.
    Sessions,
    /// Nothing.
    Nothing,
}

/// The place of one gateway's legacy. Dropping it leaves what is to be left: nothing, unless there was a legacy or the
/// gateway was up.
#[derive(Debug)]
pub(super) struct Store {
    control: PathBuf,
    kind: Kind,
    leave: Leave,
    keeper: Result<Arc<dyn Keeper>, String>,
}

/// What an earlier process left.
#[derive(Debug)]
pub(super) struct Legacy {
    pub(super) seed: Seed,
    pub(super) placement: Placement,
    pub(super) kind: Kind,
    pub(super) memory: Region,
}

/// What gives the memory a meaning.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Note {
    format: u32,
    /// The times in the memory are those of one boot.
    boot: String,
    seed: Seed,
    kind: Kind,
    lines: u32,
    tables: BTreeMap<String, Noted>,
}

impl Store {
    /// The place for the gateway with this control socket, whose lock this process has.
    pub(super) fn open(control: &Path, kind: Kind) -> Self {
        let keeper = keeper::find(control, kind == Kind::Map);
        let store = Self {
            control: control.into(),
            kind,
            leave: Leave::Nothing,
            keeper,
        };
        if let Err(reason) = &store.keeper {
            tracing::info!(reason, "sessions will end with this process");
            // The next process must not take what is older than this one.
            store.remove_note();
        }
        store
    }

    /// Says what to leave.
    pub(super) fn leave(&mut self, leave: Leave) {
        self.leave = leave;
    }

    /// Who keeps maps and programs, and other memory.
    pub(super) fn keeper(&self) -> Option<Arc<dyn Keeper>> {
        self.keeper.as_ref().ok().map(Arc::clone)
    }

    /// Why sessions will end with this process.
    pub(super) fn trouble(&self) -> Option<String> {
        self.keeper.as_ref().err().cloned()
    }

    /// Does without a keeper, for this reason.
    pub(super) fn give_up(&mut self, reason: String) {
        tracing::info!(reason, "sessions will end with this process");
        self.forget();
        self.keeper = Err(reason);
    }

    /// What an earlier process left. Whatever is not usable is removed.
    pub(super) fn legacy(&mut self) -> Option<Legacy> {
        let keeper = self.keeper()?;
        match self.read(&*keeper) {
            Ok(Some(legacy)) => {
                // It may start at the next try, if not at this one.
                self.leave = Leave::Sessions;
                Some(legacy)
            }
            nothing => {
                if let Err(reason) = nothing {
                    tracing::warn!(reason, "the sessions of the run before are lost");
                }
                self.let_go();
                None
            }
        }
    }

    fn read(&self, keeper: &dyn Keeper) -> Result<Option<Legacy>, String> {
        let path = self.note();
        let shown = path.display();
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(format!("{shown}: {error}")),
        };
        let damaged = |error: &dyn std::fmt::Display| format!("{shown} is damaged: {error}");
        // Another version may have written anything else.
        let Format { format } = serde_json::from_slice(&text).map_err(|error| damaged(&error))?;
        if format != FORMAT {
            return Err(format!(
                "their tables have format {format}, those of this version {FORMAT}"
            ));
        }
        let note: Note = serde_json::from_slice(&text).map_err(|error| damaged(&error))?;
        if note.boot != boot().map_err(|error| error.to_string())? {
            return Err("the machine was started again".into());
        }
        let placement = Placement::noted(&note.tables, note.lines, Instant::now())
            .ok_or_else(|| damaged(&"the tables do not fit"))?;
        let gone = |error: io::Error| format!("their memory is not there: {error}");
        let memory = keeper
            .get(note.kind.name())
            .ok_or_else(|| gone(io::ErrorKind::NotFound.into()))?;
        if note.kind == Kind::Memory {
            let memory = File::from(memory.try_clone().map_err(gone)?);
            if memory.metadata().map_err(gone)?.len() < u64::from(note.lines) * 64 {
                return Err(damaged(&"the memory is too short"));
            }
        }
        Ok(Some(Legacy {
            seed: note.seed,
            placement,
            kind: note.kind,
            memory: Region::of_map(memory.as_fd(), note.lines).map_err(gone)?,
        }))
    }

    /// Notes what lies where from now on.
    pub(super) fn write(&self, seed: &Seed, placement: &Placement, lines: u32) {
        if self.keeper.is_err() {
            return;
        }
        let written = boot().and_then(|boot| {
            let note = Note {
                format: FORMAT,
                boot,
                seed: *seed,
                kind: self.kind,
                lines,
                tables: placement.note(),
            };
            replace(&self.note(), &serde_json::to_vec_pretty(&note)?)
        });
        if let Err(error) = written {
            tracing::error!(%error, "sessions will end with this process");
            self.remove_note();
        }
    }

    /// Leaves nothing.
    fn forget(&self) {
        self.let_go();
        if let Err(error) = keeper::forget(&self.control) {
            tracing::error!(%error, "what was kept for the next start could not be removed");
        }
    }

    /// Lets go of all that an earlier process left.
    pub(super) fn let_go(&self) {
        self.remove_note();
        if let Ok(keeper) = &self.keeper {
            keeper.retain(&|_| false);
        }
    }

    fn note(&self) -> PathBuf {
        note(&self.control)
    }

    fn remove_note(&self) {
        let _none = fs::remove_file(self.note());
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        if self.leave == Leave::Nothing {
            self.forget();
        }
    }
}

/// Removes what the gateway with this control socket left, if it does not run.
pub(super) fn forget(control: &Path) -> io::Result<()> {
    match fs::remove_file(note(control)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    keeper::forget(control)
}

fn note(control: &Path) -> PathBuf {
    control.with_extension("kept")
}

/// The part of a note that every version has.
#[derive(Deserialize)]
struct Format {
    format: u32,
}

/// The name of this run of the kernel.
fn boot() -> io::Result<String> {
    let name = fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
    Ok(name.trim().into())
}

/// Writes a file for its owner alone. It has either its old or its new content, whatever happens.
fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let new = path.with_extension("kept-new");
    let _none = fs::remove_file(&new);
    let mut options = File::options();
    let options = options.write(true).create_new(true).mode(0o600);
    options.open(&new)?.write_all(content)?;
    fs::rename(new, path)
}

//! Maps and programs in the kernel's BPF file system, and memory in a file beside the control socket.

use std::fs::{self, File};
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use isthmus_engine::bpf::Pins;
use isthmus_engine::keeper::{Keeper, MEMORY};
use nix::sys::statfs::{TMPFS_MAGIC, statfs};
use nix::unistd::Uid;

/// Where the BPF file system is.
const BPF: &str = "/sys/fs/bpf";

/// The places of one gateway.
#[derive(Debug)]
pub(crate) struct Files {
    pins: PathBuf,
    memory: PathBuf,
}

impl Files {
    /// The places of the gateway with this control socket. Who has the lock beside it has them: the BPF file system
    /// is one for all network and mount namespaces that see it, so the folder has the numbers of the lock's folder
    /// in its name.
    ///
    /// # Errors
    /// The folder of the socket cannot be looked at.
    pub(crate) fn of(control: &Path) -> io::Result<Self> {
        let folder = match control.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        let folder = fs::metadata(folder)?;
        let name = control.file_stem().unwrap_or_default().to_string_lossy();
        // These file systems refuse names with dots.
        let name = name.replace('.', "~");
        let place = format!("isthmus-{:x}-{:x}-{name}", folder.dev(), folder.ino());
        Ok(Self {
            pins: Path::new(BPF).join(place),
            memory: control.with_extension("sessions"),
        })
    }

    /// Checks that the places can hold something.
    ///
    /// # Errors
    /// Why not.
    pub(crate) fn ready(&self, in_kernel: bool) -> Result<(), String> {
        if in_kernel {
            return match Pins::make(&self.pins) {
                Ok(_) => Ok(()),
                Err(error) => Err(format!("{}: {error}", self.pins.display())),
            };
        }
        let folder = self.memory.parent().unwrap_or(Path::new("."));
        match statfs(folder) {
            Ok(place) if place.filesystem_type() == TMPFS_MAGIC => Ok(()),
            Ok(_) => Err(format!("{} is not in memory (tmpfs)", folder.display())),
            Err(error) => Err(format!("{}: {error}", folder.display())),
        }
    }

    /// Removes everything.
    ///
    /// # Errors
    /// The system refuses.
    pub(crate) fn forget(&self) -> io::Result<()> {
        remove(&self.memory)?;
        match self.open_pins()? {
            Some(pins) => pins.remove(),
            None => Ok(()),
        }
    }

    /// The folder of maps and programs, if there is one.
    fn open_pins(&self) -> io::Result<Option<Pins>> {
        match Pins::open(&self.pins) {
            Ok(pins) => Ok(Some(pins)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The file of memory, if it is ours alone.
    fn open_memory(&self) -> Option<OwnedFd> {
        let file = File::options()
            .read(true)
            .write(true)
            .custom_flags(nix::libc::O_NOFOLLOW)
            .open(&self.memory)
            .ok()?;
        let there = file.metadata().ok()?;
        let own = there.is_file()
            && there.uid() == Uid::effective().as_raw()
            && there.mode() & 0o077 == 0;
        own.then(|| file.into())
    }
}

impl Keeper for Files {
    fn get(&self, name: &str) -> Option<OwnedFd> {
        if name == MEMORY {
            return self.open_memory();
        }
        self.open_pins().ok()??.get(name)
    }

    fn put(&self, name: &str, descriptor: BorrowedFd<'_>) {
        let put = Pins::open(&self.pins).and_then(|pins| pins.put(name, descriptor));
        if let Err(error) = put {
            let folder = self.pins.display();
            tracing::warn!(%folder, name, %error, "not kept for the next start");
        }
    }

    fn allocate(&self, bytes: u64) -> io::Result<OwnedFd> {
        remove(&self.memory)?;
        let folder = self.memory.parent().unwrap_or(Path::new("."));
        let place = statfs(folder)?;
        // Where the file system is full, a write would end this process.
        if place.blocks_available() * (place.block_size() as u64) < bytes {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let file = File::options()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&self.memory)?;
        file.set_len(bytes)?;
        Ok(file.into())
    }

    fn retain(&self, stays: &dyn Fn(&str) -> bool) {
        let memory = if stays(MEMORY) {
            Ok(())
        } else {
            remove(&self.memory)
        };
        let pins = match self.open_pins() {
            Ok(Some(pins)) => pins.retain(stays),
            Ok(None) => Ok(()),
            Err(error) => Err(error),
        };
        if let Err(error) = memory.and(pins) {
            tracing::warn!(%error, "what an earlier run left could not be removed");
        }
    }
}

/// Removes a file, if it is there.
fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

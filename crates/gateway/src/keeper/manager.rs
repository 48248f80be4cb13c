//! The service manager's store of descriptors (`FileDescriptorStoreMax=`): what is in it outlives the process, not
//! the stop of the unit. It needs no rights.

use std::collections::BTreeMap;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixDatagram;
use std::sync::{Mutex, MutexGuard, PoisonError};

use isthmus_engine::keeper::{Keeper, MEMORY};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::socket::{ControlMessage, MsgFlags, sendmsg};
use sd_notify::NotifyState;

/// The store.
#[derive(Debug)]
pub(crate) struct Manager {
    /// The names in it, with the descriptors of those that were there at the start.
    held: Mutex<BTreeMap<String, Option<OwnedFd>>>,
}

impl Manager {
    /// The store of this unit, if it has one.
    pub(crate) fn find() -> Option<Self> {
        let most = std::env::var("FDSTORE").ok()?;
        if most.parse() == Ok(0) || std::env::var_os("NOTIFY_SOCKET").is_none() {
            return None;
        }
        let held = match sd_notify::listen_fds_with_names() {
            Ok(held) => held
                .map(|(number, name)| {
                    // SAFETY: the service manager opened it for this process, which takes it here and nowhere
                    // else.
                    (name, Some(unsafe { OwnedFd::from_raw_fd(number) }))
                })
                .collect(),
            Err(error) => {
                tracing::warn!(%error, "the service manager's descriptors are not usable");
                BTreeMap::new()
            }
        };
        Some(Self {
            held: Mutex::new(held),
        })
    }

    fn held(&self) -> MutexGuard<'_, BTreeMap<String, Option<OwnedFd>>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn store(&self, name: &str, descriptor: BorrowedFd<'_>) -> io::Result<()> {
        // A map of BPF looks to `poll` like a connection that has ended, which the manager would let go.
        let message = format!("FDSTORE=1\nFDNAME={name}\nFDPOLL=0\n");
        let socket = UnixDatagram::unbound()?;
        socket.connect(std::env::var_os("NOTIFY_SOCKET").unwrap_or_default())?;
        let (text, descriptors) = ([IoSlice::new(message.as_bytes())], [descriptor.as_raw_fd()]);
        let rights = [ControlMessage::ScmRights(&descriptors)];
        sendmsg::<()>(socket.as_raw_fd(), &text, &rights, MsgFlags::empty(), None)?;
        self.held().insert(name.into(), None);
        Ok(())
    }
}

impl Keeper for Manager {
    fn get(&self, name: &str) -> Option<OwnedFd> {
        self.held().get(name)?.as_ref()?.try_clone().ok()
    }

    fn put(&self, name: &str, descriptor: BorrowedFd<'_>) {
        if let Err(error) = self.store(name, descriptor) {
            tracing::warn!(name, %error, "not kept for the next start");
        }
    }

    fn allocate(&self, bytes: u64) -> io::Result<OwnedFd> {
        let memory = memfd_create("isthmus", MFdFlags::MFD_CLOEXEC)?;
        nix::unistd::ftruncate(&memory, i64::try_from(bytes).map_err(io::Error::other)?)?;
        self.store(MEMORY, memory.as_fd())?;
        Ok(memory)
    }

    fn retain(&self, stays: &dyn Fn(&str) -> bool) {
        self.held().retain(|name, _| {
            let stays = stays(name);
            if !stays {
                let message = format!("FDSTOREREMOVE=1\nFDNAME={name}");
                if let Err(error) = sd_notify::notify(&[NotifyState::Custom(&message)]) {
                    tracing::warn!(name, %error, "the service manager does not let go of it");
                }
            }
            stays
        });
    }
}

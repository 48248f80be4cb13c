//! The service manager of a gateway: hears what it says, and stores its descriptors.

use std::io::{self, IoSliceMut};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixDatagram;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};

use nix::cmsg_space;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg};

/// Descriptors with their names.
pub(crate) type Store = Vec<(String, OwnedFd)>;

/// The manager.
pub(super) struct Manager {
    pub(super) told: Receiver<String>,
    pub(super) store: Arc<Mutex<Store>>,
}

impl Manager {
    /// Listens at a path. `store` is what an earlier process has stored.
    pub(super) fn listen(path: &Path, store: Store) -> Self {
        let _ = std::fs::remove_file(path);
        let socket = UnixDatagram::bind(path).unwrap();
        let (tell, told) = channel();
        let store = Arc::new(Mutex::new(store));
        let shared = Arc::clone(&store);
        // Read at once, as a service manager does: the gateway would block on a full socket.
        std::thread::spawn(move || {
            while let Ok((message, descriptors)) = receive(&socket) {
                change(&mut shared.lock().unwrap(), &message, descriptors);
                if tell.send(message).is_err() {
                    return;
                }
            }
        });
        Self { told, store }
    }
}

fn receive(socket: &UnixDatagram) -> io::Result<(String, Vec<OwnedFd>)> {
    let mut buffer = [0; 4096];
    let mut space = cmsg_space!([RawFd; 8]);
    let mut text = [IoSliceMut::new(&mut buffer)];
    let flags = MsgFlags::MSG_CMSG_CLOEXEC;
    let message = recvmsg::<()>(socket.as_raw_fd(), &mut text, Some(&mut space), flags)?;
    let mut descriptors = Vec::new();
    for rights in message.cmsgs()? {
        if let ControlMessageOwned::ScmRights(numbers) = rights {
            // SAFETY: they are new, and have no other owner.
            let owned = |number| unsafe { OwnedFd::from_raw_fd(number) };
            descriptors.extend(numbers.into_iter().map(owned));
        }
    }
    let length = message.bytes;
    Ok((
        String::from_utf8_lossy(&buffer[..length]).into_owned(),
        descriptors,
    ))
}

/// Stores descriptors, or lets them go.
fn change(store: &mut Store, message: &str, descriptors: Vec<OwnedFd>) {
    let has = |wanted: &str| message.lines().any(|line| line == wanted);
    let name = message
        .lines()
        .find_map(|line| line.strip_prefix("FDNAME="));
    let Some(name) = name else {
        return;
    };
    if has("FDSTORE=1") {
        assert!(has("FDPOLL=0"), "a manager would let go of maps");
        store.extend(descriptors.into_iter().map(|one| (name.to_owned(), one)));
    } else if has("FDSTOREREMOVE=1") {
        store.retain(|(there, _)| there != name);
    }
}

/// Gives the store to a command, as a service manager does: from descriptor 3 on.
pub(super) fn hand_over(command: Command, store: &Store) -> Command {
    // The process has another number than its manager knows before.
    let mut shell = Command::new("sh");
    shell.args(["-c", "LISTEN_PID=$$ exec \"$0\" \"$@\""]);
    shell.arg(command.get_program()).args(command.get_args());
    let names: Vec<&str> = store.iter().map(|(name, _)| name.as_str()).collect();
    shell.env("FDSTORE", "64");
    shell.env("LISTEN_FDS", names.len().to_string());
    shell.env("LISTEN_FDNAMES", names.join(":"));
    // Out of the way of those that they become.
    let apart = |(_, descriptor): &(String, OwnedFd)| {
        let number = fcntl(descriptor, FcntlArg::F_DUPFD_CLOEXEC(200)).unwrap();
        // SAFETY: it is new, and has no other owner.
        unsafe { OwnedFd::from_raw_fd(number) }
    };
    let apart: Vec<OwnedFd> = store.iter().map(apart).collect();
    let take = move || {
        for (number, descriptor) in (3..).zip(&apart) {
            // SAFETY: a plain system call on open descriptors; 3 and following are nobody's in the new process.
            if unsafe { libc::dup2(descriptor.as_raw_fd(), number) } < 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(())
    };
    // SAFETY: it calls the system, and nothing else.
    unsafe { shell.pre_exec(take) };
    shell
}

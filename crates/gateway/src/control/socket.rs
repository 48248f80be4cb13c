//! The sockets in the file system: one gateway to a path, to which its owner alone may connect; and beside it one for a
//! group that may only read.

use std::fs::{self, File, Permissions, TryLockError};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nix::unistd::{Gid, Group};
use tokio::net::{UnixListener, UnixStream};

/// Why there is no control socket.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// Another process has it.
    #[error(
        "a gateway with the control socket {0} is running already; stop it, or give this one another name"
    )]
    Taken(PathBuf),
    /// Something else has this name.
    #[error("{0} exists and is not a socket; remove it, or set `control` to another path")]
    NotASocket(PathBuf),
    /// There is no such group.
    #[error("there is no group {0:?} for `view-group`; expected one of /etc/group")]
    NoGroup(String),
    /// The file system refuses.
    #[error("control socket {path}: {error}")]
    Refused {
        /// The path.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
}

/// A listening socket. Its file goes away with it.
#[derive(Debug)]
pub struct ControlSocket {
    path: PathBuf,
    lock: Arc<Lock>,
    listener: UnixListener,
    view: Option<View>,
}

/// What one process to a path has, and with it all that belongs to the gateway there. Its file goes away with it.
#[derive(Debug)]
pub struct Lock {
    path: PathBuf,
    // The system releases it even after a crash.
    _file: File,
}

impl ControlSocket {
    /// Listens at `path`, and for members of `view_group` beside it. The socket of a process that is gone is replaced.
    ///
    /// # Errors
    ///
    /// If a living process has it, there is no such group, or the file system refuses.
    pub fn bind(path: &Path, view_group: Option<&str>) -> Result<Self, SocketError> {
        let lock = Arc::new(Lock::take(path)?);
        let listener = listen(path, 0o600)?;
        let view = match view_group {
            Some(name) => Some(View::bind(&view_of(path), name)?),
            None => {
                remove(&view_of(path));
                None
            }
        };
        Ok(Self {
            path: path.into(),
            lock,
            listener,
            view,
        })
    }

    /// The lock, to be held for as long as anything of the gateway runs.
    #[must_use]
    pub fn lock(&self) -> Arc<Lock> {
        Arc::clone(&self.lock)
    }

    /// The listener.
    #[must_use]
    pub fn listener(&self) -> &UnixListener {
        &self.listener
    }

    /// The socket of those who may only read, if there is a group of them.
    #[must_use]
    pub fn view(&self) -> Option<&View> {
        self.view.as_ref()
    }
}

/// A listening socket to which everybody may connect, and which serves a group. The gateway cannot give a file to a group
/// that it is not in, but the kernel tells who connects.
#[derive(Debug)]
pub struct View {
    listener: UnixListener,
    group: Gid,
}

impl View {
    fn bind(path: &Path, name: &str) -> Result<Self, SocketError> {
        let group = Group::from_name(name).map_err(|error| SocketError::Refused {
            path: path.into(),
            error: error.into(),
        })?;
        let group = group.ok_or_else(|| SocketError::NoGroup(name.into()))?;
        Ok(Self {
            listener: listen(path, 0o666)?,
            group: group.gid,
        })
    }

    /// The listener.
    #[must_use]
    pub fn listener(&self) -> &UnixListener {
        &self.listener
    }

    /// Whether who has connected may read: root, and the members of the group.
    #[must_use]
    pub fn admits(&self, stream: &UnixStream) -> bool {
        let Ok(peer) = stream.peer_cred() else {
            return false;
        };
        let group = self.group.as_raw();
        peer.uid() == 0 || peer.gid() == group || groups(stream).contains(&group)
    }
}

/// The supplementary groups of the process that has connected.
fn groups(stream: &UnixStream) -> Vec<u32> {
    // As many as Linux has, NGROUPS_MAX.
    let mut groups = vec![0_u32; 1 << 16];
    let mut length = (groups.len() * size_of::<u32>()) as nix::libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes, and says how many it wrote.
    let result = unsafe {
        nix::libc::getsockopt(
            stream.as_raw_fd(),
            nix::libc::SOL_SOCKET,
            nix::libc::SO_PEERGROUPS,
            groups.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    groups.truncate(if result == 0 {
        length as usize / size_of::<u32>()
    } else {
        0
    });
    groups
}

/// The socket of those who may only read, beside the other.
pub(super) fn view_of(path: &Path) -> PathBuf {
    path.with_extension("view.sock")
}

/// Listens at a path. The mode says who may connect.
fn listen(path: &Path, mode: u32) -> Result<UnixListener, SocketError> {
    let refused = |error| SocketError::Refused {
        path: path.into(),
        error,
    };
    match fs::symlink_metadata(path) {
        Ok(there) if !there.file_type().is_socket() => {
            return Err(SocketError::NotASocket(path.into()));
        }
        Ok(_) => {
            tracing::info!(socket = %path.display(), "the socket of an earlier run was replaced")
        }
        Err(_) => {}
    }
    // Created beside its place, and moved there once its permissions are set.
    let new = path.with_extension("sock-new");
    let _ = fs::remove_file(&new);
    let listener = UnixListener::bind(&new).map_err(refused)?;
    fs::set_permissions(&new, Permissions::from_mode(mode)).map_err(refused)?;
    fs::rename(&new, path).map_err(refused)?;
    Ok(listener)
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        remove(&self.path);
        if self.view.is_some() {
            remove(&view_of(&self.path));
        }
    }
}

impl Lock {
    /// Takes the lock of the gateway with this control socket.
    ///
    /// # Errors
    ///
    /// If a living process has it, or the file system refuses.
    pub fn take(socket: &Path) -> Result<Self, SocketError> {
        let path = socket.with_extension("lock");
        let refused = |error| SocketError::Refused {
            path: path.clone(),
            error,
        };
        if let Some(folder) = socket.parent() {
            fs::create_dir_all(folder).map_err(refused)?;
        }
        match lock(&path).map_err(refused)? {
            Some(file) => Ok(Self { path, _file: file }),
            None => Err(SocketError::Taken(socket.into())),
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        remove(&self.path);
    }
}

fn remove(path: &Path) {
    if let Err(error) = fs::remove_file(path) {
        tracing::debug!(path = %path.display(), %error, "could not be removed");
    }
}

/// The lock, or `None` if another process holds it.
fn lock(path: &Path) -> io::Result<Option<File>> {
    loop {
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            // Who can open the file can hold the lock.
            .mode(0o600)
            .open(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        // A process that just ended may have removed the file between opening and locking.
        match fs::metadata(path) {
            Ok(now) if now.ino() == file.metadata()?.ino() => return Ok(Some(file)),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_to_a_path_for_its_owner_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("run/edge.sock");
        let first = ControlSocket::bind(&path, None).unwrap();
        for file in [&path, &path.with_extension("lock")] {
            let mode = fs::metadata(file).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{}", file.display());
        }
        let second = ControlSocket::bind(&path, None).unwrap_err();
        assert!(matches!(second, SocketError::Taken(_)), "{second}");
        // The refusal does no harm to the first.
        tokio::net::UnixStream::connect(&path).await.unwrap();
        drop(first);
        assert!(!path.exists());
    }

    #[tokio::test]
    async fn a_group_has_a_socket_of_its_own() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("edge.sock");
        let own = Group::from_gid(nix::unistd::getegid()).unwrap().unwrap();
        let socket = ControlSocket::bind(&path, Some(&own.name)).unwrap();
        let view = directory.path().join("edge.view.sock");
        let mode = fs::metadata(&view).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o666);
        let stream = tokio::net::UnixStream::connect(&view).await.unwrap();
        assert!(socket.view().unwrap().admits(&stream));
        assert_eq!(
            crate::control::sockets(directory.path()).unwrap(),
            std::slice::from_ref(&path)
        );
        drop(socket);
        assert!(!view.exists());
        let error = ControlSocket::bind(&path, Some("nobody-s group")).unwrap_err();
        assert!(matches!(error, SocketError::NoGroup(_)), "{error}");
    }

    #[tokio::test]
    async fn a_stale_socket_is_replaced_and_another_file_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("edge.sock");
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        assert!(path.exists());
        ControlSocket::bind(&path, None).unwrap();
        fs::write(&path, "precious").unwrap();
        let error = ControlSocket::bind(&path, None).unwrap_err();
        assert!(matches!(error, SocketError::NotASocket(_)), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
    }
}

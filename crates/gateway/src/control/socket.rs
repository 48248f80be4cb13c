//! The socket in the file system: one gateway to a path, and its owner alone may connect.

use std::fs::{self, File, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::net::UnixListener;

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
}

/// What one process to a path has, and with it all that belongs to the gateway there. Its file goes away with it.
#[derive(Debug)]
pub struct Lock {
    path: PathBuf,
    // The system releases it even after a crash.
    _file: File,
}

impl ControlSocket {
    /// Listens at `path`. The socket of a process that is gone is replaced.
    ///
    /// # Errors
    ///
    /// If a living process has it, or the file system refuses.
    pub fn bind(path: &Path) -> Result<Self, SocketError> {
        let refused = |error| SocketError::Refused {
            path: path.into(),
            error,
        };
        let lock = Arc::new(Lock::take(path)?);
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
        fs::set_permissions(&new, Permissions::from_mode(0o600)).map_err(refused)?;
        fs::rename(&new, path).map_err(refused)?;
        Ok(Self {
            path: path.into(),
            lock,
            listener,
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
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        remove(&self.path);
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
        let first = ControlSocket::bind(&path).unwrap();
        for file in [&path, &path.with_extension("lock")] {
            let mode = fs::metadata(file).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{}", file.display());
        }
        let second = ControlSocket::bind(&path).unwrap_err();
        assert!(matches!(second, SocketError::Taken(_)), "{second}");
        // The refusal does no harm to the first.
        tokio::net::UnixStream::connect(&path).await.unwrap();
        drop(first);
        assert!(!path.exists());
    }

    #[tokio::test]
    async fn a_stale_socket_is_replaced_and_another_file_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("edge.sock");
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        assert!(path.exists());
        ControlSocket::bind(&path).unwrap();
        fs::write(&path, "precious").unwrap();
        let error = ControlSocket::bind(&path).unwrap_err();
        assert!(matches!(error, SocketError::NotASocket(_)), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
    }
}

//! The other end of the control socket, for the command line.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use super::message::{Reply, Request};

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// No gateway listens.
    #[error("no gateway answers at {path}: {error}")]
    Unreachable {
        /// The socket.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// The connection broke.
    #[error("the connection to the gateway broke: {0}")]
    Broken(io::Error),
    /// The answer is not what this version understands.
    #[error("the gateway speaks another version of the protocol: {0}")]
    Strange(serde_json::Error),
    /// The gateway says no.
    #[error("{0}")]
    Refused(String),
}

impl From<io::Error> for ClientError {
    fn from(error: io::Error) -> Self {
        Self::Broken(error)
    }
}

impl From<serde_json::Error> for ClientError {
    fn from(error: serde_json::Error) -> Self {
        Self::Strange(error)
    }
}

/// A connection to a running gateway.
#[derive(Debug)]
pub struct Client {
    stream: BufReader<UnixStream>,
}

impl Client {
    /// Connects to the gateway with its socket at `path`.
    ///
    /// # Errors
    ///
    /// If no gateway listens there, or the user may not connect.
    pub fn connect(path: &Path) -> Result<Self, ClientError> {
        let stream = UnixStream::connect(path).map_err(|error| ClientError::Unreachable {
            path: path.into(),
            error,
        })?;
        Ok(Self {
            stream: BufReader::new(stream),
        })
    }

    /// Sends a request.
    ///
    /// # Errors
    ///
    /// If the connection breaks.
    pub fn send(&mut self, request: &Request) -> Result<(), ClientError> {
        let mut line = serde_json::to_vec(request)?;
        line.push(b'\n');
        self.stream.get_mut().write_all(&line)?;
        Ok(())
    }

    /// Receives one line of the answer; `None` if the gateway hung up.
    ///
    /// # Errors
    ///
    /// If the connection breaks, the line is not understood, or it says that the request failed.
    pub fn receive(&mut self) -> Result<Option<Reply>, ClientError> {
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        match serde_json::from_str(&line)? {
            Reply::Error(message) => Err(ClientError::Refused(message)),
            reply => Ok(Some(reply)),
        }
    }
}

/// The control sockets in a directory, by name.
///
/// # Errors
///
/// If the directory is there and cannot be read.
pub fn sockets(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match std::fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut sockets = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "sock")
        {
            sockets.push(path);
        }
    }
    sockets.sort();
    Ok(sockets)
}

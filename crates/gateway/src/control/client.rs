//! The other end of the control socket, for the command line.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use http_body_util::{BodyExt, Empty};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::HOST;
use hyper_util::rt::TokioIo;
use tokio::runtime::{self, Runtime};

use super::message::{Reply, Request};
use super::socket::view_of;

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
    runtime: Runtime,
    sender: SendRequest<Empty<Bytes>>,
    /// The answer, as far as it has not come yet.
    body: Option<Incoming>,
    /// What has come of it and is not a line yet.
    pending: Vec<u8>,
    /// The beginning of the next line in `pending`.
    next: usize,
}

impl Client {
    /// Connects to the gateway with its socket at `path`; who may not use that one, to the one beside it that only reads.
    ///
    /// # Errors
    ///
    /// If no gateway listens there, or the user may not connect.
    pub fn connect(path: &Path) -> Result<Self, ClientError> {
        let stream = UnixStream::connect(path).or_else(|error| match error.kind() {
            io::ErrorKind::PermissionDenied => {
                UnixStream::connect(view_of(path)).map_err(|_| error)
            }
            _ => Err(error),
        });
        let stream = stream.map_err(|error| ClientError::Unreachable {
            path: path.into(),
            error,
        })?;
        stream.set_nonblocking(true)?;
        let runtime = runtime::Builder::new_current_thread().enable_io().build()?;
        let sender = runtime.block_on(async {
            let stream = tokio::net::UnixStream::from_std(stream)?;
            let connected = handshake(TokioIo::new(stream)).await;
            let (sender, connection) = connected.map_err(io::Error::other)?;
            tokio::spawn(connection);
            Ok::<_, io::Error>(sender)
        })?;
        Ok(Self {
            runtime,
            sender,
            body: None,
            pending: Vec::new(),
            next: 0,
        })
    }

    /// Sends a request. The answer to the one before must have been received.
    ///
    /// # Errors
    ///
    /// If the connection breaks.
    pub fn send(&mut self, request: &Request) -> Result<(), ClientError> {
        let (method, target) = request.to_http();
        let request = hyper::Request::builder()
            .method(method)
            .uri(target)
            .header(HOST, "isthmus")
            .body(Empty::new())
            .map_err(io::Error::other)?;
        let answer = self.runtime.block_on(self.sender.send_request(request));
        self.body = Some(answer.map_err(io::Error::other)?.into_body());
        Ok(())
    }

    /// Receives one line of the answer; `None` if there are no more.
    ///
    /// # Errors
    ///
    /// If the connection breaks, the line is not understood, or it says that the request failed.
    pub fn receive(&mut self) -> Result<Option<Reply>, ClientError> {
        let Some(line) = self.line()? else {
            return Ok(None);
        };
        match serde_json::from_slice(&line)? {
            Reply::Error(message) => Err(ClientError::Refused(message)),
            reply => Ok(Some(reply)),
        }
    }

    fn line(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            let rest = &self.pending[self.next..];
            if let Some(length) = rest.iter().position(|byte| *byte == b'\n') {
                let line = rest[..length].to_vec();
                self.next += length + 1;
                return Ok(Some(line));
            }
            self.pending.drain(..self.next);
            self.next = 0;
            let Some(body) = &mut self.body else {
                return Ok(None);
            };
            let Some(frame) = self.runtime.block_on(body.frame()) else {
                self.body = None;
                return Ok(None);
            };
            if let Ok(data) = frame.map_err(io::Error::other)?.into_data() {
                self.pending.extend_from_slice(&data);
            }
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
        let is_socket = path.extension().is_some_and(|it| it == "sock");
        let is_view = path.file_stem().map(Path::new).and_then(Path::extension);
        if is_socket && is_view.is_none_or(|it| it != "view") {
            sockets.push(path);
        }
    }
    sockets.sort();
    Ok(sockets)
}

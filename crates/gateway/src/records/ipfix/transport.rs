//! How messages come to a collector: RFC 7011 section 10.3 over UDP, 10.4 over TCP.

use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use crate::config::Carrier;

/// Time in which a collector accepts a connection, and takes a message: the other sinks wait meanwhile.
const PATIENCE: Duration = Duration::from_secs(1);
/// Time between two attempts to reach a collector.
const PAUSE: Duration = Duration::from_secs(5);

/// Where messages go.
pub(super) enum Transport {
    Udp(UdpSocket),
    Tcp(Connection),
}

/// What a collector knows of the templates.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Knowledge {
    /// Nothing: it has just been reached.
    None,
    /// All of them.
    All,
    /// It may have lost them, and forgets them.
    Fading,
}

/// A connection, which is made again when it breaks.
pub(super) struct Connection {
    collector: SocketAddr,
    stream: Option<TcpStream>,
    /// When the last attempt was made.
    tried: Option<Instant>,
}

impl Transport {
    pub(super) fn open(collector: SocketAddr, carrier: Carrier) -> io::Result<Self> {
        Ok(match carrier {
            Carrier::Udp => Self::Udp(super::super::settings::udp_towards(collector)?),
            Carrier::Tcp => Self::Tcp(Connection {
                collector,
                stream: None,
                tried: None,
            }),
        })
    }

    /// Makes sure that there is somebody to send to.
    ///
    /// # Errors
    /// The collector is not there, or was not a moment ago.
    pub(super) fn reach(&mut self) -> io::Result<Knowledge> {
        match self {
            Self::Udp(_) => Ok(Knowledge::Fading),
            Self::Tcp(connection) => connection.reach(),
        }
    }

    /// Sends a message.
    ///
    /// # Errors
    /// It is lost.
    pub(super) fn send(&mut self, message: &[u8]) -> io::Result<()> {
        match self {
            Self::Udp(socket) => socket.send(message).map(drop),
            Self::Tcp(connection) => connection.send(message),
        }
    }
}

impl Connection {
    fn reach(&mut self) -> io::Result<Knowledge> {
        if self.stream.is_some() {
            return Ok(Knowledge::All);
        }
        if self.tried.is_some_and(|tried| tried.elapsed() < PAUSE) {
            return Err(io::ErrorKind::NotConnected.into());
        }
        self.tried = Some(Instant::now());
        let stream = TcpStream::connect_timeout(&self.collector, PATIENCE)?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        self.stream = Some(stream);
        Ok(Knowledge::None)
    }

    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        let Some(stream) = &mut self.stream else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        let sent = stream.write_all(message);
        if sent.is_err() {
            // Nobody knows how much of it the collector has: it would take the rest for another message.
            self.stream = None;
        }
        sent
    }
}

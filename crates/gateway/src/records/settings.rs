//! Where records go.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::path::PathBuf;

use super::Sink;
use super::ipfix::Ipfix;
use super::json::Json;
use super::syslog::Syslog;
use crate::config::{Carrier, Destinations};

/// Where records go and how many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Name of the gateway, which appears in every record.
    pub gateway: String,
    /// Name of this host, for syslog.
    pub host: String,
    /// Observation domain of IPFIX (RFC 7011 section 3.1).
    pub domain: u32,
    /// File of JSON lines.
    pub json: Option<PathBuf>,
    /// Syslog server.
    pub syslog: Option<SocketAddr>,
    /// IPFIX collector.
    pub ipfix: Option<SocketAddr>,
    /// How it is reached.
    pub carrier: Carrier,
    /// Records per second, at most.
    pub rate: u32,
    /// Whether sessions are written, which have a destination.
    pub destinations: Destinations,
}

impl Settings {
    /// Opens every sink. All or none: a sink that does not open is an error that names it.
    pub(super) fn open(&self) -> io::Result<Vec<Box<dyn Sink>>> {
        let mut sinks: Vec<Box<dyn Sink>> = Vec::new();
        if let Some(path) = &self.json {
            let sink = Json::open(self.gateway.clone(), path.clone()).map_err(|error| {
                io::Error::new(error.kind(), format!("{}: {error}", path.display()))
            })?;
            sinks.push(Box::new(sink));
        }
        if let Some(server) = self.syslog {
            let sink = Syslog::open(self.gateway.clone(), &self.host, server)
                .map_err(|error| io::Error::new(error.kind(), format!("{server}: {error}")))?;
            sinks.push(Box::new(sink));
        }
        if let Some(collector) = self.ipfix {
            let sink = Ipfix::open(self.domain, collector, self.carrier)
                .map_err(|error| io::Error::new(error.kind(), format!("{collector}: {error}")))?;
            sinks.push(Box::new(sink));
        }
        Ok(sinks)
    }
}

/// A socket that sends to `peer` from a port that the kernel chooses.
pub(super) fn udp_towards(peer: SocketAddr) -> io::Result<UdpSocket> {
    let local: SocketAddr = match peer {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let socket = UdpSocket::bind(local)?;
    socket.connect(peer)?;
    // A full socket buffer must not hold up the other sinks; what does not fit is lost, as on the
    // wire.
    socket.set_nonblocking(true)?;
    Ok(socket)
}

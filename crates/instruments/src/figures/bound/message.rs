//! The packets of an application's message.

use std::str::FromStr;

use super::path::{Limits, Path};
use super::{BoundError, Packet};

/// UDP's header (RFC 768).
const UDP: u32 = 8;
/// TCP's header without options (RFC 9293 section 3.1).
const TCP: u32 = 20;
/// TCP's timestamps, padded (RFC 7323 section 3.2 and appendix A).
const TIMESTAMPS: u32 = 12;

/// The size of a message, in bytes: 1 to 65507.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Payload(u16);

impl Payload {
    /// The largest UDP datagram over IPv4: 65535 without both headers.
    const MOST: u32 = 65_507;

    /// Returns a message of this many bytes.
    ///
    /// # Errors
    ///
    /// [`BoundError::Payload`] outside of 1 to 65507.
    /// [`BoundError::Payload`] outside of 1 to 65507.
    pub fn new(bytes: u32) -> Result<Self, BoundError> {
        match u16::try_from(bytes) {
            Ok(size) if (1..=Self::MOST).contains(&bytes) => Ok(Self(size)),
            _ => Err(BoundError::Payload),
        }
    }

    /// Returns the size in bytes.
    pub fn bytes(self) -> u32 {
        self.0.into()
    }
}

impl From<Payload> for f64 {
    fn from(payload: Payload) -> Self {
        Self::from(payload.bytes())
    }
}

impl FromStr for Payload {
    type Err = BoundError;

    fn from_str(text: &str) -> Result<Self, BoundError> {
        Self::new(text.parse().map_err(|_| BoundError::Payload)?)
    }
}

/// The transport protocol of the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// A datagram, fragmented by IP if it is too long.
    Udp,
    /// Segments. Acknowledgements go the other way and are not counted.
    Tcp(TcpOptions),
}

/// The options of each TCP segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TcpOptions {
    /// No options.
    None,
    /// Timestamps.
    Timestamps,
}

impl TcpOptions {
    /// Returns the length of the TCP header, in bytes.
    pub fn header(self) -> u32 {
        match self {
            Self::None => TCP,
            Self::Timestamps => TCP + TIMESTAMPS,
        }
    }
}

impl Transport {
    /// Returns the packets of a message as its sender makes them, before any tunnel or translator.
    pub fn packets(self, payload: Payload, path: &Path) -> Vec<Packet> {
        match self {
            Self::Udp => datagram(payload, path),
            Self::Tcp(options) => segments(payload, options, path),
        }
    }
}

fn datagram(payload: Payload, path: &Path) -> Vec<Packet> {
    let Limits { whole, fragment } = path.limits();
    let packet = Packet::whole(path.source(), payload.bytes() + UDP);
    if packet.length() <= whole || packet.length() > fragment {
        packet.cut(fragment)
    } else {
        // The first link takes it in one piece, a later one does not: its sender has learned the path's MTU and cuts
        // to that.
        packet.cut(whole)
    }
}

fn segments(payload: Payload, options: TcpOptions, path: &Path) -> Vec<Packet> {
    let most = segment_size(options, path);
    let mut rest = payload.bytes();
    let mut packets = Vec::new();
    while rest > 0 {
        let segment = rest.min(most);
        packets.push(Packet::whole(path.source(), segment + options.header()));
        rest -= segment;
    }
    packets
}

/// Returns the most bytes that a segment carries on this path, by both ends' MSS and the path's MTU.
pub(super) fn segment_size(options: TcpOptions, path: &Path) -> u32 {
    path.limits().whole - path.source().header() - options.header()
}

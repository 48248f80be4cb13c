//! Followed packets, whatever the engine.

use std::sync::Arc;

use isthmus_core::reason::Counter;

use crate::counters::Owner;

pub use isthmus_abi::trace::{Filter, HEAD, LONGEST};

/// One who is told. It must not wait.
pub type Sink = Arc<dyn Fn(Said) + Send + Sync>;

/// What followers are told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// A packet.
    Packet(Followed),
    /// So many more were not told, because they came too fast.
    Lost(u64),
}

/// The way of a packet through an engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Followed {
    /// When it came, in nanoseconds of the monotonic clock.
    pub time: u64,
    /// `xdp`, `tc` or `user`.
    pub engine: &'static str,
    /// The number of the link that it came in on; 0 is the engine's own.
    pub link: u32,
    /// What became of it.
    pub fate: Fate,
    /// The counters that it changed: the reasons.
    pub counts: Vec<(Owner, Counter)>,
    /// As it came. Frames of XDP and tc begin with an Ethernet header, packets of user space with that of IP.
    pub came: Form,
    /// As it left. Fragments and answers are several.
    pub left: Vec<Form>,
}

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The engine sent it to its next hop.
    Sent,
    /// The kernel goes on with it.
    Passed,
    /// It waits for others of its datagram or connection.
    Waits,
    /// It ended here.
    Dropped,
    /// It ended here, and its sender was told why.
    Refused,
}

/// A packet at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Form {
    /// Its length.
    pub length: u32,
    /// The bytes of it that are told.
    pub bytes: Vec<u8>,
}

impl Form {
    /// The first `snap` bytes of a packet.
    #[must_use]
    pub fn of(bytes: &[u8], snap: usize) -> Self {
        Self {
            length: bytes.len() as u32,
            bytes: bytes[..bytes.len().min(snap)].to_vec(),
        }
    }
}

/// The beginning of an IP packet, as a [`Filter`] looks at it.
#[must_use]
pub fn head(packet: &[u8]) -> [u8; HEAD] {
    let mut head = [0; HEAD];
    let length = packet.len().min(HEAD);
    head[..length].copy_from_slice(&packet[..length]);
    head
}

//! What can be measured, and in which unit.

use serde::{Deserialize, Serialize};

/// What an experiment measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quantity {
    /// From a request to its answer.
    RoundTrip,
    /// From the first byte sent to the last byte there.
    OneWayDelay,
    /// Payload received.
    Throughput,
    /// Frames or datagrams received, at the loss that the experiment allows.
    PacketRate,
    /// What was sent and did not arrive, as a share of what was sent.
    Loss,
    /// RFC 3550 section 6.4.1.
    Jitter,
    /// RFC 8219 section 7.3: the 99.9th percentile of delay, less the least; or from frame to frame.
    DelayVariation,
    /// The part of one core that was busy; 1 for one core.
    Cpu,
    /// What one packet, or one step of its translation, takes.
    Cost,
    /// From the first SYN to the connection's being there.
    ConnectTime,
    /// From the first SYN to the last ACK of a file's transfer.
    FileTime,
    /// How long packets are lost, after which they pass again.
    Outage,
    /// Frames that follow each other at the least gap and all arrive.
    Burst,
    /// Connections or sessions opened.
    ConnectionRate,
    /// Sessions that there is room for.
    Capacity,
    /// DNS answers.
    QueryRate,
    /// What a mechanism adds to a packet.
    Overhead,
    /// Whether an application works: 1 if so, 0 if not, and something between if badly.
    Works,
}

/// Which of two values is the better one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// The smaller.
    Lower,
    /// The larger.
    Higher,
}

impl Quantity {
    /// The unit of its values. `1` is a share.
    pub fn unit(self) -> &'static str {
        match self {
            Self::RoundTrip
            | Self::OneWayDelay
            | Self::Jitter
            | Self::DelayVariation
            | Self::Cost
            | Self::ConnectTime
            | Self::FileTime
            | Self::Outage => "s",
            Self::Throughput => "bit/s",
            Self::PacketRate => "packets/s",
            Self::Loss | Self::Cpu | Self::Works => "1",
            Self::ConnectionRate => "connections/s",
            Self::Burst => "frames",
            Self::Capacity => "sessions",
            Self::QueryRate => "queries/s",
            Self::Overhead => "bytes",
        }
    }

    /// Which way is better.
    pub fn better(self) -> Better {
        match self {
            Self::Throughput
            | Self::PacketRate
            | Self::ConnectionRate
            | Self::Burst
            | Self::Capacity
            | Self::QueryRate
            | Self::Works => Better::Higher,
            Self::RoundTrip
            | Self::OneWayDelay
            | Self::Loss
            | Self::Jitter
            | Self::DelayVariation
            | Self::Cpu
            | Self::Cost
            | Self::ConnectTime
            | Self::FileTime
            | Self::Outage
            | Self::Overhead => Better::Lower,
        }
    }
}

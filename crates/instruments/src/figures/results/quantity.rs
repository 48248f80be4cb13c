//! The quantities that can be measured, and their units.

use serde::{Deserialize, Serialize};

/// The quantity of an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quantity {
    /// The time from a request to its answer.
    RoundTrip,
    /// The time from the first byte sent to the last byte received.
    OneWayDelay,
    /// Payload received.
    Throughput,
    /// A file's octets by the time from the first SYN until the last of them: short files include the connection.
    FileThroughput,
    /// Frames or datagrams received, at the loss that the experiment allows.
    PacketRate,
    /// The share of sent frames or datagrams that did not arrive.
    Loss,
    /// RFC 3550 section 6.4.1.
    Jitter,
    /// RFC 8219 section 7.3: the 99.9th percentile of delay, less the least; or from frame to frame.
    DelayVariation,
    /// The part of one core that was busy; 1 for one core.
    Cpu,
    /// The time that one packet, or one step of its translation, takes.
    Cost,
    /// The time from the first SYN until the connection is established.
    ConnectTime,
    /// The time from the first SYN to the last ACK of a file's transfer.
    FileTime,
    /// The time for which packets are lost until they pass again.
    Outage,
    /// Frames that follow each other at the least gap and all arrive.
    Burst,
    /// Connections or sessions opened.
    ConnectionRate,
    /// Connections removed.
    TearDownRate,
    /// The sessions that the table holds.
    Capacity,
    /// DNS answers.
    QueryRate,
    /// The octets that a mechanism adds to a packet.
    Overhead,
    /// Whether an application works: 1 if so, 0 if not, and a value between if badly. [`NO_VERDICT`] if nobody knows.
    Works,
}

/// The value of an application that was not asked, or of which it cannot be told whether it works.
pub const NO_VERDICT: f64 = -1.0;

/// The better one of two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// The smaller.
    Lower,
    /// The larger.
    Higher,
}

impl Quantity {
    /// Returns the unit of its values. `1` is a share.
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
            Self::Throughput | Self::FileThroughput => "bit/s",
            Self::PacketRate => "packets/s",
            Self::Loss | Self::Cpu | Self::Works => "1",
            Self::ConnectionRate | Self::TearDownRate => "connections/s",
            Self::Burst => "frames",
            Self::Capacity => "sessions",
            Self::QueryRate => "queries/s",
            Self::Overhead => "bytes",
        }
    }

    /// Returns which value is better.
    pub fn better(self) -> Better {
        match self {
            Self::Throughput
            | Self::FileThroughput
            | Self::PacketRate
            | Self::ConnectionRate
            | Self::TearDownRate
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

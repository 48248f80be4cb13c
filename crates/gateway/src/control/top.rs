//! Who has most sessions: requests and answers.

use std::ops::AddAssign;

use isthmus_core::nat::Traffic;
use serde::{Deserialize, Serialize};

use crate::config::Choice;

/// What sessions are counted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum By {
    /// The subscriber: the first address of its prefix.
    #[default]
    Subscriber,
    /// The remote network: a /24.
    Remote,
    /// The remote port, with its protocol.
    Port,
    /// The instance.
    Instance,
}

impl Choice for By {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("subscriber", Self::Subscriber),
        ("remote", Self::Remote),
        ("port", Self::Port),
        ("instance", Self::Instance),
    ];
}

/// What those have most of that come first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Most {
    /// Sessions.
    #[default]
    Sessions,
    /// New sessions.
    New,
    /// Packets of the sessions that there are.
    Packets,
    /// Bytes of the sessions that there are.
    Bytes,
}

impl Choice for Most {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("sessions", Self::Sessions),
        ("new", Self::New),
        ("packets", Self::Packets),
        ("bytes", Self::Bytes),
    ];
}

/// A request for those with most sessions, or with most of something else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TopRequest {
    /// What they are.
    pub by: By,
    /// What they have most of.
    pub most: Most,
    /// How many, at most.
    pub limit: u32,
}

/// Those with most sessions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Top {
    /// From the one with most.
    pub rows: Vec<TopRow>,
    /// All sessions.
    pub sessions: u64,
    /// New ones of all in a second.
    pub new_per_second: f64,
    /// Sessions that each row may have more than it shows: 0 unless there are very many rows.
    pub uncertain: u64,
    /// Whether an instance counts what sessions carry.
    #[serde(default)]
    pub counted: bool,
}

/// One of those with most sessions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct TopRow {
    /// Its name.
    pub name: String,
    /// Its sessions.
    pub sessions: u64,
    /// Sessions that it made in a second, as the mean of the last seconds.
    pub new_per_second: f64,
    /// What its sessions carried since they were made, where that is counted.
    #[serde(flatten)]
    pub carried: Option<Carried>,
}

/// What sessions carried: packets, and bytes from their transport headers on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Carried {
    /// Packets from inside.
    pub packets_out: u64,
    /// Their bytes.
    pub bytes_out: u64,
    /// Packets to the inside.
    pub packets_in: u64,
    /// Their bytes.
    pub bytes_in: u64,
}

impl From<Traffic> for Carried {
    fn from(Traffic { out, back }: Traffic) -> Self {
        Self {
            packets_out: out.packets,
            bytes_out: out.bytes,
            packets_in: back.packets,
            bytes_in: back.bytes,
        }
    }
}

impl AddAssign for Carried {
    fn add_assign(&mut self, other: Self) {
        self.packets_out += other.packets_out;
        self.bytes_out += other.bytes_out;
        self.packets_in += other.packets_in;
        self.bytes_in += other.bytes_in;
    }
}

impl Carried {
    /// Packets of both directions.
    #[must_use]
    pub const fn packets(&self) -> u64 {
        self.packets_out + self.packets_in
    }

    /// Bytes of both directions.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.bytes_out + self.bytes_in
    }
}

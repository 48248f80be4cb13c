//! Who has most sessions: requests and answers.

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

/// A request for those with most sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TopRequest {
    /// What they are.
    pub by: By,
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
}

//! The differences between two configurations: for `isthmus diff`, and for a reload that is only tried.
//!
//! The fate of instances and sessions is decided where a reload decides it (`lifecycle`); here are the keys as they
//! are written, and how all of it is told.

mod keys;
mod tell;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub(crate) use keys::{between, written};

/// The changes that another configuration would make.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Differences {
    /// The keys that have other values.
    pub keys: Vec<KeyChange>,
    /// The instances that come, go or change.
    pub instances: Vec<InstanceChange>,
    /// Routes and addresses of the gateway's link that come or go, one line each.
    pub link: Vec<String>,
    /// The changes that only a restart makes; a reload is refused if there is any.
    pub restart: Vec<String>,
}

/// A key that has another value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct KeyChange {
    /// Where it stands: `[tun]`, or `instance plat`.
    pub section: String,
    /// The key, with those above it: `timers.udp`.
    pub key: String,
    /// Its value before; absent if it was not written.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub before: Option<Value>,
    /// Its value then, likewise.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub after: Option<Value>,
}

/// An instance that is not the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct InstanceChange {
    /// Its name.
    pub instance: String,
    /// Its fate.
    pub change: Turn,
    /// The fate of its sessions; absent if it has none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sessions: Option<Sessions>,
}

/// The fate of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Turn {
    /// It is new.
    Added,
    /// It does something else, or to others.
    Changed,
    /// It is there no more.
    Removed,
}

/// The fate of the sessions of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Sessions {
    /// The rule that decides.
    pub fate: Fate,
    /// Their numbers, if the gateway runs.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub counted: Option<Counted>,
}

/// The rule that decides which sessions live on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fate {
    /// All live on.
    LiveOn,
    /// Those live on whose host is still inside, and whose outside address and port are still in the pool and no
    /// other's.
    Judged,
    /// All end: their tables go, or are made anew.
    End,
}

/// Sessions of a running gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Counted {
    /// Those that would end.
    pub ending: u64,
    /// All that there are.
    pub all: u64,
}

impl Turn {
    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Changed => "changed",
            Self::Removed => "removed",
        }
    }
}

impl Differences {
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

//! Who had an outside address and port at a time: the question of a court.
//!
//! Computed mappings answer it from the configuration; everything else from the records that the gateway wrote, as
//! files of JSON lines or as a syslog server keeps them. The answer is the subscribers that could have had the port then. If
//! that is one, and nothing is missing that could name another, it is the answer; else it is unknown, with the reasons.
//!
//! Files are read as streams: memory holds one line of each file in turn, and what is known of the one port.

mod answer;
mod configured;
mod files;
mod line;
mod missing;
mod scan;
#[cfg(test)]
mod tests;
mod time;

use std::net::Ipv4Addr;
use std::path::PathBuf;

use isthmus_core::nat::Protocol;

pub use answer::{Answer, Configuration, Usage, Verdict, answer};
pub use files::ReadError;
pub use time::{TimeError, Window};

/// An outside address and port at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The address.
    pub address: Ipv4Addr,
    /// The port, or the identifier of ICMP.
    pub port: u16,
    /// The protocol; `None` if it is not known.
    pub protocol: Option<Protocol>,
    /// When.
    pub window: Window,
}

impl Question {
    /// The protocols that it may be about.
    fn protocols(&self) -> Vec<Protocol> {
        match self.protocol {
            Some(protocol) => vec![protocol],
            None => vec![Protocol::Tcp, Protocol::Udp, Protocol::Icmp],
        }
    }
}

/// A place in the records.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    file: PathBuf,
    line: u64,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.file.display(), self.line)
    }
}

//! DNS64 (RFC 6147): a forwarding resolver that makes AAAA records of A records, so that hosts
//! with IPv6 alone find hosts with IPv4 alone.
#![warn(missing_docs)]

mod answer;
mod ask;
mod cache;
mod chain;
pub mod config;
pub mod counter;
pub mod datagram;
mod engine;
mod policy;
mod query;
mod resolution;
mod respond;
mod reverse;
mod server;
mod special;
mod tcp;
mod triage;
mod udp;
mod upstream;
mod wire;

pub use answer::Transport;
pub use ask::{Ask, Dialect, NotOurs, Reply};
pub use config::{Config, ConfigError, NonGlobal, Translation};
pub use counter::{Counter, Counters, Kind};
pub use policy::Policy;
pub use query::{UDP_MAX, UDP_PLAIN};
pub use respond::respond;
pub use server::{Handle, Server, StartError};

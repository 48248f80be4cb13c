//! How things are measured on a running candidate.

pub mod busy;
pub(super) mod connections;
pub(super) mod delay;
pub(super) mod dns64;
pub mod files;
mod http;
pub(super) mod overhead;
pub(super) mod ping;
pub(super) mod sessions;
pub(super) mod steps;
pub mod udp;

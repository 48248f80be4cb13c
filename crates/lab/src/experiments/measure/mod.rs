//! The measurements on a testbed.

pub(super) mod alone;
pub mod applications;
pub mod busy;
pub(super) mod connections;
pub(super) mod delay;
pub(super) mod dns64;
mod each;
pub mod edge;
pub mod files;
pub(super) mod frames;
mod http;
pub(super) mod overhead;
pub(super) mod ping;
pub(super) mod sessions;
pub(crate) mod steps;
pub(super) mod tcp;
pub mod udp;

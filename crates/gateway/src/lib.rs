//! The running gateway: configuration, lifecycle, links, control socket, metrics, records.

pub mod config;
pub mod records;

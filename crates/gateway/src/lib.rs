//! The running gateway: configuration, lifecycle, links, control socket, metrics, records.

pub mod capture;
pub mod change;
pub mod config;
pub mod control;
pub mod doctor;
pub mod engine;
pub mod explain;
mod hash;
pub mod health;
pub mod import;
pub mod isatap;
mod keeper;
pub mod lifecycle;
pub mod link;
pub mod metrics;
pub mod pref64;
pub mod privilege;
pub mod records;
mod rights;
pub mod softwire46;
pub mod who;
mod worker;

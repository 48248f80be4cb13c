//! The instruments of the laboratory: networks in namespaces, packets that are sent through them, and figures.
//!
//! Its folders are layers. Each knows only those above it in this list, which `scripts/imports` checks:
//!
//! * [`figures`]: results, statistics and bounds
//! * [`network`]: namespaces, links, topologies, processes
//! * [`traffic`]: generator, receiver, tester, sockets, applications
//!
//! [`figures`] only calculates, and needs no rights. The others need root. Everything that they make is removed when its
//! value is dropped.
#![forbid(unsafe_code)]

pub mod error;
pub mod figures;
pub mod network;
pub mod traffic;

pub use error::LabError;

/// The result of most functions of this crate.
pub type Result<T> = core::result::Result<T, LabError>;

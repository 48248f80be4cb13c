//! The laboratory: it builds networks in namespaces, sends packets through a gateway under test,
//! and compares what arrives with what the kernel and other people's gateways do in the same place.
//!
//! * [`netns`], [`topology`]: namespaces, links and the standard networks, as data
//! * [`leftovers`]: what an interrupted lab leaves, and its removal
//! * [`packet`], [`generator`], [`sink`]: small UDP packets, made and counted in XDP
//! * [`mod@tester`]: tagged frames, what became of each, and the benchmarks of RFC 8219 and RFC 9693
//! * [`measure`]: rates, repetitions, medians, ratios
//! * [`subject`], [`peers`], [`isthmus`]: what can stand in the middle, behind one interface
//! * [`services`], [`tools`]: real servers at the edge, and the tools that use them
//! * [`world`], [`checks`]: a whole network with servers, and what must work in it
//! * [`mod@bench`], [`demo`]: what `isthmus lab` runs
//! * [`bound`]: what a network can do at most, by arithmetic alone
//!
//! Everything but [`bound`] needs root, and everything it makes is removed when its value is dropped.
#![forbid(unsafe_code)]

pub mod bench;
pub mod bound;
pub mod checks;
pub mod demo;
pub mod error;
pub mod fragments;
pub mod generator;
pub mod isthmus;
pub mod leftovers;
pub mod measure;
pub mod netns;
pub mod packet;
pub mod peers;
pub mod place;
pub mod plan;
pub mod process;
pub mod programs;
pub mod random;
pub mod services;
pub mod sink;
pub mod subject;
pub mod tester;
pub mod tools;
pub mod topology;
pub mod world;

pub use error::LabError;

/// What most functions here return.
pub type Result<T> = core::result::Result<T, LabError>;

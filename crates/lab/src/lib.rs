//! The laboratory: it builds networks in namespaces, sends packets through a gateway under test,
//! and compares what arrives with what the kernel and other people's gateways do in the same place.
//!
//! * [`netns`], [`topology`]: namespaces, links and the standard networks, as data
//! * [`wire`]: links with Ethernet's line rates
//! * [`machine`]: what all this runs on
//! * [`leftovers`]: what an interrupted lab leaves, and its removal
//! * [`packet`], [`generator`], [`sink`]: small UDP packets, made and counted in XDP
//! * [`mod@tester`]: tagged frames, what became of each, and the benchmarks of RFC 8219 and RFC 9693
//! * [`outside`]: a device between two of the machine's own interfaces
//! * [`sockets`]: delay and throughput as two hosts' applications have them
//! * [`measure`], [`histogram`]: rates, repetitions, medians, ratios
//! * [`provider`]: the network in which a mechanism has an edge and a border
//! * [`device`], [`peers`], [`isthmus`]: what can stand in the middle, behind one interface
//! * [`services`], [`tools`]: real servers at the edge, and the tools that use them
//! * [`applications`]: which of them work between two hosts
//! * [`world`], [`checks`]: a whole network with servers, and what must work in it
//! * [`mod@bench`], [`demo`]: what `isthmus lab` runs
//! * [`experiment`], [`results`]: the papers' questions, and what a run of them leaves
//! * [`advise`]: which mechanism a network needs
//! * [`bound`]: what a network can do at most, by arithmetic alone
//! * [`summary`], [`report`]: its medians, and the page that shows them
//! * [`claims`], [`mod@diff`]: the papers' claims judged by a run, and two runs beside each other
//!
//! What only calculates, from [`advise`] to [`mod@diff`], needs no rights. Everything else needs root, and everything
//! that it makes is removed when its value is dropped.
#![forbid(unsafe_code)]

pub mod advise;
pub mod amount;
pub mod applications;
pub mod bench;
pub mod bound;
pub mod checks;
pub mod claims;
pub mod demo;
pub mod device;
pub mod diff;
pub mod error;
pub mod experiment;
pub mod fragments;
pub mod generator;
pub mod histogram;
pub mod isthmus;
pub mod leftovers;
pub mod machine;
pub mod measure;
pub mod netns;
pub mod outside;
pub mod packet;
pub mod peers;
pub mod place;
pub mod plan;
pub mod process;
pub mod programs;
pub mod provider;
pub mod random;
pub mod report;
pub mod results;
pub mod services;
pub mod sink;
pub mod sockets;

pub mod summary;
pub mod tester;
pub mod tools;
pub mod topology;
pub mod wire;
pub mod world;

pub use error::LabError;

/// What most functions here return.
pub type Result<T> = core::result::Result<T, LabError>;
/// The former name of [`device`], until its users follow.
#[doc(hidden)]
pub use device as subject;

//! The laboratory builds networks in namespaces, sends packets through a gateway under test, and compares the result
//! with that of the kernel and of other implementations in the same network.
//!
//! * [`netns`], [`topology`]: namespaces, links and the standard networks, as data
//! * [`wire`]: links with Ethernet's line rates
//! * [`machine`], [`cores`]: the machine under all this, and who runs on which core
//! * [`interfaces`]: MTUs and offloads as they are
//! * [`leftovers`], [`sweep`]: names and files that tell whose they are, and the removal of what an interrupted lab left
//! * [`packet`], [`generator`], [`sink`], [`redirect`]: small UDP packets, made, counted and passed on in XDP
//! * [`mod@tester`]: tagged frames, the fate of each, and the benchmarks of RFC 8219 and RFC 9693
//! * [`outside`]: a device between two of the machine's own interfaces
//! * [`sockets`]: delay and throughput as the applications of two hosts see them
//! * [`measure`]: packets per second through a path; [`statistics`], [`histogram`]: medians, intervals, percentiles
//! * [`provider`]: the network in which a mechanism has a CE and a BR
//! * [`device`], [`peers`], [`isthmus`]: the gateways under test, behind one interface
//! * [`services`], [`tools`]: real servers, and the tools that use them
//! * [`applications`]: the applications that work between two hosts
//! * [`world`], [`checks`]: a whole network with servers, and the checks of it
//! * [`bare`]: the machine without an operating system, in an emulator
//! * [`attack`]: attacks on a gateway, each with a victim beside it
//! * [`mod@bench`], [`demo`]: the benchmarks and the demonstration of `isthmus lab`
//! * [`experiment`], [`results`]: the experiments of the papers and RFCs, and the results of a run
//! * [`advise`]: the choice of a mechanism for a network
//! * [`bound`]: the best that a network can do, by arithmetic alone
//! * [`summary`], [`report`]: the medians of a run, and the page that shows them
//! * `counted`: the instructions of a packet that are committed with the program
//! * [`claims`], [`mod@diff`]: the papers' claims judged by a run, and the comparison of two runs
//!
//! The modules that only calculate, from [`advise`] to [`mod@diff`], need no rights. All others need root. Everything
//! that they make is removed when its value is dropped.
#![forbid(unsafe_code)]

pub mod advise;
pub mod amount;
pub mod applications;
pub mod attack;
pub mod bare;
pub mod bench;
pub mod bound;
pub mod checks;
pub mod claims;
pub mod cores;
mod counted;
pub mod demo;
pub mod device;
pub mod diff;
pub mod error;
pub mod experiment;
pub mod fragments;
pub mod generator;
pub mod histogram;
pub mod interfaces;
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
pub mod redirect;
pub mod report;
pub mod results;
pub mod services;
mod shift;
pub mod sink;
pub mod sockets;
pub mod statistics;
pub mod summary;
pub mod sweep;
pub mod tester;
pub mod tools;
pub mod topology;
pub mod validity;
pub mod wire;
pub mod world;

pub use error::LabError;

/// The result of most functions of this crate.
pub type Result<T> = core::result::Result<T, LabError>;

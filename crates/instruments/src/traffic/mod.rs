//! Traffic through networks, and what becomes of it.
//!
//! * [`packet`], [`generator`], [`sink`], [`redirect`]: small UDP packets, made, counted and passed on in XDP
//! * [`path`]: packets per second through a path
//! * [`mod@tester`]: tagged frames, the fate of each, and the benchmarks of RFC 8219 and RFC 9693
//! * [`sockets`]: delay and throughput as the applications of two hosts see them
//! * [`fragments`]: datagrams in fragments, out of order
//! * [`services`], [`tools`]: real servers, and the tools that use them
//! * [`applications`]: the applications that work between two hosts

pub mod applications;
pub mod fragments;
pub mod generator;
pub mod packet;
pub mod path;
pub mod redirect;
pub mod services;
pub mod sink;
pub mod sockets;
pub mod tester;
pub mod tools;

//! The engines that run the core. They read packets, lend memory, time and random numbers, and send what the
//! core returns. No protocol rule is here.
//!
//! [`slowpath`] is everything around one packet that needs more than a rewrite in place. [`user`] runs it on a
//! TUN link, and [`offline`] on a capture file.

mod alg;
pub mod bpf;
pub mod buffer;
pub mod counters;
pub mod fragments;
pub mod host;
pub mod keeper;
pub mod memory;
pub mod offline;
pub mod own;
pub mod pcap;
pub mod ruleset;
pub mod slowpath;
pub mod sweeper;
mod sys;
pub mod trace;
pub mod unexpected;
pub mod user;

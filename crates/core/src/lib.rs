//! The protocol rules of Isthmus, each exactly once.
//!
//! Nothing here allocates, reads a clock, opens a socket or needs `unsafe`. A rule is generic over
//! the [`Packet`](packet::Packet) that it rewrites and the [`Memory`](table::Memory) that holds
//! its state; an engine (XDP, tc, user space, bare machine) lends both and nothing else.
//!
//! Reading order: [`packet`] and [`checksum`] are what an engine provides and what every rewrite
//! uses; [`address`] maps addresses; [`translate`] rewrites headers by RFC 7915; [`encap`]
//! puts packets into packets; [`nat`] keeps
//! bindings and sessions by RFC 6146; [`gateway`] puts them together for one packet.
#![no_std]
#![forbid(unsafe_code)]

#[cfg(test)]
extern crate std;

pub mod address;
pub mod checksum;
pub mod config;
pub mod counters;
pub mod customer;
pub mod datagrams;
pub mod encap;
pub mod gateway;
pub mod host;
pub mod incoming;
pub mod mechanism;
pub mod nat;
pub mod packet;
pub mod policy;
pub mod reason;
pub mod slow;
pub mod table;
#[cfg(test)]
mod testing;
pub mod time;
pub mod translate;
pub mod verdict;
pub mod wire;
pub mod word;

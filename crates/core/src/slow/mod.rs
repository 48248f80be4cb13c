//! Rules that only the user-space engine needs, because a BPF program can not follow them: cutting
//! a packet in pieces, building ICMP errors, judging fragments that are put together.
//!
//! They work on slices: an engine that comes here has the bytes of the packet in reach.

pub mod icmp_error;
pub mod reassemble;
pub mod split;

//! Deterministic ports for people: the packet path asks `deterministic.rs` itself.

use crate::address::V4;

use super::deterministic::Deterministic;
use super::endpoint::{Inside, Protocol};
use super::pool::Pool;

/// The address and the first port of the block that an inside host has (RFC 7422 section 2.1); `None` if it is not
/// under the prefix, or the pool is too small.
#[must_use]
pub fn block_of(rule: &Deterministic, pool: &Pool, inside: &Inside) -> Option<(V4, u16)> {
    rule.block_of(pool, &inside.words(Protocol::Udp))
}

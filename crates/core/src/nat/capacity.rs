//! The sizes of the tables of one instance.

/// Subscribers of an instance that may have limits of their own.
pub const MOST_OWN_LIMITS: u32 = 1024;

/// How many entries the tables are made for: sessions and bindings are never more than that. Each
/// table has a third more places, so that two-choice hashing finds one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Sessions.
    pub sessions: u32,
    /// Bindings; at most 2^29.
    pub bindings: u32,
    /// Permissions of address-dependent filtering; they lie in the table of sessions.
    pub permissions: u32,
    /// Subscribers; 0 if there are neither limits nor port blocks.
    pub subscribers: u32,
    /// Fragmented datagrams under way.
    pub fragments: u32,
    /// Whether packets and bytes of each session are counted.
    pub traffic: bool,
}

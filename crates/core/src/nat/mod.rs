//! Stateful address and port translation (RFC 6146), for NAT64 and NAT44 alike.

/// Pool, limits, timers and table layout of one stateful instance.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct NatConfig {}

impl NatConfig {
    /// Whether an address is one of the pool.
    #[must_use]
    pub fn owns(&self, _address: crate::address::V4) -> bool {
        false
    }
}

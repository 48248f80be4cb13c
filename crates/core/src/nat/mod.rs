//! Stateful address and port translation (RFC 6146), for NAT64 and NAT44 alike.

/// Pool, limits, timers and table layout of one stateful instance.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct NatConfig {}

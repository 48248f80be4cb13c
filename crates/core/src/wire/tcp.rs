//! The TCP header (RFC 9293 section 3.1).

/// Bytes of a header without options.
pub const HEADER: usize = 20;
/// Offset of the checksum.
pub const CHECKSUM: usize = 16;

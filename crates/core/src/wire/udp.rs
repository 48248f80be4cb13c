//! The UDP header (RFC 768).

/// Bytes of a header.
pub const HEADER: usize = 8;
/// Offset of the checksum.
pub const CHECKSUM: usize = 6;

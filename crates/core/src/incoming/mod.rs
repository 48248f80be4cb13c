//! A packet as it arrives: its headers are checked and its transport header is found, before any
//! mechanism looks at it.

pub mod v4;
pub mod v6;

//! The engine without a kernel: packets from buffers and capture files, and what the slow path adds to the core.

mod common;
mod offline;
mod slowpath;

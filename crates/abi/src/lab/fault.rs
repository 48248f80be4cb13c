//! Gateways with a known fault.

use bytemuck::{Pod, Zeroable};

/// The map of one [`Configuration`].
pub const FAULT: &str = "FAULT";
/// The map of two interfaces, for a frame that leaves twice.
pub const TWICE: &str = "TWICE";
/// Entries of `TWICE`.
pub const COPIES: usize = 2;

/// Which frames meet the fault.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Configuration {
    /// The interface that frames are redirected to.
    pub interface: u32,
    /// One of so many frames meets the fault, 1 or more; 0: none does.
    pub every: u32,
    /// So many frames are held.
    pub held: u32,
    /// Nanoseconds that a policer takes for each frame.
    pub interval: u32,
}

layout!(Configuration: 16, interface: 0, every: 4, held: 8, interval: 12);

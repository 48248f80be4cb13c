//! The links of the networks of experiments.

use crate::{
    figures::bound::Rate,
    network::wire::{Ethernet, Medium},
};

/// The links of a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Links {
    /// Links at the speed of the machine.
    Unlimited,
    /// Ethernet of this many megabits per second.
    Ethernet(u32),
    /// Links at the speed of the machine, and an [edge](super::edge) that is slower than they are.
    SlowEdge,
}

impl Links {
    /// Returns their rate, if they have one.
    pub fn rate(self) -> Option<Rate> {
        match self {
            Self::Unlimited | Self::SlowEdge => None,
            Self::Ethernet(megabits) => Rate::new(u64::from(megabits) * 1_000_000).ok(),
        }
    }

    /// Returns the medium of the links.
    pub fn medium(self) -> Medium {
        match self.rate() {
            None => Medium::Veth,
            Some(rate) => Medium::Ethernet(Ethernet::new(rate)),
        }
    }
}

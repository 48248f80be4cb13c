//! The kernel's own forwarding.

use crate::{
    Result,
    network::{
        device::{Device, Started},
        topology::Network,
    },
};

/// The kernel as a router of IPv4 and IPv6. The topology has set it up already.
#[derive(Debug, Clone, Copy, Default)]
pub struct Forwarding;

impl Device for Forwarding {
    fn name(&self) -> String {
        "kernel forwarding".into()
    }

    fn start(&self, _: &Network, _: usize) -> Result<Started> {
        Ok(Started::default())
    }
}

//! The kernel's own forwarding, and an XDP gateway that does nothing: the floor and the ceiling.

use crate::{
    Result,
    device::{Device, Started},
    sink,
    topology::{FOUR, Network, SIX},
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

/// An XDP program that redirects every frame from one link to the other without reading it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Redirect;

impl Device for Redirect {
    fn name(&self) -> String {
        "bare XDP redirect".into()
    }

    fn start(&self, network: &Network, _: usize) -> Result<Started> {
        let gateway = network.gateway()?;
        let across = |from, to| sink::forward(gateway, from, to);
        Ok(Started {
            programs: vec![across(SIX, FOUR)?, across(FOUR, SIX)?],
            ..Started::default()
        })
    }
}

//! An XDP gateway that does nothing: the ceiling of the tester.

use crate::{
    Result,
    network::{
        device::{Device, Started},
        topology::{FOUR, Network, SIX},
    },
    traffic::sink,
};

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
